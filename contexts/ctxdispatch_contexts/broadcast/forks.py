"""What a process must have in order when it forks: of its threads, the child has the one that forked.

A lock that another thread holds is held in the child for ever, and its pools of threads have no threads. So a
fork waits until no kernel is being made (LLVM has locks of its own, which are free then), and what cannot be
waited for is made anew in the child.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

making = threading.RLock()
"""Held while a kernel is derived from another, lowered, or compiled."""


def in_children(renew: Callable[[], None]) -> None:
    """Call `renew` in every process that this one forks."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=renew)


if hasattr(os, "register_at_fork"):  # a Unix
    os.register_at_fork(before=making.acquire, after_in_parent=making.release, after_in_child=making.release)
