"""The table of what calls of Python's builtins return: callee -> rule, and how rows get into it.

    rule(args, kwargs) -> Type     `Any` where it cannot be told, also where the call surely raises

A rule never says more than holds for every value of its argument types.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any as Anything

from ctxdispatch.passes.types import Exact, Known, Never, TupleOf, Type, join

Args = tuple[Type, ...]
Rule = Callable[[Args, Mapping[str, Type]], Type]

RULES: dict[Anything, Rule] = {}

INT, FLOAT, BOOL, STR, COMPLEX = map(Exact, (int, float, bool, str, complex))


def returns(type_: Type) -> Rule:
    return lambda args, kwargs: type_


def row(functions: Iterable[Anything], rule: Rule) -> None:
    RULES.update(dict.fromkeys(functions, rule))


def rule(*functions: Anything) -> Callable[[Rule], Rule]:
    def register(function: Rule) -> Rule:
        row(functions, function)
        return function

    return register


def known(type_: Type) -> Anything:
    """The value of a Known, else `UNKNOWN`. A tuple of them is a tuple of their values."""
    if isinstance(type_, Known):
        return type_.value
    if isinstance(type_, TupleOf):
        items = tuple(map(known, type_.items))
        return UNKNOWN if any(item is UNKNOWN for item in items) else items
    return UNKNOWN


UNKNOWN: Anything = object()


def join_all(types: Iterable[Type] | Sequence[Type]) -> Type:
    result: Type = Never
    for type_ in types:
        result = join(result, type_)
    return result
