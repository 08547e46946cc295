"""What values lead to, at run time: the lists, dicts and objects among it, by identity.

containers_in(p, q)     in them
leads(held, v)          whether some of those `held` are
read_by(f, g)           in what the Python code of these may read: its variables, classes, what is called
"""

from __future__ import annotations

import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from contextvars import ContextVar
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from ctxdispatch.ir.leaves import file_of, is_ours, package_of
from ctxdispatch.passes.cells import inner_codes
from ctxdispatch_contexts.programs import c_objects
from ctxdispatch_contexts.programs.errors import of_library
from ctxdispatch_contexts.programs.lifting import is_installed
from ctxdispatch_contexts.programs.opaque_values import CODE
from ctxdispatch_contexts.programs.zeros import held, layout

LEAVES = (int, float, complex, str, bytes, type(None), np.generic, np.dtype, CodeType, slice, range)
MOST = 1000
"""So many are looked at."""


class _Everything(dict[int, type]):
    """In the place of more than that."""

    def __contains__(self, item: object) -> bool:
        return True


Found = dict[int, type]
"""By identity, of which class they are."""
EVERYTHING: Found = _Everything()


def containers_in(*values: Any) -> Found:
    return _reached(values, _parts)


def leads(held: Found, value: Any) -> bool:
    """The value is one of them, or one is in it."""
    return type(value) not in _ATOMS and meet(held, containers_in(value))


def holds(held: Found, value: Any, *own: Any) -> bool:
    """The same of an argument beside those that are its `own`: it may be one of these itself."""
    return not any(value is each for each in own) and leads(held, value)


def read_by(*code: Any) -> Found:
    return _reached(code, _parts_and_code)


def meet(a: Found, b: Found) -> bool:
    return a is EVERYTHING or b is EVERYTHING or not a.keys().isdisjoint(b)


def _reached(values: Sequence[Any], parts: Callable[[Any, type], Collection[Any]]) -> Found:
    waiting, seen, found = [*values], set[int](), Found()
    while waiting:
        value = waiting.pop()
        cls = type(value)
        if cls in _ATOMS or id(value) in seen or issubclass(cls, LEAVES):
            continue
        if len(seen) == MOST:
            return EVERYTHING
        seen.add(id(value))
        if not issubclass(cls, _CODE):
            found[id(value)] = cls
        waiting += parts(value, cls)
    return found


_ATOMS = frozenset((float, int, bool, str, type(None), np.float64))
_CODE = (type, ModuleType, FunctionType, tuple)
_SEQUENCES = (list, tuple, deque, set, frozenset)


def _parts(value: Any, cls: type) -> Collection[Any]:
    if issubclass(cls, dict):
        return () if c_objects.is_namespace(value) else _items(value.values())
    if issubclass(cls, _SEQUENCES):
        return _items(value)
    if issubclass(cls, np.ndarray):
        return [*value.flat] if value.dtype.hasobject else ()
    if issubclass(cls, (type, ModuleType)):
        return ()
    if not CODE.isdisjoint(cls.__mro__):
        return c_objects.parts(value)
    known = layout(cls)
    own = known.parameters or package_of(cls) not in sys.stdlib_module_names
    return [*held(value, known).values(), getattr(value, "__dict__", None)] if own else ()


def _items(items: Collection[Any]) -> Collection[Any]:
    return () if _ATOMS.issuperset(map(type, items)) else items


# -- code ----------------------------------------------------------------------------------------------------


def _parts_and_code(value: Any, cls: type) -> Collection[Any]:
    if cls is FunctionType:
        return [*c_objects.parts(value), *_variables(value)]
    if issubclass(cls, type):
        own = () if _is_library(value) else vars(value).items()
        return [each for name, each in own if name not in _OF_CLASSES] + [*(value.__bases__ if own else ())]
    give = next((give for holder, give in _GIVE.items() if issubclass(cls, holder)), None)
    parts = _parts(value, cls) if give is None else give(value)
    return [*parts, cls] if cls.__flags__ & c_objects.HEAPTYPE else parts


_OF_CLASSES = frozenset(("__dict__", "__weakref__", "__annotations__", "__doc__", "__dataclass_fields__"))

_GIVE: dict[type, Callable[[Any], Collection[Any]]] = {
    weakref.ref: lambda ref: [ref()],
    ContextVar: lambda variable: [variable.get(None)],
    threading.local: lambda local: vars(local).values(),
    weakref.WeakValueDictionary: lambda mapping: [*mapping.values()],
}
"""What leads to other objects out of sight."""


def _variables(f: FunctionType) -> Iterator[Any]:
    """The values of the global variables that its code, and functions in it, may read; of modules, what they
    have of such names."""
    if is_installed(f.__code__) or is_ours(f.__module__):
        return
    names, codes = set[str](), [f.__code__]
    for code in codes:
        names.update(code.co_names)
        codes += inner_codes(code)
    spaces, seen = [f.__globals__], set[int]()
    for space in spaces:
        for name in names & space.keys():
            found = space[name]
            if type(found) is ModuleType:
                if id(found) not in seen and not of_library(file_of(found)):
                    seen.add(id(found))
                    spaces.append(vars(found))
            else:
                yield found


def _is_library(cls: type) -> bool:
    return not cls.__flags__ & c_objects.HEAPTYPE or is_ours(cls.__module__) or of_library(_file(cls))


def _file(cls: type) -> str:
    return file_of(sys.modules.get(cls.__module__))
