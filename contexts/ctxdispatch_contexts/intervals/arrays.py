"""NumPy's functions and methods of arrays on intervals, by table. What stands in none is refused by name.

A function's parameters are NumPy's. `out` and `dtype` stand among them for their places alone: `call` does
what they say, the same for all.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from operator import methodcaller
from typing import Any

import numpy as np

from ctxdispatch.facts import JOINS, MOVES
from ctxdispatch.ir.registry import Registry
from ctxdispatch_contexts.intervals import arithmetic
from ctxdispatch_contexts.intervals.interval import Interval, as_interval, combined, interval_of, view
from ctxdispatch_contexts.intervals.refusals import refuse
from ctxdispatch_contexts.intervals.ufuncs import maximum, minimum, stored

__undispatched__ = True


def call(name: str, f: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """f(*args, **kwargs), stored in the `out` among them; refuses what f does not take."""
    try:
        bound = inspect.signature(f).bind(*args, **kwargs)
    except TypeError as error:
        refuse(f"{name} of intervals: {error}")
    out, dtype = (bound.arguments.pop(each, None) for each in ("out", "dtype"))
    if dtype is not None and np.dtype(dtype) != np.float64:
        refuse(f"{name} of intervals: bounds are float64, not {np.dtype(dtype)}")
    result = f(*bound.args, **bound.kwargs)
    return result if out is None else _stored_exactly(name, out, result)


def _stored_exactly(name: str, out: Any, result: Interval) -> Any:
    if np.shape(out) != np.shape(result):
        raise ValueError(f"{name}: out has the shape {np.shape(out)}, the result {np.shape(result)}")
    return stored(out, result)


FUNCTIONS_OF_ARRAYS: Registry[Callable[..., Any]] = Registry()

# -- sums, extrema, products ------------------------------------------------------------------------


@FUNCTIONS_OF_ARRAYS.of(np.sum)
def total(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Interval:
    """A sum, term by term."""
    with np.errstate(all="ignore"):
        return interval_of(arithmetic.total(as_interval(a).bounds, axis, keepdims))


@FUNCTIONS_OF_ARRAYS.of(np.mean)
def mean(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Interval:
    summed = total(a, axis, keepdims=keepdims)
    return summed / (as_interval(a).size / max(1, summed.size))


def _extreme(f: Any) -> Callable[..., Interval]:
    def extreme(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Interval:
        a = as_interval(a)
        return view(f(a.lo, axis=axis, keepdims=keepdims), f(a.hi, axis=axis, keepdims=keepdims))

    return extreme


@FUNCTIONS_OF_ARRAYS.of(np.dot)
def dot(a: Any, b: Any, out: Any = None) -> Interval:
    return combined(arithmetic.dot, as_interval(a), as_interval(b))


@FUNCTIONS_OF_ARRAYS.of(np.inner)
def inner(a: Any, b: Any) -> Interval:
    return combined(arithmetic.inner, as_interval(a), as_interval(b))


@FUNCTIONS_OF_ARRAYS.of(np.outer)
def outer(a: Any, b: Any, out: Any = None) -> Interval:
    a, b = as_interval(a), as_interval(b)
    return a.ravel()[:, None] * b.ravel()


@FUNCTIONS_OF_ARRAYS.of(np.vdot)
def vdot(a: Any, b: Any) -> Interval:
    return dot(as_interval(a).ravel(), as_interval(b).ravel())


# -- choosing --------------------------------------------------------------------------------------


@FUNCTIONS_OF_ARRAYS.of(np.where)
def where(condition: Any, a: Any, b: Any) -> Interval:
    chosen = condition != 0.0 if isinstance(condition, Interval) else condition
    a, b = as_interval(a), as_interval(b)
    return view(np.where(chosen, a.lo, b.lo), np.where(chosen, a.hi, b.hi))


@FUNCTIONS_OF_ARRAYS.of(np.clip)
def clip(
    a: Any, a_min: Any = None, a_max: Any = None, out: Any = None, *, min: Any = None, max: Any = None
) -> Interval:
    least, most = (a_min if min is None else min), (a_max if max is None else max)
    a = +as_interval(a) if least is None else maximum(a, least)
    return a if most is None else minimum(a, most)


# -- moving ----------------------------------------------------------------------------------------


def both(f: Any) -> Callable[..., Interval]:
    """Where f only moves elements, of copies or of views: of both bounds."""

    def moved(a: Any, *args: Any, **kwargs: Any) -> Interval:
        if any(isinstance(each, Interval) for each in (*args, *kwargs.values())):
            refuse("places and shapes are whole numbers, not intervals")
        a = as_interval(a)
        return view(f(a.lo, *args, **kwargs), f(a.hi, *args, **kwargs))

    return moved


def _method(name: str) -> Callable[..., Interval]:
    return both(lambda bound, *args, **kwargs: methodcaller(name, *args, **kwargs)(bound))


@FUNCTIONS_OF_ARRAYS.of(np.take)
def take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> Interval:
    return both(np.take)(a, indices, axis=axis, mode=mode)


@FUNCTIONS_OF_ARRAYS.of(np.concatenate)
def concatenate(arrays: Any, /, axis: Any = 0, out: Any = None, *, dtype: Any = None) -> Interval:
    return _joined(np.concatenate)(arrays, axis=axis)


@FUNCTIONS_OF_ARRAYS.of(np.stack)
def stack(arrays: Any, axis: int = 0, out: Any = None, *, dtype: Any = None) -> Interval:
    return _joined(np.stack)(arrays, axis=axis)


def _joined(f: Any) -> Callable[..., Interval]:
    def joined(arrays: Any, **kwargs: Any) -> Interval:
        parts = [*map(as_interval, arrays)]
        return view(f([p.lo for p in parts], **kwargs), f([p.hi for p in parts], **kwargs))

    return joined


def _filled(f: Any) -> Callable[..., Interval]:
    """New arrays of the shape and the order in memory of another."""

    def filled(a: Any, dtype: Any = None, order: str = "K") -> Interval:
        return view(f(a.lo, order=order), f(a.hi, order=order))

    return filled


@FUNCTIONS_OF_ARRAYS.of(np.full_like)
def full_like(a: Any, fill_value: Any, dtype: Any = None, order: str = "K") -> Interval:
    return _filled(np.zeros_like)(as_interval(a), order=order).fill_from(as_interval(fill_value))


def astype(a: Interval, dtype: Any = None, order: str = "K") -> Interval:
    return view(a.lo.copy(order), a.hi.copy(order))


def fill(a: Interval, value: Any) -> None:
    a[...] = value


# -- making ----------------------------------------------------------------------------------------


def array(object: Any, dtype: Any = None) -> Interval:
    a = as_interval(object)
    return view(np.array(a.lo), np.array(a.hi))


def full(shape: Any, fill_value: Any, dtype: Any = None) -> Interval:
    return Interval(np.zeros(shape)).fill_from(as_interval(fill_value))


def asarray(a: Any, dtype: Any = None) -> Interval:
    a = as_interval(a)
    return a if isinstance(a.lo, np.ndarray) else array(a)


# -- tables ----------------------------------------------------------------------------------------

def _told(name: str) -> Callable[..., Any]:
    return lambda a: getattr(a, name)


FUNCTIONS_OF_ARRAYS |= {f: _extreme(f) for f in (np.max, np.min)}
FUNCTIONS_OF_ARRAYS |= {getattr(np, name): _told(name) for name in ("shape", "ndim", "size")}
FUNCTIONS_OF_ARRAYS |= {f: _filled(f) for f in (np.zeros_like, np.ones_like)}
FUNCTIONS_OF_ARRAYS[np.empty_like] = _filled(np.zeros_like)
FUNCTIONS_OF_ARRAYS = Registry(
    {f: both(f) for f in (*MOVES, np.triu, np.tril)} | {f: _joined(f) for f in JOINS} | FUNCTIONS_OF_ARRAYS
)

MOVING_METHODS = "reshape ravel flatten transpose squeeze repeat copy swapaxes diagonal"

METHODS: dict[str, Callable[..., Any]] = {
    "sum": total, "mean": mean, "clip": clip, "dot": dot, "max": _extreme(np.max), "min": _extreme(np.min),
    "take": take, "astype": astype, "fill": fill,
    **{name: _method(name) for name in MOVING_METHODS.split()},
}  # fmt: skip
"""Of arrays, and of scalars of NumPy."""


def function_of(function: Any) -> Callable[..., Any]:
    found, name = FUNCTIONS_OF_ARRAYS.get(function), f"{function.__module__}.{function.__name__}"
    if found is None:
        refuse(f"{name} has no enclosure for intervals; write it with functions that have one")
    return partial(call, name, found)
