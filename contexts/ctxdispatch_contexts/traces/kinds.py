"""Which objects are numbers, which stay as they are, which can be taken apart and made anew."""

from __future__ import annotations

import collections
import enum
import functools
import re
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from ctxdispatch.dispatch.reach import HEAPTYPE, lookup
from ctxdispatch_contexts.traces.lines import Unfit

_OF_NUMPY = frozenset(np.sctypeDict.values())
NUMBER = frozenset({float, complex, *(t for t in _OF_NUMPY if issubclass(t, np.inexact))})
INTEGER = frozenset({int, *(t for t in _OF_NUMPY if issubclass(t, np.integer))})
KINDS = "?bBhHiIlLqQefdgFDG"
"""Of the dtypes of arrays that are values."""
LEAVES = frozenset({
    *INTEGER, bool, np.bool_, str, bytes, type(None), type(Ellipsis), type(NotImplemented), range, object,
    re.Pattern, re.Match, types.CodeType, types.ModuleType, np.ufunc, type(np.sum),
    types.MethodDescriptorType, types.WrapperDescriptorType, types.GetSetDescriptorType,
    types.MemberDescriptorType, types.ClassMethodDescriptorType,
    type(collections.namedtuple("_", "field").field),
})  # fmt: skip
"""Classes of objects that cannot change, or of which each part that is read is noted by itself."""
FIXED = LEAVES | {
    slice, frozenset, types.FunctionType, types.BuiltinFunctionType, property, classmethod, staticmethod,
    types.MethodWrapperType,
}  # fmt: skip
"""Classes of objects that have no values in them for C code to compute with."""
SEQUENCES = (list, tuple, collections.deque)
MAPPINGS = (dict, collections.OrderedDict, collections.defaultdict, collections.Counter)
VIEWS = (type({}.keys()), type({}.values()), type({}.items()))

LITERALS: dict[int, Any] = {}
"""Numbers that stand in code that has been traced, by id."""


def is_leaf(value: Any) -> bool:
    """There is nothing in it that could be another time something else."""
    cls = type(value)
    if cls is types.BuiltinFunctionType:
        return value.__self__ is None or type(value.__self__) is types.ModuleType
    if issubclass(cls, type):
        return not value.__flags__ & HEAPTYPE
    return cls in LEAVES or issubclass(cls, np.dtype)


def fixed(value: Any) -> bool:
    cls = type(value)
    return cls in FIXED or issubclass(cls, (type, enum.Enum, np.dtype))


def is_plain(value: Any) -> bool:
    """A number, an array, what is fixed, or a container of such: C code finds no method in Python."""
    if is_container(value) or type(value) in (set, frozenset):
        return all(map(is_plain, within(value)))
    if type(value) is slice:
        return all(part is None or is_number(part) for part in ends_of(value))
    return is_number(value) or (fixed(value) and not isinstance(value, enum.Enum)) or is_iterator(value)


def is_number(value: Any) -> bool:
    return type(value) in NUMBER or type(value) in (int, bool, np.ndarray) or isinstance(value, np.generic)


def is_sequence(value: Any) -> bool:
    cls = type(value)
    return cls in SEQUENCES or (issubclass(cls, tuple) and hasattr(cls, "_fields"))


def is_container(value: Any) -> bool:
    return is_sequence(value) or type(value) in MAPPINGS


def within(value: Any) -> Iterable[Any]:
    """Keys and items of a container."""
    return (*value, *value.values()) if type(value) in MAPPINGS else value


def items_of(value: Any) -> Iterable[Any]:
    """Those of a container, without the keys."""
    return value.values() if type(value) in MAPPINGS else value


def ends_of(value: Any) -> tuple[Any, Any, Any]:
    """Of a slice or range."""
    return value.start, value.stop, value.step


def is_iterator(value: Any) -> bool:
    return hasattr(type(value), "__next__")


_SLOTS = (types.MethodDescriptorType, types.WrapperDescriptorType)
_IN_C = (types.BuiltinFunctionType, *_SLOTS, np.ufunc, type(np.sum))


def has_code(value: Any) -> bool:
    """Whoever calls it, or what is in it, may run Python code."""
    if is_container(value):
        return any(map(has_code, items_of(value)))
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


def parts_of(value: Any) -> tuple[Any, ...] | None:
    """What an object of Python's own that cannot change holds; None for any other."""
    cls = type(value)
    if cls is types.MethodType:
        return value.__self__, value.__func__
    if cls in (types.BuiltinFunctionType, types.MethodWrapperType):
        return (value.__self__,)
    if cls in (staticmethod, classmethod):
        return (value.__func__,)
    if cls is property:
        return value.fget, value.fset, value.fdel
    if cls is functools.partial:
        return value.func, value.args, value.keywords
    return ends_of(value) if cls is slice else None


def fields_of(value: Any) -> dict[str, Any] | None:
    """What an object of a class in Python holds in attributes; None where that is not all there is to it."""
    cls = type(value)
    if cls is types.SimpleNamespace:
        return {**vars(value)}
    in_python = all(each.__flags__ & HEAPTYPE for each in cls.__mro__[:-1])
    if not in_python or cls.__getattribute__ is not object.__getattribute__ or is_iterator(value):
        return None
    held = getattr(value, "__dict__", {})
    if any(hasattr(type(lookup(cls, name)), "__set__") for name in held):
        return None  # a property of that name is what is read
    slots = {name: m for each in cls.__mro__ for name, m in vars(each).items() if _is_slot(m)}
    if any(type(name) is not str for name in held) or not all(map(_is_filled(value), slots.values())):
        return None
    return {**{name: member.__get__(value) for name, member in slots.items()}, **held}


def _is_filled(value: Any) -> Callable[[Any], bool]:
    def is_filled(member: Any) -> bool:
        try:
            member.__get__(value)
        except AttributeError:
            return False
        return True

    return is_filled


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


def root_of(array: np.ndarray) -> np.ndarray:
    """The array that it is a view of."""
    while type(array.base) is np.ndarray:
        array = array.base
    return array
