"""Objects that show memory as numbers (`windows.py`), in recorded runs: array.array, memoryview, of ctypes.

An item that is read is a number, and one that is stored is stored into the array that lies there (`opened`);
NumPy's functions get that array, Python's that go through their arguments the items. What changes how long an
array.array is, makes bytes of it, or reads other numbers out of the same bytes, is refused.

`pointers.py` and `structs.py` say what ctypes and struct do beside that.
"""

from __future__ import annotations

import array
import builtins
import ctypes
import functools
import operator
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from ctxdispatch.dispatch.overdub import resolve
from ctxdispatch.dispatch.reach import natively, special
from ctxdispatch.dispatch.strip import is_iterator
from ctxdispatch.facts import ARITHMETIC, ATTRIBUTES, INPLACE, ITEMS, fact_of
from ctxdispatch.ir.leaves import is_ours
from ctxdispatch.ir.registry import Registry
from ctxdispatch.ir.values import hashable
from ctxdispatch_contexts.programs.c_objects import shows
from ctxdispatch_contexts.programs.errors import (
    MissingRuleError,
    described,
    user_frame,
    user_position,
)
from ctxdispatch_contexts.programs.kinds import FLOATS
from ctxdispatch_contexts.recording import arrays, conversions, pointers, structs, windows
from ctxdispatch_contexts.recording.leaves import listed
from ctxdispatch_contexts.recording.record import Record
from ctxdispatch_contexts.recording.windows import AS_IT_IS, read, store

Args = tuple[Any, ...]
Kwargs = dict[str, Any]
Handler = Callable[[Any, Any, Args], Any]
HANDLERS: Registry[Handler] = Registry(pointers.HANDLERS | structs.HANDLERS)
_WITHOUT = frozenset({*map(id, (array.array, memoryview, *structs.HANDLERS)), *pointers.FOREIGN})
"""By identity, what makes such objects of operands of other kinds, or is given memory."""
_OTHERS = frozenset({float, int, bool, str, type(None), slice, tuple, list, np.ndarray, np.float64})


@natively
def are_here(callee: Any, args: Args) -> bool:
    """The call makes, or is given, such an object."""
    if id(callee) in _WITHOUT or windows.is_class(callee):
        return True
    return not _OTHERS.issuperset(map(type, args)) and any(map(windows.shows_or_makes, map(type, args)))


@natively
def follows(callee: Any, args: Args, kwargs: Kwargs) -> bool:
    """It is said here what the call does to memory."""
    if kwargs and not windows.is_class(callee) and id(callee) not in _NAMES:
        return False
    return are_here(callee, args) and (windows.is_class(callee) or _handler(callee, args) is not None)


def _handler(callee: Any, args: Args) -> Handler | None:
    if id(callee) in _OF_ANY and not (args and shows(type(args[0]))):
        return None
    return HANDLERS.get(callee) if hashable(callee) else pointers.FOREIGN.get(id(callee))


_OF_ANY = frozenset(map(id, (*ITEMS, *ATTRIBUTES)))
"""By identity, what is done with objects of any kind."""


def concerned(record: Record, callee: Any, args: Args) -> bool:
    """What depends on what is differentiated is in it, or may be stored into it or where it is."""
    if callee is array.array:
        return len(args) == 2 and not issubclass(type(args[1]), (str, bytes, bytearray))
    if callee is operator.mul and any(map(windows.is_class, args)):
        return True
    if id(callee) in pointers.FOREIGN or (callee is array.array.extend and is_iterator(args[1])):
        return True
    if args and issubclass(type(args[0]), windows.POINTER):
        return True
    if args and callee in _STORES and shows(type(args[0])):
        return is_iterator(args[-1]) or record.any_active(args) or windows.is_known(record, args[0])
    return record.any_active(args)


_STORES = (operator.setitem, builtins.setattr)


def handle(ctx: Any, callee: Any, args: Args, kwargs: Kwargs) -> Any:
    """What the call gives, AS_IT_IS where it is no matter of these objects' own."""
    if windows.is_class(callee):
        return pointers.make(ctx, callee, args, kwargs)
    names = _NAMES.get(id(callee), ()) if kwargs else ()
    while len(args) < len(names) and names[len(args)] in kwargs:
        name = names[len(args)]
        args, kwargs = (*args, kwargs[name]), {k: v for k, v in kwargs.items() if k != name}
    if kwargs:
        return AS_IT_IS
    found, row = _handler(callee, args), fact_of(callee)
    if found is None and row is not None and row.stores.has(0):  # the second one is gone through
        found = _resized if args and type(args[0]) is array.array else None
    if found is not None and args and special(type(args[0]), getattr(callee, "__name__", "")) is not None:
        return AS_IT_IS
    return AS_IT_IS if found is None else found(ctx, callee, args)


_NAMES = {
    **dict.fromkeys(map(id, structs.HANDLERS), ("format", "buffer", "offset")),
    id(np.frombuffer): ("buffer", "dtype", "count", "offset"),
}
"""By identity, what arguments are called that may be given by name."""


def operands(ctx: Any, callee: Any, args: Args, moves: bool) -> Args:
    """What stands for such objects among the arguments of a call. `moves`: it moves objects, and gives no
    number; but as a method of theirs."""
    record: Record = ctx.record
    if moves:
        if type(callee) in _METHODS and shows(type(args[0])) and record.is_active(args[0]):
            raise _no_rule(callee, args)
        return args
    if _is_numpys(callee, args):
        return tuple([_opened(record, callee, a) if shows(type(a)) else a for a in args])
    if getattr(callee, "__module__", None) in _OF_ITEMS and not issubclass(type(callee), type):
        return tuple([[*items(ctx, a)] if _has_items(a) else a for a in args])
    if all(not shows(type(a)) or not record.is_active(a) for a in args):
        return args
    raise _no_rule(callee, args)


_OF_ITEMS = ("builtins", "math", "statistics")
"""Modules whose functions compute with the items of what they go through."""
_METHODS = (types.MethodDescriptorType, types.WrapperDescriptorType)


def _no_rule(callee: Any, args: Args) -> MissingRuleError:
    kind = next(described(type(a)) for a in args if shows(type(a)))
    return MissingRuleError(
        f"{described(callee)} has no derivative rule for ({kind}), which shows memory as numbers; make it an "
        "array (`np.asarray(a)`), or use a list",
        user_position(),
    )


def _opened(record: Record, callee: Any, value: Any) -> Any:
    found = windows.opened(record, value)
    if found is None:
        raise _no_rule(callee, (value,))
    return found


def _has_items(value: Any) -> bool:
    return shows(type(value)) and hasattr(type(value), "__getitem__")


def viewed(record: Record, value: Any) -> Any:
    """`value` with arrays in place of what shows memory of floats, also in lists."""
    if type(value) in (list, tuple):
        kinds = set(map(type, value))
        inner = any(shows(kind) or kind is list or kind is tuple for kind in kinds)
        return type(value)([viewed(record, item) for item in value]) if inner else value
    if not shows(type(value)) or not (windows.has_floats(value) or record.is_active(value)):
        return value
    found = windows.opened(record, value)
    return value if found is None else found


def _is_numpys(callee: Any, args: Args) -> bool:
    if args and issubclass(type(args[0]), np.ndarray) and id(callee) in _OF_ANY:
        return True
    numpys = any(issubclass(type(a), (np.ndarray, np.generic)) for a in args)
    if numpys and hashable(callee) and (callee in ARITHMETIC or callee in INPLACE):
        return True
    return type(callee) is np.ufunc or str(getattr(callee, "__module__", "")).startswith("numpy")


# -- items ---------------------------------------------------------------------------------------------------


def items(ctx: Any, buffer: Any) -> Any:
    """The items one by one, written down if they have to be by then."""
    return map(functools.partial(resolve(ctx, operator.getitem), buffer), range(len(buffer)))


@HANDLERS.of(operator.getitem, array.array.__getitem__, memoryview.__getitem__)
def _get(ctx: Any, callee: Any, args: Args) -> Any:
    buffer, index = args
    if not issubclass(type(buffer), (array.array, memoryview)):
        return pointers.get(ctx, callee, args)
    out, record = buffer[index], ctx.record
    if type(out) is memoryview:
        return out
    shown = windows.opened(record, buffer)
    return _filled(record, out, shown[index]) if type(out) is array.array else read(
        record, buffer, shown, index, out
    )  # fmt: skip


def _filled(record: Record, made: Any, values: Any) -> Any:
    """`made`, of which the items are these."""
    view = record.view(made)
    kept = record.before(view, ...)
    record.track(view)
    record.store(view, ..., values, kept)
    return made


@HANDLERS.of(operator.setitem, array.array.__setitem__, memoryview.__setitem__)
def _set(ctx: Any, callee: Any, args: Args) -> None:
    buffer, index, value = args
    record: Record = ctx.record
    if not issubclass(type(buffer), (array.array, memoryview)):
        pointers.put(ctx, callee, args)
        return
    shown = windows.opened(record, buffer)
    if not _has_item(buffer, index):
        buffer[index] = value  # it raises
    if issubclass(type(index), slice) and type(buffer) is array.array and len(value) != len(buffer[index]):
        raise _other_length("a slice of another length")
    if _is_part(index):
        given = windows.opened(record, value) if shows(type(value)) else value
        if shown is None or not issubclass(type(given), np.ndarray) or given.dtype != shown.dtype:
            given = () if shown is None or not record.any_active(args) else ctx.array([*given])
        elif np.may_share_memory(shown, given):
            given = ctx.array(given) if record.is_active(given) else given.copy()
        store(ctx, buffer, shown, index, given, lambda _: operator.setitem(buffer, index, value))
    else:
        store(ctx, buffer, shown, index, value, functools.partial(operator.setitem, buffer, index))


@natively
def _has_item(buffer: Any, index: Any) -> bool:
    try:
        buffer[index]
    except (IndexError, TypeError, ValueError, NotImplementedError):
        return False
    return True


def _is_part(index: Any) -> bool:
    return index is ... or any(type(i) is slice for i in (index if type(index) is tuple else (index,)))


@HANDLERS.of(array.array)
def _made(ctx: Any, callee: Any, args: Args) -> Any:
    """array.array(typecode, items)"""
    typecode, given = args
    if typecode not in FLOATS:
        return array.array(typecode, given)
    record: Record = ctx.record
    taken = [*given] if type(given) is array.array else resolve(ctx, listed)(given)
    taken = conversions.of_dtype(ctx, np.dtype(typecode), taken)
    made = array.array(typecode, taken)
    if type(given) is array.array:
        return _filled(record, made, record.view(given)) if record.is_active(given) else made
    return _filled(record, made, ctx.array(taken)) if record.any_active(taken) else made


@HANDLERS.of(array.array.extend)
def _extended(ctx: Any, callee: Any, args: Args) -> None:
    buffer, given = args
    taken = [*ctx._splat(given)]
    if buffer.typecode in FLOATS:
        taken = conversions.of_dtype(ctx, np.dtype(buffer.typecode), taken)
    if ctx.record.any_active((buffer, taken)):
        raise _other_length(described(callee))
    buffer.extend(taken)


def _other_length(what: str) -> MissingRuleError:
    return MissingRuleError(
        f"{what} of an array.array that depends on what is differentiated changes how long it is; use a list",
        user_position(),
    )


@HANDLERS.of(array.array.tolist, memoryview.tolist)
def _listed(ctx: Any, callee: Any, args: Args) -> Any:
    shown = windows.opened(ctx.record, args[0])
    return args[0].tolist() if shown is None else resolve(ctx, _nested)(shown)


def _nested(values: Any) -> Any:
    return [_nested(row) if row.ndim else float(row) for row in map(np.asarray, values)]


@HANDLERS.of(operator.add, operator.mul)
def _joined(ctx: Any, callee: Any, args: Args) -> Any:
    """Of an array of NumPy's and an array.array, an operation on elements. c_double * 3 makes a class, which
    is of the module of whoever asks."""
    if any(map(windows.is_class, args)):
        made, frame = callee(*args), user_frame()
        if is_ours(made.__module__) and frame is not None:
            made.__module__ = frame.f_globals.get("__name__")
        return made
    if _is_numpys(callee, args):
        return AS_IT_IS
    raise MissingRuleError(
        f"{described(callee)} of array.arrays makes another one out of sight; use lists, or arrays "
        "(`np.concatenate`)",
        user_position(),
    )


def _resized(ctx: Any, callee: Any, args: Args) -> Any:
    raise _other_length(described(callee))


@HANDLERS.of(np.frombuffer)
def _over(ctx: Any, callee: Any, args: Args) -> Any:
    """np.frombuffer(m, dtype, count, offset): an array in that memory."""
    return arrays.shown(ctx.record, callee, args, {}, callee) if shows(type(args[0])) else AS_IT_IS


# -- views ---------------------------------------------------------------------------------------------------


@HANDLERS.of(memoryview)
def _shown(ctx: Any, callee: Any, args: Args) -> Any:
    """memoryview(a)"""
    of = args[0] if len(args) == 1 else None
    return memoryview(of) if issubclass(type(of), np.ndarray) or shows(type(of)) else AS_IT_IS


@HANDLERS.of(
    memoryview.cast, memoryview.toreadonly, memoryview.release, memoryview.__enter__, memoryview.__exit__,
    memoryview.__len__, memoryview.__hash__, ctypes.addressof, ctypes.byref, ctypes.pointer, ctypes.sizeof,
    ctypes.alignment,
)  # fmt: skip
def _natively(ctx: Any, callee: Any, args: Args) -> Any:
    """They look at no numbers."""
    return callee(*args)
