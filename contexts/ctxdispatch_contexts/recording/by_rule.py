"""Operations on what is differentiated that have a derivative, or should have one.

    computed    the table, or a user's rule, has it
    recorded    the call is written down, as the rules know it: without `out`, lists that stand for arrays are
                arrays, what is only permission (`overwrite_a`) is left out
    opaque      C code without a rule: through the Python code behind it, where there is some; else refused

`context.py` has seen to it that nothing is stored.
"""

from __future__ import annotations

import operator
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from ctxdispatch.dispatch.context import Args, Kwargs
from ctxdispatch.dispatch.overdub import resolve
from ctxdispatch.dispatch.reach import special
from ctxdispatch.facts import AS_ARRAY, INPLACE
from ctxdispatch.passes import outputs
from ctxdispatch_contexts.derivatives import table
from ctxdispatch_contexts.programs.errors import MissingRuleError, described, given, user_position
from ctxdispatch_contexts.programs.kinds import is_of_objects
from ctxdispatch_contexts.recording import arrays, buffers, conversions, records, unknown
from ctxdispatch_contexts.recording.callees import Callee
from ctxdispatch_contexts.recording.leaves import NUMBERS, listed, snapshot
from ctxdispatch_contexts.recording.spellings import SLOT
from ctxdispatch_contexts.recording.subclasses import of_subclasses, plain

Run = Callable[..., Any]


def computed(ctx: Any, callee: Any, known: Callee, args: Args, kwargs: Kwargs, run: Run) -> Any:
    record = ctx.record
    if callee is operator.getitem and issubclass(type(args[0]), np.ndarray):
        return arrays.read(record, *args) if args[0].dtype.names is None else records.read(ctx, *args)
    if callee is getattr:
        return arrays.attribute(record, *args[:2], run, *args[2:])
    if arrays.are_objects(callee, known, args, kwargs):
        return arrays.of_objects(record, callee, known, args, kwargs, run)
    if conversions.are_records(callee, args, kwargs):
        return resolve(ctx, conversions.filled)(run(*args, **kwargs), args[0])
    if callee in records.COPIES and records.has_fields(args[0]) and issubclass(type(args[0]), np.ndarray):
        return records.copy(ctx, callee, args, kwargs)
    if any(map(arrays.is_record, args)):
        raise arrays.of_record(callee)
    if callee in arrays.ONE_BY_ONE and len(args) > 1:
        return tuple([resolve(ctx, f)(*given) for f, *given in arrays.one_by_one(callee, args)])
    return recorded(ctx, callee, known, args, kwargs)


def _refuse_masked(callee: Any, args: Args) -> None:
    """NumPy's functions leave masks to the methods of a MaskedArray, their rules do not know them."""
    masked = any(issubclass(type(a), np.ma.MaskedArray) for a in args)
    if masked and getattr(callee, "__module__", None) == "numpy" and type(callee) is not np.ufunc:
        raise MissingRuleError(
            f"{described(callee)} has no derivative rule for masked arrays; use the method of the array "
            "(`a.sum()`), or `np.ma`'s function",
            user_position(),
        )


def recorded(ctx: Any, callee: Any, known: Callee, args: Args, kwargs: Kwargs) -> Any:
    _refuse_masked(callee, args)
    if outputs.takes_out(callee):
        given, named = outputs.out_by_name(callee, args, kwargs)
        if named.get("out") is Ellipsis:  # an array, of no dimension too
            kwargs = {k: v for k, v in named.items() if k != "out"}
            y = recorded(ctx, callee, known, tuple(given), kwargs)
            return y if issubclass(type(y), np.ndarray) else ctx.record.call(np.asarray, (y,), ())
        out = named.get("out")
        if any(each is not None for each in (out if type(out) is tuple else (out,))):
            callee(*args, **kwargs)  # raises: it is no array
        args, kwargs = tuple(given), {k: v for k, v in named.items() if k != "out"}
    callee = INPLACE.get(callee, callee)
    if any(map(_says_what_its_items_are, map(type, args))):
        args = tuple([resolve(ctx, listed)(a) if _says_what_its_items_are(type(a)) else a for a in args])
    n = known.arrays or _array_operands(callee, args)
    if n and callee not in AS_ARRAY and any(issubclass(type(a), (list, tuple)) for a in args[:n]):
        made = [_array(ctx, a) if issubclass(type(a), (list, tuple)) else a for a in args[:n]]
        args = (*made, *args[n:])
    kwargs = {k: v for k, v in kwargs.items() if not k.startswith("overwrite_")}  # leave to overwrite
    if outputs.ignores_out(callee):
        kwargs = {k: v for k, v in kwargs.items() if k != "out"}
    if known.follows is not None:
        return resolve(ctx, known.follows)(*args, **kwargs)
    args = buffers.viewed(ctx.record, args)
    args = arrays.without_objects_within(ctx.record, callee, args, kwargs)
    operands = (*map(snapshot, args), *map(snapshot, kwargs.values()))
    if is_of_objects(kwargs.get("dtype")):
        raise arrays.out_of_sight(callee)
    if plain(operands) is not operands:
        y = of_subclasses(ctx.record, callee, operands, tuple(kwargs))
    else:
        y = ctx.record.call(callee, operands, tuple(kwargs))
    records.check(ctx.record, callee, operands, y)
    return arrays.without_objects(callee, y)


def _says_what_its_items_are(cls: type) -> bool:
    return cls not in _LISTS and issubclass(cls, _LISTS) and special(cls, "__iter__") is not None


_LISTS = (list, tuple)


def _array_operands(callee: Any, args: Args) -> int:
    """Beside an array, or a number of NumPy's that is no integer, the operands of an operator are arrays."""
    numpys = any(issubclass(type(a), (np.ndarray, np.inexact)) for a in args)
    return len(args) if numpys and table.elementwise(callee) is not None else 0


def _array(ctx: Any, values: Any) -> Any:
    return ctx.array(values) if ctx.record.any_active(values) else np.asarray(values)


def opaque(ctx: Any, callee: Any, known: Callee, args: Args, kwargs: Kwargs, run: Run) -> Any:
    """C code without a rule. Some of NumPy's has Python code behind it."""
    if known.code is not None:
        return resolve(ctx, known.code)(*args, **kwargs)
    if callee is getattr:
        return arrays.attribute(ctx.record, *args[:2], run, *args[2:])
    if callee is np.nditer:
        return arrays.shown(ctx.record, callee, args, kwargs, run)
    made = issubclass(type(callee), type) and (callee is np.ndarray or issubclass(callee, BaseException))
    if made or (run is not callee and type(callee) is types.FunctionType):
        return run(*args, **kwargs)  # an array of another's memory, an exception; code that is followed
    if arrays.are_objects(callee, known, args, kwargs):
        return arrays.of_objects(ctx.record, callee, known, args, kwargs, run)
    if type(callee) is SLOT and callee.__objclass__ in NUMBERS and run(*args, **kwargs) is NotImplemented:
        return NotImplemented  # it leaves the operation to the other operand
    if not known.takes_arrays and unknown.lies_within(ctx.record, (*args, *kwargs.values())):
        return unknown.between_two_looks(ctx, callee, run, *args, **kwargs)
    raise MissingRuleError(
        f"{described(callee)} has no derivative rule for ({given((*args, *kwargs.values()))}); give it one "
        "with `custom_rule`, or keep its arguments out of the derivative with `stop_gradient`",
        user_position(),
    )
