"""What code that is not followed could read, and store into: what it holds, and the variables that it names.

def __str__(self): log.append(self.v); ...        self, what `log` is, what the methods of either name
"""

from __future__ import annotations

import functools
import sys
import threading
import types
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from typing import Any

import numpy as np

from ctxdispatch.dispatch.context import Context
from ctxdispatch.dispatch.holding import referents
from ctxdispatch.dispatch.protocols.standins import StandIn
from ctxdispatch.dispatch.reach import HEAPTYPE, Engine
from ctxdispatch.dispatch.tags import Tagged
from ctxdispatch.passes.cells import inner_codes
from ctxdispatch_contexts.programs.c_objects import is_namespace
from ctxdispatch_contexts.programs.owned import Table
from ctxdispatch_contexts.programs.special_methods import LIBRARIES

MOST = 5000
"""So many parts are looked through."""


def named(values: Iterable[Any], by_code: bool = True) -> list[Any]:
    """The values, and what can be reached from them; `by_code`: what their code names too, that of functions,
    and of the methods of objects and classes."""
    found, seen = [*values], set[int]()
    for value in found:  # grows
        cls = type(value)
        if cls not in _LEAVES and id(value) not in seen and len(seen) < MOST:
            seen.add(id(value))
            found += _parts_of(cls)(value, by_code)
    return found


_LEAVES = frozenset((int, float, complex, bool, str, bytes, type(None), np.float64))
Parts = Callable[[Any, bool], Iterable[Any]]


@functools.lru_cache(4096)
def _parts_of(cls: type) -> Parts:
    """What gives the parts of its objects."""
    if cls is types.FunctionType:
        return _of_function
    if issubclass(cls, type):
        return _of_class
    if issubclass(cls, np.ndarray):
        return lambda array, by_code: array.flat if array.dtype == object else (array.base,)
    for kind, holds in _HIDING.items():
        if issubclass(cls, kind):
            return lambda value, by_code: (holds(value),)
    if issubclass(cls, (*_ENDS, *OURS)) or cls.__module__.startswith(_PROGRAMS):
        return lambda value, by_code: ()
    if issubclass(cls, dict):
        return lambda value, by_code: () if is_namespace(value) else _of_object(value, by_code)
    return _of_object


def _of_function(f: types.FunctionType, by_code: bool) -> Iterable[Any]:
    return [*_held(f), *(_variables(f) if by_code and not is_of_library(f) else ())]


def _of_class(cls: type, by_code: bool) -> Iterable[Any]:
    return [] if not cls.__flags__ & HEAPTYPE or is_of_library(cls) else _members(cls)


def _of_object(value: Any, by_code: bool) -> Iterable[Any]:
    cls = type(value)
    return [*referents(value), cls] if cls.__flags__ & HEAPTYPE else referents(value)


_HIDING: dict[type, Callable[[Any], Any]] = {
    weakref.ref: weakref.ref.__call__, ContextVar: lambda variable: variable.get(None), threading.local: vars,
    **dict.fromkeys(weakref.ProxyTypes, lambda proxy: UNKNOWN),
}  # fmt: skip
"""What the collector does not see in them."""
OURS = (Context, Engine, StandIn, Tagged)
_PROGRAMS = ("ctxdispatch.ir.", "ctxdispatch.passes.")
"""What programs are made of: what they know stands among what they run with, too."""
_ENDS = (types.ModuleType, types.CodeType, types.FrameType, Table)


def _members(cls: type) -> list[Any]:
    """Of it, not of what it inherits, with the functions behind methods and properties."""
    members = [*vars(cls).values()]
    behind = [getattr(m, name, None) for m in members for name in ("__func__", "fget", "fset", "func")]
    return [*members, *(f for f in behind if f is not None), *cls.__bases__, type(cls)]


def _held(f: types.FunctionType) -> list[Any]:
    own = vars(f)
    if "__overdub__" in own:  # a derivative: programs are in its closure
        return [own.get("__wrapped__")]
    cells = [*filter(None, map(_content, f.__closure__ or ()))]
    return [*cells, f.__defaults__, f.__kwdefaults__, *own.values()]


def _variables(f: types.FunctionType) -> list[Any]:
    """Those of modules that its code may name, and the numbers in it."""
    codes = [*_codes(f.__code__)]
    names = [name for code in codes for name in code.co_names]
    found, spaces = [], [f.__globals__, _imported(f, names)]
    for space in spaces:  # grows
        values = [space[name] for name in names if name in space]
        found += [v for v in values if type(v) is not types.ModuleType]
        modules = [vars(m) for m in values if type(m) is types.ModuleType and not is_of_library(m)]
        spaces += [each for each in modules if not any(each is known for known in spaces)]
    if not (DYNAMIC if len(spaces) < 3 else DYNAMIC | _OF_MODULES).isdisjoint(names):
        found.append(UNKNOWN)
    return [*found, *(c for code in codes for c in code.co_consts if type(c) in (float, complex))]


UNKNOWN = object()
"""What code may find that does not say the name."""
DYNAMIC = frozenset({
    "globals", "eval", "exec", "_getframe", "inspect", "modules", "import_module", "import_name",
    "__import__", "get_objects",
})  # fmt: skip
"""Names by which it does."""
_OF_MODULES = frozenset({"getattr", "vars", "__dict__"})


def _imported(f: types.FunctionType, names: list[str]) -> dict[str, Any]:
    """The modules that it may import by itself."""
    package = f.__globals__.get("__package__")
    full = {name: f"{package}.{name}" for name in names}
    found = {name: sys.modules.get(name, sys.modules.get(full[name])) for name in names}
    return {name: module for name, module in found.items() if type(module) is types.ModuleType}


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for inner in inner_codes(code):
        yield from _codes(inner)


def _content(cell: types.CellType) -> Any:
    try:
        content = cell.cell_contents
    except ValueError:
        return None
    return None if type(content) is types.CellType else [content]


def is_of_library(value: Any) -> bool:
    if issubclass(type(value), types.ModuleType):  # which may compute its attributes
        module = vars(value).get("__name__")
    else:
        module = getattr(value, "__module__", None) or getattr(value, "__name__", None)
    return str(module).partition(".")[0] in LIBRARIES
