"""Which objects are numbers, which stay as they are, which can be taken apart and made anew."""

from __future__ import annotations

import collections
import enum
import re
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from ctxdispatch.dispatch.reach import HEAPTYPE
from ctxdispatch_contexts.traces.lines import Unfit

_OF_NUMPY = frozenset(np.sctypeDict.values())
NUMBER = frozenset({float, complex, *(t for t in _OF_NUMPY if issubclass(t, np.inexact))})
INTEGER = frozenset({int, *(t for t in _OF_NUMPY if issubclass(t, np.integer))})
KINDS = "?bBhHiIlLqQefdgFDG"
"""Of the dtypes of arrays that are values."""
FIXED = frozenset({
    *INTEGER, bool, np.bool_, str, bytes, type(None), type(Ellipsis), type(NotImplemented), range, slice,
    frozenset, object, re.Pattern, types.FunctionType, types.BuiltinFunctionType, types.ModuleType,
    types.CodeType, np.ufunc, type(np.dtype(float)), type(np.sum), types.MethodDescriptorType,
    types.WrapperDescriptorType, types.GetSetDescriptorType, types.MemberDescriptorType, property,
    classmethod, staticmethod, types.ClassMethodDescriptorType, types.MethodWrapperType,
})  # fmt: skip
"""Classes of objects that stay as they are, and have no values in them; functions and modules are what they
are by identity."""
SEQUENCES = (list, tuple, collections.deque)
MAPPINGS = (dict, collections.OrderedDict, collections.defaultdict, collections.Counter)
VIEWS = (type({}.keys()), type({}.values()), type({}.items()))

LITERALS: dict[int, Any] = {}
"""Numbers that stand in code that has been traced, by id."""


def fixed(value: Any) -> bool:
    cls = type(value)
    return cls in FIXED or issubclass(cls, (type, enum.Enum))


def is_number(value: Any) -> bool:
    return type(value) in NUMBER or type(value) in (int, bool, np.ndarray) or isinstance(value, np.generic)


def is_sequence(value: Any) -> bool:
    cls = type(value)
    return cls in SEQUENCES or (issubclass(cls, tuple) and hasattr(cls, "_fields"))


def is_container(value: Any) -> bool:
    return is_sequence(value) or type(value) in MAPPINGS


def is_iterator(value: Any) -> bool:
    return hasattr(type(value), "__next__")


_SLOTS = (types.MethodDescriptorType, types.WrapperDescriptorType)
_IN_C = (types.BuiltinFunctionType, *_SLOTS, np.ufunc, type(np.sum))


def has_code(value: Any) -> bool:
    """Whoever calls it, or what is in it, may run Python code."""
    if is_container(value):
        return any(map(has_code, value.values() if type(value) in MAPPINGS else value))
    if issubclass(type(value), type):
        return bool(value.__flags__ & HEAPTYPE)
    return callable(value) and type(value) not in _IN_C


def remade(value: Any, items: list[Any]) -> Any:
    """A sequence of its class that holds these."""
    if type(value) is collections.deque:
        return collections.deque(items, value.maxlen)
    return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)


def entries_with(value: Any, items: list[Any]) -> Any:
    made = value.copy()
    made.update(zip(value, items))
    return made


def copy_with(value: Any, fields: dict[str, Any], items: list[Any]) -> Any:
    cls = type(value)
    if hasattr(cls, "__del__"):
        raise Unfit(f"a {cls.__name__}, which does something when it ends")
    if cls.__new__ is not object.__new__ and cls is not types.SimpleNamespace:
        raise Unfit("an object that its class makes in a way of its own")
    made = types.SimpleNamespace() if cls is types.SimpleNamespace else object.__new__(cls)
    for name, item in zip(fields, items):
        object.__setattr__(made, name, item)
    return made


def fields_of(value: Any) -> dict[str, Any] | None:
    """What an object of a class in Python holds in attributes; None where that is not all there is to it."""
    cls = type(value)
    if cls is types.SimpleNamespace:
        return vars(value)
    in_python = all(each.__flags__ & HEAPTYPE for each in cls.__mro__[:-1])
    if not in_python or cls.__getattribute__ is not object.__getattribute__ or is_iterator(value):
        return None
    held = getattr(value, "__dict__", {})
    if any(hasattr(type(getattr(cls, name, None)), "__set__") for name in held):
        return None  # a property of that name is what is read
    slots = (name for each in cls.__mro__ for name, member in vars(each).items() if _is_slot(member))
    return {**{name: getattr(value, name) for name in slots if hasattr(value, name)}, **held}


def _is_slot(member: Any) -> bool:
    return type(member) is types.MemberDescriptorType


def numbers_in(code: types.CodeType) -> Iterator[Any]:
    """The numbers that stand in it, and in the code of its functions."""
    for value in code.co_consts:
        if type(value) is types.CodeType:
            yield from numbers_in(value)
        else:
            yield from _flat(value)


def _flat(value: Any) -> Iterator[Any]:
    if type(value) in (tuple, frozenset):
        for item in value:
            yield from _flat(item)
    elif type(value) in NUMBER:
        yield value
