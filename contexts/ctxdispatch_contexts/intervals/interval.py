"""`Interval`: bounds of real numbers, one pair or an array of them.

Invariant: what an operation gives contains every result of the operation on members of its operands, in exact
arithmetic. Bounds are float64; `lo` may be -inf, `hi` inf. Comparisons hold for all members or for none; else
they raise. An array of intervals is changed, looked at and shared as an ndarray is: `lo` and `hi` have memory
of their own, of one layout.
"""

from __future__ import annotations

import numbers
import operator
from collections.abc import Callable
from typing import Any, NoReturn, Self

import numpy as np

from ctxdispatch.dispatch.where import position, user_frame
from ctxdispatch_contexts.intervals import arithmetic, elementary, formatting, rounding
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
    `around`. What float64 does not hold (2**53 + 1) is enclosed. Raises ValueError where a lower bound is
    above the upper, or a NaN.
    """

    __slots__ = ("lo", "hi")
    __array_priority__ = 1000.0
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, lo: Any, hi: Any = None) -> None:
        low = rounding.enclosed(lo)
        high = low if hi is None else rounding.enclosed(hi)
        shape = np.broadcast_shapes(np.shape(low[0]), np.shape(high[1]))
        like = np.broadcast_to(low[0], shape)
        self.lo, self.hi = np.array(like), np.empty_like(like)
        self.hi[...] = high[1]
        if not np.all(self.lo <= self.hi):
            raise ValueError(f"the bounds {lo} and {self.hi[()] if hi is None else hi} are no interval")
        if not shape:
            self.lo, self.hi = self.lo[()], self.hi[()]

    @classmethod
    def of(cls, bounds: Any) -> Self:
        """With these two arrays for its own, memory and all."""
        lo, hi = bounds
        if not np.all(lo <= hi):
            refuse("a result is no number (inf - inf, or 0 * inf)")
        made = cls.__new__(cls)
        made.lo, made.hi = (lo, hi) if np.ndim(lo) else (np.float64(lo), np.float64(hi))
        return made

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
    T = property(lambda self: self.of((self.lo.T, self.hi.T)))
    real = property(lambda self: self)

    def contains(self, x: Any) -> bool:
        """Whether the number, the array or the interval x lies within, of arrays all of it."""
        other = as_interval(x)
        return bool(np.all((self.lo <= other.lo) & (other.hi <= self.hi)))

    def __contains__(self, x: Any) -> bool:
        """Of one interval: whether x lies within. Of an array, as NumPy has it: whether x is an item."""
        if not self.ndim:
            return self.contains(x)
        other = as_interval(x)
        if np.any(_same(self, other)):
            return True
        apart = _apart(self, other)
        _decided("==", ~apart & False, apart, self, other)
        return False

    def __repr__(self) -> str:
        if self.ndim == 0:
            return f"[{float(self.lo)!r}, {float(self.hi)!r}]"
        return f"Interval({self.lo!r}, {self.hi!r})"

    def __format__(self, spec: str) -> str:
        return formatting.outwards(self.lo, self.hi, spec) if spec else repr(self)

    def __len__(self) -> int:
        return len(self.lo)

    def __iter__(self) -> Any:
        return (self.of(bounds) for bounds in zip(self.lo, self.hi))

    def __getitem__(self, key: Any) -> Interval:
        return self.of((self.lo[key], self.hi[key]))

    def __setitem__(self, key: Any, value: Any) -> None:
        value = as_interval(value)
        self.lo[key], self.hi[key] = value.lo, value.hi

    def __float__(self) -> NoReturn:
        refuse(
            f"the interval {self!r} is no float; take .lo, .hi or .mid, or, to store it in an array, make "
            "that one of intervals (np.zeros_like(x), Interval(np.zeros(shape)))"
        )

    __int__ = __index__ = __complex__ = __float__

    # -- arithmetic --------------------------------------------------------------------------------

    def __pow__(self, other: Any, modulo: Any = None) -> Any:
        return _power(self, other) if modulo is None else NotImplemented

    def __rpow__(self, other: Any) -> Any:
        return _power(other, self)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __neg__(self) -> Interval:
        return self.of((-self.hi, -self.lo))

    def __pos__(self) -> Interval:
        return self.of((+self.lo, +self.hi))

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
        return _compared(">", operator.lt, operator.ge, other, self)

    def __ge__(self, other: Any) -> Any:
        return _compared(">=", operator.le, operator.gt, other, self)

    def __eq__(self, other: Any) -> Any:
        return self._equal("==", other)

    def __ne__(self, other: Any) -> Any:
        return ~np.asarray(self._equal("!=", other))[()]

    def _equal(self, symbol: str, other: Any) -> Any:
        if not _is_operand(other):
            return False
        other = as_interval(other)
        return _decided(symbol, _same(self, other), _apart(self, other), self, other)

    def __bool__(self) -> bool:
        return bool(np.asarray(self._equal("!=", 0.0)) == False)  # noqa: E712

    # -- NumPy -------------------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        from ctxdispatch_contexts.intervals.arrays import ufunc_of

        return ufunc_of(ufunc, method, inputs, kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        from ctxdispatch_contexts.intervals.arrays import function_of

        return function_of(function, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        from ctxdispatch_contexts.intervals.arrays import method_of

        return method_of(self, name)


# -- operators -------------------------------------------------------------------------------------


def _remainder(a: Any, b: Any) -> arithmetic.Box:
    if np.any(arithmetic.has_zero(b)):
        refuse(f"{a!r} % {b!r}: the divisor may be 0")
    return arithmetic.remainder(a, b)


def _matmul(a: Any, b: Any) -> arithmetic.Box:
    if not (a.ndim and b.ndim):
        raise ValueError("matmul: an operand has no dimensions")
    return arithmetic.matmul(a, b)


OPERATORS: dict[str, Callable[[Any, Any], arithmetic.Box]] = {
    "add": arithmetic.add, "sub": arithmetic.subtract, "mul": arithmetic.multiply,
    "truediv": arithmetic.divide, "floordiv": arithmetic.floor_divide, "mod": _remainder,
    "matmul": _matmul,
}  # fmt: skip


def binary(f: Callable[[Any, Any], arithmetic.Box], a: Any, b: Any) -> Any:
    if not (_is_operand(a) and _is_operand(b)):
        return NotImplemented
    with np.errstate(all="ignore"):
        return Interval.of(f(as_interval(a), as_interval(b)))


def _operators(name: str, f: Callable[[Any, Any], arithmetic.Box]) -> None:
    def forwards(self: Interval, other: Any) -> Any:
        return binary(f, self, other)

    def backwards(self: Interval, other: Any) -> Any:
        return binary(f, other, self)

    def in_place(self: Interval, other: Any) -> Any:
        return _stored(self, binary(f, self, other))

    for made, prefix in ((forwards, ""), (backwards, "r"), (in_place, "i")):
        made.__name__ = f"__{prefix}{name}__"
        setattr(Interval, made.__name__, made)


def _stored(x: Interval, result: Any) -> Any:
    """An array is changed, and keeps its shape; one interval gives way to another."""
    if not x.ndim or result is NotImplemented:
        return result
    x[...] = result
    return x


for _name, _f in OPERATORS.items():
    _operators(_name, _f)
Interval.__ipow__ = lambda self, other: _stored(self, _power(self, other))  # type: ignore[attr-defined]


def _power(x: Any, exponent: Any) -> Any:
    """Whole exponents by products; others as exp(exponent log(x)), for x above 0."""
    if not (_is_operand(x) and _is_operand(exponent)):
        return NotImplemented
    x = as_interval(x)
    n = _whole(exponent)
    if n is not None:
        with np.errstate(all="ignore"):
            found = Interval.of(arithmetic.whole_power(x, abs(n)))
        return found if n >= 0 else Interval(1.0) / found
    if isinstance(exponent, float | np.floating) and exponent == 0.5:
        return apply("sqrt", x)
    return apply("exp", as_interval(exponent) * apply("log", x))


def _whole(exponent: Any) -> int | None:
    if isinstance(exponent, Interval) and not exponent.ndim and exponent.lo == exponent.hi:
        exponent = exponent.lo
    real = isinstance(exponent, int | float | np.integer | np.floating)
    return int(exponent) if real and abs(exponent) <= 1024 and exponent == int(exponent) else None


def apply(name: str, x: Any) -> Interval:
    """The elementary function of this name (of `FUNCTIONS`, or NumPy's name for it)."""
    x, name = as_interval(x), NUMPY_NAMES.get(name, name)
    if name in elementary.DOMAINS:
        least, most = elementary.DOMAINS[name]
        if np.any((x.lo < least) | (x.hi > most)):
            refuse(f"{name} of {x!r}, which reaches beyond [{least}, {most}]")
    with np.errstate(all="ignore"):
        return Interval.of(FUNCTIONS[name](x.lo, x.hi))


# -- numbers ---------------------------------------------------------------------------------------

NUMBERS = Interval | int | float | np.integer | np.floating | np.bool_


def _is_operand(value: Any) -> bool:
    """A number, or an array of numbers, that there are intervals of. Others are refused: plainly there may be
    a result."""
    if isinstance(value, NUMBERS) or (isinstance(value, np.ndarray) and value.dtype.kind in "fiub"):
        return True
    if isinstance(value, numbers.Number | np.ndarray | np.generic):
        refuse(f"{type(value).__name__} {value!r} and an interval: only real numbers have enclosures")
    return False


def as_interval(value: Any) -> Interval:
    """`value` as an interval; lists are arrays."""
    if isinstance(value, Interval):
        return value
    if isinstance(value, list | tuple):
        items = [*map(as_interval, value)]
        return Interval.of([np.stack([i.lo for i in items]), np.stack([i.hi for i in items])])
    if not _is_operand(value):
        refuse(f"{type(value).__name__} {value!r} is no number with an enclosure")
    if np.any(np.isnan(value)) if not isinstance(value, int) else False:
        refuse(f"{value!r} has no enclosure")
    return Interval(value)


# -- comparisons -----------------------------------------------------------------------------------


def _same(a: Interval, b: Interval) -> Any:
    return (a.lo == a.hi) & (b.lo == b.hi) & (a.lo == b.lo)


def _apart(a: Interval, b: Interval) -> Any:
    return (a.hi < b.lo) | (b.hi < a.lo)


def _compared(symbol: str, holds: Any, fails: Any, a: Any, b: Any) -> Any:
    """Whether a < b (or a <= b) for all members, from their bounds."""
    if not (_is_operand(a) and _is_operand(b)):
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
