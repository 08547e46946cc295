"""What a call frees is for the next call.

A block of tangents is large and short-lived. glibc returns the top of the heap to the system whenever more
than a threshold of it is free, and each call then faults the same pages in again: three times as long as the
call itself, for the Jacobian of 10,000 unknowns. The threshold is twice the largest array that was mapped and
freed, up to 64 MB. Other allocators take the array and free it, and nothing changes.
"""

from __future__ import annotations

import functools

import numpy as np

SIZE = 8 << 20
"""Bytes: the threshold becomes 16 MB."""


@functools.cache
def retain_freed() -> None:
    """Once in a process. The array is never written: it takes no memory."""
    np.empty(SIZE, np.uint8)
