"""`Interval`: bounds of real numbers, one pair or an array of them.

Invariant: what an operation gives contains every result of the operation on members of its operands, in exact
arithmetic. Bounds are float64; `lo` may be -inf, `hi` inf. Comparisons hold for all members or for none; else
they raise.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from ctxdispatch.dispatch.where import position, user_frame
from ctxdispatch_contexts.intervals import elementary, rounding
from ctxdispatch_contexts.intervals.elementary import FUNCTIONS, NUMPY_NAMES

__undispatched__ = True


class IntervalError(ArithmeticError):
    """What has no answer on intervals: an undecided comparison, a value outside of a function's domain, a
    function without an enclosure. The message begins with the user's line."""


def refuse(text: str) -> NoReturn:
    frame = user_frame()
    raise IntervalError(text if frame is None else f"{position(frame)}: {text}")


class Interval:
    """All numbers from `lo` to `hi`, bounds included; of arrays element by element.

    `Interval(x)` is the point x: a float is the number that it holds, not the decimal it was written as; see
    `around`. Raises ValueError where a lower bound is above the upper, or a NaN.
    """

    __slots__ = ("lo", "hi")
    __array_priority__ = 1000.0
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, lo: Any, hi: Any = None) -> None:
        lo = np.asarray(lo, dtype=np.float64)
        hi = lo if hi is None else np.asarray(hi, dtype=np.float64)
        if lo.shape != hi.shape:
            lo, hi = np.broadcast_arrays(lo, hi)
        if not np.all(lo <= hi):
            raise ValueError(f"the bounds {lo} and {hi} are no interval")
        self.lo, self.hi = (lo[()], hi[()]) if lo.ndim == 0 else (lo, hi)

    @classmethod
    def around(cls, x: Any) -> Interval:
        """With the neighbours of x: it contains the decimal that x was written as."""
        return cls(rounding.below(np.asarray(x, float)), rounding.above(np.asarray(x, float)))

    # -- looking -----------------------------------------------------------------------------------

    @property
    def mid(self) -> Any:
        """A float near the middle."""
        return self.lo / 2 + self.hi / 2

    @property
    def width(self) -> Any:
        """An upper bound of hi - lo."""
        return rounding.add(self.hi, -self.lo)[1]

    shape = property(lambda self: np.shape(self.lo))
    ndim = property(lambda self: np.ndim(self.lo))
    size = property(lambda self: np.size(self.lo))
    dtype = property(lambda self: np.dtype(np.float64))

    def __contains__(self, x: Any) -> bool:
        """Whether the number, the array or the interval x lies within."""
        other = as_interval(x)
        return bool(np.all((self.lo <= other.lo) & (other.hi <= self.hi)))

    def __repr__(self) -> str:
        if self.ndim == 0:
            return f"[{float(self.lo)!r}, {float(self.hi)!r}]"
        return f"Interval({self.lo!r}, {self.hi!r})"

    def __format__(self, spec: str) -> str:
        return f"[{self.lo:{spec}}, {self.hi:{spec}}]" if spec else repr(self)

    def __len__(self) -> int:
        return len(self.lo)

    def __iter__(self) -> Any:
        return (Interval(lo, hi) for lo, hi in zip(self.lo, self.hi))

    def __getitem__(self, key: Any) -> Interval:
        return Interval(self.lo[key], self.hi[key])

    def __setitem__(self, key: Any, value: Any) -> None:
        value = as_interval(value)
        if not self.lo.flags.writeable or self.lo is self.hi:
            self.lo, self.hi = self.lo.copy(), self.hi.copy()
        self.lo[key], self.hi[key] = value.lo, value.hi

    def __float__(self) -> NoReturn:
        refuse(f"the interval {self!r} is no float; take .lo, .hi or .mid")

    __int__ = __index__ = __complex__ = __float__

    # -- arithmetic --------------------------------------------------------------------------------

    def __add__(self, other: Any) -> Any:
        return _binary(_add, self, other)

    def __radd__(self, other: Any) -> Any:
        return _binary(_add, other, self)

    def __sub__(self, other: Any) -> Any:
        return _binary(_sub, self, other)

    def __rsub__(self, other: Any) -> Any:
        return _binary(_sub, other, self)

    def __mul__(self, other: Any) -> Any:
        return _binary(_mul, self, other)

    def __rmul__(self, other: Any) -> Any:
        return _binary(_mul, other, self)

    def __truediv__(self, other: Any) -> Any:
        return _binary(_div, self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _binary(_div, other, self)

    def __pow__(self, other: Any) -> Any:
        return power(self, other)

    def __rpow__(self, other: Any) -> Any:
        return power(as_interval(other), self)

    def __floordiv__(self, other: Any) -> Any:
        return apply("floor", self / other)

    def __rfloordiv__(self, other: Any) -> Any:
        return apply("floor", other / self)

    def __mod__(self, other: Any) -> Any:
        return self - (self // other) * other

    def __rmod__(self, other: Any) -> Any:
        return other - (other // self) * self

    def __matmul__(self, other: Any) -> Any:
        return matmul(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return matmul(other, self)

    def __neg__(self) -> Interval:
        return Interval(-self.hi, -self.lo)

    def __pos__(self) -> Interval:
        return self

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

    # -- comparisons -------------------------------------------------------------------------------

    def __lt__(self, other: Any) -> Any:
        return _compared("<", operator.lt, operator.ge, self, other)

    def __le__(self, other: Any) -> Any:
        return _compared("<=", operator.le, operator.gt, self, other)

    def __gt__(self, other: Any) -> Any:
        return _compared(">", operator.lt, operator.ge, as_interval(other), self)

    def __ge__(self, other: Any) -> Any:
        return _compared(">=", operator.le, operator.gt, as_interval(other), self)

    def __eq__(self, other: Any) -> Any:
        return self._equal("==", other)

    def __ne__(self, other: Any) -> Any:
        return ~np.asarray(self._equal("!=", other))[()]

    def _equal(self, symbol: str, other: Any) -> Any:
        if not is_number(other):
            return False
        other = as_interval(other)
        same = (self.lo == self.hi) & (other.lo == other.hi) & (self.lo == other.lo)
        apart = (self.hi < other.lo) | (other.hi < self.lo)
        return _decided(symbol, same, apart, self, other)

    def __bool__(self) -> bool:
        return bool(np.asarray(self._equal("!=", 0.0)) == False)  # noqa: E712

    # -- NumPy -------------------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        from ctxdispatch_contexts.intervals.arrays import ufunc_of

        return ufunc_of(ufunc, method, inputs, kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        from ctxdispatch_contexts.intervals.arrays import function_of

        return function_of(function)(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        from ctxdispatch_contexts.intervals.arrays import METHODS

        if name in METHODS:
            return lambda *args, **kwargs: METHODS[name](self, *args, **kwargs)
        raise AttributeError(f"an Interval has no {name!r}")

    @property
    def T(self) -> Interval:
        return Interval(self.lo.T, self.hi.T)


# -- numbers ---------------------------------------------------------------------------------------


def is_number(value: Any) -> bool:
    if isinstance(value, Interval | int | float | np.number):
        return True
    return isinstance(value, np.ndarray) and value.dtype.kind in "fiub"


def as_interval(value: Any) -> Interval:
    """`value` as an interval; lists are arrays. A whole number that is no float is enclosed."""
    if isinstance(value, Interval):
        return value
    if isinstance(value, list | tuple):
        items = [*map(as_interval, value)]
        return Interval(np.stack([i.lo for i in items]), np.stack([i.hi for i in items]))
    if type(value) is int and abs(value) > 2**53:
        return Interval.around(float(value))
    if not is_number(value):
        refuse(f"{type(value).__name__} {value!r} is no number with an enclosure")
    return Interval(value)


def _binary(f: Callable[[Interval, Interval], Interval], a: Any, b: Any) -> Any:
    if not (is_number(a) and is_number(b)):
        return NotImplemented
    with np.errstate(all="ignore"):
        return f(as_interval(a), as_interval(b))


def _add(a: Interval, b: Interval) -> Interval:
    return Interval(rounding.add(a.lo, b.lo)[0], rounding.add(a.hi, b.hi)[1])


def _sub(a: Interval, b: Interval) -> Interval:
    return Interval(rounding.add(a.lo, -b.hi)[0], rounding.add(a.hi, -b.lo)[1])


def _mul(a: Interval, b: Interval) -> Interval:
    products = [rounding.mul(x, y) for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
    return _hull(products)


def _div(a: Interval, b: Interval) -> Interval:
    """All numbers where the divisor may be 0."""
    zero = (b.lo <= 0.0) & (b.hi >= 0.0)
    divisors = np.where(zero, 1.0, b.lo), np.where(zero, 1.0, b.hi)
    found = _hull([rounding.div(x, y) for x in (a.lo, a.hi) for y in divisors])
    return Interval(np.where(zero, -np.inf, found.lo), np.where(zero, np.inf, found.hi))


def _hull(bounds: list[rounding.Bounds]) -> Interval:
    lows, highs = [low for low, _ in bounds], [high for _, high in bounds]
    return Interval(np.fmin.reduce(lows), np.fmax.reduce(highs))


def apply(name: str, x: Any) -> Interval:
    """The elementary function of this name (of `FUNCTIONS`, or NumPy's name for it)."""
    x, name = as_interval(x), NUMPY_NAMES.get(name, name)
    if name in elementary.DOMAINS:
        least, most = elementary.DOMAINS[name]
        if np.any((x.lo < least) | (x.hi > most)):
            refuse(f"{name} of {x!r}, which reaches beyond [{least}, {most}]")
    with np.errstate(all="ignore"):
        return Interval(*FUNCTIONS[name](x.lo, x.hi))


def power(x: Interval, exponent: Any) -> Any:
    """Whole exponents by products; others as exp(exponent log(x)), for x above 0."""
    if isinstance(exponent, int | float) and float(exponent).is_integer() and abs(exponent) <= 1024:
        n = int(exponent)
        return _whole_power(x, n) if n >= 0 else 1.0 / _whole_power(x, -n)
    if isinstance(exponent, int | float) and exponent == 0.5:
        return apply("sqrt", x)
    if not is_number(exponent):
        return NotImplemented
    return apply("exp", as_interval(exponent) * apply("log", x))


def _whole_power(x: Interval, n: int) -> Interval:
    """The bounds of an odd power are those of the bounds; an even one is that of the absolute value."""
    base = x if n % 2 else abs(x)
    low, high = _point_power(base.lo, n), _point_power(base.hi, n)
    return Interval(low.lo if n % 2 else np.maximum(low.lo, 0.0), high.hi)


def _point_power(x: Any, n: int) -> Interval:
    result, square = Interval(np.ones_like(x)), Interval(x)
    while n:
        if n & 1:
            result = result * square
        square, n = (square * square if n > 1 else square), n >> 1
    return result


def matmul(a: Any, b: Any) -> Any:
    """Sums of products, one term at a time."""
    a, b = as_interval(a), as_interval(b)
    rows = a[None] if a.ndim == 1 else a
    columns = b[:, None] if b.ndim == 1 else b
    total: Any = None
    for k in range(rows.shape[-1]):
        term = rows[..., :, k, None] * columns[..., None, k, :]
        total = term if total is None else total + term
    if total is None:
        total = Interval(np.zeros((*rows.shape[:-1], columns.shape[-1])))
    total = total[..., 0, :] if a.ndim == 1 else total
    return total[..., 0] if b.ndim == 1 else total


# -- comparisons -----------------------------------------------------------------------------------


def _compared(symbol: str, holds: Any, fails: Any, a: Any, b: Any) -> Any:
    """Whether a < b (or a <= b) for all members, from their bounds."""
    if not (is_number(a) and is_number(b)):
        return NotImplemented
    a, b = as_interval(a), as_interval(b)
    return _decided(symbol, holds(a.hi, b.lo), fails(a.lo, b.hi), a, b)


def _decided(symbol: str, yes: Any, no: Any, a: Interval, b: Interval) -> Any:
    if not np.all(yes | no):
        if symbol in (">", ">="):
            a, b = b, a
        refuse(
            f"{a!r} {symbol} {b!r} holds for some of their numbers and not for others; split the intervals, "
            "or write it without a branch (max, min, abs)"
        )
    return np.asarray(yes)[()] if np.ndim(yes) else bool(yes)
