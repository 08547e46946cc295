"""`IntervalContext`: rules for what does not ask its operands: `math`, and builtins that compare.

Operators and NumPy need none: they ask `Interval` itself.
"""

from __future__ import annotations

import builtins
import functools
import math
import numbers
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ctxdispatch.dispatch import overdub, recurse
from ctxdispatch.ir.registry import Registry
from ctxdispatch_contexts.intervals import arrays, statistics, ufuncs  # noqa: F401
from ctxdispatch_contexts.intervals.elementary import FUNCTIONS
from ctxdispatch_contexts.intervals.interval import Interval, apply, as_interval
from ctxdispatch_contexts.intervals.refusals import RefusesOnIntervals, refuse

__undispatched__ = True


class IntervalContext(RefusesOnIntervals):
    """Runs a program on intervals: results contain what it gives for all numbers of the arguments' intervals.

    overdub(IntervalContext(), f, Interval(0.9, 1.1))

    Numbers in the program are points: the floats that they are. Raises IntervalError, at the user's line,
    where a comparison holds for some numbers only, outside of a function's domain, and for functions without
    an enclosure.
    """


def enclose(f: Callable[..., Any], *args: Any, around: bool = False) -> Any:
    """f(*args), enclosed: numbers and arrays among the arguments, and in their lists, tuples and dicts, are
    points, with `around` together with their neighbours; anything else is what it is.

    An array that stands among them twice is lifted once; f changes the lifted one, and not the array.
    """
    lifted: dict[int, Any] = {}
    return overdub(IntervalContext(), f, *(_lifted(a, around, lifted) for a in args))


def _lifted(value: Any, around: bool, lifted: dict[int, Any]) -> Any:
    if id(value) not in lifted:
        lifted[id(value)] = _lift(value, around, lifted)
    return lifted[id(value)]


def _lift(value: Any, around: bool, lifted: dict[int, Any]) -> Any:
    if type(value) in (list, tuple):
        return type(value)(_lifted(item, around, lifted) for item in value)
    if type(value) is dict:
        return {key: _lifted(item, around, lifted) for key, item in value.items()}
    if not isinstance(value, numbers.Number | np.ndarray):
        return value
    point = as_interval(value)
    return Interval.around(value) if around else point


# -- math ------------------------------------------------------------------------------------------


def _unary(name: str) -> None:
    f = getattr(math, name)

    @IntervalContext.rule(f, Interval)
    def rule(ctx: IntervalContext, x: Interval) -> Any:
        return apply(name, _numbers(f"math.{name}", x)[0])


def _several(f: Any, enclosure: Callable[..., Any]) -> None:
    """For any operands of which one is an interval."""
    name = f"{f.__module__}.{f.__name__}"

    @IntervalContext.rule(f)
    def rule(ctx: IntervalContext, *args: Any, **kwargs: Any) -> Any:
        if not _holds_intervals((*args, *kwargs.values())):
            return recurse(ctx, f, *args, **kwargs)
        return arrays.call(name, enclosure, *args, **kwargs)


def _holds_intervals(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(map(_holds_intervals, value))
    return isinstance(value, Interval)


def _numbers(name: str, *args: Any) -> tuple[Any, ...]:
    """The arguments of a function that takes no arrays."""
    if any(np.ndim(a) for a in args):
        refuse(f"{name} takes numbers and no arrays; use np, or decide it element by element")
    return args


def _least(f: Callable[[Any, Any], Interval], name: str) -> Callable[..., Any]:
    def extreme(*args: Any, key: Any = None, **kwargs: Any) -> Any:
        if key is not None:
            refuse(f"{name}(.., key=..) of intervals: which one it is may depend on the numbers in them")
        items = list(args[0]) if len(args) == 1 else args
        return (
            functools.reduce(f, _numbers(name, *items)) if items else getattr(builtins, name)(items, **kwargs)
        )

    return extreme


SEVERAL: Registry[Callable[..., Any]] = Registry()


def _of_numbers(callee: Any) -> Callable[[Callable[..., Any]], None]:
    """Enters what it decorates as what is done in place of a function of `math`."""

    def enter(f: Callable[..., Any]) -> None:
        SEVERAL[callee] = lambda *args: f(*_numbers(f"math.{callee.__name__}", *args))

    return enter


@_of_numbers(math.log)
def _log(x: Any, base: Any = None) -> Any:
    logarithm = apply("log", x)
    return logarithm if base is None else logarithm / apply("log", base)


@SEVERAL.of(builtins.pow)
def _pow(base: Any, exp: Any, mod: Any = None) -> Any:
    if mod is not None:
        refuse("pow(x, y, z) of intervals: it is of whole numbers")
    return base**exp


@SEVERAL.of(builtins.sum, math.fsum)
def _sum(iterable: Any, /, start: Any = 0) -> Any:
    return functools.reduce(lambda a, b: a + b, iterable, start)


@SEVERAL.of(math.dist)
def _dist(p: Any, q: Any) -> Interval:
    if len(p) != len(q):
        raise ValueError("both points must have the same number of dimensions")
    return apply("sqrt", arrays.total(apply("square", as_interval(p) - as_interval(q))))


_of_numbers(math.pow)(lambda x, y: as_interval(x) ** y)
_of_numbers(math.hypot)(ufuncs.hypot)
_of_numbers(math.atan2)(ufuncs.arctan2)
_of_numbers(math.isfinite)(ufuncs.is_finite)
_of_numbers(math.isinf)(ufuncs.is_infinite)
_of_numbers(math.isnan)(ufuncs.is_nan)
SEVERAL[math.fmod] = lambda x, y: refuse("math.fmod has no enclosure for intervals; use %")
SEVERAL |= {builtins.max: _least(ufuncs.maximum, "max"), builtins.min: _least(ufuncs.minimum, "min")}
SEVERAL |= {np.array: arrays.array, np.full: arrays.full}
SEVERAL.of(np.asarray, np.ascontiguousarray)(arrays.asarray)


def _kept_out_of_floats(f: Any, *types: type) -> None:
    """NumPy's own message, for what is neither a float nor a sequence of floats, would be of a sequence."""

    @IntervalContext.rule(f, *types)
    def rule(ctx: IntervalContext, *args: Any) -> Any:
        refuse(f"an array of floats cannot hold {args[-1]!r}; make it with Interval(np.zeros(shape))")


def _closed(name: str) -> None:
    """What is left of `math` is refused by its name."""

    @IntervalContext.rule(getattr(math, name), Interval)
    def rule(ctx: IntervalContext, *args: Any) -> Any:
        refuse(f"math.{name} has no enclosure for intervals; write it with functions that have one")


for _name, _function in vars(math).items():
    if _name in FUNCTIONS:
        _unary(_name)
    elif callable(_function) and not _name.startswith("_") and _function not in SEVERAL:
        _closed(_name)
for _f, _enclosure in SEVERAL.items():
    _several(_f, _enclosure)
_kept_out_of_floats(operator.setitem, np.ndarray, object, Interval)
_kept_out_of_floats(np.ndarray.fill, np.ndarray, Interval)
