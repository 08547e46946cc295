"""`IntervalContext`: rules for what does not ask its operands: `math`, and builtins that compare.

Operators and NumPy need none: they ask `Interval` itself.
"""

from __future__ import annotations

import builtins
import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ctxdispatch.dispatch import Context, overdub, recurse
from ctxdispatch_contexts.intervals import arrays
from ctxdispatch_contexts.intervals.elementary import FUNCTIONS
from ctxdispatch_contexts.intervals.interval import Interval, apply, as_interval, refuse

__undispatched__ = True


class IntervalContext(Context):
    """Runs a program on intervals: results contain what it gives for all numbers of the arguments' intervals.

    overdub(IntervalContext(), f, Interval(0.9, 1.1))

    Numbers in the program are points: the floats that they are. Raises IntervalError, at the user's line,
    where a comparison holds for some numbers only, outside of a function's domain, and for functions without
    an enclosure.
    """


def enclose(f: Callable[..., Any], *args: Any, around: bool = False) -> Any:
    """f(*args), enclosed: numbers and arrays among the arguments are points, with `around` together with
    their neighbours, intervals what they are."""
    return overdub(IntervalContext(), f, *(_lifted(a, around) for a in args))


def _lifted(value: Any, around: bool) -> Interval:
    return Interval.around(value) if around and not isinstance(value, Interval) else as_interval(value)


# -- math ------------------------------------------------------------------------------------------


def _unary(name: str) -> None:
    f = getattr(math, name)

    @IntervalContext.rule(f, Interval)
    def rule(ctx: IntervalContext, x: Interval) -> Any:
        return apply(name, x)


def _several(f: Any, enclosure: Callable[..., Any]) -> None:
    """For any operands of which one is an interval."""
    taking = arrays.taking(enclosure, f.__name__)

    @IntervalContext.rule(f)
    def rule(ctx: IntervalContext, *args: Any, **kwargs: Any) -> Any:
        if not _holds_interval(args):
            return recurse(ctx, f, *args, **kwargs)
        return taking(*args, **kwargs)


def _holds_interval(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(map(_holds_interval, value))
    return isinstance(value, Interval)


def _least(f: Callable[[Any, Any], Interval], name: str) -> Callable[..., Any]:
    def extreme(*args: Any, key: Any = None, default: Any = None) -> Any:
        if key is not None:
            refuse(f"{name}(.., key=..) of intervals: which one it is may depend on the numbers in them")
        items = [*args[0]] if len(args) == 1 else args
        if any(np.ndim(item) for item in items):
            refuse(f"{name} of arrays of intervals: compare their items, or use np.{name}imum")
        return functools.reduce(f, items)

    return extreme


def _log(x: Any, base: Any = None) -> Any:
    logarithm = apply("log", x)
    return logarithm if base is None else logarithm / apply("log", base)


def _sum(items: Any, start: Any = 0) -> Any:
    return functools.reduce(operator.add, items, start)


def _distance(p: Any, q: Any) -> Interval:
    return arrays.hypot(*np.subtract(as_interval(p), as_interval(q)))


def _array(object: Any, dtype: Any = None, *, copy: Any = True) -> Any:
    made = as_interval(object)
    return made.astype(float if dtype is None else dtype, copy=copy is not False and copy is not None)


def _same(a: Any, dtype: Any = None) -> Any:
    return _array(a, dtype, copy=False)


def _closed(name: str) -> None:
    """What is left of `math` is refused by its name."""

    @IntervalContext.rule(getattr(math, name), Interval)
    def rule(ctx: IntervalContext, *args: Any) -> Any:
        refuse(f"math.{name} has no enclosure for intervals; write it with functions that have one")


for _name in vars(math):
    if _name in FUNCTIONS:
        _unary(_name)
    elif callable(getattr(math, _name)) and not _name.startswith("_"):
        _closed(_name)

SEVERAL: dict[Any, Callable[..., Any]] = {
    math.log: _log, math.pow: lambda x, y: as_interval(x) ** y, math.hypot: arrays.hypot,
    math.atan2: arrays.arctan2, math.fsum: lambda seq: _sum(seq), builtins.sum: _sum, math.dist: _distance,
    np.array: _array, np.asarray: _same, np.asanyarray: _same, np.ascontiguousarray: _same,
    builtins.max: _least(arrays.maximum, "max"), builtins.min: _least(arrays.minimum, "min"),
    builtins.pow: lambda x, y: as_interval(x) ** y,
    math.fmod: lambda x, y: refuse("math.fmod has no enclosure for intervals; use %"),
}  # fmt: skip
for _f, _enclosure in SEVERAL.items():
    _several(_f, _enclosure)
