"""`Pair`: a number, or an array, in two precisions. Operations are done in both, and their errors observed.

Invariant: `high` is what the program computes without the context, if `follow` is "high"; `low` is the same
program in the lower precision.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ctxdispatch_contexts.precision.losses import Losses, relative_error
from ctxdispatch_contexts.precision.warned import warnings_at_the_line

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
    error: float
    plain: bool

    def __new__(cls, low: Any = 0.0, high: Any = None, losses: Any = None, plain: bool = False) -> Pair:
        if losses is None:  # a program makes a float of the type of another: `type(x)(y)`
            return float(low)  # type: ignore[return-value]
        if isinstance(high, np.ndarray):
            self = object.__new__(PairOfArrays)
        else:
            followed = high if losses.follow == "high" else low
            self = float.__new__(PairOfNumbers, followed)  # type: ignore[call-overload]
            self.known_error = relative_error(low, high)
        self.low, self.high, self.losses, self.plain = low, high, losses, plain
        return self  # type: ignore[no-any-return]

    @property
    def value(self) -> Any:
        """That which the program follows."""
        return self.high if self.losses.follow == "high" else self.low

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

    def __reduce_ex__(self, protocol: Any) -> Any:
        """In another process it is the float, or the array, that the program follows."""
        return (np.array if isinstance(self, PairOfArrays) else float), (self.value,)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return both(ufunc.__name__, getattr(ufunc, method), *inputs, **kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return both(function.__name__, function, *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # Python and NumPy ask what it can be converted to
            raise AttributeError(name)
        return _attribute(self, name)


class PairOfNumbers(Pair, float):
    __slots__ = ("low", "high", "losses", "known_error", "plain")
    error = property(lambda self: self.known_error)

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    # what `float` has by itself, and would be computed from one of the two
    real = property(lambda self: self)
    imag = property(lambda self: _attribute(self, "imag"))

    def conjugate(self) -> Any:
        return self

    def is_integer(self) -> bool:
        return _agreed("is_integer", self.low.is_integer(), self.high.is_integer(), self.losses)


class PairOfArrays(Pair):
    """Operators in place write to both arrays, so views of them see it."""

    __slots__ = ("low", "high", "losses", "plain")
    error = property(lambda self: relative_error(self.low, self.high))

    shape = property(lambda self: self.high.shape)
    ndim = property(lambda self: self.high.ndim)
    size = property(lambda self: self.high.size)
    dtype = property(lambda self: self.high.dtype)

    def __len__(self) -> int:
        return len(self.high)

    def __iter__(self) -> Any:
        len(self)  # of no dimension: a TypeError, where it is asked for
        return (Pair(low, high, self.losses) for low, high in zip(self.low, self.high))

    def __contains__(self, value: Any) -> bool:
        return both("contains", operator.contains, self, value)  # type: ignore[no-any-return]

    def __getitem__(self, key: Any) -> Any:
        return Pair(self.low[key], self.high[key], self.losses)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.low[key], self.high[key] = low_of(value, self.losses), high_of(value, self.losses)

    def __copy__(self) -> Any:
        return Pair(self.low.copy(), self.high.copy(), self.losses)

    def __deepcopy__(self, memo: Any) -> Any:
        return self.__copy__()


class _Methods(NamedTuple):
    """A pair of what is called."""

    low: Any
    high: Any


def _attribute(pair: Pair, name: str) -> Any:
    if pair.plain and not hasattr(float, name):  # `hasattr(x, "shape")` tells numbers from arrays
        raise AttributeError(f"'float' object has no attribute {name!r}")
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
    """`value` with all that is a pair, or a float, in the lower precision. Arrays are copied: what the
    program itself wrote to, the lower one does not write to again."""
    if isinstance(value, Pair | _Methods):
        return value.low
    if isinstance(value, np.ndarray):
        return _rounded(value.copy(), losses.low if value.dtype.kind == "f" else value.dtype)
    if is_float(value):
        return _rounded(value, losses.low)
    return _within(value, lambda v: low_of(v, losses))


def high_of(value: Any, losses: Losses) -> Any:
    if losses.high is np.float64 and (type(value) is float or getattr(value, "plain", False) is True):
        return value if type(value) is float else float(value.high)  # Python's own, with its exceptions
    if isinstance(value, Pair | _Methods):
        return value.high
    if is_float(value):
        return _rounded(value, losses.high)
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
        return value.value.item() if np.ndim(value.value) == 0 else value.value
    return _within(value, plain)


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
    low_args, low_kwargs = low_of(args, losses), low_of(kwargs, losses)
    high_args, high_kwargs = high_of(args, losses), high_of(kwargs, losses)
    with warnings_at_the_line(f, name, pairs):
        high = f(*high_args, **high_kwargs)
    _write_back([*args, *kwargs.values()], [*high_args, *high_kwargs.values()])
    try:
        with np.errstate(all="ignore"):
            low = f(*low_args, **low_kwargs)
    except (ArithmeticError, ValueError):
        low = np.full(np.shape(high), np.nan, losses.low)[()]
    plain = getattr(f, "__module__", None) in _PYTHON and all(pair.plain for pair in pairs)
    result = _result(name, low, high, losses, before, (*args, *kwargs.values()), plain)
    return next((pair for pair in pairs if pair.high is high and pair.low is low), result)


def _write_back(given: Sequence[Any], used: Sequence[Any]) -> None:
    """Into arrays of another precision, what was written to those that were used in their place."""
    for array, made in zip(given, used, strict=True):
        if type(array) is tuple:
            _write_back(array, made)
        elif isinstance(array, np.ndarray) and made is not array and not np.array_equal(array, made, True):
            array[...] = made


_PYTHON = ("_operator", "math", "builtins")


def _result(
    name: str, low: Any, high: Any, losses: Losses, before: float, operands: tuple[Any, ...], plain: bool
) -> Any:
    if type(high) in (tuple, list) and type(low) is type(high) and len(low) == len(high):
        return type(high)(_result(name, a, b, losses, before, operands, plain) for a, b in zip(low, high))
    if is_float(high):
        plain = plain or type(high) is float
        low = low if np.shape(low) == np.shape(high) else np.full(np.shape(high), np.nan)[()]
        pair = Pair(_rounded(low, losses.low), _rounded(high, losses.high), losses, plain)
        losses.observe(name, pair.error, before, operands)
        return pair
    if isinstance(high, bool | np.bool_) or (isinstance(high, np.ndarray) and high.dtype.kind == "b"):
        return _agreed(name, low, high, losses)
    return high if losses.follow == "high" else low


def _rounded(value: Any, precision: Any) -> Any:
    """A function may have given more digits than its operands have."""
    with np.errstate(over="ignore"):
        return value.astype(precision, copy=False) if isinstance(value, np.ndarray) else precision(value)


def _agreed(name: str, low: Any, high: Any, losses: Losses) -> Any:
    if not np.array_equal(low, high):
        losses.diverged(name)
    return high if losses.follow == "high" else low


# -- operators -------------------------------------------------------------------------------------

ARITHMETIC = "add sub mul truediv floordiv mod divmod pow matmul".split()
COMPARISONS = "lt le gt ge eq ne".split()
UNARY = "neg pos abs".split()
_BUILTINS = {"pow": pow, "divmod": divmod}


def _fits(pair: Pair, other: Any) -> bool:
    """Whether it is a number, or an array beside an array."""
    if isinstance(other, Pair | int | np.number | np.ndarray) or is_float(other):
        return True
    return isinstance(pair, PairOfArrays) and type(other) in (list, tuple)


def _operators(name: str) -> None:
    f: Any = _BUILTINS.get(name) or getattr(operator, name)

    def forwards(self: Pair, other: Any, *modulus: Any) -> Any:
        return both(name, f, self, other, *modulus) if _fits(self, other) else NotImplemented

    def backwards(self: Pair, other: Any, *modulus: Any) -> Any:
        return both(name, f, other, self, *modulus) if _fits(self, other) else NotImplemented

    setattr(Pair, f"__{name}__", forwards)
    if name in ARITHMETIC:
        setattr(Pair, f"__r{name}__", backwards)


def _in_place(name: str) -> None:
    f = getattr(operator, f"i{name}")

    def written(self: Pair, other: Any) -> Any:
        if not _fits(self, other):
            return NotImplemented
        made = both(name, f, self, other)
        if made.low is not self.low:
            self.low[...] = made.low
        return self

    setattr(PairOfArrays, f"__i{name}__", written)


def _unary(name: str) -> None:
    f = getattr(operator, name)
    setattr(Pair, f"__{name}__", lambda self: both(name, f, self))


for _name in (*ARITHMETIC, *COMPARISONS):
    _operators(_name)
for _name in ARITHMETIC:
    if _name != "divmod":
        _in_place(_name)
for _name in UNARY:
    _unary(_name)
