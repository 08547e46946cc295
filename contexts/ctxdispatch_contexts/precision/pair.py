"""`Pair`: a number, or an array, in two precisions. Operations are done in both, and their errors observed.

Invariant: `high` is what the program computes without the context, if `follow` is "high"; `low` is the same
program in the lower precision.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ctxdispatch_contexts.precision.losses import Losses, relative_error

__undispatched__ = True


class Pair:
    """`low` and `high` are NumPy scalars or arrays of one shape. `error` is the largest relative error.
    `plain`: without the context it would be Python's own float.

    A pair of numbers is a float (`PairOfNumbers`): C code, and whoever prints it, sees the one that the
    program follows.
    """

    __slots__ = ()
    __array_priority__ = 1000.0
    low: Any
    high: Any
    losses: Losses
    plain: bool

    def __new__(cls, low: Any, high: Any, losses: Losses, plain: bool = False) -> Pair:
        if isinstance(high, np.ndarray):
            self = object.__new__(PairOfArrays)
        else:
            followed = high if losses.follow == "high" else low
            self = float.__new__(PairOfNumbers, followed)  # type: ignore[call-overload]
        self.low, self.high, self.losses, self.plain = low, high, losses, plain
        return self  # type: ignore[no-any-return]

    @property
    def value(self) -> Any:
        """That which the program follows."""
        return self.high if self.losses.follow == "high" else self.low

    error = property(lambda self: relative_error(self.low, self.high))
    shape = property(lambda self: np.shape(self.high))
    ndim = property(lambda self: np.ndim(self.high))
    size = property(lambda self: np.size(self.high))
    dtype = property(lambda self: self.high.dtype)

    def __repr__(self) -> str:
        return repr(float(self.value) if self.plain else self.value)

    def __str__(self) -> str:
        return str(self.value)

    def __format__(self, spec: str) -> str:
        return format(self.value, spec)

    def __float__(self) -> float:
        return float(self.value)

    def __int__(self) -> int:
        return int(self.value)

    def __complex__(self) -> complex:
        return complex(self.value)

    def __bool__(self) -> bool:
        return _agreed("truth", bool(self.low), bool(self.high), self.losses)

    def __hash__(self) -> int:
        return hash(float(self.value))

    def __round__(self, digits: int | None = None) -> Any:
        return round(float(self.value)) if digits is None else both("round", round, self, digits)

    def __len__(self) -> int:
        return len(self.high)

    def __iter__(self) -> Any:
        return (Pair(low, high, self.losses) for low, high in zip(self.low, self.high))

    def __getitem__(self, key: Any) -> Any:
        return Pair(self.low[key], self.high[key], self.losses)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.low[key], self.high[key] = low_of(value, self.losses), high_of(value, self.losses)

    def __copy__(self) -> Any:
        return self.copy() if self.ndim else self

    def __deepcopy__(self, memo: Any) -> Any:
        return self.__copy__()

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return both(ufunc.__name__, getattr(ufunc, method), *inputs, **kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return both(function.__name__, function, *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # Python and NumPy ask what it can be converted to
            raise AttributeError(name)
        return _attribute(self, name)


class PairOfNumbers(Pair, float):
    __slots__ = ("low", "high", "losses", "plain")

    # what `float` has by itself, and would be computed from one of the two
    real = property(lambda self: self)
    imag = property(lambda self: _attribute(self, "imag"))

    def conjugate(self) -> Any:
        return self

    def is_integer(self) -> bool:
        return _agreed("is_integer", self.low.is_integer(), self.high.is_integer(), self.losses)


class PairOfArrays(Pair):
    __slots__ = ("low", "high", "losses", "plain")


class _Methods(NamedTuple):
    """A pair of what is called."""

    low: Any
    high: Any


def _attribute(pair: Pair, name: str) -> Any:
    low, high = getattr(pair.low, name), getattr(pair.high, name)
    if not callable(high):
        return _result(name, low, high, pair.losses, pair.error, (pair,), False)
    return lambda *args, **kwargs: both(name, _call, _Methods(low, high), pair, *args, **kwargs)


# -- both precisions -------------------------------------------------------------------------------


def _call(f: Callable[..., Any], pair: Any, *args: Any, **kwargs: Any) -> Any:
    return f(*args, **kwargs)


def is_float(value: Any) -> bool:
    if isinstance(value, float | np.floating):
        return True
    return isinstance(value, np.ndarray) and value.dtype.kind == "f"


def low_of(value: Any, losses: Losses) -> Any:
    """`value` with all that is a pair, or a float, in the lower precision."""
    if isinstance(value, Pair | _Methods):
        return value.low
    if is_float(value):
        return value.astype(losses.low) if isinstance(value, np.ndarray) else losses.low(value)
    return _within(value, lambda v: low_of(v, losses))


def high_of(value: Any, losses: Losses) -> Any:
    if losses.high is np.float64 and (type(value) is float or getattr(value, "plain", False) is True):
        return value if type(value) is float else float(value.high)  # Python's own, with its exceptions
    if isinstance(value, Pair | _Methods):
        return value.high
    if is_float(value):
        return value.astype(losses.high, copy=False) if isinstance(value, np.ndarray) else losses.high(value)
    return _within(value, lambda v: high_of(v, losses))


def _within(value: Any, f: Callable[[Any], Any]) -> Any:
    if type(value) in (list, tuple):
        return type(value)(map(f, value))
    return {k: f(v) for k, v in value.items()} if type(value) is dict else value


def pairs_in(value: Any) -> list[Pair]:
    if isinstance(value, Pair):
        return [value]
    if type(value) in (list, tuple):
        return [pair for item in value for pair in pairs_in(item)]
    return pairs_in([*value.values()]) if type(value) is dict else []


def plain(value: Any) -> Any:
    """`value` with floats, those that the program follows, in the place of pairs."""
    if isinstance(value, Pair):
        return value.value.item() if value.ndim == 0 else value.value
    return _within(value, plain)


def error_of(value: Any) -> float:
    return max((pair.error for pair in pairs_in(value)), default=0.0)


def lift(value: Any, losses: Losses) -> Any:
    """Floats, arrays of them, and those within lists, tuples and dicts, as pairs."""
    if is_float(value) and not isinstance(value, Pair):
        high = _rounded(high_of(value, losses), losses.high)
        return Pair(low_of(value, losses), high, losses, type(value) is float)
    return _within(value, lambda v: lift(v, losses))


def both(name: str, f: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """f(*args, **kwargs) in both precisions; what goes wrong in the lower one only is a NaN there."""
    pairs = pairs_in([*args, *kwargs.values()])
    if not pairs:
        return f(*args, **kwargs)
    losses = pairs[0].losses
    before = max(pair.error for pair in pairs)
    if isinstance(kwargs.get("out"), tuple) and len(kwargs["out"]) == 1:
        kwargs["out"] = kwargs["out"][0]
    high, low = _high(f, args, kwargs, losses), _low(f, args, kwargs, losses)
    if low is _NOTHING:
        low = high if isinstance(high, bool) else np.full(np.shape(high), np.nan, losses.low)[()]
    python = getattr(f, "__module__", None) in _PYTHON and all(pair.plain for pair in pairs)
    operands = (*args, *kwargs.values())
    result = _result(name, low, high, losses, before, operands, python)
    return kwargs["out"] if isinstance(kwargs.get("out"), Pair) else result


_PYTHON = ("_operator", "math", "builtins")
_NOTHING = object()


def _high(f: Callable[..., Any], args: Any, kwargs: Any, losses: Losses) -> Any:
    """What f writes into arrays that are no pairs is there afterwards, in their precision."""
    given, named = high_of(args, losses), high_of(kwargs, losses)
    result = f(*given, **named)
    for array, copy in zip((*args, *kwargs.values()), (*given, *named.values())):
        if isinstance(array, np.ndarray) and copy is not array and not np.array_equal(array, copy):
            np.copyto(array, copy, casting="same_kind")
    return result


def _low(f: Callable[..., Any], args: Any, kwargs: Any, losses: Losses) -> Any:
    """Arrays that are no pairs are copies: they are not written into twice."""
    given, named = low_of(args, losses), low_of(kwargs, losses)
    if getattr(f, "__module__", None) == "math":
        given = [float(a) if isinstance(a, np.floating) else a for a in given]
    try:
        with np.errstate(all="ignore"):
            return f(*given, **named)
    except (ArithmeticError, ValueError):
        return _NOTHING


def _result(
    name: str, low: Any, high: Any, losses: Losses, before: float, operands: tuple[Any, ...], plain: bool
) -> Any:
    if type(high) in (tuple, list) and type(low) is type(high) and len(low) == len(high):
        return type(high)(_result(name, a, b, losses, before, operands, plain) for a, b in zip(low, high))
    if is_float(high):
        plain = plain or type(high) is float
        pair = Pair(_rounded(low, losses.low), _rounded(high, losses.high), losses, plain)
        losses.observe(name, pair.error, before, operands)
        return pair
    if isinstance(high, bool | np.bool_) or (isinstance(high, np.ndarray) and high.dtype.kind == "b"):
        return _agreed(name, low, high, losses)
    return high if losses.follow == "high" else low


def _rounded(value: Any, precision: Any) -> Any:
    """A function may have given more digits than its operands have."""
    if isinstance(value, np.ndarray):
        return value.astype(precision, copy=False)
    with np.errstate(over="ignore"):
        return precision(value)


def _agreed(name: str, low: Any, high: Any, losses: Losses) -> Any:
    if not np.array_equal(low, high):
        losses.diverged(name)
    return high if losses.follow == "high" else low


# -- operators -------------------------------------------------------------------------------------

ARITHMETIC = "add sub mul truediv floordiv mod pow matmul divmod".split()
COMPARISONS = "lt le gt ge eq ne".split()
UNARY = "neg pos abs".split()


def _number(value: Any) -> bool:
    return isinstance(value, Pair | int | np.number | np.ndarray) or is_float(value)


def _operators(name: str) -> None:
    f = divmod if name == "divmod" else getattr(operator, name)

    def forwards(self: Pair, other: Any) -> Any:
        return both(name, f, self, other) if _number(other) else NotImplemented

    def backwards(self: Pair, other: Any) -> Any:
        return both(name, f, other, self) if _number(other) else NotImplemented

    setattr(Pair, f"__{name}__", forwards)
    if name in ARITHMETIC:
        setattr(Pair, f"__r{name}__", backwards)


def _in_place(name: str) -> None:
    """Arrays change, in both precisions; a number gives way to another."""
    f = getattr(operator, f"i{name}")

    def in_place(self: Pair, other: Any) -> Any:
        if not _number(other):
            return NotImplemented
        losses, before = self.losses, max(self.error, error_of(other))
        high = f(self.high, high_of(other, losses))
        with np.errstate(all="ignore"):
            low = f(self.low, low_of(other, losses))
        if high is not self.high or low is not self.low:
            self.low[...], self.high[...] = low, high
        losses.observe(name, self.error, before, (self, other))
        return self

    setattr(PairOfArrays, f"__i{name}__", in_place)


def _unary(name: str) -> None:
    f = getattr(operator, name)
    setattr(Pair, f"__{name}__", lambda self: both(name, f, self))


for _name in (*ARITHMETIC, *COMPARISONS):
    _operators(_name)
for _name in ARITHMETIC[:-1]:
    _in_place(_name)
for _name in UNARY:
    _unary(_name)
