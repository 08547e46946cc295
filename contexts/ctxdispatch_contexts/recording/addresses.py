"""Where arrays lie: which lie in the memory of others by its address, and not as their views.

    np.asarray(obj), by the `__array_interface__` of obj       np.from_dlpack(other)       a buffer's memory
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable
from typing import Any

import numpy as np

from ctxdispatch_contexts.programs.errors import MissingRuleError, user_position

Array = np.ndarray[Any, Any]


def bounds(array: Array) -> tuple[int, int]:
    """The addresses of the first byte and after the last one."""
    if array.flags.forc:
        low = address(array)
        return low, low + array.nbytes
    low, high = np.lib.array_utils.byte_bounds(array)
    return low, high


def address(array: Array) -> int:
    at: int = array.__array_interface__["data"][0]
    return at


def overlaps(array: Array) -> bool:
    """Two of its elements may share memory."""
    if array.flags.c_contiguous or array.flags.f_contiguous:
        return False
    reach = array.itemsize
    for stride, n in sorted((abs(s), n) for s, n in zip(array.strides, array.shape, strict=True) if n > 1):
        if stride < reach:
            return True
        reach += stride * (n - 1)
    return False


class Addresses:
    """The blocks of a run by their addresses. Those that have no other's memory lie apart."""

    def __init__(self, blocks: Iterable[Any]) -> None:
        self._lows: list[int] = []
        self._blocks: list[Any] = []
        for block in {id(block): block for block in blocks}.values():
            self.add(block)

    def add(self, block: Any) -> None:
        at = bisect.bisect(self._lows, block.low)
        self._lows.insert(at, block.low)
        self._blocks.insert(at, block)

    def around(self, place: tuple[int, int]) -> Any:
        """The block that has the memory from one address to the other in it; None where no block has any."""
        found = [block for block in self._near(place) if block.overlaps(place)]
        if len(found) > 1 or any(not _is_within(place, block) for block in found):
            raise MissingRuleError(
                "an array shares memory, by its address and not as a view, with another one that depends on "
                "what is differentiated; use one of the two",
                user_position(),
            )
        return found[0] if found else None

    def _near(self, place: tuple[int, int]) -> Iterable[Any]:
        at = bisect.bisect_left(self._lows, place[1])
        while at and (self._blocks[at - 1].overlaps(place) or self._lows[at - 1] >= place[0]):
            at -= 1
            yield self._blocks[at]


def _is_within(place: tuple[int, int], block: Any) -> bool:
    return bool(block.low <= place[0] and place[1] <= block.low + block.size)


OF_RUNS = (address, bounds, overlaps)
"""What runs look at for themselves, and runs in runs."""
