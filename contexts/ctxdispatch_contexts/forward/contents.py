"""What arguments hold, written down so that a change shows: `linearize` runs its function again there.

Numbers and arrays are compared by value, containers and objects by what they hold, random generators by their
state, and anything else by identity. (Iterators are not looked into: what took items from one is not seen.)
"""

from __future__ import annotations

import array
import random
from collections import deque
from collections.abc import Callable, Iterable
from types import FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from ctxdispatch.dispatch.reach import natively
from ctxdispatch_contexts.programs.activity import ZERO_BY_RULE
from ctxdispatch_contexts.reverse.keeping import vars_of

OPAQUE = (type, FunctionType, ModuleType)
DATA = (int, float, complex, str, bytes, np.generic, np.ndarray)


@natively
def contents(value: Any) -> list[Any]:
    """Everything in `value`, in order: of each object what it is, and then what it holds."""
    found: list[Any] = []
    seen: dict[int, Any] = {}  # the objects too, for an identity is theirs only while they live
    waiting = [value]
    while waiting:
        x = waiting.pop()
        again = id(x) in seen and not isinstance(x, DATA)
        held, parts = (None, ()) if again else _held(x)
        seen[id(x)] = x
        found.append((x, held))
        waiting += parts
    return found


@natively
def unchanged(before: list[Any], value: Any) -> bool:
    """`value` holds what it held when `before` was written down."""
    now = contents(value)
    return len(before) == len(now) and all(map(_same, before, now))


ZERO_BY_RULE.update((contents, unchanged))


def _same(before: tuple[Any, Any], now: tuple[Any, Any]) -> bool:
    """The same object that holds the same, or equal data: runs put equal numbers in the place of some."""
    (x, held), (y, holds) = before, now
    if x is not y and not (isinstance(x, (*DATA, tuple)) and type(x) is type(y)):
        return False
    return _equal(held, holds)


def _equal(a: Any, b: Any) -> bool:
    """nan is nan."""
    if not isinstance(a, np.ndarray):
        return bool(a == b or (a != a and b != b))
    if not isinstance(b, np.ndarray) or (a.shape, a.dtype) != (b.shape, b.dtype):
        return False
    return a.tobytes() == b.tobytes() or bool(np.all((a == b) | ((a != a) & (b != b))))


def _held(x: Any) -> tuple[Any, Iterable[Any]]:
    """(what of `x` is compared by value, what it holds that is looked into)."""
    if issubclass(type(x), OPAQUE):
        return None, ()
    for classes, look in LOOKS:
        if isinstance(x, classes):
            held, parts = look(x)
            return held, [*parts, *vars_of(x).values()]
    return None, list(vars_of(x).values())


def _of_array(x: Any) -> tuple[Any, Iterable[Any]]:
    return (x.shape, list(x.flat)) if x.dtype.hasobject else (np.array(x), ())


LOOKS: tuple[tuple[Any, Callable[[Any], tuple[Any, Iterable[Any]]]], ...] = (
    (np.ndarray, _of_array),
    ((int, float, complex, str, bytes, np.generic), lambda x: (x, ())),
    ((bytearray, array.array), lambda x: (bytes(x), ())),
    ((tuple, list, deque), lambda x: (len(x), list(x))),
    ((set, frozenset), lambda x: (len(x), list(x))),
    (dict, lambda x: (len(x), [*x.keys(), *x.values()])),
    (MethodType, lambda x: (None, (x.__self__,))),
    (np.random.Generator, lambda x: (repr(x.bit_generator.state), ())),
    (np.random.RandomState, lambda x: (repr(x.get_state()), ())),
    (random.Random, lambda x: (x.getstate(), ())),
)
