"""NumPy on intervals: ufuncs, functions and methods, by table. What stands in none is refused by its name,
and so are arguments that a function here does not take."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from ctxdispatch_contexts.intervals import arithmetic
from ctxdispatch_contexts.intervals import interval as i
from ctxdispatch_contexts.intervals.elementary import FUNCTIONS, NUMPY_NAMES
from ctxdispatch_contexts.intervals.interval import Interval, apply, as_interval, refuse

__undispatched__ = True

# -- elementwise -----------------------------------------------------------------------------------


def maximum(a: Any, b: Any) -> Interval:
    a, b = as_interval(a), as_interval(b)
    return Interval.of((np.maximum(a.lo, b.lo), np.maximum(a.hi, b.hi)))


def minimum(a: Any, b: Any) -> Interval:
    a, b = as_interval(a), as_interval(b)
    return Interval.of((np.minimum(a.lo, b.lo), np.minimum(a.hi, b.hi)))


def hypot(*coordinates: Any) -> Interval:
    squares = [apply("square", x) for x in coordinates]
    return apply("sqrt", functools.reduce(np.add, squares, Interval(0.0)))


def arctan2(y: Any, x: Any) -> Interval:
    """Where x is above 0 by arctan; anywhere else all angles that there are."""
    y, x = as_interval(y), as_interval(x)
    right = x.lo > 0.0
    safe = Interval.of((np.where(right, x.lo, 1.0), np.where(right, x.hi, 1.0)))
    angle = apply("atan", np.divide(y, safe))
    most = 3.1415926535897936
    return Interval.of((np.where(right, angle.lo, -most), np.where(right, angle.hi, most)))


def _by(operation: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    return lambda a, b: operation(as_interval(a), as_interval(b))


OF_TWO = {
    np.add: i.OPERATORS["add"], np.subtract: i.OPERATORS["sub"], np.multiply: i.OPERATORS["mul"],
    np.divide: i.OPERATORS["truediv"], np.floor_divide: i.OPERATORS["floordiv"],
    np.remainder: i.OPERATORS["mod"], np.matmul: i.OPERATORS["matmul"],
}  # fmt: skip

UFUNCS: dict[Any, Callable[..., Any]] = {
    **{ufunc: functools.partial(i.binary, f) for ufunc, f in OF_TWO.items()},
    np.power: lambda a, b: as_interval(a) ** b, np.float_power: lambda a, b: as_interval(a) ** b,
    np.divmod: lambda a, b: divmod(as_interval(a), as_interval(b)),
    np.negative: lambda a: -a, np.positive: lambda a: +a, np.reciprocal: lambda a: np.divide(1.0, a),
    np.conjugate: lambda a: +a,
    np.maximum: maximum, np.minimum: minimum, np.fmax: maximum, np.fmin: minimum,
    np.hypot: hypot, np.arctan2: arctan2,
    np.less: _by(lambda a, b: a < b), np.less_equal: _by(lambda a, b: a <= b),
    np.greater: _by(lambda a, b: a > b), np.greater_equal: _by(lambda a, b: a >= b),
    np.equal: _by(lambda a, b: a == b), np.not_equal: _by(lambda a, b: a != b),
    np.isfinite: lambda a: np.isfinite(a.lo) & np.isfinite(a.hi),
    np.isinf: lambda a: arithmetic.is_infinite(a), np.isnan: lambda a: np.zeros(a.shape, bool)[()],
}  # fmt: skip

REDUCED = {np.add: arithmetic.summed, np.multiply: arithmetic.multiplied}
EXTREMES = {np.maximum: np.max, np.minimum: np.min}


def ufunc_of(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What a ufunc gives of intervals."""
    out = kwargs.pop("out", None)
    out = out[0] if isinstance(out, tuple) else out
    if method == "reduce":
        return _into(out, _reduced(ufunc, *inputs, **kwargs))
    if kwargs.pop("where", True) is not True or kwargs:
        refuse(f"np.{ufunc.__name__} of intervals takes no {', '.join(kwargs) or 'where'}")
    if method != "__call__":
        refuse(f"np.{ufunc.__name__}.{method} has no enclosure for intervals; write it as a loop")
    name = NUMPY_NAMES.get(ufunc.__name__, ufunc.__name__)
    if ufunc in UFUNCS:
        return _into(out, UFUNCS[ufunc](*inputs))
    if name in FUNCTIONS:
        return _into(out, apply(name, *inputs))
    name = f"np.{ufunc.__name__}"
    return refuse(f"{name} has no enclosure for intervals; write it with functions that have one")


def _reduced(ufunc: np.ufunc, x: Any, axis: Any = 0, dtype: Any = None, keepdims: bool = False) -> Any:
    if ufunc in REDUCED:
        return _folded(REDUCED[ufunc], x, axis, keepdims)
    if ufunc in EXTREMES:
        return _extreme(EXTREMES[ufunc])(x, axis, None, keepdims)
    return refuse(f"np.{ufunc.__name__}.reduce has no enclosure for intervals; write it as a loop")


def _into(out: Any, result: Any) -> Any:
    """Stored where `out` says."""
    if out is None:
        return result
    if isinstance(result, Interval) and not isinstance(out, Interval):
        refuse("out= of an operation on intervals is an Interval; make it with Interval(np.zeros(shape))")
    out[...] = result
    return out


# -- reductions ------------------------------------------------------------------------------------


def _folded(fold: Any, x: Any, axis: Any, keepdims: bool) -> Interval:
    x = as_interval(x)
    with np.errstate(all="ignore"):
        return Interval.of(fold(x, _axes(axis, x.ndim), keepdims))


def _axes(axis: Any, ndim: int) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(ndim))
    return np.lib.array_utils.normalize_axis_tuple(axis, ndim)  # type: ignore[no-any-return]


def total(x: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """A sum, term by term."""
    return _into(out, _folded(arithmetic.summed, x, axis, keepdims))


def product(x: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    return _into(out, _folded(arithmetic.multiplied, x, axis, keepdims))


def mean(x: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    x = as_interval(x)
    summed = total(x, axis, keepdims=keepdims)
    return _into(out, np.divide(summed, x.size / max(1, summed.size)))


def variance(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    x = as_interval(x)
    return mean(apply("square", np.subtract(x, mean(x, axis, keepdims=True))), axis, keepdims=keepdims)


def deviation(x: Any, axis: Any = None, keepdims: bool = False) -> Interval:
    return apply("sqrt", variance(x, axis, keepdims))


def norm(x: Any, ord: None = None, axis: Any = None, keepdims: bool = False) -> Interval:
    if ord is not None:
        refuse("np.linalg.norm of intervals takes no ord; write it with sums, max and abs")
    return apply("sqrt", total(apply("square", x), axis, keepdims=keepdims))


def _cumulated(f: Any) -> Callable[..., Any]:
    def cumulated(x: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        x = as_interval(x) if axis is not None else as_interval(x).reshape(-1)
        with np.errstate(all="ignore"):
            return _into(out, Interval.of(arithmetic.accumulated(f, x, axis or 0)))

    return cumulated


def _extreme(f: Any) -> Callable[..., Any]:
    def extreme(x: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        x = as_interval(x)
        bounds = f(x.lo, axis=axis, keepdims=keepdims), f(x.hi, axis=axis, keepdims=keepdims)
        return _into(out, Interval.of(bounds))

    return extreme


def trace(x: Any, offset: int = 0) -> Any:
    return total(as_interval(x).diagonal(offset), -1)


# -- products --------------------------------------------------------------------------------------


def dot(a: Any, b: Any, out: Any = None) -> Any:
    a, b = as_interval(a), as_interval(b)
    if not (a.ndim and b.ndim):
        return _into(out, np.multiply(a, b))
    return _into(out, tensordot(a, b, (-1, -2 if b.ndim > 1 else -1)))


def inner(a: Any, b: Any) -> Any:
    a, b = as_interval(a), as_interval(b)
    return tensordot(a, b, (-1, -1)) if a.ndim and b.ndim else np.multiply(a, b)


def outer(a: Any, b: Any, out: Any = None) -> Any:
    a, b = as_interval(a).reshape(-1), as_interval(b).reshape(-1)
    return _into(out, np.multiply(a[:, None], b))


def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """As a product of matrices."""
    a, b = as_interval(a), as_interval(b)
    if isinstance(axes, int):
        axes = tuple(range(-axes, 0)), tuple(range(axes))
    of_a, of_b = _axes(axes[0], a.ndim), _axes(axes[1], b.ndim)
    free_a = [k for k in range(a.ndim) if k not in of_a]
    free_b = [k for k in range(b.ndim) if k not in of_b]
    shape = [a.shape[k] for k in free_a] + [b.shape[k] for k in free_b]
    if [a.shape[k] for k in of_a] != [b.shape[k] for k in of_b]:
        raise ValueError(f"shapes {a.shape} and {b.shape} do not go together along {axes}")
    rows = a.transpose([*free_a, *of_a]).reshape(int(np.prod([a.shape[k] for k in free_a])), -1)
    columns = b.transpose([*of_b, *free_b]).reshape(rows.shape[1], -1)
    return np.matmul(rows, columns).reshape(shape)  # type: ignore[attr-defined]


# -- choosing and moving ---------------------------------------------------------------------------


def where(condition: Any, a: Any, b: Any) -> Interval:
    condition = condition != 0.0 if isinstance(condition, Interval) else condition
    a, b = as_interval(a), as_interval(b)
    return Interval.of((np.where(condition, a.lo, b.lo), np.where(condition, a.hi, b.hi)))


def clip(x: Any, a_min: Any = None, a_max: Any = None, out: Any = None) -> Any:
    x = x if a_min is None else maximum(x, a_min)
    return _into(out, x if a_max is None else minimum(x, a_max))


def diff(x: Any, n: int = 1, axis: int = -1) -> Any:
    x = as_interval(x).swapaxes(axis, -1)
    for _ in range(n):
        x = np.subtract(x[..., 1:], x[..., :-1])
    return x.swapaxes(axis, -1)


def _both(f: Any) -> Callable[..., Any]:
    """Where f only moves elements: of both bounds. (The k-th of the sorted is between the k-th bounds.)"""

    def moved(x: Any, *args: Any, **kwargs: Any) -> Any:
        x = as_interval(x)
        out = kwargs.pop("out", None)
        if any(isinstance(a, Interval) for a in (*args, *kwargs.values())):
            refuse(f"{f.__name__} of intervals takes no interval but the first argument")
        return _into(out, Interval.of((f(x.lo, *args, **kwargs), f(x.hi, *args, **kwargs))))

    return moved


def _joined(f: Any) -> Callable[..., Any]:
    def joined(arrays: Any, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        parts = [*map(as_interval, arrays)]
        bounds = [f([getattr(p, side) for p in parts], *args, **kwargs) for side in ("lo", "hi")]
        return _into(out, Interval.of(bounds))

    return joined


def _filled(f: Callable[..., Any]) -> Callable[..., Any]:
    """Of the shape of an array: intervals, unless another type is asked for."""

    def filled(x: Any, *args: Any, **kwargs: Any) -> Any:
        dtype = kwargs.get("dtype")
        made = f(np.shape(as_interval(x).lo), *args, **kwargs)
        return Interval(made) if dtype is None or np.dtype(dtype).kind == "f" else made

    return filled


def full_like(x: Any, fill_value: Any) -> Any:
    made = Interval(np.zeros(as_interval(x).shape))
    made[...] = fill_value
    return made


def copyto(dst: Any, src: Any) -> None:
    if not isinstance(dst, Interval):
        refuse("np.copyto of intervals into an array of floats; make it with Interval(np.zeros(shape))")
    dst[...] = src


MOVING = (
    np.reshape, np.ravel, np.transpose, np.squeeze, np.expand_dims, np.swapaxes, np.moveaxis, np.broadcast_to,
    np.repeat, np.tile, np.flip, np.fliplr, np.flipud, np.roll, np.diag, np.diagonal, np.take, np.copy,
    np.atleast_1d, np.atleast_2d, np.rot90, np.tril, np.triu, np.delete,
)  # fmt: skip
JOINING = (np.concatenate, np.stack, np.vstack, np.hstack, np.column_stack)

FUNCTIONS_OF_ARRAYS: dict[Any, Callable[..., Any]] = {
    np.sum: total, np.prod: product, np.mean: mean, np.where: where, np.clip: clip, np.diff: diff,
    np.max: _extreme(np.max), np.min: _extreme(np.min), np.trace: trace, np.copyto: copyto,
    np.cumsum: _cumulated(arithmetic.add), np.cumprod: _cumulated(arithmetic.multiply),
    np.var: variance, np.std: deviation, np.linalg.norm: norm, np.sort: _both(np.sort),
    np.dot: dot, np.inner: inner, np.outer: outer, np.tensordot: tensordot,
    np.vdot: lambda a, b: inner(as_interval(a).reshape(-1), as_interval(b).reshape(-1)),
    np.shape: lambda a: a.shape, np.ndim: lambda a: a.ndim, np.size: lambda a: a.size,
    np.zeros_like: _filled(np.zeros), np.ones_like: _filled(np.ones), np.empty_like: _filled(np.zeros),
    np.full_like: full_like, np.iscomplexobj: lambda x: False, np.isrealobj: lambda x: True,
    np.real: lambda x: x,
    **{f: _both(f) for f in MOVING}, **{f: _joined(f) for f in JOINING},
}  # fmt: skip


def function_of(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    found = FUNCTIONS_OF_ARRAYS.get(function)
    name = f"{function.__module__}.{function.__name__}"
    if found is None:
        refuse(f"{name} has no enclosure for intervals; write it with functions that have one")
    return taking(found, name)(*args, **kwargs)


def taking(found: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Arguments that it does not take are refused."""

    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            inspect.signature(found).bind(*args, **kwargs)
        except TypeError as error:
            refuse(f"{name} of intervals: {error}")
        return found(*args, **kwargs)

    return run


# -- methods ---------------------------------------------------------------------------------------


def _fill(x: Interval, value: Any) -> None:
    x[...] = value


def _item(x: Interval, *index: int) -> Interval:
    return Interval(x.lo.item(*index), x.hi.item(*index))


def _list(x: Interval) -> Any:
    return [_list(row) for row in x] if x.ndim else x


def _astype(x: Interval, dtype: Any, copy: bool = True) -> Interval:
    if np.dtype(dtype) != np.float64:
        refuse(f"astype({np.dtype(dtype).name}) of intervals: bounds are float64")
    return _both(np.copy)(x) if copy else x  # type: ignore[no-any-return]


def _named(name: str) -> Callable[..., Any]:
    """The method, of both bounds."""
    method = getattr(np.ndarray, name)
    return _both(lambda bound, *args, **kwargs: method(np.asarray(bound), *args, **kwargs))


METHODS: dict[str, Callable[..., Any]] = {
    "sum": total, "prod": product, "mean": mean, "dot": dot, "trace": trace,
    "clip": lambda x, min=None, max=None, out=None: clip(x, min, max, out),
    "max": _extreme(np.max), "min": _extreme(np.min), "var": variance, "std": deviation,
    "cumsum": _cumulated(arithmetic.add), "cumprod": _cumulated(arithmetic.multiply),
    "fill": _fill, "item": _item, "tolist": _list, "astype": _astype, "conj": np.positive,
    "conjugate": np.positive, "copy": lambda x, order="C": _both(np.array)(x, order=order),
    **{name: _named(name) for name in (
        "reshape", "ravel", "flatten", "transpose", "squeeze", "repeat", "take", "swapaxes", "diagonal",
    )},
}  # fmt: skip
"""Of arrays, and of scalars of NumPy."""


def method_of(x: Interval, name: str) -> Callable[..., Any]:
    if name in METHODS:
        return functools.partial(taking(METHODS[name], f"the method {name}"), x)
    if not name.startswith("__") and (hasattr(np.ndarray, name) or hasattr(float, name)):
        refuse(f"{name} of an interval has no enclosure; write it with functions that have one")
    raise AttributeError(f"an Interval has no {name!r}")
