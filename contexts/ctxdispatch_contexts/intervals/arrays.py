"""NumPy on intervals: ufuncs, functions and methods, by table. What stands in none is refused by its name."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from ctxdispatch_contexts.intervals import interval as i
from ctxdispatch_contexts.intervals.elementary import FUNCTIONS, NUMPY_NAMES
from ctxdispatch_contexts.intervals.interval import Interval, apply, as_interval, refuse

__undispatched__ = True


def maximum(a: Any, b: Any) -> Interval:
    a, b = as_interval(a), as_interval(b)
    return Interval(np.maximum(a.lo, b.lo), np.maximum(a.hi, b.hi))


def minimum(a: Any, b: Any) -> Interval:
    a, b = as_interval(a), as_interval(b)
    return Interval(np.minimum(a.lo, b.lo), np.minimum(a.hi, b.hi))


def hypot(a: Any, b: Any) -> Interval:
    return apply("sqrt", apply("square", a) + apply("square", b))


def arctan2(y: Any, x: Any) -> Interval:
    """Where x is above 0 by arctan; anywhere else all angles that there are."""
    y, x = as_interval(y), as_interval(x)
    right = x.lo > 0.0
    safe = Interval(np.where(right, x.lo, 1.0), np.where(right, x.hi, 1.0))
    angle = apply("atan", y / safe)
    most = 3.1415926535897936
    return Interval(np.where(right, angle.lo, -most), np.where(right, angle.hi, most))


BINARY: dict[Any, Callable[..., Any]] = {
    np.add: lambda a, b: as_interval(a) + b, np.subtract: lambda a, b: as_interval(a) - b,
    np.multiply: lambda a, b: as_interval(a) * b, np.divide: lambda a, b: as_interval(a) / b,
    np.power: lambda a, b: i.power(as_interval(a), b),
    np.float_power: lambda a, b: i.power(as_interval(a), b),
    np.floor_divide: lambda a, b: as_interval(a) // b, np.remainder: lambda a, b: as_interval(a) % b,
    np.matmul: i.matmul, np.negative: lambda a: -as_interval(a),
    np.reciprocal: lambda a: 1.0 / as_interval(a),
    np.maximum: maximum, np.minimum: minimum, np.fmax: maximum, np.fmin: minimum,
    np.hypot: hypot, np.arctan2: arctan2,
    np.less: lambda a, b: as_interval(a) < b, np.less_equal: lambda a, b: as_interval(a) <= b,
    np.greater: lambda a, b: as_interval(a) > b, np.greater_equal: lambda a, b: as_interval(a) >= b,
    np.equal: lambda a, b: as_interval(a) == b, np.not_equal: lambda a, b: as_interval(a) != b,
    np.isfinite: lambda a: np.isfinite(a.lo) & np.isfinite(a.hi),
    np.isnan: lambda a: np.zeros(a.shape, bool)[()],
}  # fmt: skip


def ufunc_of(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What a ufunc gives of intervals."""
    out = kwargs.pop("out", None)
    if kwargs.pop("where", True) is not True or kwargs:
        refuse(f"np.{ufunc.__name__} of intervals takes no {', '.join(kwargs) or 'where'}")
    if method == "reduce" and ufunc is np.add:
        return total(inputs[0], *inputs[1:])
    if method != "__call__":
        refuse(f"np.{ufunc.__name__}.{method} has no enclosure for intervals; write it as a loop")
    name = NUMPY_NAMES.get(ufunc.__name__, ufunc.__name__)
    if ufunc in BINARY:
        result = BINARY[ufunc](*inputs)
    elif name in FUNCTIONS:
        result = apply(name, *inputs)
    else:
        refuse(f"np.{ufunc.__name__} has no enclosure for intervals; write it with functions that have one")
    return result if out is None else _into(out[0], result)


def _into(out: Any, result: Interval) -> Any:
    if not isinstance(out, Interval):
        refuse("out= of an operation on intervals is an Interval; make it with Interval(np.zeros(shape))")
    out[...] = result
    return out


# -- functions of arrays ---------------------------------------------------------------------------


def total(x: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Interval:
    """A sum, term by term."""
    x = as_interval(x)
    if axis is None:
        x, axes = x.reshape(-1), (0,)
    else:
        axes = tuple(a % x.ndim for a in (axis if isinstance(axis, tuple) else (axis,)))
    for each in sorted(axes, reverse=True):
        low, high = np.moveaxis(x.lo, each, 0), np.moveaxis(x.hi, each, 0)
        terms = [Interval(lo, hi) for lo, hi in zip(low, high)]
        x = reduce(lambda a, b: a + b, terms, Interval(np.zeros(low.shape[1:])))
        x = Interval(np.expand_dims(x.lo, each), np.expand_dims(x.hi, each)) if keepdims else x
    return x


def mean(x: Any, axis: Any = None, keepdims: bool = False) -> Interval:
    summed = total(x, axis, keepdims=keepdims)
    return summed / (as_interval(x).size / max(1, summed.size))


def where(condition: Any, a: Any, b: Any) -> Interval:
    a, b = as_interval(a), as_interval(b)
    return Interval(np.where(condition, a.lo, b.lo), np.where(condition, a.hi, b.hi))


def clip(x: Any, least: Any = None, most: Any = None) -> Interval:
    x = x if least is None else maximum(x, least)
    return x if most is None else minimum(x, most)


def _extreme(f: Any) -> Callable[..., Interval]:
    def extreme(x: Any, axis: Any = None, keepdims: bool = False) -> Interval:
        return Interval(f(x.lo, axis=axis, keepdims=keepdims), f(x.hi, axis=axis, keepdims=keepdims))

    return extreme


def _both(f: Any) -> Callable[..., Interval]:
    """Where f only moves elements: of both bounds."""

    def moved(x: Any, *args: Any, **kwargs: Any) -> Interval:
        x = as_interval(x)
        return Interval(f(x.lo, *args, **kwargs), f(x.hi, *args, **kwargs))

    return moved


def _joined(f: Any) -> Callable[..., Interval]:
    def joined(arrays: Any, *args: Any, **kwargs: Any) -> Interval:
        parts = [*map(as_interval, arrays)]
        return Interval(f([p.lo for p in parts], *args, **kwargs), f([p.hi for p in parts], *args, **kwargs))

    return joined


MOVING = (
    np.reshape, np.ravel, np.transpose, np.squeeze, np.expand_dims, np.swapaxes, np.moveaxis, np.broadcast_to,
    np.repeat, np.tile, np.flip, np.roll, np.diag, np.diagonal, np.take, np.copy, np.atleast_1d, np.rot90,
)  # fmt: skip
JOINING = (np.concatenate, np.stack, np.vstack, np.hstack, np.column_stack)

FUNCTIONS_OF_ARRAYS: dict[Any, Callable[..., Any]] = {
    np.sum: total, np.mean: mean, np.where: where, np.clip: clip,
    np.max: _extreme(np.max), np.min: _extreme(np.min), np.dot: i.matmul, np.inner: i.matmul,
    np.shape: lambda x: x.shape, np.ndim: lambda x: x.ndim, np.size: lambda x: x.size,
    np.zeros_like: lambda x, **_: Interval(np.zeros(x.shape)),
    np.ones_like: lambda x, **_: Interval(np.ones(x.shape)),
    np.diff: lambda x: x[..., 1:] - x[..., :-1],
    **{f: _both(f) for f in MOVING}, **{f: _joined(f) for f in JOINING},
}  # fmt: skip


def function_of(function: Any) -> Callable[..., Any]:
    found = FUNCTIONS_OF_ARRAYS.get(function)
    if found is None:
        name = f"{function.__module__}.{function.__name__}"
        refuse(f"{name} has no enclosure for intervals; write it with functions that have one")
    return found


METHODS: dict[str, Callable[..., Any]] = {
    "sum": total, "mean": mean, "clip": clip, "dot": i.matmul,
    "max": _extreme(np.max), "min": _extreme(np.min),
    "reshape": lambda x, *shape: Interval(x.lo.reshape(*shape), x.hi.reshape(*shape)),
    "ravel": _both(np.ravel), "flatten": _both(np.ravel), "transpose": _both(np.transpose),
    "squeeze": _both(np.squeeze), "repeat": _both(np.repeat), "copy": _both(np.copy),
}  # fmt: skip
"""Of arrays, and of scalars of NumPy."""
