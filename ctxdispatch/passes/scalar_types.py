"""Rules for operators and functions of scalars, and for the operators in general.

Results that depend on the classes of the operands only are found out by calling the function once on sample
operands.
"""

from __future__ import annotations

import cmath
import math
import operator
import time
import types as pytypes
import warnings
from collections.abc import Mapping
from functools import lru_cache
from typing import Any as Anything

import numpy as np

from ctxdispatch import facts
from ctxdispatch.facts import COMPARISONS, TO_INT, UNARY
from ctxdispatch.passes.held import MAX_POSITIONS
from ctxdispatch.passes.type_rules import (
    BOOL,
    COMPLEX,
    FLOAT,
    INT,
    RULES,
    UNKNOWN,
    Args,
    Rule,
    known,
    returns,
    row,
    rule,
)
from ctxdispatch.passes.types import Any, Exact, Known, ListOf, Never, TupleOf, Type, cls_of, is_literal, join

SAMPLES: dict[type, Anything] = {
    bool: True,
    int: 3,
    float: 1.5,
    complex: 1.5 + 0.5j,
    str: "s",
    bytes: b"s",
    pytypes.NoneType: None,
}
"""One operand per class, for functions whose result's class does not depend on the operands' values."""

BINARY = [f for f in facts.BINARY if f not in (operator.pow, operator.matmul)]
COMPARE = COMPARISONS

SCALARS = frozenset(SAMPLES)


@lru_cache(maxsize=4096)
def sampled(function: Anything, classes: tuple[type, ...]) -> Type:
    """The type of `function` on the samples of `classes`; Never where there is none, whatever the numbers."""
    try:
        return Exact(type(function(*[SAMPLES[cls] for cls in classes])))
    except Exception as error:
        return Never if isinstance(error, TypeError) and PLAIN.issuperset(classes) else Any


PLAIN = frozenset((bool, int, float, complex, pytypes.NoneType))
"""These classes alone tell which operators and attributes there are."""


def by_sample(function: Anything) -> Rule:
    def apply(args: Args, kwargs: Mapping[str, Type]) -> Type:
        classes = tuple([c for c in map(cls_of, args) if c in SCALARS])
        return sampled(function, classes) if len(classes) == len(args) and not kwargs else Any

    return apply


OPERATORS = (*facts.BINARY, *UNARY, *COMPARE, divmod, abs)

def _compared(function: Anything) -> Rule:
    """Tuples and lists too, whatever is in them: `==` and `!=` of two give a bool, and so do the others where
    those of the items do."""
    sampled_ = by_sample(function)
    equality = function in (operator.eq, operator.ne)

    def apply(args: Args, kwargs: Mapping[str, Type]) -> Type:
        classes = [*map(cls_of, args)]
        if equality and any(map(_is_dtype, classes)):
            return _of_dtypes(function, classes, [*map(known, args)])
        if len(args) != 2 or kwargs or not (tuple in classes or list in classes):
            return sampled_(args, kwargs)
        a, b = map(_by_item, args)
        scalars = _of_scalars(a) and _of_scalars(b)
        if equality and scalars and isinstance(a, TupleOf) and isinstance(b, TupleOf):
            return BOOL if len(a.items) == len(b.items) else Known(function is operator.ne)
        alike = scalars and classes[0] is classes[1]
        return BOOL if alike or (equality and {tuple, list, *SCALARS}.issuperset(classes)) else Any

    return apply


def _of_dtypes(function: Anything, classes: list[type | None], values: list[Anything]) -> Type:
    """A dtype, and another one or what may name one."""
    if not all(cls in (str, type, pytypes.NoneType) or _is_dtype(cls) for cls in classes):
        return Any
    if any(value is UNKNOWN for value in values):
        return BOOL
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Known(function(*values))


def _is_dtype(cls: type | None) -> bool:
    return cls is not None and issubclass(cls, np.dtype)


def _by_item(type_: Type) -> Type:
    """That of a constant too."""
    value = known(type_)
    return TupleOf(tuple(map(Known, value))) if type(value) is tuple else type_


def _of_scalars(type_: Type) -> bool:
    """A number or text of Python's, or tuples and lists of these."""
    if isinstance(type_, TupleOf):
        return all(map(_of_scalars, type_.items))
    return _of_scalars(type_.item) if isinstance(type_, ListOf) else cls_of(type_) in SCALARS


for _f in OPERATORS:
    RULES[_f] = _compared(_f) if _f in COMPARE else by_sample(_f)
RULES[divmod] = lambda args, kwargs: _divmod(args)


def _divmod(args: Args) -> Type:
    parts = tuple(RULES[f](args, {}) for f in (operator.floordiv, operator.mod))
    return Any if Any in parts else Never if Never in parts else TupleOf(parts)


@rule(operator.add)
def add_type(args: Args, kwargs: Mapping[str, Type]) -> Type:
    match args:
        case (TupleOf(a), TupleOf(b)):
            return TupleOf(a + b)
        case (ListOf(a), ListOf(b)):
            return ListOf(join(a, b))
    return _sampled_add(args, kwargs)


_sampled_add = by_sample(operator.add)


@rule(operator.mul)
def _mul(args: Args, kwargs: Mapping[str, Type]) -> Type:
    """Of a list and how often it is repeated, too."""
    lists = [a for a in args if isinstance(a, ListOf)]
    if len(lists) == 1 and len(args) == 2:
        times = args[1] if args[0] is lists[0] else args[0]
        return lists[0] if cls_of(times) in (int, bool) else Any
    for sequence, times in (args, args[::-1]):
        if isinstance(sequence, TupleOf) and type(count := known(times)) is int:
            short = len(sequence.items) * count <= MAX_POSITIONS
            return TupleOf(sequence.items * count) if short else Exact(tuple)
    return _sampled_mul(args, kwargs)


_sampled_mul = by_sample(operator.mul)


@rule(operator.pow, pow, math.pow)
def _pow(args: Args, kwargs: Mapping[str, Type]) -> Type:
    """Classes decide only partly: 2 ** -1 is a float, (-8.0) ** 0.5 complex."""
    if len(args) != 2:
        return Any
    base, exponent = map(cls_of, args)
    if complex in (base, exponent) and {base, exponent} <= {int, float, complex}:
        return COMPLEX
    value = known(args[1])
    if exponent is int and base is float:
        return FLOAT
    if exponent is int and base is int and value is not UNKNOWN:
        return INT if value >= 0 else FLOAT
    if exponent is float and base in (int, float) and _surely_real(known(args[0]), value):
        return FLOAT
    return Any


def _surely_real(base: Anything, exponent: Anything) -> bool:
    return (base is not UNKNOWN and base >= 0) or (exponent is not UNKNOWN and exponent.is_integer())


RULES[math.pow] = returns(FLOAT)


@rule(operator.is_, operator.is_not)
def _is(args: Args, kwargs: Mapping[str, Type]) -> Type:
    return BOOL


def identical(a: Type, b: Type) -> bool | None:
    """Whether values of these types are one object: None where that is not known."""
    singletons = [isinstance(t, Known) and not _copied(t.value) for t in (a, b)]
    if all(singletons):
        return a.value is b.value  # type: ignore[attr-defined]
    classes = cls_of(a), cls_of(b)
    return False if None not in classes and classes[0] is not classes[1] else None


def _copied(value: Anything) -> bool:
    """Equal literals may or may not be one object, and a bound builtin is made anew each time."""
    if value is None or value is ... or isinstance(value, bool):
        return False
    return is_literal(value) or type(value) is pytypes.BuiltinMethodType


def _is_rule(negate: bool) -> Rule:
    def apply(args: Args, kwargs: Mapping[str, Type]) -> Type:
        same = identical(*args)
        return BOOL if same is None else Known(same is not negate)

    return apply


RULES[operator.is_], RULES[operator.is_not] = _is_rule(False), _is_rule(True)


@rule(round)
def _round(args: Args, kwargs: Mapping[str, Type]) -> Type:
    if len(args) == 1 and cls_of(args[0]) in (int, float, bool):
        return INT
    if len(args) == 2 and cls_of(args[0]) is float and cls_of(args[1]) is int:
        return FLOAT
    return Any


# -- clocks --------------------------------------------------------------------------------------------------

_CLOCKS = ("time", "perf_counter", "monotonic", "process_time", "thread_time")
row([getattr(time, name) for name in _CLOCKS], returns(FLOAT))
row([getattr(time, f"{name}_ns") for name in _CLOCKS], returns(INT))


# -- math ----------------------------------------------------------------------------------------------------

_INT_MATH = ("comb", "factorial", "gcd", "isqrt", "lcm", "perm")
_BOOL_MATH = ("isclose", "isfinite", "isinf", "isnan")


def functions(module: Anything) -> dict[str, Anything]:
    return {n: f for n, f in vars(module).items() if callable(f) and not n.startswith("_")}


def _real(args: Args, kwargs: Mapping[str, Type]) -> bool:
    return all(cls_of(a) in (int, float, bool) for a in args)


for _n, _f in functions(math).items():
    RULES[_f] = returns(INT if _n in _INT_MATH else BOOL if _n in _BOOL_MATH else FLOAT)
row(
    TO_INT,
    lambda args, kwargs: INT if _real(args, kwargs) else Any,
)
RULES[math.frexp] = returns(TupleOf((FLOAT, INT)))
RULES[math.modf] = returns(TupleOf((FLOAT, FLOAT)))
row([math.prod, getattr(math, "sumprod", math.prod)], lambda args, kwargs: Any)

for _n, _f in functions(cmath).items():
    RULES[_f] = returns(BOOL if _n in _BOOL_MATH else FLOAT if _n == "phase" else COMPLEX)
RULES[cmath.polar] = returns(TupleOf((FLOAT, FLOAT)))
