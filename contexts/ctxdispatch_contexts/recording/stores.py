"""What writes into arrays: written down, so that the way back can undo it.

    find(callee, args, kwargs)     store(ctx, callee, args, kwargs, run), None where it writes into none

A function that moves elements by indices, masks or values (`np.put`, `np.place`, `ndarray.sort`) is run once
more on numbers that say which element is which: its own code says where they go.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ctxdispatch.dispatch.overdub import resolve
from ctxdispatch.passes import outputs
from ctxdispatch_contexts.programs.errors import MissingRuleError, MutationError, described, user_position
from ctxdispatch_contexts.programs.operands import INPLACE
from ctxdispatch_contexts.programs.overlapping import runs_over
from ctxdispatch_contexts.recording import arrays
from ctxdispatch_contexts.recording.callees import look_at
from ctxdispatch_contexts.recording.leaves import is_number, leaves, snapshot
from ctxdispatch_contexts.recording.memory import Array, differ, overlaps
from ctxdispatch_contexts.recording.numbered import numbers, places
from ctxdispatch_contexts.recording.record import Record
from ctxdispatch_contexts.reverse.stopping import no_grad

Run = Callable[..., Any]
Handler = Callable[[Any, Any, tuple[Any, ...], dict[str, Any]], Any]


def find(callee: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Handler | None:
    if outputs.takes_out(callee):
        _, named = outputs.out_by_name(callee, args, kwargs)
        out = named.get("out")
        outs = out if type(out) is tuple else (out,)
        return _into if any(isinstance(o, np.ndarray) for o in outs) else None
    if callee is np.ufunc.at:
        return _at
    if not args or not isinstance(args[0], np.ndarray):
        return None
    if outputs.may_overwrite(callee, len(args), tuple(kwargs)):
        return _overwritten
    return _HANDLERS.get(callee) if _hashable(callee) else None


def _hashable(value: Any) -> bool:
    return getattr(type(value), "__hash__", None) is not None


def constant(record: Record, callee: Any, args: tuple[Any, ...], kwargs: dict[str, Any], run: Run) -> Any:
    """A call that nothing active comes into: it may change arrays that are read once more."""
    given = (a for a in leaves((*args, *kwargs.values())) if isinstance(a, np.ndarray))
    if callee is setattr and record.memory.find(args[0]):
        _refuse_layout(args[1])
    seen = [a for a in given if record.memory.find(a) and a.flags.num & _WRITEABLE]
    kept = [(a, a.copy(), record.before(a, ...)) for a in seen]
    try:
        return run(*args, **kwargs)
    finally:
        for array, before, each in kept:
            if differ(array, before):
                record.unchanged(each)


_WRITEABLE = 0x400
"""NPY_ARRAY_WRITEABLE: `flags.writeable` of what np.broadcast_arrays returns is read with a warning."""


# -- items ---------------------------------------------------------------------------------------------------


def _set_item(ctx: Any, callee: Any, args: Any, kwargs: Any) -> None:
    array, index, value = args
    record: Record = ctx.record
    if type(array) is not np.ndarray:  # a subclass' own code has been run by now
        array, callee = np.ndarray.view(array, np.ndarray), operator.setitem
    if array.dtype.names is not None and isinstance(index, (str, list)):
        array, index = array[index], ...
    index = snapshot(index)
    if not isinstance(value, np.ndarray) and not is_number(value) and record.any_active(value):
        value = ctx.array(value)
    if record.is_active(value):
        _check_dtype(callee, array)
    if _may_repeat(index) or runs_over(array, index, value):
        _moved(ctx, callee, (array, index, value), kwargs)
        return
    kept = record.before(array, index)
    callee(array, index, value)
    _activated(record, array, record.is_active(value))
    record.store(array, index, value, kept)


def refuse_bytes(record: Record, args: tuple[Any, ...]) -> None:
    """container[index] = value, where the container has bytes and no objects."""
    container, _, value = args
    if not record.closed and record.any_active((value,)):
        raise MissingRuleError(
            f"an item of ({described(type(container))}) is given a value that depends on what is "
            "differentiated, which is lost there; use a list or an array of floats",
            user_position(),
        )


def _may_repeat(index: Any) -> bool:
    """An element may be named twice: the last one counts."""
    parts = index if type(index) is tuple else (index,)
    return any(
        isinstance(p, (list, np.ndarray)) and np.asarray(p).dtype != bool and np.size(p) > 1 for p in parts
    )


def _activated(record: Record, array: Array, active: bool) -> None:
    """After the store: `array` depends on what is differentiated if it did, or what was stored does; not one
    of whole numbers."""
    if active and array.dtype.kind not in "biu":
        record.memory.stored(array)


def check_alias(ctx: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """An argument that lies where another one does is a copy, which the other would not see change."""
    if not ctx.record.copies:
        return
    _, named = outputs.out_by_name(args[0], args, kwargs) if "out" in kwargs else ((), kwargs)
    out = named.get("out", args[0])
    targets = [a for a in (out if type(out) is tuple else (out,)) if isinstance(a, np.ndarray)]
    if any(np.may_share_memory(target, copy) for target in targets for copy in ctx.record.copies):
        raise MutationError(
            "two arguments share memory, or a rule returned its argument, and one of the two is changed in "
            "place; give one of them as a copy (`x.copy()`)",
            user_position(),
        )


def _check_dtype(callee: Any, array: Array) -> None:
    if array.dtype.kind not in "fcO" and array.dtype.kind in "biu":
        return  # rounded: its derivative is zero
    if array.dtype.kind not in "fcO":
        raise MissingRuleError(
            f"{described(callee)} writes what is differentiated into an array of dtype {array.dtype}; "
            "use an array of floats",
            user_position(),
        )


# -- attributes ----------------------------------------------------------------------------------------------


def _set_attribute(ctx: Any, callee: Any, args: Any, kwargs: Any) -> None:
    array, name, value = args
    _refuse_layout(name)
    if name == "flat":
        _moved(ctx, np.put, (array, np.arange(array.size), value), {})
    elif name == "real" or (name == "imag" and array.dtype.kind == "c"):
        _set_item(ctx, operator.setitem, (getattr(array, name), ..., value), {})
    else:
        callee(array, name, value)  # of a subclass; or NumPy's own error


def _refuse_layout(name: str) -> None:
    """What was written down before of an array has the shape that it had."""
    if name in outputs.LAYOUT:
        raise MutationError(
            f"the {name} of an array that the derivative knows is set in place; make another array, with "
            f"`a = {outputs.LAYOUT[name]}`",
            user_position(),
        )


# -- in-place operators, `out` -------------------------------------------------------------------------------


def _in_place(ctx: Any, callee: Any, args: Any, kwargs: Any) -> Any:
    array, *rest = [resolve(ctx, np.asarray)(a) if isinstance(a, (list, tuple)) else a for a in args]
    return _update(ctx, INPLACE[callee], array, (array, *rest), {}, functools.partial(callee, *args))


def _into(ctx: Any, callee: Any, args: Any, kwargs: Any) -> Any:
    known = look_at(callee)
    if known.code is not None and not (known.known or ctx.record.context.ad_ruled(callee)):
        return resolve(ctx, known.code)(*args, **kwargs)  # it says itself what it writes
    given, named = outputs.out_by_name(callee, args, kwargs)
    named = dict(named)
    out = named.pop("out")
    outs = out if type(out) is tuple else (out,)
    if isinstance(callee, np.ufunc):
        outs += (None,) * (callee.nout - len(outs))
    partly = _computes_partly(callee) and named.get("where", True) is not True
    if partly or len(outs) > 1:
        return _into_some(ctx, callee, given, outs, named)
    if not isinstance(callee, np.ufunc):  # a ufunc casts its operands by that rule too
        named.pop("casting", None)
    return _update(ctx, callee, outs[0], tuple(given), named, functools.partial(callee, *args, **kwargs))


def _computes_partly(callee: Any) -> bool:
    """Its `where` says which elements are computed; that of reductions, which of them go in."""
    outer = getattr(callee, "__name__", "") == "outer"
    return isinstance(callee, np.ufunc) or callee in (np.clip, np.ndarray.clip) or outer


def _into_some(ctx: Any, callee: Any, operands: Any, outs: Any, named: dict[str, Any]) -> Any:
    """Results written where the mask is true, or several; into new arrays where `outs` has None."""
    record: Record = ctx.record
    where = named.pop("where", True)
    written = {"casting": named.get("casting", "same_kind"), "where": where}
    if where is not True:
        operands = _without_the_others(record, callee, operands, where)
    with np.errstate(all="ignore" if where is not True else None):
        ys = record.call(callee, (*operands, *named.values()), tuple(named))
    made = [
        y if o is None else _written(ctx, o, y, written)
        for o, y in zip(outs, ys if type(ys) is tuple else (ys,), strict=True)
    ]
    return made[0] if type(ys) is not tuple else tuple(made)


def _written(ctx: Any, out: Array, y: Any, how: dict[str, Any]) -> Array:
    _moved(ctx, np.copyto, (out, y), how)
    return out


def _without_the_others(record: Record, callee: Any, operands: Any, where: Any) -> Any:
    """Where nothing is computed, nothing may come of an operand that has no derivative there: a number stands
    in its place. (The operands of `outer` and of `clip` have other shapes, or none that matter.)"""
    if not isinstance(callee, np.ufunc):
        return operands
    return [record.call(np.where, (where, o, 0.5), ()) if record.any_active((o,)) else o for o in operands]


def _update(
    ctx: Any, f: Any, array: Array, operands: Any, named: dict[str, Any], run: Callable[[], Any]
) -> Any:
    """run() writes f(*operands) into `array`."""
    record: Record = ctx.record
    kept = record.before(array, ...)
    if record.still:
        with no_grad():
            run()
        record.store(array, ..., 0.0, kept)
        return array
    active = record.any_active((*operands, *named.values()))
    every = (*operands, *named.values())
    found = None
    if active:
        _check_dtype(f, array)
        apart = [_apart(record, o, array) for o in operands]
        found = record.updating(f, (*map(snapshot, apart), *named.values()), tuple(named))
    out = run()
    _activated(record, array, active)
    if active:
        record.update(array, found, every, kept)
    else:
        record.store(array, ..., 0.0, kept)
    number = isinstance(out, np.generic) and record.is_active(array)  # that is how np.dot returns it
    return arrays.read(record, array, ()) if number else out


def _apart(record: Record, operand: Any, array: Array) -> Any:
    """`operand`, copied where it lies in the memory that is written into."""
    if isinstance(operand, np.ndarray) and np.may_share_memory(operand, array):
        return record.copied(operand)
    return operand


def _overwritten(ctx: Any, callee: Any, args: Any, kwargs: Any) -> Any:
    """np.nan_to_num(array, copy, ...), which writes into the array where `copy` is false."""
    array, *rest = args
    named = {**kwargs, **dict(zip(("copy", "nan", "posinf", "neginf"), rest))}
    copy = named.pop("copy")
    y = resolve(ctx, callee)(array, **named)
    return y if copy else _written(ctx, array, y, {})


def _at(ctx: Any, callee: Any, args: Any, kwargs: Any) -> None:
    """ufunc.at(array, indices, values)"""
    ufunc, array, index, *values = args
    record: Record = ctx.record
    if ufunc not in _SIGNS:
        _in_rounds(ctx, ufunc, array, index, values)
        return
    value = values[0]
    if not isinstance(value, np.ndarray) and not is_number(value) and record.any_active(value):
        value = ctx.array(value)
    _check_dtype(ufunc.at, array)
    kept = record.before(array, ...)
    callee(ufunc, array, index, value)
    _activated(record, array, record.is_active(value))
    record.add_at(array, snapshot(index), value, _SIGNS[ufunc], kept)


def _in_rounds(ctx: Any, ufunc: Any, array: Array, index: Any, values: list[Any]) -> None:
    """Round r computes where an element is named for the r-th time: in the order in which `at` does."""
    if overlaps(array) or any(np.may_share_memory(array, v) for v in values if isinstance(v, np.ndarray)):
        raise MutationError(
            f"np.{ufunc.__name__}.at on an array whose elements share memory, or with its own elements as "
            "values, has no derivative; give it a copy",
            user_position(),
        )
    ufunc.at(array.copy(), index, *values)  # whatever it says of casting and indices
    where = np.arange(array.size).reshape(array.shape)[index]
    full = [resolve(ctx, np.broadcast_to)(v, where.shape) for v in values]
    flat = np.ravel(where)
    for chosen in _rounds(flat):
        at = np.unravel_index(flat[chosen], array.shape)
        parts = [resolve(ctx, _chosen)(v, chosen) for v in full]
        resolve(ctx, _update_items)(ufunc, array, at, parts)


def _rounds(flat: Array) -> list[Array]:
    """The positions of the first, second, ... occurrences of each number."""
    order = np.argsort(flat, kind="stable")
    ordered = flat[order]
    nth = np.arange(flat.size) - np.searchsorted(ordered, ordered)
    return [np.sort(order[nth == r]) for r in range(int(nth.max(initial=-1)) + 1)]


def _chosen(value: Any, chosen: Array) -> Any:
    return np.ravel(value)[chosen]


def _update_items(ufunc: Any, array: Array, at: Any, parts: list[Any]) -> None:
    array[at] = ufunc(array[at], *parts)


_SIGNS = {np.add: 1, np.subtract: -1}


# -- elements that move --------------------------------------------------------------------------------------


def _moved(ctx: Any, callee: Any, args: Any, kwargs: Any) -> Any:
    """args[0] gets elements of its own, or of other operands that are numbers or arrays of inexact dtype."""
    array, *rest = args
    record: Record = ctx.record
    rest = [
        ctx.array(a) if not isinstance(a, np.ndarray) and not is_number(a) and record.any_active(a) else a
        for a in rest
    ]
    at = _VALUES.get(callee, 0)
    sources, tags = numbers(array, rest[at])
    callee(sources, *[tags if i == at else a for i, a in enumerate(rest)], **kwargs)
    kept = record.before(array, ...)
    out = callee(array, *rest, **kwargs)
    _activated(record, array, record.is_active(rest[at]))
    record.move(array, [rest[at]], places(sources), kept)
    return out


def _sorted(ctx: Any, callee: Any, args: Any, kwargs: Any) -> None:
    """sort, partition: where each element came from is seen by their order before and after."""
    array, *rest = args
    at = 1 if callee is np.ndarray.partition else 0
    axis = rest[at] if len(rest) > at else kwargs.get("axis", -1)
    numbered = np.arange(array.size).reshape(array.shape)
    before = np.take_along_axis(numbered, np.argsort(array, axis, kind="stable"), axis)
    kept = ctx.record.before(array, ...)
    callee(*args, **kwargs)
    sources = np.empty_like(numbered)
    np.put_along_axis(sources, np.argsort(array, axis, kind="stable"), before, axis)
    ctx.record.move(array, [], sources, kept)


def _resized(ctx: Any, callee: Any, args: Any, kwargs: Any) -> None:
    """Derivatives are known by the memory that an array lies in, which this gives back."""
    raise MutationError(
        "ndarray.resize moves an array whose elements depend on what is differentiated to other memory; use "
        "np.pad, np.concatenate or np.reshape, which make another array",
        user_position(),
    )


_VALUES = {
    np.copyto: 0, np.fill_diagonal: 0, np.ndarray.fill: 0, operator.setitem: 1, np.ndarray.__setitem__: 1,
    np.put: 1, np.ndarray.put: 1, np.place: 1, np.putmask: 1,
}  # fmt: skip
"""Which of the operands after the array has the new values."""

_HANDLERS: dict[Any, Handler] = {
    operator.setitem: _set_item, np.ndarray.__setitem__: _set_item,
    setattr: _set_attribute,
    **dict.fromkeys(INPLACE, _in_place),
    **dict.fromkeys(
        (np.copyto, np.fill_diagonal, np.ndarray.fill, np.put, np.ndarray.put, np.place, np.putmask), _moved
    ),
    np.ndarray.sort: _sorted, np.ndarray.partition: _sorted, np.ndarray.resize: _resized,
}  # fmt: skip
