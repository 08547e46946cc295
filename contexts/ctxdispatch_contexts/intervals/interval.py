"""`Interval`: bounds of real numbers, one pair or an array of them.

Invariants: what an operation gives contains every result of the operation on members of its operands, in
exact arithmetic. Bounds are float64; `lo` may be -inf, `hi` inf. Comparisons hold for all members or for
none; else they raise. Of an array `lo` and `hi` are two arrays of the same shape and strides, in memory of
their own, and an Interval keeps its two for life: what writes to it writes into them, so that views of it see
what NumPy's views see.
"""

from __future__ import annotations

import numbers
import operator
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from typing import Any, NoReturn

import numpy as np

from ctxdispatch_contexts.intervals import arithmetic, comparing, formatting, rounding
from ctxdispatch_contexts.intervals.elementary import elementary
from ctxdispatch_contexts.intervals.refusals import IntervalTypeError, refuse
from ctxdispatch_contexts.intervals.rounding import Bounds

__undispatched__ = True


class Interval:
    """All numbers from `lo` to `hi`, bounds included; of arrays element by element.

    `Interval(x)` is the point x: a float is the number that it holds, not the decimal it was written as; see
    `around`. Whole numbers, fractions and long doubles that no float holds are enclosed. Arrays are copied,
    and so is an interval.
    Raises ValueError where a lower bound is above the upper, or a NaN, and TypeError for what is not real.
    """

    __slots__ = ("lo", "hi")
    __array_priority__ = 1000.0

    def __init__(self, lo: Any, hi: Any = None) -> None:
        if hi is None and isinstance(lo, Interval):
            lo, hi = lo.lo, lo.hi
        low, high = rounding.enclosed(lo)[0], rounding.enclosed(lo if hi is None else hi)[1]
        if low.shape != high.shape:
            low, high = np.broadcast_arrays(low, high)
        if not np.all(low <= high):
            raise ValueError(f"the bounds {low} and {high} are no interval")
        self.lo = np.array(low)
        self.hi = np.empty_like(self.lo)
        self.hi[...] = high
        if not isinstance(lo, np.ndarray) and not isinstance(hi, np.ndarray):
            self.lo, self.hi = self.lo[()], self.hi[()]

    @classmethod
    def around(cls, x: Any) -> Interval:
        """With the neighbours of x: it contains the decimal that x was written as."""
        low, high = rounding.enclosed(x)
        low, high = rounding.below(low), rounding.above(high)
        return cls(np.array(low), high) if isinstance(x, np.ndarray) else cls(low, high)

    # -- looking -----------------------------------------------------------------------------------

    @property
    def mid(self) -> Any:
        """A float near the middle."""
        return self.lo / 2 + self.hi / 2

    @property
    def width(self) -> Any:
        """An upper bound of hi - lo."""
        return rounding.add(self.hi, -self.lo)[1][()]

    bounds = property(lambda self: (self.lo, self.hi), doc="(lo, hi)")
    shape = property(lambda self: np.shape(self.lo), doc="That of both bounds; () of numbers.")
    ndim = property(lambda self: np.ndim(self.lo), doc="How many dimensions there are; 0 of numbers.")
    size = property(lambda self: np.size(self.lo), doc="How many intervals there are.")
    dtype = property(lambda self: np.dtype(np.float64), doc="That of the bounds, always float64.")
    T = property(lambda self: view(self.lo.T, self.hi.T), doc="The transpose.")

    def contains(self, x: Any) -> bool:
        """Whether the number, the array or the interval x lies within: of arrays each element in its own."""
        other = as_interval(x)
        return bool(np.all((self.lo <= other.lo) & (other.hi <= self.hi)))

    def __contains__(self, x: Any) -> bool:
        """Of one pair of bounds `contains`; of an array what NumPy means: whether any element equals x."""
        if self.ndim == 0:
            return self.contains(x)
        other = operand(x, self)
        return other is not None and comparing.is_any_equal(self.bounds, other.bounds)

    def __repr__(self) -> str:
        return formatting.shown(self.lo, self.hi)

    def __format__(self, spec: str) -> str:
        return formatting.formatted(self.lo, self.hi, spec) if spec else repr(self)

    def __hash__(self) -> int:
        refuse(f"{self!r} is no key: which one it equals may depend on its numbers", IntervalTypeError)

    # -- items -------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.lo)

    def __iter__(self) -> Iterator[Interval]:
        return map(view, self.lo, self.hi)

    def __getitem__(self, key: Any) -> Interval:
        return view(self.lo[key], self.hi[key])

    def __setitem__(self, key: Any, value: Any) -> None:
        value = as_interval(value)
        self.lo[key], self.hi[key] = value.lo, value.hi

    def fill_from(self, result: Interval) -> Interval:
        """Itself, with the elements of `result` stored in it; ValueError where the shape would not do."""
        self[...] = view(*(np.broadcast_to(bound, self.shape) for bound in result.bounds))
        return self

    def __copy__(self) -> Interval:
        return view(self.lo.copy(), self.hi.copy())

    # -- numbers -----------------------------------------------------------------------------------

    def __float__(self) -> NoReturn:
        remedy = "take .lo, .hi or .mid, or store it in Interval(np.zeros(shape))"
        refuse(f"the interval {self!r} is no float; {remedy}")

    __int__ = __index__ = __complex__ = __float__

    def __bool__(self) -> bool:
        return bool(self != 0.0)

    def __neg__(self) -> Interval:
        return interval_of(arithmetic.neg(self.bounds))

    def __pos__(self) -> Interval:
        return apply("positive", self)

    def __abs__(self) -> Interval:
        return apply("absolute", self)

    def __round__(self, digits: int | None = None) -> Interval:
        if digits is not None:
            refuse("round(x, digits) of an interval: only whole numbers are enclosed; round its bounds")
        return apply("rint", self)

    def __floor__(self) -> Interval:
        return apply("floor", self)

    def __ceil__(self) -> Interval:
        return apply("ceil", self)

    def __trunc__(self) -> Interval:
        return apply("trunc", self)

    def __divmod__(self, other: Any) -> tuple[Any, Any]:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> tuple[Any, Any]:
        return other // self, other % self

    # -- NumPy -------------------------------------------------------------------------------------

    def __array__(self, *args: Any, **kwargs: Any) -> NoReturn:
        refuse(f"{self!r} is no array of floats, nor does one hold it; store it in Interval(np.zeros(shape))")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        from ctxdispatch_contexts.intervals.ufuncs import ufunc_of

        return ufunc_of(ufunc, method, inputs, kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        from ctxdispatch_contexts.intervals.arrays import function_of

        return function_of(function)(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        from ctxdispatch_contexts.intervals.arrays import METHODS, call

        if name in METHODS:
            return partial(call, name, METHODS[name], self)
        text = f"an Interval has no {name!r}"
        if not name.startswith("_") and hasattr(type(self.lo), name):
            refuse(f"{text}; write it with functions that have an enclosure")  # `hasattr` is no False either
        raise AttributeError(text)


def view(lo: Any, hi: Any) -> Interval:
    """The interval of these very bounds, which nobody else changes: NumPy's views of one, or new arrays."""
    made = Interval.__new__(Interval)
    made.lo, made.hi = lo, hi
    return made


def interval_of(bounds: Bounds) -> Interval:
    """Of results: an array without dimensions is a number."""
    return view(bounds[0][()], bounds[1][()])


# -- operands --------------------------------------------------------------------------------------


def is_number(value: Any) -> bool:
    """Whether it is a real number or an array of them."""
    if isinstance(value, Interval | int | float | Fraction):
        return True
    return isinstance(value, np.generic | np.ndarray) and value.dtype.kind in "fiub" and not is_odd(value)


def is_odd(value: Any) -> bool:
    """Masked arrays and matrices have operators of their own."""
    return isinstance(value, np.ndarray) and type(value) is not np.ndarray


def as_interval(value: Any) -> Interval:
    """`value` as an interval; lists are arrays. A number that is no float is enclosed."""
    if isinstance(value, Interval):
        return value
    if isinstance(value, float) and value == value:
        return view(np.float64(value), np.float64(value))
    if isinstance(value, list | tuple):
        items = [*map(as_interval, value)]
        return view(np.array([i.lo for i in items]), np.array([i.hi for i in items]))
    if not is_number(value):
        refuse(f"{type(value).__name__} {value!r} is no number with an enclosure")
    if np.any(value != value):
        refuse(f"{value!r} is no number: a NaN has no enclosure")
    return Interval(value)


def operand(value: Any, beside: Interval) -> Interval | None:
    """The other operand of an operator. None where floats and arrays have no operator for it either."""
    if is_number(value) or (isinstance(value, list | tuple) and isinstance(beside.lo, np.ndarray)):
        return as_interval(value)
    if isinstance(value, numbers.Number | np.ndarray):
        refuse(f"{type(value).__name__} {value!r} beside an interval: it has no enclosure")
    return None


# -- operators -------------------------------------------------------------------------------------


def combined(f: arithmetic.Operator, a: Interval, b: Interval) -> Interval:
    with np.errstate(all="ignore"):
        return interval_of(f(a.bounds, b.bounds))


def apply(name: str, x: Any) -> Interval:
    """The elementary function of this name (of `FUNCTIONS`, or NumPy's name for it)."""
    with np.errstate(all="ignore"):
        return interval_of(elementary(name, as_interval(x).bounds))


def _forward(f: arithmetic.Operator) -> Callable[[Interval, Any], Any]:
    def forward(self: Interval, other: Any) -> Any:
        found = operand(other, self)
        return NotImplemented if found is None else combined(f, self, found)

    return forward


def _reflected(f: arithmetic.Operator) -> Callable[[Interval, Any], Any]:
    def reflected(self: Interval, other: Any) -> Any:
        found = operand(other, self)
        return NotImplemented if found is None else combined(f, found, self)

    return reflected


def _in_place(name: str) -> Callable[[Interval, Any], Any]:
    """An array changes; a number does not, so that the operator's result takes its place."""
    operation = getattr(operator, name)

    def changed(self: Interval, other: Any) -> Interval:
        result: Interval = operation(self, other)
        return self.fill_from(result) if isinstance(self.lo, np.ndarray) else result

    return changed


def _comparison(name: str) -> Callable[[Interval, Any], Any]:
    def compares(self: Interval, other: Any) -> Any:
        found = operand(other, self)
        if found is not None:
            return comparing.compared(name, self.bounds, found.bounds)
        if name not in ("eq", "ne"):
            return NotImplemented
        return np.full(self.shape, name == "ne") if self.ndim else name == "ne"

    return compares


OPERATORS: dict[str, arithmetic.Operator] = {
    "add": arithmetic.add, "sub": arithmetic.sub, "mul": arithmetic.mul, "truediv": arithmetic.div,
    "floordiv": arithmetic.floordiv, "mod": arithmetic.mod, "pow": arithmetic.power,
    "matmul": arithmetic.matmul,
}  # fmt: skip
"""By the name that they have in `operator`."""

for _name, _f in OPERATORS.items():
    setattr(Interval, f"__{_name}__", _forward(_f))
    setattr(Interval, f"__r{_name}__", _reflected(_f))
    setattr(Interval, f"__i{_name}__", _in_place(_name))
for _name in comparing.COMPARISONS:
    setattr(Interval, f"__{_name}__", _comparison(_name))
