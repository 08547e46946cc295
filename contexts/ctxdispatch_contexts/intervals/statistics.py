"""Functions of arrays of intervals that are made of operators: products, cumulated sums, deviations, norms.
They are added to the tables of `arrays`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ctxdispatch_contexts.intervals.arrays import FUNCTIONS_OF_ARRAYS, METHODS, both, mean, total
from ctxdispatch_contexts.intervals.interval import Interval, apply, as_interval, view
from ctxdispatch_contexts.intervals.refusals import refuse

__undispatched__ = True

# -- folds -----------------------------------------------------------------------------------------


@FUNCTIONS_OF_ARRAYS.of(np.prod)
def prod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Interval:
    """Factor by factor."""
    a = as_interval(a)
    axes = range(a.ndim) if axis is None else np.lib.array_utils.normalize_axis_tuple(axis, a.ndim)
    for each in sorted(axes, reverse=True):
        parts = np.moveaxis(a, each, 0)
        a = Interval(np.ones(parts.shape[1:]))
        for part in parts:
            a = a * part
        a = np.expand_dims(a, each) if keepdims else a
    return a


def _cumulated(f: Callable[[Any, Any], Any]) -> Callable[..., Interval]:
    def cumulated(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Interval:
        a = as_interval(a)
        a, axis = (a.ravel(), 0) if axis is None else (a, axis)
        made = np.moveaxis(a.copy(), axis, 0)
        for k in range(1, len(made)):
            made[k] = f(made[k - 1], made[k])
        return np.moveaxis(made, 0, axis)  # type: ignore[return-value]

    return cumulated


@FUNCTIONS_OF_ARRAYS.of(np.diff)
def diff(a: Any, n: int = 1, axis: int = -1) -> Interval:
    a = np.moveaxis(as_interval(a), axis, -1)
    for _ in range(n):
        a = a[..., 1:] - a[..., :-1]
    return np.moveaxis(a, -1, axis)  # type: ignore[return-value]


# -- products --------------------------------------------------------------------------------------


@FUNCTIONS_OF_ARRAYS.of(np.tensordot)
def tensordot(a: Any, b: Any, axes: Any = 2) -> Interval:
    """As a product of matrices."""
    a, b = as_interval(a), as_interval(b)
    if isinstance(axes, int):
        axes = tuple(range(-axes, 0)), tuple(range(axes))
    of_a, of_b = (np.lib.array_utils.normalize_axis_tuple(k, x.ndim) for k, x in zip(axes, (a, b)))
    if [a.shape[k] for k in of_a] != [b.shape[k] for k in of_b]:
        raise ValueError(f"the shapes {a.shape} and {b.shape} do not go together along {axes}")
    free_a, free_b = ([k for k in range(x.ndim) if k not in of] for x, of in ((a, of_a), (b, of_b)))
    count = int(np.prod([a.shape[k] for k in of_a]))
    rows = a.transpose([*free_a, *of_a]).reshape(-1, count)
    columns = b.transpose([*of_b, *free_b]).reshape(count, -1)
    shape = [a.shape[k] for k in free_a] + [b.shape[k] for k in free_b]
    return np.matmul(rows, columns).reshape(shape)  # type: ignore[return-value]


@FUNCTIONS_OF_ARRAYS.of(np.trace)
def trace(a: Any, offset: int = 0, dtype: Any = None, out: Any = None) -> Interval:
    return total(as_interval(a).diagonal(offset), -1)


# -- spread ----------------------------------------------------------------------------------------


@FUNCTIONS_OF_ARRAYS.of(np.var)
def var(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Interval:
    a = as_interval(a)
    return mean(apply("square", a - mean(a, axis, keepdims=True)), axis, keepdims=keepdims)


@FUNCTIONS_OF_ARRAYS.of(np.std)
def std(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Interval:
    return apply("sqrt", var(a, axis, keepdims=keepdims))


@FUNCTIONS_OF_ARRAYS.of(np.linalg.norm)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Interval:
    if ord is not None:
        refuse("np.linalg.norm of intervals takes no ord; write it with sums, max and abs")
    return apply("sqrt", total(apply("square", x), axis, keepdims=keepdims))


# -- items -----------------------------------------------------------------------------------------


def items(a: Interval) -> Any:
    return [items(row) for row in a] if a.ndim else a


def item(a: Interval, *index: Any) -> Interval:
    return view(np.float64(a.lo.item(*index)), np.float64(a.hi.item(*index)))


@FUNCTIONS_OF_ARRAYS.of(np.copyto)
def copyto(dst: Any, src: Any) -> None:
    if not isinstance(dst, Interval):
        refuse("np.copyto of intervals into an array of floats; make it with Interval(np.zeros(shape))")
    dst[...] = src


cumsum, cumprod = _cumulated(lambda a, b: a + b), _cumulated(lambda a, b: a * b)
FUNCTIONS_OF_ARRAYS |= {np.cumsum: cumsum, np.cumprod: cumprod}
FUNCTIONS_OF_ARRAYS[np.sort] = both(np.sort)  # the k-th of the sorted is between the k-th bounds
METHODS |= {
    "prod": prod, "cumsum": cumsum, "cumprod": cumprod, "trace": trace, "var": var, "std": std,
    "tolist": items, "item": item,
}  # fmt: skip
