"""Metadata beside values that cannot be proxies.

    Marks      of a value as a whole, by its identity
    Shadows    of the elements of NumPy arrays: an object array of the same layout as the memory of the owner

Invariants: who has a view sees what was written through another, whenever the view was made; what no longer
lives has no entry (a mark keeps what cannot be referred to weakly).
"""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Iterator
from typing import Any, NamedTuple

from ctxdispatch.ir.own_builtins import own as __builtins__  # type: ignore[no-redef]  # noqa: F401


class Marks:
    """By id: a value need not be hashable."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, list[Any]]] = {}
        self._raised: set[int] = set()

    def __bool__(self) -> bool:
        return bool(self._known)

    def add(self, value: Any, metadata: Any) -> None:
        self.put(value, metadata, beside=self.of(value))

    def put(self, value: Any, metadata: Any, beside: Any = ()) -> None:
        """In place of what was there, but for what is `beside`."""
        reference = _reference(value, self._known)
        if type(reference) is Strong and issubclass(type(value), BaseException):
            self._forget_handled()
            self._raised.add(id(value))
        self._known[id(value)] = (reference, [*beside, metadata])

    def _forget_handled(self) -> None:
        """An exception that nobody else refers to any more would keep frames, and all that is in them."""
        for key in [*self._raised]:
            found = self._known.get(key)
            if found is None or sys.getrefcount(found[0].value) <= _OURS:
                self._raised.discard(key)
                self._known.pop(key, None)

    def of(self, value: Any) -> list[Any]:
        if not self._known:
            return []
        found = self._known.get(id(value))
        return [] if found is None or _referent(found[0]) is not value else found[1]

    def drop(self, value: Any) -> None:
        self._known.pop(id(value), None)


class Strong(NamedTuple):
    value: Any


_ALONE = Strong(ValueError())
_OURS = sys.getrefcount(_ALONE.value)
"""The references to what only a `Strong` refers to."""


def _reference(value: Any, known: dict[int, Any]) -> Any:
    key = id(value)
    try:
        return weakref.ref(value, lambda _: known.pop(key, None))
    except TypeError:
        return Strong(value)


def _referent(reference: Any) -> Any:
    return reference.value if type(reference) is Strong else reference()


# -- arrays ----------------------------------------------------------------------------------------


class Held:
    """The metadata of an element: a box, for metadata may itself be an array."""

    __slots__ = ("metadata",)

    def __init__(self, *metadata: Any) -> None:
        self.metadata = metadata


def is_array(value: Any) -> bool:
    """Asked without an import: where numpy was not imported, there are none."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and issubclass(type(value), numpy.ndarray)


def behind(view: memoryview) -> list[Any]:
    """Whose memory it shows; nothing, once it was released."""
    return [held for buffer in gc.get_referents(view) for held in gc.get_referents(buffer)]


def is_flat(value: Any) -> bool:
    """Whether it is what `a.flat` gives."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and type(value) is numpy.flatiter


class Shadows:
    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, Any, int]] = {}

    def of(self, array: Any) -> Any:
        """The shadow of `array`: an object array of its shape, of `Held` and None; None if it has none."""
        if not self._known:
            return None
        owner = _owner(array)
        found = self._known.get(id(owner))
        if found is None or found[0]() is not owner:
            return None
        _, flat, low = found
        return _view(array, owner, flat, low) if _fits(array, owner) else _gathered(array, owner, flat, low)

    def write(self, array: Any, key: Any, boxes: Any) -> None:
        """array[key] was assigned to; `boxes` is an object array that broadcasts, or None: no metadata."""
        owner = _owner(array)
        if self.of(owner) is None:
            if boxes is None:
                return
            self._make(owner)
        if _fits(array, owner):
            self.of(array)[key] = cells(boxes)
        elif boxes is not None:
            self._add_everywhere(owner, [*held_in(boxes)])

    def fill(self, array: Any, metadata: Any) -> None:
        """All elements of `array` get `metadata`."""
        self.write(array, ..., boxed(metadata))

    def metadata(self, array: Any) -> list[Any]:
        """What the elements of `array` have, each once."""
        shadow = self.of(array)
        return [] if shadow is None else [*held_in(shadow)]

    def _make(self, owner: Any) -> None:
        key, known = id(owner), self._known
        known[key] = (weakref.ref(owner, lambda _: known.pop(key, None)), *_flat(owner))

    def _add_everywhere(self, owner: Any, metadata: list[Any]) -> None:
        """Written in a layout that has no view of the shadow: to be safe, it may have been any element."""
        _, flat, _ = self._known[id(owner)]
        flat[...] = boxed(*held_in(flat), *metadata)[()]


def boxed(*metadata: Any) -> Any:
    """The shadow of one element."""
    import numpy as np

    box = np.empty((), dtype=object)
    box[()] = Held(*metadata)
    return box


def cells(boxes: Any) -> Any:
    """What can be assigned to a part of a shadow: NumPy would store an array without axes as it is."""
    return boxes if boxes is None or boxes.ndim else boxes[()]


def held_in(shadow: Any) -> Iterator[Any]:
    boxes = {id(box): box for box in shadow.flat if box is not None}
    return iter({id(m): m for box in boxes.values() for m in box.metadata}.values())


def _owner(array: Any) -> Any:
    """The array whose memory it is."""
    base = array.base
    while base is not None:
        base = base if is_array(base) else _operand(array, base)
        if base is None:
            return array
        array, base = base, base.base
    return array


def _operand(array: Any, iterator: Any) -> Any:
    """Which array an `np.nditer` goes through where it gives `array`; None for everything else."""
    import numpy as np

    if type(iterator) is not np.nditer:
        return None
    try:
        operands = iterator.operands
    except ValueError:  # it was closed
        return None
    return next((each for each in operands if np.may_share_memory(each, array)), None)


def _flat(owner: Any) -> tuple[Any, int]:
    """A cell for each element that the memory of `owner` has room for, and where that memory begins."""
    import numpy as np

    low, high = np.lib.array_utils.byte_bounds(owner)
    return np.full((high - low) // max(owner.itemsize, 1) + 1, None, dtype=object), low


def _fits(array: Any, owner: Any) -> bool:
    """Whether its elements lie in cells of the owner's, at equal distances."""
    size = owner.itemsize
    if owner.dtype.names is not None:  # several fields in one cell
        return False
    return size > 0 and array.itemsize <= size and not any(step % size for step in array.strides)


def _view(array: Any, owner: Any, flat: Any, low: int) -> Any:
    import numpy as np

    if array.size == 0:
        return np.full(array.shape, None, dtype=object)
    cell = (array.__array_interface__["data"][0] - low) // owner.itemsize
    steps = tuple(step // owner.itemsize * flat.itemsize for step in array.strides)
    return np.lib.stride_tricks.as_strided(flat[cell:], array.shape, steps)


def _gathered(array: Any, owner: Any, flat: Any, low: int) -> Any:
    """Each element has what the cells that it covers have."""
    import numpy as np

    shadow, size = np.full(array.shape, None, dtype=object), max(owner.itemsize, 1)
    first = array.__array_interface__["data"][0] - low
    for index in np.ndindex(array.shape):
        start = first + sum(i * step for i, step in zip(index, array.strides))
        cells = flat[start // size : (start + array.itemsize - 1) // size + 1]
        found = [*held_in(cells)]
        if found:
            shadow[index] = Held(*found)
    return shadow
