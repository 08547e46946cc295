"""What a value does not say of its derivative: zeros, in the structure of the value.

    float, array            0.0, zeros of its shape and dtype
    int, str, function      None: nothing that can have a derivative
    list, tuple, dict       one with the zeros of each entry
    object                  a namespace of the fields that can have derivatives; of a dataclass, of all

What a container holds twice has one structure, which stands there twice as well. Of what holds itself there
is None within itself.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import sys
import weakref
from collections import deque
from collections.abc import Callable, Collection
from types import CellType, FunctionType, MethodType, ModuleType, SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from ctxdispatch.dispatch import Context
from ctxdispatch.facts import says
from ctxdispatch.ir.leaves import file_of, package_of
from ctxdispatch_contexts.programs.containers import rebuild
from ctxdispatch_contexts.programs.errors import of_library
from ctxdispatch_contexts.programs.kinds import is_floats
from ctxdispatch_contexts.programs.opaque_values import slots

Zero = Callable[[Any], Any]

DEEPEST = 32
"""Containers within containers; what lies deeper is a chain of objects that is as good as endless."""

_CONTAINERS = (tuple, list, dict, deque)
ATOMS: frozenset[Any] = frozenset({int, bool, str, bytes, type(None)})
_FLOATS = {float}
_NAMES = {str}
_LEAVES = (
    type, ModuleType, str, bytes, int, np.generic, np.dtype, FunctionType, MethodType, functools.partial,
    CellType, enum.Enum, Context,
)  # fmt: skip


def zero(value: Any) -> Any:
    """Of a number or array."""
    if isinstance(value, np.ndarray):
        return np.zeros_like(value)
    return type(value)(0) if isinstance(value, np.inexact) else 0j if isinstance(value, complex) else 0.0


class Zeros:
    """`zero`: of a number or array. What is `entered`, and not yet `left`, is None within itself."""

    __slots__ = ("zero", "_found", "_depth")

    def __init__(self, zero: Zero = zero) -> None:
        self.zero = zero
        self._found: dict[int, Any] = {}
        self._depth = 0

    def of(self, value: Any) -> Any:
        cls = type(value)
        if cls is float:
            return self.zero(value)
        if cls in ATOMS:
            return None
        if is_floating(value):
            return self.zero(value)
        holds = isinstance(value, _CONTAINERS) or layout(class_of(value)).parameters
        return self._once(value) if holds else None

    def _once(self, value: Any) -> Any:
        if id(value) in self._found:
            return self._found[id(value)]
        if self._depth == DEEPEST:
            return None
        self.entered(value)
        self._depth += 1
        made = self._found[id(value)] = self._container(value)
        self._depth -= 1
        return made

    def entered(self, value: Any) -> None:
        self._found[id(value)] = None

    def left(self, value: Any) -> None:
        """Where it is met again, it has zeros of its own."""
        self._found.pop(id(value), None)

    def _container(self, value: Any) -> Any:
        if isinstance(value, dict):
            return dict(zip(value, self._items(value.values()), strict=True))
        if isinstance(value, _CONTAINERS):
            return rebuild(value, self._items(value))
        own = {name: self.of(part) for name, part in fields(value).items()}
        return in_namespace(layout(class_of(value)), own)

    def _items(self, items: Collection[Any]) -> list[Any]:
        return self.alike(items) or [self.of(item) for item in items]

    def alike(self, items: Collection[Any]) -> list[Any] | None:
        """Of items that are all floats, or nothing that has a derivative: without looking at each."""
        kinds = {*map(type, items)}
        if kinds <= ATOMS:
            return [None] * len(items)
        return [0.0] * len(items) if kinds == _FLOATS and self.zero is zero else None


def is_floating(value: Any) -> bool:
    """A number or array that has derivatives."""
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "fc"
    return isinstance(value, (float, complex, np.inexact)) or is_floats(value)


# -- objects -------------------------------------------------------------------------------------------------


class Layout(NamedTuple):
    """Of a class of objects. `parameters`: they may hold some; a library's (loggers, locks, paths, compiled
    functions) hold none. `slots`: names of fields. `declared`: fields that a namespace always has."""

    parameters: bool
    slots: tuple[str, ...]
    declared: frozenset[str]


def layout(cls: type) -> Layout:
    known = _LAYOUTS.get(id(cls))
    if known is not None and known[0]() is cls:
        return known[1]
    if len(_LAYOUTS) >= MOST:
        _LAYOUTS.clear()
    made = Layout(_may_hold(cls), tuple(slots(cls)), _declared(cls))
    _LAYOUTS[id(cls)] = weakref.ref(cls), made
    return made


_LAYOUTS: dict[int, tuple[weakref.ReferenceType[type], Layout]] = {}
"""By id: a class may have no hash."""

MOST = 1024
_PLAIN = frozenset({"types", "collections", "argparse"})
"""Modules of the standard library with classes that are there to hold what they are given."""


def _may_hold(cls: type) -> bool:
    if issubclass(cls, _LEAVES):
        return False
    library = package_of(cls)
    if library in _PLAIN or dataclasses.is_dataclass(cls):
        return True
    file = file_of(sys.modules.get(cls.__module__))
    return library not in sys.stdlib_module_names and not (file and of_library(file))


def _declared(cls: type) -> frozenset[str]:
    own = dataclasses.fields(cls) if dataclasses.is_dataclass(cls) else ()
    return frozenset(field.name for field in own)


def class_of(value: Any) -> type:
    return type(value._object if type(value) is Given else value)


def fields(value: Any) -> dict[str, Any]:
    """What an object holds that may be parameters; not to be changed."""
    if type(value) is Given:
        return value._fields
    known = layout(type(value))
    return held(value, known) if known.parameters else {}


def held(value: Any, known: Layout) -> dict[str, Any]:
    """What an object holds, in its `__dict__` and its slots; not to be changed."""
    own, names = getattr(value, "__dict__", {}), known.slots
    if not issubclass(type(own), dict):  # C code may have anything there
        own = {}
    if not names and {*map(type, own)} <= _NAMES:
        return own  # type: ignore[no-any-return]
    found = {name: part for name, part in own.items() if isinstance(name, str)}
    found.update((name, getattr(value, name)) for name in names if name not in own and hasattr(value, name))
    return found


class Given:
    """An object as a run was given it; what it has of its class is as it is now."""

    __slots__ = ("_object", "_fields")

    def __init__(self, value: Any) -> None:
        self._object, self._fields = value, dict[str, Any]()

    def __getattr__(self, name: str) -> Any:
        return self._fields[name] if name in self._fields else getattr(self._object, name)


@says(result="copies 0", raises=False)
def as_given(value: Any, found: dict[int, Any] | None = None, depth: int = 0) -> Any:
    """A copy of the lists, dicts and objects that it leads to, which may be stored to; not of arrays and
    numbers. What holds itself holds the copy. (As deep as there are zeros.)"""
    cls, found = type(value), {} if found is None else found
    if cls in _SHALLOW or is_floating(value) or depth == DEEPEST:
        return value
    if not isinstance(value, _CONTAINERS) and not layout(cls).parameters:
        return value
    if id(value) not in found:
        found[id(value)] = _copied(value, found, depth + 1)
    return found[id(value)]


_SHALLOW = ATOMS | _FLOATS | {np.float64, np.ndarray}


def _copied(value: Any, found: dict[int, Any], depth: int) -> Any:
    if isinstance(value, dict):
        kept = found[id(value)] = dict(value)
        if not _SHALLOW.issuperset(map(type, kept.values())):
            kept.update((key, as_given(item, found, depth)) for key, item in value.items())
        return kept
    if isinstance(value, _CONTAINERS):
        if _SHALLOW.issuperset(map(type, value)):
            return rebuild(value, [*value])
        items: list[Any] = []
        made = found[id(value)] = items if isinstance(value, list) else value
        items += [as_given(item, found, depth) for item in value]
        return made if isinstance(value, list) else rebuild(value, items)
    shot = found[id(value)] = Given(value)
    for name, part in fields(value).items():
        shot._fields[name] = as_given(part, found, depth)
    return shot


def in_namespace(known: Layout, found: dict[str, Any]) -> Any:
    """The derivative of an object by its fields; None where there is none of it."""
    for name in [name for name, part in found.items() if part is None and name not in known.declared]:
        del found[name]
    return SimpleNamespace(**found) if found else None
