"""The memory of one array, and the derivatives that mirror it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ctxdispatch_contexts.programs.errors import Place, place
from ctxdispatch_contexts.recording.addresses import address, bounds
from ctxdispatch_contexts.recording.shown import check_view

Array = np.ndarray[Any, Any]


class Block:
    """The memory of one owner. `active`: what is in there depends on what is differentiated."""

    __slots__ = (
        "owner", "low", "size", "count", "active", "names", "outside", "read", "unknown", "at", "by",
        "_bytes", "_marks", "_last",
    )  # fmt: skip

    def __init__(self, of: Array, count: int | None) -> None:
        low, high = bounds(of)
        self.owner, self.low, self.size, self.count, self.active = of, low, high - low, count, False
        self.names: list[Block] = []
        """Those of arguments in this memory, which are apart from this one."""
        self.outside: Block | None = None
        """Of an argument's, the one that has it in its `names`."""
        self.read = False
        """Its shadow has been asked for."""
        self.unknown: Any = None
        """The elements whose derivative is not known, nan: in forward mode, what an earlier run has left."""
        self.at: Place = None
        """Where what is differentiated was stored there first."""
        self.by: tuple[Any, Any] = (None, None)
        """By which attribute of which object that was, where it was by one."""
        self._bytes: Array | None = None
        self._marks: Array | None = None
        self._last: tuple[Array, Array] | None = None
        """The array that was marked of late, and its marks."""

    def overlaps(self, place: tuple[int, int]) -> bool:
        """The part of memory from address to address lies here, or some of it."""
        return place[0] < self.low + self.size and self.low < place[1]

    @property
    def empty(self) -> bool:
        """Nothing was added yet, since it was cleared."""
        return self._bytes is None

    def clear(self) -> None:
        self._bytes = None

    def holds(self, shadow: Array) -> bool:
        return shadow.base is self._bytes

    def shadow(self, array: Array) -> Array:
        """That of `array`, which lies in this memory."""
        check_view(array, self.owner)
        self.read = True
        if self._bytes is None:
            self._bytes = np.zeros(self.size * (1 if self.count is None else self.count), np.uint8)
            if self.unknown is not None and self.owner.dtype == np.uint8:
                self._bytes[...] = 255  # which is nan of any size
            elif self.unknown is not None:
                index = self.unknown if self.count is None else (slice(None), self.unknown)
                self._shadow(self.owner, self._bytes)[index] = np.nan
        return self._shadow(array, self._bytes)

    def _shadow(self, array: Array, memory: Array) -> Array:
        if self.count is None:
            return self._mirrored(array, memory)
        shape, strides = (self.count, *array.shape), (self.size, *array.strides)
        return np.ndarray(shape, array.dtype, memory, address(array) - self.low, strides)

    def _mirrored(self, array: Array, memory: Array) -> Array:
        return np.ndarray(array.shape, array.dtype, memory, address(array) - self.low, array.strides)

    def mark(self, array: Array, index: Any) -> None:
        """What is differentiated has been stored into array[index]."""
        if self._marks is None:
            self.at, self._marks = place(), np.zeros(self.size, np.uint8)
        if self._last is None or self._last[0] is not array:
            self._last = array, self._mirrored(array, self._marks)
        self._last[1][index] = 1

    @property
    def marked(self) -> Array | None:
        """Of the owner, the elements that are."""
        return None if self._marks is None else self._mirrored(self.owner, self._marks) != 0


def part_of(array: Array, index: Any) -> Array:
    """array[index] as a view, also of one element; all of it where that is no view."""
    indices = index if type(index) is tuple else (index,)
    part = array[index] if any(i is ... for i in indices) else array[(*indices, ...)]
    return part if np.may_share_memory(part, array) else array
