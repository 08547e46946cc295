"""Functions that watch a program and are no part of it: hooks, and what the passes of contexts have put there.

No context is asked about them or about what they call, no derivative goes through them, and they change
nothing that the program computes with.
"""

from __future__ import annotations

import functools
from types import FunctionType
from typing import Any

UNDISPATCHED = "$undispatched"
"""The mark of such a function, in its `__dict__`."""


class Undispatched(functools.partial[Any]):
    """A callable without Python code of its own that no context is asked about."""


def is_undispatched(f: Any) -> bool:
    return type(f) is Undispatched or (type(f) is FunctionType and UNDISPATCHED in f.__dict__)
