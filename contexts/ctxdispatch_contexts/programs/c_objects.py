"""Objects of C code that may show memory of others, and C code that may keep what it is given.

    memoryview(a)[0]     np.nditer(a)     cKDTree(p, copy_data=False).query(q)     c_double.from_address(at)

    may_keep(callee)     C code that may keep what it is given
    is_opaque(cls)       a class of such objects
    reached(value)       the arrays that one is seen to reach
    shows(cls)           a class of objects of Python's own that show memory as numbers: these are followed

What the first two say is all that is known here of particular libraries.
"""

from __future__ import annotations

import array as buffers
import ctypes
import functools
import gc
import pickle
import sys
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from ctxdispatch.dispatch.reach import HEAPTYPE

_KNOWN_LIBRARIES = frozenset({*sys.stdlib_module_names, "numpy", "ctxdispatch", "ctxdispatch_contexts"})
_CAPSULE = type(np._core._multiarray_umath._ARRAY_API)  # type: ignore[attr-defined]
_ITERATORS = (type(iter(memoryview(b""))), type(iter(np.zeros(1))))
SHOWN = (memoryview, pickle.PickleBuffer, np.nditer, np.broadcast, *_ITERATORS)
"""Of Python's and NumPy's own classes, those of objects that show memory of others, which they are seen to
reach."""
_WITH_MEMORY = ("_ctypes", "ctypes", "mmap")
ADDRESSES = frozenset({"__array_interface__", "__array_struct__", "ctypes", "__dlpack__"})
"""Attributes of arrays by which others find their memory."""


_REFERENCE = type(ctypes.byref(ctypes.c_int()))
OF_CTYPES = (ctypes._SimpleCData, ctypes.Array, ctypes.Structure, ctypes.Union, ctypes._Pointer)


@functools.lru_cache(4096)
def shows(cls: type) -> bool:
    """Its objects show memory as numbers: an item that is read is a new number each time."""
    return cls is buffers.array or cls is memoryview or issubclass(cls, OF_CTYPES)


def may_keep(callee: Any) -> bool:
    """C code that may keep what it is given."""
    if type(callee) in (types.FunctionType, types.MethodType, np.ufunc):
        return False
    owner = getattr(callee, "__objclass__", callee)
    if issubclass(type(owner), type):
        return is_opaque(owner)
    module = getattr(owner, "__module__", None) or type(getattr(owner, "__self__", None)).__module__
    return str(module).partition(".")[0] not in _KNOWN_LIBRARIES or str(module) in _WITH_MEMORY


def takes_address(callee: Any) -> bool:
    """It finds memory by more than its operands say."""
    return callee is np.from_dlpack


def gives_away(callee: Any, args: tuple[Any, ...]) -> bool:
    """C code may find the memory of the operands afterwards."""
    if callee is getattr and args:
        return issubclass(type(args[0]), np.ndarray) and args[1] in ADDRESSES
    return getattr(callee, "__name__", "") in ADDRESSES or may_keep(callee)


@functools.lru_cache(4096)
def is_opaque(cls: type) -> bool:
    """Its objects, or what they inherit of C code, may show memory of others."""
    return issubclass(cls, (*SHOWN, _CAPSULE, _REFERENCE)) or any(map(_is_of_other_c, cls.__mro__))


def _is_of_other_c(cls: type) -> bool:
    module = _module(cls)
    if module in _WITH_MEMORY:
        return True
    made = not cls.__flags__ & HEAPTYPE or _module(type(cls)).partition(".")[0] in _MAKERS
    return made and module.partition(".")[0] not in _KNOWN_LIBRARIES


_MAKERS = ("pybind11_builtins", "nanobind", "Boost")
"""Of classes of C code that are made at run time, as those of Python are."""


def _module(cls: type) -> str:
    named = cls.__module__
    return named if type(named) is str else "builtins"  # of functions and modules it is that of instances


# -- what they reach -----------------------------------------------------------------------------------------


_ENDS = (type, types.ModuleType, types.FunctionType)


def reached(value: Any) -> Iterator[Any]:
    """The arrays that an object of C code is seen to reach, and what shows memory."""
    return (part for part in all_reached(value) if issubclass(type(part), np.ndarray) or shows(type(part)))


def all_reached(value: Any) -> Iterator[Any]:
    """Whatever a value is seen to reach, but for functions, classes and modules, and what those do."""
    waiting, seen = [value], {id(value)}
    while waiting and len(seen) < _MOST:
        for part in _held_by(waiting.pop()):
            if id(part) not in seen and not issubclass(type(part), _ENDS):
                seen.add(id(part))
                waiting.append(part)
                yield part


_MOST = 1000


def _held_by(value: Any) -> list[Any]:
    if issubclass(type(value), np.nditer):
        return [*value.operands]
    if type(value) is _REFERENCE:
        return [value._obj]
    if issubclass(type(value), np.broadcast):
        return [each.base for each in value.iters]
    return parts(value)


def parts(value: Any) -> list[Any]:
    if type(value) is types.FunctionType:  # its globals are everybody's
        return [value.__closure__, value.__defaults__, value.__kwdefaults__]
    if issubclass(type(value), np.ndarray):
        return list(value.flat) if value.dtype == object else [value.base]
    if issubclass(type(value), dict) and is_namespace(value):
        return []
    return gc.get_referents(value)


def is_namespace(mapping: dict[Any, Any]) -> bool:
    """The variables of a module, which are everybody's too."""
    return "__builtins__" in mapping
