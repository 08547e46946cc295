"""What writes its result into an array that it is given: in-place operators, `out`, `ufunc.at`."""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ctxdispatch.dispatch.overdub import resolve
from ctxdispatch.facts import INPLACE
from ctxdispatch.passes import outputs
from ctxdispatch_contexts.programs.errors import MutationError, described, user_position
from ctxdispatch_contexts.recording import arrays
from ctxdispatch_contexts.recording.addresses import overlaps
from ctxdispatch_contexts.recording.callees import look_at
from ctxdispatch_contexts.recording.leaves import snapshot
from ctxdispatch_contexts.recording.memory import Array
from ctxdispatch_contexts.recording.moved import activated, as_stored, check_dtype, moved
from ctxdispatch_contexts.recording.record import Record
from ctxdispatch_contexts.reverse.stopping import no_grad


def in_place(ctx: Any, callee: Any, args: Any, kwargs: Any) -> Any:
    array, *rest = [resolve(ctx, np.asarray)(a) if issubclass(type(a), (list, tuple)) else a for a in args]
    return _update(ctx, INPLACE[callee], array, (array, *rest), {}, functools.partial(callee, *args))


def into(ctx: Any, callee: Any, args: Any, kwargs: Any) -> Any:
    if is_looked_into(ctx, callee):
        return resolve(ctx, look_at(callee).code)(*args, **kwargs)  # it says itself what it writes
    given, named = outputs.out_by_name(callee, args, kwargs)
    named = dict(named)
    out = named.pop("out")
    outs = out if type(out) is tuple else (out,)
    if type(callee) is np.ufunc:
        outs += (None,) * (callee.nout - len(outs))
    if callee in _PART_BY_PART and _reads_what_it_wrote(given, outs[0]):
        return _part_by_part(ctx, callee, given, outs[0], named)
    partly = _computes_partly(callee) and named.get("where", True) is not True
    if partly or len(outs) > 1:
        return _into_some(ctx, callee, given, outs, named)
    if type(callee) is not np.ufunc:  # a ufunc casts its operands by that rule too
        named.pop("casting", None)
    return _update(ctx, callee, outs[0], tuple(given), named, functools.partial(callee, *args, **kwargs))


def is_looked_into(ctx: Any, callee: Any) -> bool:
    """Its stores are those that its Python code makes."""
    known = look_at(callee)
    return known.followed and not ctx.record.context.ad_ruled(callee)


def _computes_partly(callee: Any) -> bool:
    """Its `where` says which elements are computed; that of reductions, which of them go in."""
    outer = getattr(callee, "__name__", "") == "outer"
    return type(callee) is np.ufunc or callee in (np.clip, np.ndarray.clip) or outer


def _into_some(ctx: Any, callee: Any, operands: Any, outs: Any, named: dict[str, Any]) -> Any:
    """Results written where the mask is true, or several; into new arrays where `outs` has None."""
    record: Record = ctx.record
    _check_apart(callee, outs)
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


def _check_apart(callee: Any, outs: Any) -> None:
    """Which of the results stays, where two are written to one place, is not said by NumPy."""
    written = [o for o in outs if o is not None]
    if any(np.may_share_memory(a, b) for a, b in itertools.combinations(written, 2)):
        raise MutationError(
            f"{described(callee)} writes two results into arrays that share memory; give each an array of "
            "its own",
            user_position(),
        )


def _written(ctx: Any, out: Array, y: Any, how: dict[str, Any]) -> Array:
    moved(0, ctx, np.copyto, (out, y), how)
    return out


def _without_the_others(record: Record, callee: Any, operands: Any, where: Any) -> Any:
    """Where nothing is computed, nothing may come of an operand that has no derivative there: a number stands
    in its place. (The operands of `outer` and of `clip` have other shapes, or none that matter.)"""
    if type(callee) is not np.ufunc:
        return operands
    return [record.call(np.where, (where, o, 0.5), ()) if record.any_active((o,)) else o for o in operands]


# -- functions that write one operand after the other --------------------------------------------------------


def _reads_what_it_wrote(given: Any, out: Any) -> bool:
    return any(issubclass(type(a), np.ndarray) and np.may_share_memory(a, out) for a in given[0])


def _part_by_part(ctx: Any, callee: Any, given: Any, out: Array, named: dict[str, Any]) -> Array:
    """np.concatenate(operands, out=out), some of which lie in `out`: the stores that it makes."""
    operands, axis = given[0], given[1] if len(given) > 1 else named.get("axis", 0)
    callee(*given, out=np.empty_like(out), **named)  # whatever it says of axes, shapes and types
    if axis is None:
        raise MutationError(
            "np.concatenate(.., axis=None, out=a) of parts of `a` itself has no derivative; give it copies "
            "(`v.copy()`)",
            user_position(),
        )
    resolve(ctx, _PART_BY_PART[callee])(operands, operator.index(axis) % out.ndim, out)
    return out


def _concatenate(operands: Any, axis: int, out: Array) -> None:
    parts, at = np.moveaxis(out, axis, 0), 0
    for operand in operands:
        n = np.shape(operand)[axis]
        parts[at : at + n] = np.moveaxis(np.asarray(operand), axis, 0)
        at += n


def _stack(operands: Any, axis: int, out: Array) -> None:
    _concatenate([np.expand_dims(operand, axis) for operand in operands], axis, out)


_PART_BY_PART = {np.concatenate: _concatenate, np.stack: _stack}


# -- functions that compute, and then write ------------------------------------------------------------------


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
        _check_numbers(f, array)
        apart = [_apart(record, o, array) for o in operands]
        found = record.updating(f, (*map(snapshot, apart), *named.values()), tuple(named))
    out = run()
    activated(record, array, active)
    if active:
        record.update(array, found, every, kept)
    else:
        record.store(array, ..., 0.0, kept)
    number = issubclass(type(out), np.generic) and record.is_active(array)  # that is how np.dot returns it
    return arrays.read(record, array, ()) if number else out


def _check_numbers(callee: Any, array: Array) -> None:
    if array.dtype == object:
        raise arrays.out_of_sight(callee)
    check_dtype(callee, array)


def _apart(record: Record, operand: Any, array: Array) -> Any:
    """`operand`, copied where it lies in the memory that is written into."""
    if issubclass(type(operand), np.ndarray) and np.may_share_memory(operand, array):
        return record.copied(operand)
    return operand


def overwritten(ctx: Any, callee: Any, args: Any, kwargs: Any) -> Any:
    """np.nan_to_num(array, copy, ...), which writes into the array where `copy` is false."""
    array, *rest = args
    named = {**kwargs, **dict(zip(("copy", "nan", "posinf", "neginf"), rest))}
    copy = named.pop("copy")
    y = resolve(ctx, callee)(array, **named)
    return y if copy else _written(ctx, array, y, {})


def at(ctx: Any, callee: Any, args: Any, kwargs: Any) -> None:
    """ufunc.at(array, indices, values)"""
    ufunc, array, index, *values = args
    record: Record = ctx.record
    if ufunc not in _SIGNS:
        _in_rounds(ctx, ufunc, array, index, values)
        return
    value = as_stored(ctx, array, values[0])
    _check_numbers(ufunc.at, array)
    kept = record.before(array, ...)
    callee(ufunc, array, index, value)
    activated(record, array, record.is_active(value))
    record.add_at(array, snapshot(index), value, _SIGNS[ufunc], kept)


def _in_rounds(ctx: Any, ufunc: Any, array: Array, index: Any, values: list[Any]) -> None:
    """Round r computes where an element is named for the r-th time: in the order in which `at` does."""
    others = [v for v in values if issubclass(type(v), np.ndarray)]
    if overlaps(array) or any(np.may_share_memory(array, v) for v in others):
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
