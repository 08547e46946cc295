"""Memory of large results, kept for the next ones when they are gone.

A fresh page costs several times what a kernel does to its elements: the system clears it, and the processor
faults on it. So arrays above MIN_BYTES lie in blocks that go back to a pool once no array refers to them.
The pool holds at most CTXDISPATCH_POOL_BYTES (an eighth of the machine's memory by default; 0 for none);
`release` empties it.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from ctxdispatch_contexts.broadcast.forks import in_children
from ctxdispatch_contexts.broadcast.streaming import ALIGNMENT

MIN_BYTES = 1 << 19


class _Blocks:
    """Blocks that nobody uses, by size; those longest unused go first.

    A collection may give blocks back, or run a finaliser that takes one, at any time, also in the thread that
    holds the lock: so neither waits for it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._returned: deque[Any] = deque()
        """Given back, and not yet among those that are free."""
        self._free: OrderedDict[int, list[Any]] = OrderedDict()
        self._bytes = 0

    def take(self, size: int) -> Any:
        """A block; a new one where none is free, or where the lock is held."""
        found = self._alone(self._found, size)
        self._sort_returned()
        return _aligned(size) if found is None else found

    def give(self, block: Any) -> None:
        self._returned.append(block)
        self._sort_returned()

    def clear(self) -> None:
        with self._lock:
            self._returned.clear()
            self._free.clear()
            self._bytes = 0
        self._sort_returned()

    def _alone(self, action: Callable[..., Any], *args: Any) -> Any:
        """What `action` returns; None, and nothing happens, where the lock is held."""
        if not self._lock.acquire(blocking=False):
            return None
        try:
            return action(*args)
        finally:
            self._lock.release()

    def _sort_returned(self) -> None:
        """Where the lock is held, who holds it comes here afterwards."""
        while self._returned and not self._lock.locked():
            self._alone(self._free_returned)

    def _found(self, size: int) -> Any:
        self._free_returned()
        blocks = self._free.get(size)
        if not blocks:
            return None
        self._bytes -= size
        return blocks.pop()

    def _free_returned(self) -> None:
        while self._returned:
            block = self._returned.popleft()
            size = block.nbytes
            self._free.setdefault(size, []).append(block)
            self._free.move_to_end(size)
            self._bytes += size
        while self._bytes > capacity():
            self._drop()

    def _drop(self) -> None:
        size, blocks = next(iter(self._free.items()))
        if blocks:
            blocks.pop()
            self._bytes -= size
        if not blocks:
            del self._free[size]


def _aligned(size: int) -> Any:
    """A block that begins with a line of the caches."""
    whole = np.empty(size + ALIGNMENT, np.uint8)
    start = -whole.ctypes.data % ALIGNMENT
    return whole[start : start + size]


_blocks = _Blocks()
in_children(_blocks.__init__)  # type: ignore[misc]  # another thread may have been half way through

release = _blocks.clear


@cache
def capacity() -> int:
    """In bytes."""
    given = os.environ.get("CTXDISPATCH_POOL_BYTES")
    if given is not None:
        return int(given)
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 8
    except (AttributeError, ValueError, OSError):  # not a Unix
        return 1 << 28


class _Lease:
    """The owner of an array's memory, which NumPy keeps alive as its base."""

    __slots__ = ("__array_interface__", "block")

    def __init__(self, block: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.block = block
        self.__array_interface__ = {
            "data": (block.ctypes.data, False), "shape": shape, "typestr": dtype.str, "version": 3,
        }  # fmt: skip

    def __del__(self) -> None:
        _blocks.give(self.block)


def empty(shape: Sequence[int], dtype: np.dtype[Any]) -> Any:
    """np.empty(shape, dtype)"""
    size = dtype.itemsize
    for n in shape:
        size *= n
    if size < MIN_BYTES or size > capacity():
        return np.empty(shape, dtype)
    return np.asarray(_Lease(_blocks.take(size), tuple(shape), dtype))
