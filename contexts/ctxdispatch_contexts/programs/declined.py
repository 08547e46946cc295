"""What an operator on objects of the user's does where their methods decline, which return NotImplemented."""

from __future__ import annotations

import operator
from types import FunctionType
from typing import Any

import numpy as np

from ctxdispatch.facts import COMPARISONS
from ctxdispatch.ir.operators import SYMBOLS
from ctxdispatch_contexts.programs.errors import DerivativeError, Ending, user_position

_NAMES = frozenset({"NotImplemented", "super"})


def may_decline(method: FunctionType) -> bool:
    """As far as names tell."""
    return not _NAMES.isdisjoint(method.__code__.co_names)


def otherwise(fn: Any) -> Any:
    """What is called then, with the operands."""
    return {operator.eq: operator.is_, operator.ne: operator.is_not}.get(fn) or Declined(fn)


class Declined(Ending):
    __name__ = "declined"

    def __init__(self, fn: Any) -> None:
        self.fn = fn

    def __call__(self, a: Any, b: Any) -> Any:
        if any(issubclass(type(each), (np.ndarray, np.generic)) for each in (a, b)):
            raise DerivativeError(
                f"an operator of {type(a).__name__} and {type(b).__name__} is left to NumPy, which does it "
                "item by item; write the items out",
                user_position(),
            )
        sign, classes = SYMBOLS.get(self.fn, self.fn.__name__), [type(each).__name__ for each in (a, b)]
        if self.fn in COMPARISONS:
            raise TypeError(f"{sign!r} not supported between instances of {classes[0]!r} and {classes[1]!r}")
        sign = "** or pow()" if self.fn in (operator.pow, pow) else f"{sign}()" if self.fn is divmod else sign
        raise TypeError(f"unsupported operand type(s) for {sign}: {classes[0]!r} and {classes[1]!r}")


def by_left_alone(method: Any, then: Any, a: Any, b: Any) -> Any:
    y = method(a, b)
    return then(a, b) if y is NotImplemented else y


def by_right_alone(method: Any, then: Any, a: Any, b: Any) -> Any:
    y = method(b, a)
    return then(a, b) if y is NotImplemented else y


def by_either(method: Any, reflected: Any, then: Any, a: Any, b: Any) -> Any:
    """a op b, both classes having a say."""
    if issubclass(type(b), type(a)) and type(b) is not type(a):
        y = reflected(b, a)
        y = method(a, b) if y is NotImplemented else y
        return then(a, b) if y is NotImplemented else y
    return by_left_first(method, reflected, then, a, b)


def by_left_first(method: Any, reflected: Any, then: Any, a: Any, b: Any) -> Any:
    """The same where b's class has its method from a's: another one would come first (The Python Language
    Reference, 3.3.8)."""
    y = method(a, b)
    y = reflected(b, a) if y is NotImplemented else y
    return then(a, b) if y is NotImplemented else y
