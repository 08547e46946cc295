"""What is read and stored by way of objects of ctypes, in recorded runs (`buffers.py`)."""

from __future__ import annotations

import builtins
import ctypes
import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ctxdispatch.dispatch.overdub import resolve
from ctxdispatch.dispatch.reach import is_python, lookup
from ctxdispatch.ir.registry import Registry
from ctxdispatch_contexts.programs.c_objects import OF_CTYPES, shows
from ctxdispatch_contexts.programs.errors import MissingRuleError, user_position
from ctxdispatch_contexts.recording import memory, windows
from ctxdispatch_contexts.recording.addresses import address, bounds
from ctxdispatch_contexts.recording.leaves import listed
from ctxdispatch_contexts.recording.record import Record
from ctxdispatch_contexts.recording.windows import AS_IT_IS, read, store

Args = tuple[Any, ...]
HANDLERS: Registry[Any] = Registry()

# -- items ---------------------------------------------------------------------------------------------------


def _place(record: Record, buffer: Any, index: int) -> tuple[Any, Any]:
    """(shown, i): item `index` of an array or a pointer is shown[i]."""
    if not issubclass(type(buffer), windows.POINTER):
        return windows.opened(record, buffer), index
    kind = type(buffer)._type_
    at = ctypes.addressof(buffer.contents) + index * ctypes.sizeof(kind)
    return windows.at(record, buffer, at, kind), ()


def get(ctx: Any, callee: Any, args: Args) -> Any:
    buffer, index = args
    out = buffer[index]
    if type(out) is list:
        step = index.step or 1
        numbered = range(index.start or 0, index.stop, step) if _is_endless(buffer) else range(
            *index.indices(len(buffer))
        )  # fmt: skip
        return [read(ctx.record, buffer, *_place(ctx.record, buffer, i), v) for i, v in zip(numbered, out)]
    if type(index) is slice:
        return read(ctx.record, buffer, None, index, out)
    if shows(type(out)):
        return out
    return read(ctx.record, buffer, *_place(ctx.record, buffer, operator.index(index)), out)


def _is_endless(buffer: Any) -> bool:
    return issubclass(type(buffer), windows.POINTER)


def put(ctx: Any, callee: Any, args: Args) -> None:
    buffer, index, value = args
    if type(index) is not slice:
        if hasattr(index, "__index__"):
            index = operator.index(index)
            buffer[index]  # its own error, where there is none
            run = functools.partial(operator.setitem, buffer, index)
            if issubclass(type(buffer)._type_, windows.SIMPLE):
                store(ctx, buffer, *_place(ctx.record, buffer, index), value, run)
            else:
                _put_part(ctx, buffer, index, value, run)
        else:
            buffer[index] = value
        return
    numbered, values = range(*index.indices(len(buffer))), resolve(ctx, listed)(value)
    if len(numbered) != len(values):
        buffer[index] = value  # it raises
    for i, each in zip(numbered, values):
        put(ctx, callee, (buffer, i, each))


def _put_part(ctx: Any, buffer: Any, index: int, value: Any, run: Callable[[Any], Any]) -> None:
    """buffer[index] = value, which is an array or a structure."""
    record, kind = ctx.record, type(buffer)._type_
    if type(value) is tuple and len(value) <= getattr(kind, "_length_", -1):
        value = make(ctx, kind, value, {})
    shown, index = _place(record, buffer, index)
    given = windows.opened(record, value) if shows(type(value)) else None
    if shown is None or given is None or shown.dtype != given.dtype:
        store(ctx, buffer, None, index, value, run)
    else:
        given = ctx.array(given) if record.is_active(given) else given.copy()
        store(ctx, buffer, shown, index, given, lambda _: run(value))


for _cls in (ctypes.Array, ctypes._Pointer):
    HANDLERS.of(_cls.__getitem__)(get)
    HANDLERS.of(_cls.__setitem__)(put)

# -- attributes ----------------------------------------------------------------------------------------------

_VALUE = vars(windows.SIMPLE)["value"]


def _field(record: Record, buffer: Any, name: str) -> Any:
    """Where the attribute is in memory: an array; None: no floats; AS_IT_IS: it is not in memory."""
    found = lookup(type(buffer), name)
    if found is _VALUE:
        return windows.opened(record, buffer)
    if type(found) is windows.FIELD:
        kinds = {f[0]: f[1] for cls in type(buffer).__mro__ for f in vars(cls).get("_fields_", ())}
        kind = kinds.get(name)
        if kind is None or not issubclass(kind, windows.SIMPLE):
            return None
        return windows.at(record, buffer, ctypes.addressof(buffer) + found.offset, kind)
    return None if name in ("value", "raw") and issubclass(type(buffer), ctypes.Array) else AS_IT_IS


@HANDLERS.of(builtins.getattr)
def _get_attribute(ctx: Any, callee: Any, args: Args) -> Any:
    buffer, name, *_ = args
    place = _field(ctx.record, buffer, name) if issubclass(type(buffer), OF_CTYPES) else AS_IT_IS
    if place is AS_IT_IS:
        return AS_IT_IS
    out = getattr(buffer, name)
    return out if type(out) is not float and _is_apart(buffer) else read(ctx.record, buffer, place, (), out)


def _is_apart(buffer: Any) -> bool:
    """A structure in memory of its own: a field that is no float shares no bytes with one."""
    while buffer._b_base_ is not None and not issubclass(type(buffer), ctypes.Union):
        buffer = buffer._b_base_
    return issubclass(type(buffer), ctypes.Structure) and not buffer._objects


@HANDLERS.of(builtins.setattr)
def _set_attribute(ctx: Any, callee: Any, args: Args) -> Any:
    buffer, name, value = args
    place = _field(ctx.record, buffer, name) if issubclass(type(buffer), OF_CTYPES) else AS_IT_IS
    if place is AS_IT_IS:
        return AS_IT_IS
    store(ctx, buffer, place, (), value, functools.partial(setattr, buffer, name))
    if place is not None and (block := ctx.record.memory.find(place)) is not None:
        block.by = buffer, name
    return None


# -- making --------------------------------------------------------------------------------------------------


def make(ctx: Any, cls: Any, args: Args, kwargs: dict[str, Any]) -> Any:
    """cls(*args, **kwargs)"""
    if is_python(lookup(cls, "__init__")) or is_python(lookup(cls, "__new__")):
        return AS_IT_IS
    names = [f[0] for c in reversed(cls.__mro__) for f in vars(c).get("_fields_", ())]
    if issubclass(cls, windows.FIELDS) and len(args) <= len(names):
        made = cls()
        for name, value in (*zip(names, args), *kwargs.items()):
            resolve(ctx, setattr)(made, name, value)
        return made
    if issubclass(cls, ctypes.Array) and len(args) <= cls._length_ and not kwargs:
        made = cls()
        for i, value in enumerate(args):
            put(ctx, operator.setitem, (made, i, value))
        return made
    if issubclass(cls, windows.SIMPLE) and len(args) == 1 and not kwargs:
        made = cls()
        _set_attribute(ctx, setattr, (made, "value", args[0]))
        return made
    return cls(*args, **kwargs)  # it raises, or is a pointer


def _from_buffer(ctx: Any, callee: Any, args: Args) -> Any:
    """cls.from_buffer(source, offset)"""
    source = args[1] if len(args) > 1 else None
    return callee(*args) if issubclass(type(source), np.ndarray) or shows(type(source)) else AS_IT_IS


def _copied(ctx: Any, callee: Any, args: Args) -> Any:
    """cls.from_buffer_copy(source, offset)"""
    made, record = callee(*args), ctx.record
    _, source, *rest = args
    shown = windows.opened(record, made)
    if shown is None or not issubclass(type(source), np.ndarray):
        return AS_IT_IS
    place = address(source) + (rest[0] if rest else 0)
    given = windows.at(record, source, place, shown.dtype, shown.shape)
    store(ctx, made, shown, ..., given, lambda _: None)
    return made


for _cls in {type(c) for c in OF_CTYPES}:
    HANDLERS.of(_cls.from_buffer)(_from_buffer)
    HANDLERS.of(_cls.from_buffer_copy)(_copied)

# -- memory that is moved ------------------------------------------------------------------------------------


def _address(value: Any) -> int | None:
    if type(value) is int:
        return value
    if issubclass(type(value), windows.POINTER):
        return ctypes.addressof(value.contents)
    if issubclass(type(value), ctypes.c_void_p):
        return int(value.value or 0)
    return ctypes.addressof(value) if issubclass(type(value), OF_CTYPES) else None


def _doubles(record: Record, value: Any, size: Any) -> Any:
    """The floats in so many bytes where `value` points to; None where it is not known what is there."""
    at = _address(value)
    if at is None or type(size) is not int or size <= 0:
        return None
    dtype = np.dtype(np.float64)
    probe = windows.at(record, value, at, np.uint8, (size,))
    owner = memory.owner(probe)
    if owner.dtype.kind == "f":
        dtype = owner.dtype
    if size % dtype.itemsize or (at - bounds(owner)[0]) % dtype.itemsize:
        return None
    return windows.at(record, value, at, dtype, (size // dtype.itemsize,))


def _may_be_known(record: Record, value: Any, size: Any) -> bool:
    """The run may know what is there."""
    at = _address(value)
    if at is None or type(size) is not int:
        return bool(record.escaped or record.memory.written)
    probe = windows.at(record, value, at, np.uint8, (max(size, 0),))
    return memory.owner(probe) is not probe or record.memory.find(probe) is not None


def moved(ctx: Any, callee: Any, args: Args) -> Any:
    """memmove(to, source, size), memset(to, byte, size)"""
    record: Record = ctx.record
    to = _doubles(record, args[0], args[2]) if len(args) == 3 else None
    source = _doubles(record, args[1], args[2]) if to is not None and callee is ctypes.memmove else to
    if to is None or source is None:
        pointing = args[: 2 if callee is ctypes.memmove else 1]
        if record.any_active(args) or any(_may_be_known(record, a, args[-1]) for a in pointing):
            raise _refusal(callee)
        return callee(*args)
    given = None
    if callee is ctypes.memmove:
        given = ctx.array(source) if record.memory.is_active(source) else np.array(source)
    out: list[Any] = []
    store(ctx, args[0], to, ..., 0.0 if given is None else given, lambda _: out.append(callee(*args)))
    return out[0]


def cast(ctx: Any, callee: Any, args: Args) -> Any:
    """The function behind ctypes.cast: it looks at no numbers."""
    return callee(*args)


FOREIGN = {id(ctypes.memmove): moved, id(ctypes.memset): moved, id(ctypes._cast): cast}
"""By identity, for these have no hash: functions that are given addresses."""


def _refusal(callee: Any) -> MissingRuleError:
    name = "memmove" if callee is ctypes.memmove else "memset"
    return MissingRuleError(
        f"ctypes.{name} moves memory that may hold what depends on what is differentiated, and which floats "
        "these are is not known; store into the array itself (`a[:] = b`)",
        user_position(),
    )
