"""NumPy's ufuncs on intervals, by table. What stands in none is refused by its name."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from ctxdispatch.facts import COMPARISONS, UFUNC_OF
from ctxdispatch.ir.registry import Registry
from ctxdispatch_contexts.intervals import arithmetic, comparing
from ctxdispatch_contexts.intervals.elementary import FUNCTIONS, NUMPY_NAMES
from ctxdispatch_contexts.intervals.interval import (
    OPERATORS,
    Interval,
    apply,
    as_interval,
    combined,
    interval_of,
    view,
)
from ctxdispatch_contexts.intervals.refusals import refuse

__undispatched__ = True

UFUNCS: Registry[Callable[..., Any]] = Registry()


@UFUNCS.of(np.maximum, np.fmax)
def maximum(a: Any, b: Any) -> Interval:
    a, b = as_interval(a), as_interval(b)
    return view(np.maximum(a.lo, b.lo), np.maximum(a.hi, b.hi))


@UFUNCS.of(np.minimum, np.fmin)
def minimum(a: Any, b: Any) -> Interval:
    a, b = as_interval(a), as_interval(b)
    return view(np.minimum(a.lo, b.lo), np.minimum(a.hi, b.hi))


@UFUNCS.of(np.hypot)
def hypot(*coordinates: Any) -> Interval:
    """The length of a vector of any number of coordinates."""
    return apply("sqrt", reduce(operator.add, (apply("square", x) for x in coordinates)))


@UFUNCS.of(np.arctan2)
def arctan2(y: Any, x: Any) -> Interval:
    """Where x is above 0 by arctan; anywhere else all angles that there are."""
    y, x = as_interval(y), as_interval(x)
    right = x.lo > 0.0
    angle = apply("atan", y / view(np.where(right, x.lo, 1.0), np.where(right, x.hi, 1.0)))
    most = 3.1415926535897936
    return interval_of((np.where(right, angle.lo, -most), np.where(right, angle.hi, most)))


@UFUNCS.of(np.isfinite)
def is_finite(x: Any) -> Any:
    x = as_interval(x)
    return comparing.decided(comparing.is_finite(x.bounds), lambda: f"isfinite({x!r})")


@UFUNCS.of(np.isinf)
def is_infinite(x: Any) -> Any:
    x = as_interval(x)
    return comparing.decided(comparing.is_finite(x.bounds)[::-1], lambda: f"isinf({x!r})")


@UFUNCS.of(np.isnan)
def is_nan(x: Any) -> Any:
    x = as_interval(x)
    return comparing.decided(comparing.is_nan(x.bounds), lambda: f"isnan({x!r})")


def _operator(f: arithmetic.Operator) -> Callable[[Any, Any], Interval]:
    return lambda a, b: combined(f, as_interval(a), as_interval(b))


def _comparison(name: str) -> Callable[[Any, Any], Any]:
    return lambda a, b: comparing.compared(name, as_interval(a).bounds, as_interval(b).bounds)


UFUNCS |= {UFUNC_OF[getattr(operator, name)]: _operator(f) for name, f in OPERATORS.items()}
UFUNCS |= {UFUNC_OF[f]: _comparison(f.__name__) for f in COMPARISONS}
UFUNCS[np.float_power] = UFUNCS[np.power]
UFUNCS[np.divmod] = lambda a, b: divmod(as_interval(a), b)
UFUNCS[np.negative] = lambda a: -as_interval(a)
UFUNCS[np.reciprocal] = lambda a: 1.0 / as_interval(a)

REDUCTIONS = {np.add: "sum", np.multiply: "prod", np.maximum: "max", np.minimum: "min"}


def ufunc_of(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What a ufunc gives of intervals."""
    outs = kwargs.pop("out", (None,))
    if method == "reduce" and ufunc in REDUCTIONS:
        return getattr(as_interval(inputs[0]), REDUCTIONS[ufunc])(**{"axis": 0, "out": outs[0], **kwargs})
    if method != "__call__":
        refuse(f"np.{ufunc.__name__}.{method} has no enclosure for intervals; write it as a loop")
    if kwargs.pop("where", True) is not True or kwargs:
        refuse(f"np.{ufunc.__name__} of intervals takes no {', '.join(kwargs) or 'where'}")
    if len(outs) > 1:
        refuse(f"np.{ufunc.__name__} of intervals takes no out=, as it has {len(outs)} results")
    result = _called(ufunc, inputs)
    return result if outs[0] is None else stored(outs[0], result)


def _called(ufunc: np.ufunc, inputs: tuple[Any, ...]) -> Any:
    name = NUMPY_NAMES.get(ufunc.__name__, ufunc.__name__)
    if ufunc in UFUNCS:
        return UFUNCS[ufunc](*inputs)
    if name not in FUNCTIONS:
        refuse(f"np.{ufunc.__name__} has no enclosure for intervals; write it with functions that have one")
    return apply(name, *inputs)


def stored(out: Any, result: Any) -> Any:
    """`out`, with the result in it."""
    if isinstance(out, Interval):
        if not isinstance(out.lo, np.ndarray):
            raise TypeError(f"out= is an array, and not the number {out!r}")
        return out.fill_from(as_interval(result))
    if isinstance(result, Interval):
        refuse("out= of an operation on intervals is an Interval; make it with Interval(np.zeros(shape))")
    out[...] = result
    return out
