"""What code that is not followed could read, and store into: what it holds, and the variables that it names.

    def __str__(self): log.append(self.v); ...        self, what `log` is, what the methods of either name
"""

from __future__ import annotations

import types
from collections.abc import Iterable
from typing import Any

import numpy as np

from ctxdispatch.dispatch.holding import referents
from ctxdispatch.dispatch.reach import HEAPTYPE
from ctxdispatch_contexts.programs.c_objects import is_namespace
from ctxdispatch_contexts.programs.special_methods import LIBRARIES
from ctxdispatch_contexts.recording import hidden

MOST = 5000
"""So many parts are looked through."""


def reaches_active(record: Any, code: list[Any]) -> bool:
    """Functions or objects of classes, from which something that is differentiated can be reached."""
    return any(map(record.is_active, hidden.held(named(code), MOST)))


def named(values: Iterable[Any]) -> list[Any]:
    """The values, and what their code names: that of functions, and of the methods of objects and classes."""
    found, seen = [*values], set[int]()
    for value in found:  # grows
        if id(value) not in seen and len(seen) < MOST:
            seen.add(id(value))
            found += _named(value)
    return found


def _named(value: Any) -> Iterable[Any]:
    cls = type(value)
    if cls is types.FunctionType:
        return [] if _is_of_library(value) else _by_function(value)
    if issubclass(cls, type):
        return [] if not value.__flags__ & HEAPTYPE or _is_of_library(value) else _members(value)
    if issubclass(cls, np.ndarray):
        return value.flat if value.dtype == object else []
    if issubclass(cls, (*_ENDS, *hidden.OURS)) or (issubclass(cls, dict) and is_namespace(value)):
        return []
    return [*referents(value), *([cls] if cls.__flags__ & HEAPTYPE else [])]


_ENDS = (types.ModuleType, types.CodeType, types.FrameType)


def _members(cls: type) -> list[Any]:
    """Of it, not of what it inherits, with the functions behind methods and properties."""
    members = [*vars(cls).values()]
    behind = [getattr(m, name, None) for m in members for name in ("__func__", "fget", "fset", "func")]
    return [*members, *(f for f in behind if f is not None), *cls.__bases__, type(cls)]


def _by_function(f: types.FunctionType) -> list[Any]:
    code, variables = f.__code__, f.__globals__
    found = [variables[name] for name in code.co_names if name in variables]
    modules = [vars(m) for m in found if type(m) is types.ModuleType and not _is_of_library(m)]
    found += [given[name] for given in modules for name in code.co_names if name in given]
    cells = [*filter(None, map(_content, f.__closure__ or ()))]
    numbers = [c for c in code.co_consts if type(c) in (float, complex)]
    return [v for v in found if type(v) is not types.ModuleType] + [*cells, *numbers, f.__defaults__]


def _content(cell: types.CellType) -> Any:
    try:
        content = cell.cell_contents
    except ValueError:
        return None
    return None if type(content) is types.CellType else [content]


def _is_of_library(value: Any) -> bool:
    module = getattr(value, "__module__", None) or getattr(value, "__name__", None)
    return str(module).partition(".")[0] in LIBRARIES
