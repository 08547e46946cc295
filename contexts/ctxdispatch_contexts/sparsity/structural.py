"""Functions of arrays that are neither elementwise nor movement: reductions, accumulations, order, others.

Which parameters hold data, the table of derivatives says (`array_arguments`). What it has a rule for, and
there is no pattern for here, is dense in its arguments: every number of the result depends on all of them.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

import numpy as np

from ctxdispatch.ir.registry import Registry
from ctxdispatch_contexts.derivatives import table
from ctxdispatch_contexts.sparsity.arrays import Args, Kwargs, refuse_shape, settled, with_options
from ctxdispatch_contexts.sparsity.branches import any_of
from ctxdispatch_contexts.sparsity.calls import UFUNC_METHODS, Rule
from ctxdispatch_contexts.sparsity.iterables import iterable
from ctxdispatch_contexts.sparsity.linearity import bends
from ctxdispatch_contexts.sparsity.movement import MOVEMENT, of
from ctxdispatch_contexts.sparsity.operands import (
    argument,
    dense,
    known,
    merged,
    operand,
    when_touched,
)
from ctxdispatch_contexts.sparsity.values import Array, Scalar, inexact

STRUCTURAL: Registry[Rule] = Registry()

# -- reductions ----------------------------------------------------------------------------------------------


def lanes(terms: Sequence[Any], axis: Any, ndim: int) -> tuple[list[Any], Any]:
    """The terms with the axes of each lane last, as one; and the shape of the others."""
    axes = range(ndim) if axis is None or not ndim else [a % ndim for a in np.atleast_1d(axis)]
    kept = [a for a in range(ndim) if a not in axes]
    return [merged(t.transpose(*kept, *axes), len(kept)) for t in terms], kept


def reduction(default: Any) -> Rule:
    def rule(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
        a, axis = operand(run, args[0]), argument(args, kwargs, 1, "axis", default)
        known(run, f, args[1:], axis, kwargs.get("keepdims"), kwargs.get("dtype"))
        out = run.on_samples(f, [a, *args[1:]], kwargs)
        if not inexact(out):
            return run.dense(out, 0)
        shape = np.shape(run.sampled(a))
        about = [np.broadcast_to(t, shape) for t in run.terms(kwargs.get("mean"))]
        terms, _ = lanes([*run.terms(a), *about], axis, len(shape))
        found = [t.reshape(np.shape(out)) for t in run.arena.reduced(terms)]
        result = run.made(out, [*found, *run.terms(kwargs.get("initial"))])
        bends(run, f, [a], result)
        return result

    return rule


@STRUCTURAL.of(np.trace, np.ndarray.trace, *of(np.linalg, "trace"))
def trace(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    a = operand(run, args[0])
    known(run, f, args[1:], kwargs)
    out = f(run.sampled(a), *args[1:], **kwargs)
    parameters = [argument(args, kwargs, i + 1, n, d) for i, (n, d) in enumerate(TRACE)]
    if f is getattr(np.linalg, "trace", None):
        parameters = [kwargs.get("offset", 0), -2, -1]
    terms = run.arena.reduced([np.diagonal(t, *parameters) for t in run.terms(a)])
    return run.made(out, terms)


TRACE = (("offset", 0), ("axis1", 0), ("axis2", 1))


_reduces = reduction(None)
STRUCTURAL.of(
    *of(np, "sum nansum mean nanmean var std nanvar nanstd prod nanprod max min nanmax nanmin amax amin")
)(_reduces)
STRUCTURAL.of(*of(np.ndarray, "sum mean var std max min prod"))(_reduces)


def accumulation(default: Any) -> Rule:
    """Element i of a lane depends on elements 0 .. i."""

    def rule(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
        a, axis = operand(run, args[0]), argument(args, kwargs, 1, "axis", default)
        known(run, f, args[1:], kwargs)
        out = run.on_samples(f, [a, *args[1:]], kwargs)
        terms = run.terms(a)
        if axis is None:
            terms, axis = [t.reshape(-1) for t in terms], 0
        result = run.made(out, [_accumulated(run.arena, terms, axis)] if terms and inexact(out) else ())
        bends(run, f, [a], result)
        return result

    return rule


_accumulates = accumulation(None)
STRUCTURAL.of(*of(np, "cumsum cumprod nancumsum nancumprod"))(_accumulates)
STRUCTURAL.of(*of(np.ndarray, "cumsum cumprod"))(_accumulates)


def _accumulated(arena: Any, terms: Sequence[Any], axis: int) -> Any:
    rows = [np.moveaxis(t, axis, -1) for t in terms]
    shape = rows[0].shape
    upto, of = np.tril_indices(shape[-1])
    count = int(np.prod(shape[:-1]))
    offsets = np.arange(count)[:, None] * shape[-1]
    groups = np.tile((offsets + upto).reshape(-1), len(rows))
    ids = np.concatenate([t.reshape(count, shape[-1])[:, of].reshape(-1) for t in rows])
    return np.moveaxis(arena.unions(groups, ids, count * shape[-1]).reshape(shape), -1, axis)


@STRUCTURAL.of(*of(np, "sort sort_complex partition"))
def order(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    """np.sort(a, axis), np.partition(a, kth, axis): anything of its lane may come anywhere."""
    a = operand(run, args[0])
    known(run, f, args[1:], kwargs)
    place = 2 if f.__name__ == "partition" else 1
    axis = -1 if f is np.sort_complex else argument(args, kwargs, place, "axis", -1)
    out = run.on_samples(f, [a, *args[1:]], kwargs)
    if axis is None or out.ndim == 0:
        return run.dense(out, run.bits(a))
    terms, _ = lanes(run.terms(a), axis, out.ndim)
    return run.made(out, [np.expand_dims(t, axis) for t in run.arena.reduced(terms)])


@STRUCTURAL.of(np.ndarray.sort, np.ndarray.partition)
def sort_in_place(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    """ndarray.sort and ndarray.partition"""
    function = np.sort if f is np.ndarray.sort else np.partition
    value = run.call(function, args, kwargs)
    run.about_to_store(args[0])
    f(*run.samples(args, {})[0], **kwargs)
    run.store(run.lifted(args[0]), Ellipsis, value)


@STRUCTURAL.of(np.ndarray.fill)
def fill_in_place(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    """ndarray.fill"""
    run.check_dtype(args[0], args[1])
    run.about_to_store(args[0])
    value = operand(run, args[1])
    run.sampled(args[0])[...] = run.sampled(value)
    run.store(run.lifted(args[0]), Ellipsis, value)


@STRUCTURAL.of(np.copyto)
def copy_to(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    """np.copyto(dst, src, casting, where)"""
    target, value, where = (
        args[0],
        operand(run, args[1]),
        run.lifted(argument(args, kwargs, 3, "where", True)),
    )
    run.about_to_store(target)
    stored = settled(run, run.lifted(target), Ellipsis, value)
    f(*run.samples(args, {})[0], **run.samples([], kwargs)[1])
    run.store(run.lifted(target), Ellipsis, stored, weak=where is not True)


@STRUCTURAL.of(np.ndarray.put, *of(np, "put place putmask fill_diagonal put_along_axis"))
def put(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    """put, place, putmask, fill_diagonal, put_along_axis: any element may have any of the new ones."""
    target, bits = args[0], run.union(args[1:], kwargs)
    run.about_to_store(target)
    run.on_samples(f, args, kwargs)
    run.store(run.lifted(target), Ellipsis, run.scalar(0.0, bits), weak=True)


# -- several results, unions of operands ---------------------------------------------------------------------


@STRUCTURAL.of(*of(np, "modf frexp divmod angle"))
def alike(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    """Elementwise, whatever it is: ufuncs without a row, with one result or several; np.choose and its
    like."""
    if not isinstance(kwargs.get("where", True), bool):
        return with_options(run, f, args, kwargs, lambda plain: alike(run, f, plain, {}))
    operands = [operand(run, a) for a in args]
    out = run.on_samples(f, operands, kwargs)
    terms = [t for a in operands for t in run.terms(a)]
    results = out if isinstance(out, tuple) else (out,)
    made = []
    for x in results:
        if inexact(x):
            made.append(run.made(x, terms))
            bends(run, f, operands, made[-1])
        else:
            made.append(run.dense(x, 0))
    return type(out)(*made) if hasattr(out, "_fields") else tuple(made) if isinstance(out, tuple) else made[0]


@STRUCTURAL.of(np.select, np.choose, np.ndarray.choose)
def select(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    """np.select(conditions, choices, default), np.choose(index, choices)"""
    choices = argument(args, kwargs, 1, "choicelist", argument(args, kwargs, 1, "choices"))
    choices = list(iterable(run, choices))
    default = argument(args, kwargs, 2, "default", 0) if f is np.select else 0
    out = run.on_samples(f, args, kwargs)
    operands = [operand(run, c) for c in (*choices, default)]
    return run.made(out, [t for c in operands for t in run.terms(c)])


def total(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    """sum(items, start) of numbers and arrays."""
    items = [run.lifted(x) for x in iterable(run, args[0])]
    start = argument(args, kwargs, 1, "start", 0)
    out = run.on_samples(f, [[run.sampled(x) for x in items], start], {})
    if isinstance(out, np.ndarray):
        return run.made(out, run.arena.limited([t for x in (*items, start) for t in run.terms(x)]))
    return run.dense(out, run.union(items, start))


@STRUCTURAL.of(builtins.max, builtins.min)
def extreme(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    """max and min of numbers; of anything else as the lowering has it."""
    items = [run.lifted(x) for x in (iterable(run, args[0]) if len(args) == 1 else args)]
    numbers = (int, float, np.generic, Scalar)
    if not items or kwargs or not all(isinstance(x, numbers) for x in items):
        return run.call(table.lowering(f), args if len(args) > 1 else [items], kwargs)
    samples, bits = [run.sampled(x) for x in items], run.union(items)
    out = f(samples)
    if not bits or run.local:
        return run.scalar(out, bits)
    types = frozenset().union(*(x.types if isinstance(x, Scalar) else {type(x)} for x in items))
    run.loose = run.loose or len(types) > 1
    return Scalar(out if inexact(out) else float(out), bits, types)  # at other values it is another item


@STRUCTURAL.of(builtins.sorted)
def sorted_(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    items, key = list(iterable(run, args[0])), kwargs.get("key")
    keys = items if key is None else [run.call(key, [x], {}) for x in items]
    if not run.touched(keys):
        indices = sorted(range(len(keys)), key=keys.__getitem__, reverse=bool(kwargs.get("reverse", False)))
        return run.born([items[i] for i in indices])
    if run.local:
        values = [run.sampled(k) for k in keys]
        indices = sorted(range(len(keys)), key=values.__getitem__, reverse=bool(kwargs.get("reverse", False)))
        return run.born([items[i] for i in indices])

    return run.born([any_of(run, items) for _ in items])


def add_at(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    """ufunc.at(a, index, b): elements that the index has several times collect several of b's."""
    target, index, value = run.lifted(args[0]), args[1], operand(run, args[2]) if len(args) > 2 else 0.0
    known(run, f, index)
    if not run.touched(target, value):
        run.touch(args[0])
        return f(*args)
    run.about_to_store(args[0])
    f(run.sampled(target), index, *([run.sampled(value)] if len(args) > 2 else []))
    sample = run.sampled(target)
    at = np.arange(sample.size).reshape(sample.shape)[index]
    old, new = run.terms(target), [np.broadcast_to(t, at.shape) for t in run.terms(value)]
    groups = [np.arange(sample.size)] * len(old) + [at.reshape(-1)] * len(new)
    if not groups:
        return run.store(run.lifted(args[0]), Ellipsis, target)
    ids = run.arena.unions(
        np.concatenate(groups), np.concatenate([t.reshape(-1) for t in (*old, *new)]), sample.size
    )
    result = run.made(np.array(sample), [ids.reshape(sample.shape)])
    bends(run, f, [target, value], result)
    return run.store(run.lifted(args[0]), Ellipsis, result)


# -- everything else -----------------------------------------------------------------------------------------


@STRUCTURAL.of(*of(np, "unique trim_zeros"))
def value_shaped(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    refuse_shape(run, f)
    return dense(run, f, args, kwargs)


@STRUCTURAL.of(builtins.sum)
def python_sum(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    """Of numbers and arrays; of objects one after the other."""
    items = [run.lifted(x) for x in iterable(run, args[0])]
    numbers = (int, float, complex, np.ndarray, np.generic, Array, Scalar)
    if all(isinstance(x, numbers) for x in (*items, *args[1:])):
        return total(run, f, [items, *args[1:]], kwargs)
    return run.call(table.lowering(f), [items, *args[1:]], kwargs)


def table_sum() -> Any:
    from ctxdispatch_contexts.derivatives.lowerings import sum_of

    return sum_of


UFUNC_METHODS.update({
    "__call__": when_touched(alike), "reduce": when_touched(reduction(0)), "at": add_at,
    "accumulate": when_touched(accumulation(0)), "reduceat": when_touched(dense),
})  # fmt: skip

def structural_rules() -> dict[Any, Rule]:
    found = {**MOVEMENT, **STRUCTURAL, table_sum(): total}
    return {f: when_touched(rule) for f, rule in found.items()}
