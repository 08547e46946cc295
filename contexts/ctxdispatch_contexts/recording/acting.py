"""Classes of the user's with special methods that may store something, and which objects are of such."""

from __future__ import annotations

import types
from collections import defaultdict, deque
from collections.abc import Iterable
from typing import Any

import numpy as np

from ctxdispatch.dispatch.holding import referents
from ctxdispatch.dispatch.reach import HEAPTYPE, natively
from ctxdispatch.dispatch.strip import is_iterator
from ctxdispatch.ir.leaves import is_ours
from ctxdispatch_contexts.programs.c_objects import is_namespace
from ctxdispatch_contexts.programs.reading import may_store
from ctxdispatch_contexts.recording.looking import FEW

CALM = frozenset({
    float, int, bool, complex, np.float64, np.float32, np.int64, np.bool_, types.NoneType, str, bytes,
    types.FunctionType, types.MethodType, types.BuiltinFunctionType, types.ModuleType, type, range,
    types.EllipsisType, types.NotImplementedType, types.CodeType, types.GenericAlias, types.CellType,
})  # fmt: skip
"""Classes of which objects run no methods of others."""
_VIEWS = (type({}.keys()), type({}.values()), type({}.items()))
_ITEMS: tuple[type, ...] = (list, tuple, set, frozenset, deque, *_VIEWS)
_ENDS = (type, types.CodeType, types.FrameType, types.CoroutineType)
_DEEP = 8


def acting(values: Iterable[Any], depth: int = _DEEP, *, asked: bool = False) -> list[type]:
    """The classes with methods that may store among those of the values; with `depth`, of what is in
    containers, and of what objects of other classes in Python hold: of so many as `MOST`. `asked`: for items,
    which some mappings make by a function of the user's."""
    seen: set[int] = set()
    for _ in range(depth + 1):
        level = []
        for value in values:
            cls = type(value)
            if cls in CALM or id(value) in seen or (cls is np.ndarray and not value.dtype.hasobject):
                continue
            if (_is_of_python(cls) and may_store(cls)) or (asked and _makes_items(value)):
                return [cls]
            seen.add(id(value))
            level.append(value)
        if not level or len(seen) > MOST:
            break
        values = (part for value in level for part in _within(value))
    return []


MOST = 1000


def _makes_items(value: Any) -> bool:
    if not issubclass(type(value), defaultdict):
        return False
    factory = value.default_factory
    return factory is not None and (type(factory) is not type or bool(factory.__flags__ & HEAPTYPE))


def _is_of_python(cls: type) -> bool:
    return bool(cls.__flags__ & HEAPTYPE) and not is_ours(cls.__module__)


def is_container(value: Any) -> bool:
    return issubclass(type(value), (dict, *_ITEMS))


def _within(value: Any) -> Iterable[Any]:
    cls = type(value)
    if issubclass(type(value), dict):
        return () if is_namespace(value) else (*_others(value.keys()), *_others(value.values()))
    if issubclass(type(value), _ITEMS):
        return _others(value)
    if cls is slice:
        return value.start, value.stop, value.step
    if issubclass(type(value), np.ndarray):
        return value.flat if value.dtype == object else ()
    if issubclass(cls, _ENDS) or is_iterator(value) or is_ours(cls.__module__):
        return ()  # iterators are looked at as they give items
    return _others(referents(value))


def _others(items: Any) -> Iterable[Any]:
    """None, where all are of calm classes."""
    return () if CALM.issuperset(map(type, items)) else [*items]


def is_calm(index: Any) -> bool:
    """An index or key by which no method is run."""
    cls = type(index)
    if cls in CALM:
        return True
    if cls is slice:
        return type(index.start) in CALM and type(index.stop) in CALM and type(index.step) in CALM
    return cls is tuple and CALM.issuperset(map(type, index))


@natively
def is_calm_key(container: Any, key: Any) -> bool:
    """No method that may store is run, nor one of a key that is there."""
    if type(key) is str:
        return True
    if not is_calm(key) and acting((key,)):
        return False
    return len(container) > FEW or CALM.issuperset(map(type, container)) or not acting([*container])
