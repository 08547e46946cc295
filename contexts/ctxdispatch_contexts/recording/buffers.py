"""array.array in recorded runs: its memory is known by an array that lies there (`Record.view`).

An item that is read is a number, and one that is stored is stored into that array; NumPy's functions get the
array, Python's that go through their arguments the items. What changes its length is refused.
"""

from __future__ import annotations

import array
import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ctxdispatch.dispatch.overdub import resolve
from ctxdispatch.dispatch.strip import is_iterator
from ctxdispatch.facts import ARITHMETIC, fact_of
from ctxdispatch.ir.registry import Registry
from ctxdispatch.ir.values import hashable
from ctxdispatch_contexts.programs.errors import MissingRuleError, described, user_position
from ctxdispatch_contexts.programs.kinds import FLOATS
from ctxdispatch_contexts.recording.leaves import listed, snapshot
from ctxdispatch_contexts.recording.record import Record

Args = tuple[Any, ...]
Handler = Callable[[Any, Any, Args], Any]
AS_IT_IS: Any = object()
_HANDLERS: Registry[Handler] = Registry()


def concerned(record: Record, callee: Any, args: Args) -> bool:
    """The call makes, or is given, an array.array that depends on what is differentiated, or stores into one
    what does."""
    if callee is array.array:
        return len(args) == 2 and not isinstance(args[1], (str, bytes, bytearray))
    if callee is operator.setitem and type(args[0]) is array.array:
        return id(args[0]) in record.buffers or is_iterator(args[-1]) or record.any_active(args)
    if any(type(a) is array.array and record.is_active(a) for a in args):
        return True
    return callee is array.array.extend and is_iterator(args[1])


def handle(ctx: Any, callee: Any, args: Args) -> Any:
    """What the call gives, AS_IT_IS where it is no matter of an array.array's own."""
    found, row = _HANDLERS.get(callee) if hashable(callee) else None, fact_of(callee)
    if row is not None and row.stores.has(0):  # the second one is gone through
        found = (found or _resized) if type(args[0]) is array.array else None
    return AS_IT_IS if found is None else found(ctx, callee, args)


def operands(ctx: Any, callee: Any, args: Args) -> Args:
    """What stands for the array.arrays among the arguments of a call."""
    record: Record = ctx.record
    if _is_numpys(callee, args):
        return tuple([record.view(a) if type(a) is array.array else a for a in args])
    if getattr(callee, "__module__", None) in ("builtins", "math") and not issubclass(type(callee), type):
        return tuple([[*items(record, a)] if type(a) is array.array else a for a in args])
    raise MissingRuleError(
        f"{described(callee)} has no derivative rule for an array.array; make it an array "
        "(`np.asarray(a)`), or use a list",
        user_position(),
    )


def viewed(record: Record, value: Any) -> Any:
    """`value` with arrays in place of the array.arrays that the run knows, also those in lists."""
    if type(value) in (list, tuple):
        return type(value)([viewed(record, item) for item in value])
    return record.view(value) if type(value) is array.array and id(value) in record.buffers else value


def _is_numpys(callee: Any, args: Args) -> bool:
    if any(isinstance(a, (np.ndarray, np.generic)) for a in args) and callee in ARITHMETIC:
        return True
    return type(callee) is np.ufunc or str(getattr(callee, "__module__", "")).startswith("numpy")


def items(record: Record, buffer: Any) -> Any:
    """The items one by one, written down if they have to be by then."""
    return map(functools.partial(_item, record, buffer), range(len(buffer)))


def _item(record: Record, buffer: Any, i: int) -> Any:
    out = buffer[i]
    if record.is_active(buffer):
        record.read(record.view(buffer), i, out)
    return out


@_HANDLERS.of(operator.getitem)
def _get(ctx: Any, callee: Any, args: Args) -> Any:
    buffer, index = args
    record: Record = ctx.record
    if not isinstance(index, slice):
        return _item(record, buffer, operator.index(index))
    return _filled(record, buffer[index], record.view(buffer)[index])


def _filled(record: Record, made: Any, values: Any) -> Any:
    """`made`, of which the items are these."""
    view = record.view(made)
    kept = record.before(view, ...)
    record.track(view)
    record.store(view, ..., values, kept)
    return made


@_HANDLERS.of(operator.setitem)
def _set(ctx: Any, callee: Any, args: Args) -> None:
    buffer, index, value = args
    record: Record = ctx.record
    if isinstance(index, slice) and len(value) != len(buffer[index]):
        raise _other_length("a slice of another length")
    active = record.any_active((value,))
    if active and buffer.typecode not in FLOATS:
        buffer[index] = value  # Python refuses a float there
        return
    view, index = record.view(buffer), snapshot(index)
    given = record.view(value) if type(value) is array.array and value.typecode in FLOATS else value
    if type(value) is array.array and np.may_share_memory(view, given):
        given = record.copied(given)
    kept = record.before(view, index)
    buffer[index] = value
    if active:
        record.memory.write(view)
    record.store(view, index, given, kept)


@_HANDLERS.of(array.array)
def _made(ctx: Any, callee: Any, args: Args) -> Any:
    """array.array(typecode, items)"""
    typecode, given = args
    if typecode not in FLOATS:
        return array.array(typecode, given)
    record: Record = ctx.record
    taken = [*given] if type(given) is array.array else resolve(ctx, listed)(given)
    made = array.array(typecode, taken)
    if type(given) is array.array:
        return _filled(record, made, record.view(given)) if record.is_active(given) else made
    return _filled(record, made, ctx.array(taken)) if record.any_active(taken) else made


@_HANDLERS.of(array.array.extend)
def _extended(ctx: Any, callee: Any, args: Args) -> None:
    buffer, given = args
    taken = [*ctx._splat(given)]
    if ctx.record.any_active((buffer, taken)):
        raise _other_length(described(callee))
    buffer.extend(taken)


def _other_length(what: str) -> MissingRuleError:
    return MissingRuleError(
        f"{what} of an array.array that depends on what is differentiated changes how long it is; use a list",
        user_position(),
    )


@_HANDLERS.of(array.array.tolist)
def _listed(ctx: Any, callee: Any, args: Args) -> list[Any]:
    return [*items(ctx.record, args[0])]


@_HANDLERS.of(operator.add, operator.mul)
def _joined(ctx: Any, callee: Any, args: Args) -> Any:
    """Of an array of NumPy's and an array.array, an operation on elements."""
    if _is_numpys(callee, args):
        return AS_IT_IS
    raise MissingRuleError(
        f"{described(callee)} of array.arrays makes another one out of sight; use lists, or arrays "
        "(`np.concatenate`)",
        user_position(),
    )


def _resized(ctx: Any, callee: Any, args: Args) -> Any:
    raise _other_length(described(callee))
