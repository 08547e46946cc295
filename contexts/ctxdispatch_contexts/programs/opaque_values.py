"""Objects of C code whose state is out of sight: `timedelta`, memory views, arrays of other libraries.

    is_opaque(cls)       its instances may hold numbers that nobody sees
    fields(value)        what an object holds in sight: its `__dict__` and its slots

Which classes have such is found out from how their instances are laid out: what one is larger by than one of
its base, and is no slot, `__dict__` or weak reference, belongs to C code. Only what is known to hold no
numbers, or to have them in sight, is none of them.
"""

from __future__ import annotations

import _random
import array
import fractions
import functools
import io
import operator
import re
import threading
import types
import weakref
from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterator
from contextvars import Context, ContextVar, Token
from typing import Any

import numpy as np

from ctxdispatch.dispatch.tags import bare
from ctxdispatch.ir.wrappers import is_wrapper
from ctxdispatch.ir.wrappers import parts as wrapped

IN_SIGHT: frozenset[type] = frozenset({
    object, np.ndarray, tuple, list, dict, deque, OrderedDict, defaultdict, array.array,
    types.SimpleNamespace,
})  # fmt: skip
"""What shows all that it holds; of their subclasses, those in C may hold more."""

PLAIN: frozenset[type] = frozenset({
    float, complex, int, str, bytes, bytearray, np.generic, np.dtype, BaseException, type(None), type(...),
    type(NotImplemented), range, slice, re.Pattern, re.Match, io.IOBase.__mro__[1], _random.Random,
    np.random.Generator, np.random.RandomState, np.random.BitGenerator, np.random.SeedSequence,
    type(threading.Lock()), type(threading.RLock()), ContextVar, Context, Token,
})  # fmt: skip
"""Numbers, and what has none with a derivative; so have their subclasses."""

CODE: frozenset[type] = frozenset({
    type, types.ModuleType, types.CodeType, types.FunctionType, types.MethodType, types.BuiltinFunctionType,
    types.MethodDescriptorType, types.WrapperDescriptorType, types.MethodWrapperType, types.CellType,
    types.GetSetDescriptorType, types.MemberDescriptorType, types.ClassMethodDescriptorType, property,
    staticmethod, classmethod, functools.partial, functools._lru_cache_wrapper, np.ufunc, type(np.sum), super,
    operator.itemgetter, operator.attrgetter, operator.methodcaller, types.GenericAlias, types.UnionType,
    weakref.ref,
})  # fmt: skip
"""Functions, what they are made of, and what leads to other objects."""

_POINTER = 8


@functools.lru_cache(4096)
def is_opaque(cls: type) -> bool:
    """By the MRO of the class: what an instance says of itself may be anything."""
    if not (PLAIN | CODE).isdisjoint(cls.__mro__):
        return False
    if not _OTHERS.isdisjoint(cls.__mro__):
        return True
    return any(_is_larger(c) for c in cls.__mro__ if c not in IN_SIGHT)


_OTHERS = frozenset({set, frozenset, fractions.Fraction})
"""What has no places for derivatives, and numbers that are made of integers."""


def _is_larger(cls: type) -> bool:
    """Its instances have state that those of its base have not, and that is in no slot."""
    base = cls.__base__
    if base is None:
        return False
    added = len(_own_slots(cls)) + (cls.__weakrefoffset__ != 0 == base.__weakrefoffset__)
    at = cls.__dictoffset__  # negative where it lies before the object, or behind items
    added += (at > 0 or (at < 0 and cls.__itemsize__ != 0)) and base.__dictoffset__ == 0
    larger = cls.__basicsize__ - base.__basicsize__ > added * _POINTER
    return larger or (cls.__itemsize__ != 0 == base.__itemsize__)


def stands_for_a_function(value: Any) -> bool:
    """What a compiler has made of one (`numba.njit`)."""
    return callable(value) and type(getattr(value, "__wrapped__", None)) is types.FunctionType


# -- what is in sight ----------------------------------------------------------------------------------------


def fields(value: Any) -> dict[str, Any]:
    """What an object holds, in its `__dict__` and its slots; a wrapper, apart from what it wraps."""
    if is_wrapper(type(value)):
        return wrapped(value)
    names = [*getattr(value, "__dict__", ()), *slots(type(value))]
    return {name: read_field(value, name) for name in names if isinstance(name, str) and hasattr(value, name)}


def slots(cls: type) -> list[str]:
    return [name for c in cls.__mro__ for name in _own_slots(c)]


def has_fields(cls: type) -> bool:
    """Its instances hold something in sight."""
    return _OTHERS.isdisjoint(cls.__mro__) and (cls.__dictoffset__ != 0 or bool(slots(cls)))


def _own_slots(cls: type) -> list[str]:
    declared = vars(cls).get("__slots__", ())
    names = (declared,) if isinstance(declared, str) else declared
    return [name for name in names if name not in ("__dict__", "__weakref__")]


def read_field(value: Any, name: str) -> Any:
    """A field, without what the class makes of reading it."""
    own = {} if is_wrapper(type(value)) else getattr(value, "__dict__", {})
    return own[name] if name in own else getattr(value, name)


MOST = 1000
"""So many parts of an argument are looked at."""


def parts(value: Any) -> Iterator[Any]:
    """`value`, and what it holds in sight, each once, and without tags."""
    seen, waiting = set(), [value]
    while waiting and len(seen) < MOST:
        part = bare(waiting.pop())
        if id(part) not in seen:
            seen.add(id(part))
            yield part
            waiting += _within(part)


def _within(value: Any) -> list[Any]:
    cls = type(value)
    if issubclass(cls, (list, tuple, deque)):
        return [*value]
    if issubclass(cls, dict):
        return [*value.values()]
    if issubclass(cls, np.ndarray):
        return [*value.flat] if value.dtype == object else []
    return [] if not (PLAIN | CODE).isdisjoint(cls.__mro__) else [*fields(value).values()]
