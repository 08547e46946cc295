"""What a call returns, from the types of its arguments. Rules are in `python_types` and `numpy_types`.

Calls of functions in `FOLDABLE` on literals are done right away.
"""

from __future__ import annotations

import cmath
import math
import operator
from collections.abc import Mapping
from types import BuiltinMethodType
from typing import Any as Anything

from ctxdispatch.facts import fact_of
from ctxdispatch.ir import primitives as prim
from ctxdispatch.ir.values import row_of
from ctxdispatch.passes import effects, numpy_types
from ctxdispatch.passes.lengths import plain
from ctxdispatch.passes.pure import PureFunction
from ctxdispatch.passes.python_types import (
    BINARY,
    COMPARE,
    RULES,
    UNARY,
    UNKNOWN,
    builtin,
    functions,
    instance,
    known,
)
from ctxdispatch.passes.types import Any, Exact, Never, OneOf, Type, const_type, is_literal, join

Args = tuple[Type, ...]

# -- calls ---------------------------------------------------------------------------------------------------

FOLDABLE = frozenset(
    f
    for f in (
        *(*BINARY, *UNARY, *COMPARE, operator.pow, operator.getitem, operator.contains, prim.not_contains),
        *(abs, pow, divmod, round, min, max, len, float, int, bool, complex, hash, ord, chr, operator.not_),
        *(*functions(math).values(), *functions(cmath).values()),
    )
)
"""Called right away where all operands are literals: the result is what the program would get."""

_BIG = 1 << 64
_SIZES = {
    operator.pow: 512,
    pow: 512,
    operator.lshift: 512,
    math.factorial: 64,
    math.perm: 64,
    math.comb: 512,
}
"""Bounds on the operands where results can be huge."""


def fold(function: Anything, args: Args) -> Type | None:
    """The Known result of a call on literals; None where there is none to be had."""
    values = [known(a) for a in args]
    if any(v is UNKNOWN or not _small(v, _SIZES.get(function, _BIG)) for v in values):
        return None
    try:
        result = function(*values)
    except Exception:  # raises when the program gets there, with the program's traceback
        return None
    return const_type(result) if is_literal(result) or type(result) is tuple else None


def _small(value: Anything, bound: int) -> bool:
    if isinstance(value, tuple):
        return len(value) < 64 and all(_small(v, bound) for v in value)
    if isinstance(value, (str, bytes)):
        return len(value) < 64
    if isinstance(value, int) and not -bound < value < bound:
        return False
    return is_literal(value)


def call(function: Anything, args: Args, kwargs: Mapping[str, Type] | None = None) -> Type:
    """The type of function(*args, **kwargs)."""
    for position, arg in enumerate(args):
        if isinstance(arg, OneOf):
            return _of_each(function, args, position, kwargs or {}, arg)
    if not _knows_lengths(function):
        args = tuple(map(plain, args))
        kwargs = {name: plain(type_) for name, type_ in (kwargs or {}).items()}
    try:
        return _call(function, args, kwargs or {})
    except (IndexError, ValueError, TypeError, KeyError, AttributeError):
        return Any  # wrong arguments: the call itself will say so


def _knows_lengths(function: Anything) -> bool:
    """Whose lengths they are goes through elementwise operations and indices alone."""
    rule = row_of(numpy_types.RULES, function)
    return (
        rule is numpy_types.elementwise
        or function is operator.getitem
        or (rule is not None and rule in numpy_types.KEEPS_SHAPE)
    )


def _of_each(function: Anything, args: Args, position: int, kwargs: Mapping[str, Type], one: OneOf) -> Type:
    """An argument of several classes: the join of what each of them gives."""
    result: Type = Never
    for cls in one.classes:
        result = join(result, call(function, (*args[:position], Exact(cls), *args[position + 1 :]), kwargs))
    return result


def _call(function: Anything, args: Args, kwargs: Mapping[str, Type]) -> Type:
    if isinstance(function, PureFunction):
        return Any if kwargs else function.result_type(args)
    by_numpy, by_python = row_of(numpy_types.RULES, function), row_of(RULES, function)
    if by_numpy is not None and (by_python is None or any(map(numpy_types.is_numpy, args))):
        return by_numpy(function, args, kwargs)
    if by_python is None:
        return _of_method(function, args) or _construct(function)
    if kwargs and not set(kwargs) <= TAKES.get(function, frozenset()):
        return Any
    folded = fold(function, args) if function in FOLDABLE and not kwargs else None
    return by_python(args, kwargs) if folded is None else folded


TAKES: dict[Anything, frozenset[str]] = {
    sum: frozenset({"start"}),
    sorted: frozenset({"key", "reverse"}),
    enumerate: frozenset({"start"}),
    zip: frozenset({"strict"}),
    print: frozenset({"sep", "end", "file", "flush"}),
    math.isclose: frozenset({"rel_tol", "abs_tol"}),
    int: frozenset({"base"}),
    math.prod: frozenset({"start"}),
}
"""The keyword arguments that rules know of."""


def _of_method(method: Anything, args: Args) -> Type | None:
    """Of a bound method of C code (`np.add.at`) what its row says, where no operand overrides it."""
    row = fact_of(method) if type(method) is BuiltinMethodType else None
    known = row is not None and row.gives is not None and all(map(effects.plain, args))
    return instance(row.gives) if known else None  # type: ignore[union-attr, arg-type]


def _construct(cls: Anything) -> Type:
    """A user's class: an instance of it, where nobody takes over making one."""
    if type(cls) is type and getattr(cls, "__new__", None) is object.__new__ and not builtin(cls):
        return Exact(cls)
    return Any
