"""Types that values are expected to have though nothing says so, and the tests of that.

    %y = f(%x)
    %m = misses(%y)        Misses(ndarray(float64, 1)): it has another type

Inference takes the type for granted where the test stands right behind what gives the value, with nothing in
between: so nothing of that type has been done with another value by then. Whoever puts tests into a graph
makes branches of them before it runs, to where another type is dealt with. Until then nobody reads what they
give; they are ops, so that copies, written out loops and inlined calls have theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any as Anything

import numpy as np

from ctxdispatch.facts import callable_objects, fact
from ctxdispatch.ir.graph import Graph
from ctxdispatch.ir.values import Value
from ctxdispatch.passes.pure import PureFunction
from ctxdispatch.passes.types import Any, ArrayOf, Exact, Held, Known, TupleOf, Type, cls_of


class Unexpected(PureFunction):
    """A test: called with a value, whether the program is not for it."""

    def result_type(self, args: Anything) -> Type:
        return Exact(bool)


class Misses(Unexpected):
    """Whether the value is not of the type."""

    __name__ = "misses"

    def __init__(self, type_: Type) -> None:
        self.type, self._has = type_, _test(type_)

    def __call__(self, value: Anything) -> bool:
        return not self._has(value)


class Hides(Unexpected):
    """Whether the object has an attribute of its own of the name, which hides the method of its class."""

    __name__ = "hides"

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, value: Anything) -> bool:
        return self.name in value.__dict__


callable_objects(fact(raises=False), [Misses, Hides])


def is_vague(type_: Type | None) -> bool:
    """It says nothing that helps."""
    if type_ is None or isinstance(type_, (ArrayOf, TupleOf, Held, Known)):
        return False
    return type_ is Any or cls_of(type_) in (np.ndarray, tuple)


def expected_in(graph: Graph) -> dict[Value, Type]:
    """The values whose types tests right behind them take for granted."""
    found: dict[Value, Type] = {}
    for block in graph.blocks:
        fresh = block.params
        for op in block.ops:
            if not isinstance(op.fn, Unexpected):
                fresh = op.results
            elif isinstance(op.fn, Misses) and op.args[0] in fresh:
                found.setdefault(op.args[0], op.fn.type)
    return found


def _test(type_: Type) -> Callable[[Anything], bool]:
    match type_:
        case Known(value):
            return lambda given: given is value
        case Exact(cls):
            return lambda given: type(given) is cls
        case ArrayOf(dtype, dims):
            return lambda given: type(given) is np.ndarray and _fits(given, dtype, dims)
        case TupleOf(items):
            tests = [*map(_test, items)]
            return lambda given: type(given) is tuple and len(given) == len(tests) and _each(tests, given)
    return lambda given: True


def _fits(array: Anything, dtype: Anything, dims: tuple[Anything, ...]) -> bool:
    if array.dtype != dtype or array.ndim != len(dims):
        return False
    return all(one is None or (n == 1) is one for n, one in zip(array.shape, dims))


def _each(tests: list[Callable[[Anything], bool]], values: tuple[Anything, ...]) -> bool:
    return all(test(value) for test, value in zip(tests, values))
