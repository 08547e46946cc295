"""Objects of Python's own that show memory as numbers, and the arrays that lie there.

    array.array     memoryview     c_double(), (c_double * 3)(), structures, pointers

Such an object makes a new number each time it is read. So its numbers are known by where they lie: `opened`
is an array in that place, whose owner is the array that has the memory, where one is seen from the object, or
had its address taken; else the run may know the memory by its address. Memory of its own is known by an array
of bytes over all of it, for one block has what its parts show.
"""

from __future__ import annotations

import array as buffers
import ctypes
import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from ctxdispatch.dispatch.overdub import resolve
from ctxdispatch.dispatch.reach import lookup, natively
from ctxdispatch_contexts.programs.c_objects import OF_CTYPES, all_reached, shows
from ctxdispatch_contexts.programs.errors import MissingRuleError, described, user_position
from ctxdispatch_contexts.programs.kinds import FLOATS
from ctxdispatch_contexts.recording import memory
from ctxdispatch_contexts.recording.addresses import bounds
from ctxdispatch_contexts.recording.leaves import is_number, snapshot
from ctxdispatch_contexts.recording.shown import check_view

Array = np.ndarray[Any, Any]
AS_IT_IS: Any = object()
SIMPLE: type = ctypes._SimpleCData
FIELDS: tuple[type, ...] = (ctypes.Structure, ctypes.Union)
POINTER: type = ctypes._Pointer
_CLASSES_OF_CTYPES = tuple({type(c) for c in OF_CTYPES})
FIELD = type(vars(type("", (ctypes.Structure,), {"_fields_": [("a", ctypes.c_double)]}))["a"])


@functools.lru_cache(4096)
def shows_or_makes(cls: type) -> bool:
    """Its objects do, or are classes of ctypes, which make such objects."""
    return shows(cls) or issubclass(cls, _CLASSES_OF_CTYPES)


def is_class(value: Any) -> bool:
    """A class of ctypes."""
    return issubclass(type(value), _CLASSES_OF_CTYPES)


class _Within:
    """What an array in the memory of `base` has as its base."""

    __slots__ = ("__array_interface__", "base")

    def __init__(self, base: Any, **interface: Any) -> None:
        self.__array_interface__, self.base = {"version": 3, **interface}, base


def opened(record: Any, value: Any) -> Array | None:
    """The numbers that `value` shows; None where there are none, or not as an array (a pointer, a structure,
    a memoryview that was released)."""
    if type(value) is buffers.array:
        view: Array = record.view(value)  # which runs around this one have too
        return view
    return _opened(record, value)


@natively
def _opened(record: Any, value: Any) -> Array | None:
    if issubclass(type(value), (*FIELDS, POINTER)):
        return None
    try:
        shown = np.asarray(value)
    except (ValueError, TypeError, BufferError):  # it has been released, or has items of another kind
        return None
    return placed(record, value, shown) if shown.dtype.kind in _KINDS else None


_KINDS = "fciub"


def placed(record: Any, value: Any, shown: Array) -> Array:
    """An array where `shown` lies, which `value` shows, that is a view of what has the memory."""
    place = bounds(shown)
    for owner in _owners(record, value):
        low, high = bounds(owner)
        if low <= place[0] and place[1] <= high:
            return _within(owner, shown)
    return _within(None, shown) if _is_elsewhere(value) else shown


def _is_elsewhere(value: Any) -> bool:
    """It is an address, where memory of something else is."""
    while (base := getattr(value, "_b_base_", None)) is not None:
        value = base
    return issubclass(type(value), OF_CTYPES) and not value._b_needsfree_


def _within(owner: Array | None, shown: Array) -> Array:
    made = np.asarray(_Within(owner, **_layout(shown)))
    return made if made.dtype == shown.dtype else made.view(shown.dtype)


def _layout(shown: Array) -> dict[str, Any]:
    interface = shown.__array_interface__
    return {name: interface[name] for name in ("data", "shape", "strides", "typestr")}


@natively
def at(record: Any, value: Any, address: int, kind: Any, shape: tuple[int, ...] = ()) -> Array | None:
    """Numbers of the kind (a dtype, or a class of ctypes) at an address that `value` tells; None where these
    are none."""
    try:
        dtype = np.dtype(kind)
    except TypeError:  # NumPy has none such
        return None
    if dtype.kind not in _KINDS:
        return None
    shown = np.asarray(_Within(None, data=(address, False), shape=shape, strides=None, typestr=dtype.str))
    return placed(record, value, shown)


def _owners(record: Any, value: Any) -> Iterator[Array]:
    """Arrays whose memory `value` may show."""
    yield from _memories(record, (value, *all_reached(value)))
    yield from record.escaped.alive()


def _memories(record: Any, parts: Iterable[Any]) -> Iterator[Array]:
    for part in parts:
        cls = type(part)
        if issubclass(cls, np.ndarray):
            yield memory.owner(part)
        elif cls is buffers.array:
            yield record.buffers[id(part)][1] if id(part) in record.buffers else memory.view_of(part)
        elif issubclass(cls, OF_CTYPES) and part._b_needsfree_ and ctypes.sizeof(part):
            yield np.frombuffer(part, np.uint8)


@natively
def holder(array: Array) -> Any:
    """What has the memory of an array: its owner, or the object that this was made over."""
    of = memory.owner(array)
    base = of.base.obj if issubclass(type(of.base), memoryview) else of.base
    return base if shows(type(base)) else of


@natively
def whole(record: Any, of: Any) -> Array:
    """All of the memory of a `holder`."""
    if issubclass(type(of), np.ndarray):
        return of
    found: Array = record.view(of) if type(of) is buffers.array else np.frombuffer(of, np.uint8)
    return found


@natively
def is_known(record: Any, value: Any) -> bool:
    """The run may know the memory that it shows."""
    shown = opened(record, value)
    return shown is None or record.memory.find(shown) is not None


@natively
def is_seen(record: Any, array: Array) -> bool:
    """It is seen whose memory it lies in."""
    return type(memory.owner(array).base) is not _Within or record.memory.find(array) is not None


def has_floats(value: Any) -> bool:
    """Its items may be floats."""
    if type(value) is buffers.array:
        return value.typecode in FLOATS
    return type(value) is not memoryview or value.format[-1:] in FLOATS


@natively
def is_active(record: Any, value: Any) -> bool:
    """What `value` shows depends on what is differentiated."""
    if type(value) is buffers.array:
        found = record.buffers.get(id(value))
        return found is not None and record.memory.is_active(found[1])
    shown = opened(record, value)
    if shown is not None:
        active: bool = record.memory.is_active(shown)
        return active
    if issubclass(type(value), POINTER) and value:
        place = at(record, value, ctypes.addressof(value.contents), np.uint8)
        return place is not None and bool(record.memory.is_active(place))
    return any(map(record.memory.is_active, _memories(record, (value, *all_reached(value)))))


# -- numbers -------------------------------------------------------------------------------------------------


def read(record: Any, buffer: Any, shown: Any, index: Any, out: Any) -> Any:
    """out = shown[index], a number that `buffer` has given; `shown` is None where it is none."""
    active = record.is_active(buffer) if shown is None else record.memory.is_active(shown)
    if not active or not issubclass(type(out), (int, float, complex, bytes, str)):
        return out
    if shown is None or shown.dtype.kind not in "fc":
        raise other_numbers(buffer)
    check_view(shown, memory.owner(shown))
    record.read(shown, index, out)
    return out


def other_numbers(buffer: Any) -> MissingRuleError:
    return MissingRuleError(
        f"({described(type(buffer))}) shows memory of floats that depend on what is differentiated as "
        "numbers of another kind; read the array itself",
        user_position(),
    )


def store(ctx: Any, buffer: Any, shown: Any, index: Any, value: Any, run: Callable[[Any], Any]) -> None:
    """run(value) puts `value` into shown[index]; `shown` is None where that is no number."""
    record = ctx.record
    if shown is None or not issubclass(type(value), np.ndarray) or np.ndim(shown[index]) == 0:
        value = number(ctx, value)
    active = record.any_active((value,))
    if shown is None or shown.dtype.kind not in "fc":
        run(value)  # Python refuses most floats there
        if active or record.is_active(buffer):
            raise other_numbers(buffer)
        return
    if active and not is_seen(record, shown):
        raise _unknown_memory(buffer)
    if active and type(of := holder(shown)) is buffers.array:
        shown = _within(record.view(of), shown)
    index = snapshot(index)
    kept = record.before(shown, index)
    run(value)
    if active:
        record.memory.stored(shown, index)
    record.store(shown, index, value, kept)


def number(ctx: Any, value: Any) -> Any:
    """What C code takes for a number, as one."""
    if is_number(value) or shows(type(value)) or lookup(type(value), "__float__") is None:
        return value
    if issubclass(type(value), np.ndarray) and value.size != 1:
        return value
    return value if type(value) in (int, bool) else resolve(ctx, float)(value)


def _unknown_memory(buffer: Any) -> MissingRuleError:
    return MissingRuleError(
        f"({described(type(buffer))}) stores what depends on what is differentiated to an address, and which "
        "array has that is not known; store it into the array itself",
        user_position(),
    )
