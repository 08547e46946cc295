"""The derivatives of arrays, by the memory that the arrays lie in.

An array's *shadow* has its shape, dtype and strides, over memory that mirrors the array's. So a view's shadow
is the same view of the shadow, whatever function made the view, and what is written by one name is read by
all. Complex shadows are not conjugated: the shadow of `z.imag` is the imaginary part of that of `z`. Of a
*block* of k derivatives there are k such memories, along a leading axis.

Invariant: a block keeps what owns its memory alive, so that no other array gets its address.
"""

from __future__ import annotations

import array as buffers
from typing import Any

import numpy as np

from ctxdispatch_contexts.programs.errors import MissingRuleError, described, user_position

Array = np.ndarray[Any, Any]


def owner(array: Array) -> Array:
    """The array that `array` is a view of; itself where it is none."""
    while True:
        base = array.base
        if base is None:
            return array
        if not isinstance(base, np.ndarray):  # `as_strided` has one in between, a buffer another
            base = base.obj if isinstance(base, memoryview) else getattr(base, "base", None)
        if not isinstance(base, np.ndarray):
            return array
        array = base


def view_of(buffer: Any) -> Array:
    """An array in the memory of an array.array."""
    return np.frombuffer(buffer, buffer.typecode)


def has_shadow(array: Any) -> bool:
    """An array of a dtype that has derivatives, or one that is read as such (a record of numbers)."""
    return isinstance(array, np.ndarray) and (array.dtype.kind in "fc" or array.dtype.names is not None)


class Block:
    """The memory of one owner. `active`: what is in there depends on what is differentiated."""

    __slots__ = ("owner", "low", "size", "count", "active", "_bytes")

    def __init__(self, of: Array, count: int | None) -> None:
        low, high = bounds(of)
        self.owner, self.low, self.size, self.count, self.active = of, low, high - low, count, False
        self._bytes: Array | None = None

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
        if self._bytes is None:
            self._bytes = np.zeros(self.size * (1 if self.count is None else self.count), np.uint8)
        offset = address(array) - self.low
        if self.count is None:
            return np.ndarray(array.shape, array.dtype, self._bytes, offset, array.strides)
        shape, strides = (self.count, *array.shape), (self.size, *array.strides)
        return np.ndarray(shape, array.dtype, self._bytes, offset, strides)


def bounds(array: Array) -> tuple[int, int]:
    """The addresses of the first byte and after the last one."""
    low, high = np.lib.array_utils.byte_bounds(array)
    return low, high


def address(array: Array) -> int:
    at: int = array.__array_interface__["data"][0]
    return at


_REMEMBERED = 256


class Memory:
    """The blocks of a run."""

    def __init__(self, count: int | None = None) -> None:
        self.count = count
        self._blocks: dict[int, Block] = {}
        self.views: set[int] = set()
        """The arrays by which memory of other objects is known (`Record.view`)."""
        self._shadows: dict[int, tuple[Array, Block, Array]] = {}
        """Of arrays of late, for those that are read element by element."""

    def find(self, array: Array) -> Block | None:
        """The block of `array`, None where the run knows nothing of its memory."""
        return self._blocks.get(id(owner(array)))

    def is_active(self, array: Array) -> bool:
        found = self._blocks.get(id(owner(array)))
        return found is not None and found.active

    def note(self, array: Array) -> Block:
        """The block of `array`, from now on known."""
        of = owner(array)
        found = self._blocks.get(id(of))
        if found is None:
            found = self._blocks[id(of)] = Block(of, self.count)
        return found

    def activate(self, array: Array) -> None:
        self.note(array).active = True

    def stored(self, array: Array) -> None:
        """What is differentiated has been stored into `array`. Refused where its memory is that of an object
        of another kind, for what that reads is not followed."""
        of = owner(array)
        base = None if id(of) in self.views else of.base
        base = base.obj if isinstance(base, memoryview) else base
        if isinstance(base, (buffers.array, bytearray, memoryview)):
            raise MissingRuleError(
                f"an array that lies in the memory of ({described(type(base))}) is given a value that "
                "depends on what is differentiated, which would be lost there; use an array of floats of "
                "its own (`np.array(...)`)",
                user_position(),
            )
        self.activate(array)

    def copies(self) -> list[tuple[Array, bytes]]:
        """What can be written into of the memory that is known, and what is there now."""
        return _copies([block.owner for block in self._blocks.values()])

    def clear(self) -> None:
        for block in self._blocks.values():
            block.clear()

    def shadow(self, array: Array) -> Array:
        known = self._shadows.get(id(array))
        if known is not None and known[0] is array and known[1].holds(known[2]):
            return known[2]
        block = self.note(array)
        made = block.shadow(array)
        if len(self._shadows) >= _REMEMBERED:
            self._shadows.clear()
        self._shadows[id(array)] = (array, block, made)
        return made

    def arrived(self, array: Array) -> Array | None:
        """A copy of the shadow; None where nothing was added to it. Of elements that share memory one has
        what arrived there, and the others nothing."""
        found = self.find(array)
        if found is None or found.empty:
            return None
        shadow = found.shadow(array)
        if self.count is not None or not overlaps(shadow):
            return shadow.copy()
        out = np.zeros_like(shadow, order="C", subok=False)
        _, first = np.unique(_elements(found, array)[1], return_index=True)
        out.reshape(-1)[first] = shadow.reshape(-1)[first]
        return out

    def add(self, array: Array, derivative: Any) -> None:
        """shadow(array) += derivative, also where elements of `array` share memory."""
        shadow = self.shadow(array)
        if not overlaps(shadow):
            shadow += derivative
            return
        block = self.note(array)
        derivative = np.broadcast_to(derivative, shadow.shape)
        flat, places = _elements(block, array)
        np.add.at(flat, places, derivative)


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


def _elements(block: Block, array: Array) -> tuple[Array, Array]:
    """The shadow as one row of elements, and where in it those of `array` are."""
    offset = address(array) - block.low
    first = offset % array.itemsize
    n = (block.size - first) // array.itemsize
    places = np.full(array.shape, (offset - first) // array.itemsize, np.intp)
    for axis, (stride, length) in enumerate(zip(array.strides, array.shape, strict=True)):
        steps = np.arange(length) * (stride // array.itemsize)
        places += steps.reshape(-1, *[1] * (array.ndim - axis - 1))
    flat = np.ndarray((n,), array.dtype, block._bytes, first)
    return flat, places


def differ(array: Array, other: Array) -> bool:
    """In some bit."""
    return array.tobytes() != other.tobytes()


def changed(kept: list[tuple[Array, bytes]]) -> bool:
    """Whether any of what `Memory.copies` found holds something else by now."""
    return any(array.tobytes() != before for array, before in kept)


def _copies(owners: list[Array]) -> list[tuple[Array, bytes]]:
    return [(a, a.tobytes()) for a in owners if a.flags.writeable and a.dtype != object]


# What a run looks at for itself depends on nothing in the run around it.
differ.__overdub__ = lambda ctx, array, other: differ(array, other)  # type: ignore[attr-defined]
changed.__overdub__ = lambda ctx, kept: changed(kept)  # type: ignore[attr-defined]
_copies.__overdub__ = lambda ctx, owners: _copies(owners)  # type: ignore[attr-defined]
