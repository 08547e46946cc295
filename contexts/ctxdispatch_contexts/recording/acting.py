"""Classes of the user's with special methods that may store something, and which objects are of such."""

from __future__ import annotations

import builtins
import dis
import functools
import gc
import types
from collections import deque
from collections.abc import Iterable
from typing import Any

import numpy as np

from ctxdispatch.dispatch.reach import HEAPTYPE, is_python
from ctxdispatch_contexts.programs.special_methods import LIBRARIES
from ctxdispatch_contexts.recording.hidden import is_namespace

CALM = frozenset({
    float, int, bool, complex, np.float64, np.float32, np.int64, np.bool_, types.NoneType, str, bytes,
    types.FunctionType, types.MethodType, types.BuiltinFunctionType, types.ModuleType, type, range,
    types.EllipsisType, types.NotImplementedType, types.CodeType, types.GenericAlias, types.CellType,
})  # fmt: skip
"""Classes of which objects run no methods of others."""
FEW = 8
"""Keys of a container that are looked at, for one may have the hash of another."""
_VIEWS = (type({}.keys()), type({}.values()), type({}.items()))
_ITEMS: tuple[type, ...] = (list, tuple, set, frozenset, deque, *_VIEWS)
_OURS = ("ctxdispatch", "ctxdispatch_contexts")
_DEEP = 8


def acting(values: Iterable[Any], depth: int = _DEEP) -> list[type]:
    """The classes with methods that may store among those of the values; with `depth`, of what is in
    containers, and of what objects of other classes in Python hold: of so many as `MOST`."""
    seen: set[int] = set()
    for _ in range(depth + 1):
        level = []
        for value in values:
            cls = type(value)
            if cls in CALM or id(value) in seen or (cls is np.ndarray and not value.dtype.hasobject):
                continue
            if _is_of_python(cls) and may_store(cls):
                return [cls]
            seen.add(id(value))
            level.append(value)
        if not level or len(seen) > MOST:
            break
        values = (part for value in level for part in _within(value))
    return []


MOST = 1000


def _is_of_python(cls: type) -> bool:
    return bool(cls.__flags__ & HEAPTYPE) and cls.__module__.partition(".")[0] not in _OURS


def _within(value: Any) -> Iterable[Any]:
    cls = type(value)
    if isinstance(value, dict):
        return () if is_namespace(value) else (*_others(value.keys()), *_others(value.values()))
    if isinstance(value, _ITEMS):
        return _others(value)
    if cls is slice:
        return value.start, value.stop, value.step
    if isinstance(value, np.ndarray):
        return value.flat if value.dtype == object else ()
    if _is_of_python(cls) and not isinstance(value, type):
        return _others(gc.get_referents(value))
    return ()


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


def is_calm_key(container: Any, key: Any) -> bool:
    """No method that may store is run, nor one of a key that is there."""
    if type(key) is str:
        return True
    if not is_calm(key) and acting((key,)):
        return False
    return len(container) > FEW or CALM.issuperset(map(type, container)) or not acting([*container])


# what a run looks at for itself is no part of the run around it
is_calm_key.__overdub__ = lambda ctx, *args: is_calm_key(*args)  # type: ignore[attr-defined]


# -- methods that only read ----------------------------------------------------------------------------------

_NOT_BY_C = frozenset({
    "__init__", "__new__", "__post_init__", "__init_subclass__", "__class_getitem__", "__set_name__",
    "__call__", "__enter__", "__exit__", "__aenter__", "__aexit__", "__setattr__", "__delattr__",
    "__setitem__", "__delitem__", "__reduce__", "__reduce_ex__", "__getstate__", "__setstate__", "__copy__",
    "__deepcopy__", "__replace__", "__annotate__", "__annotate_func__",
})  # fmt: skip
"""What C code has no reason to run, or what the engine runs."""


@functools.lru_cache(2048)
def may_store(cls: type) -> bool:
    return any(_may_store(name, f) for base in cls.__mro__ for name, f in [*vars(base).items()])


def _may_store(name: str, found: Any) -> bool:
    if isinstance(found, property):
        return found.fget is not None and not _reads(found.fget)
    if isinstance(found, functools.cached_property):
        return not _reads(found.func)
    if name[:2] == "__" == name[-2:]:
        return callable(found) and name not in _NOT_BY_C and is_python(found) and not _reads(found)
    return False


def _reads(f: Any) -> bool:
    """A function that stores nothing, by its code."""
    f = getattr(f, "__func__", f)
    if isinstance(f, type):
        return True  # `__class__`
    if not isinstance(f, types.FunctionType):
        return False
    if str(f.__globals__.get("__name__")).partition(".")[0] in LIBRARIES:
        wrapped = f.__dict__.get("__wrapped__")  # in `__repr__` of dataclasses
        return wrapped is None or _reads(wrapped)
    return all(_is_reading(i, f) for i in dis.get_instructions(f))


_READING = frozenset("""
    RESUME COPY_FREE_VARS CACHE EXTENDED_ARG NOP NOT_TAKEN LOAD_CONST LOAD_SMALL_INT LOAD_FAST
    LOAD_FAST_CHECK LOAD_FAST_BORROW LOAD_FAST_LOAD_FAST LOAD_FAST_BORROW_LOAD_FAST_BORROW LOAD_DEREF
    STORE_FAST STORE_FAST_LOAD_FAST STORE_FAST_STORE_FAST COMPARE_OP IS_OP CONTAINS_OP BINARY_SUBSCR
    BINARY_SLICE UNARY_NEGATIVE UNARY_NOT UNARY_INVERT UNARY_POSITIVE TO_BOOL POP_TOP COPY SWAP
    RETURN_VALUE RETURN_CONST BUILD_TUPLE BUILD_LIST BUILD_STRING BUILD_SLICE FORMAT_VALUE FORMAT_SIMPLE
    FORMAT_WITH_SPEC CONVERT_VALUE PRECALL CALL UNPACK_SEQUENCE RAISE_VARARGS
""".split())
_CALLED = frozenset({
    hash, len, isinstance, issubclass, abs, min, max, sum, sorted, str, repr, type, float, int, bool, round,
    id, any, all, tuple, list, set, frozenset, range, zip, complex, format,
})  # fmt: skip


def _is_reading(instruction: dis.Instruction, f: types.FunctionType) -> bool:
    """Of what it calls, only functions of Python's own that read."""
    name, shown = instruction.opname, instruction.argrepr
    if name == "LOAD_GLOBAL":
        return "NULL" not in shown or _is_known(f, str(instruction.argval))  # it is not called
    if name == "LOAD_ATTR":
        return "NULL" not in shown
    if name == "BINARY_OP":
        return not shown.endswith("=")
    return name in _READING or "JUMP" in name


def _is_known(f: types.FunctionType, name: str) -> bool:
    found = f.__globals__.get(name, vars(builtins).get(name))
    return any(found is each for each in _CALLED)
