"""The numbers and arrays in arguments and results, containers and objects included."""

from __future__ import annotations

import types
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ctxdispatch.dispatch.tags import Tagged, bare
from ctxdispatch_contexts.programs.c_objects import shows

NUMBERS = (float, complex, np.inexact)


def is_number(value: Any) -> bool:
    """One that has derivatives: a float or complex, Python's or NumPy's."""
    return issubclass(type(value), NUMBERS)


def listed(values: Any) -> list[Any]:
    """The items, by the code that gives them: to be run under a context."""
    return [*values]


def items(container: Any) -> Iterable[Any]:
    """What is in it, whatever its class makes of that."""
    cls = type(container)
    if cls in _CONTAINERS:
        return container if cls is not dict else container.values()
    if issubclass(cls, np.ndarray):
        return container.flat  # type: ignore[no-any-return]
    base = next(base for base in cls.__mro__ if base in _CONTAINERS)
    found: Iterable[Any] = dict.values(container) if base is dict else base.__iter__(container)
    return found


_CONTAINERS = frozenset({tuple, list, set, frozenset, deque, dict})


def leaves(value: Any, depth: int = 8) -> Iterator[Any]:
    """The numbers and arrays in `value`, and in containers in it (C code does not look into objects); what
    shows memory as numbers."""
    if type(value) in _ENDS:
        return
    value = bare(value) if type(value) is Tagged else value
    if issubclass(type(value), _LEAVES):
        yield value
        if not issubclass(type(value), np.ndarray) or value.dtype != object:
            return
    if _holds(value):
        if depth:
            for item in items(value):
                yield from leaves(item, depth - 1)
        else:
            yield from _further(value)
    elif issubclass(type(value), np.flatiter):
        yield value.base
    elif issubclass(type(value), np.void):
        yield np.asarray(value)  # in the memory of its array
    elif issubclass(type(value), slice):
        yield from leaves((value.start, value.stop, value.step))
    elif shows(type(value)):
        yield value


_LEAVES = (np.ndarray, *NUMBERS)
_ENDS = frozenset({
    int, bool, str, bytes, types.NoneType, types.EllipsisType, types.FunctionType, types.BuiltinFunctionType,
    types.ModuleType, type,
})  # fmt: skip
"""Classes of which no object has any."""


def _holds(value: Any) -> bool:
    """A container, or an array of objects."""
    if issubclass(type(value), np.ndarray):
        return value.dtype == object  # type: ignore[no-any-return]
    return issubclass(type(value), (tuple, list, set, frozenset, deque, dict))


def _further(container: Any) -> Iterator[Any]:
    """Those of a container that lies deep, which may hold itself: each within it is looked into once."""
    seen, waiting = {id(container)}, [container]
    while waiting:
        value = waiting.pop()
        for item in [*items(value)]:
            if not _holds(item):
                yield from leaves(item)
            elif id(item) not in seen:
                seen.add(id(item))
                waiting.append(item)
                if issubclass(type(item), np.ndarray):
                    yield item


def snapshot(value: Any) -> Any:
    """`value` with its lists and dicts as they are now; rules know of lists, and not of deques."""
    return _snapshot(value, {})


def snapshots(values: Iterable[Any]) -> list[Any]:
    """The same of several values; what is one list or dict in them stays one."""
    seen: dict[int, Any] = {}
    return [_snapshot(value, seen) for value in values]


def _snapshot(value: Any, seen: dict[int, Any]) -> Any:
    if type(value) not in (list, deque, tuple, dict):
        return value
    if id(value) not in seen:
        found: Any = {} if type(value) is dict else []
        seen[id(value)] = found  # before what it holds, which may be it
        if type(value) is dict:
            found.update((key, _snapshot(item, seen)) for key, item in value.items())
        else:
            found.extend(_snapshot(item, seen) for item in value)
        seen[id(value)] = tuple(found) if type(value) is tuple else found
    return seen[id(value)]


def another(value: Any) -> Any:
    """A number equal to `value` that is no other object's."""
    if issubclass(type(value), np.generic):
        return value.copy()
    made = value * 1.0  # also of nan and -0.0
    return made if type(made) is type(value) else type(value)(made)
