"""Types of what the arguments of a program hold: the fields of objects, the entries of dicts, the items of
lists.

    held_type(value)      the type with everything that is worth a guard
    without_objects(type) the user's functions and classes by their class alone
    without_held(type)    the part that stays true whatever runs meanwhile
    only_used(type, names)   the fields that a program reads; the others are none of the guard's business

What is held may be relied on while nothing that we do not see runs (`Inference.foreign`): code out of sight
could store into the same objects.
"""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any as Anything

from ctxdispatch.ir import wrappers
from ctxdispatch.ir.leaves import is_leaf
from ctxdispatch.passes.types import (
    MAX_ITEMS,
    Any,
    Exact,
    Held,
    Known,
    ListOf,
    Never,
    TupleOf,
    Type,
    join,
    type_of,
)

MAX_DEPTH, MAX_NODES = 5, 200
MAX_NUMBERS = 1000
"""Lists that long are looked into where all items are floats, or all ints."""


def held_type(value: Anything) -> Type:
    """Like `type_of`, and into objects, dicts and lists; large or deep ones are left at their class."""
    found = _typed(value, MAX_DEPTH, [MAX_NODES])
    return type_of(value, 1) if found is None else found


def _typed(value: Anything, depth: int, budget: list[int]) -> Type | None:
    """None where the budget is spent."""
    budget[0] -= 1
    if budget[0] < 0:
        return None
    cls = type(value)
    if depth == 0 or not _opens(value, cls):
        return _closed(value)
    if cls is tuple:
        items = [_typed(v, depth - 1, budget) for v in value]
        return None if None in items else TupleOf(tuple(items))  # type: ignore[arg-type]
    return _container(value, cls, depth - 1, budget)


def is_closure(f: Anything) -> bool:
    """A function that captures something, or a wrapper around one."""
    if type(f) is FunctionType:
        return captures(f)
    held = wrappers.held(f)
    return held is not None and any(map(is_closure, (held.wrapper, held.wrapped)))


def captures(f: FunctionType) -> bool:
    """It holds values that whoever made it had: in cells, or as defaults, and they may be what varies."""
    return bool(f.__closure__) or ("<locals>" in f.__qualname__ and bool(f.__defaults__ or f.__kwdefaults__))


def _closed(value: Anything) -> Type:
    """One that is not looked into. A closure is known by its code at most, not by identity."""
    if is_closure(value):
        return Exact(type(value))
    found = type_of(value, 1)
    return Exact(type(value)) if isinstance(found, (ListOf, TupleOf)) else found


def _opens(value: Anything, cls: type) -> bool:
    if cls is list and len(value) > MAX_ITEMS:
        return _numbers(value) is not None
    if cls in (list, tuple, dict):
        return len(value) <= MAX_ITEMS and (cls is not dict or all(type(k) is str for k in value))
    if hasattr(cls, "_fields") and issubclass(cls, tuple):
        return True
    return has_plain_dict(value, cls) and len(vars(value)) <= MAX_ITEMS


def _numbers(value: list[Anything]) -> Type | None:
    """The one type of all items of a long list."""
    found = _NUMBERS.get(type(value[0])) if len(value) <= MAX_NUMBERS else None
    return found if found is not None and set(map(type, value)) == {found.cls} else None


_NUMBERS = {float: Exact(float), int: Exact(int)}


def longest(item: Type) -> int:
    """How long a list may be that is taken to have such items."""
    return MAX_NUMBERS if item in _NUMBERS.values() else MAX_ITEMS


def has_plain_dict(value: Anything, cls: type) -> bool:
    """An instance of a user's class whose attributes are what its `__dict__` says."""
    if type(cls) not in (type, ABCMeta) or cls.__module__ in ("builtins", "types", "functools", "numpy"):
        return False
    own = cls.__getattribute__ is object.__getattribute__  # type: ignore[comparison-overlap]
    return own and isinstance(getattr(value, "__dict__", None), dict)


def _container(value: Anything, cls: type, depth: int, budget: list[int]) -> Type | None:
    if cls is list:
        item = _numbers(value) if len(value) > MAX_ITEMS else _joined(value, depth, budget)
        return None if item is None else Exact(list) if item in (Any, Never) else Held(list, (), item)
    fields: list[tuple[str, Type]] = []
    for name, held in _named(value, cls):
        type_ = _typed(held, depth, budget)
        if type_ is None:
            return None
        fields.append((name, type_))
    return Held(cls, tuple(fields))


def _named(value: Anything, cls: type) -> Iterable[tuple[str, Anything]]:
    """What an object, a dict or a named tuple holds."""
    if issubclass(cls, tuple):
        return zip(value._fields, value)
    held: dict[str, Anything] = value if cls is dict else vars(value)
    return held.items()


def _joined(values: Iterable[Anything], depth: int, budget: list[int]) -> Type | None:
    item: Type = Never
    for value in values:
        type_ = _typed(value, depth, budget)
        if type_ is None:
            return None
        item = join(item, type_)
    return item


# -- parts of types ------------------------------------------------------------------------------------------


def has_held(type_: Type) -> bool:
    return isinstance(type_, Held) or (isinstance(type_, TupleOf) and any(map(has_held, type_.items)))


def without_held(type_: Type) -> Type:
    if isinstance(type_, TupleOf):
        return TupleOf(tuple(map(without_held, type_.items)))
    return Exact(type_.cls) if isinstance(type_, Held) else type_


def without_objects(type_: Type, known: Callable[[Anything], bool] = is_leaf) -> Type:
    """The user's functions and classes by their class alone, at any depth; not those that may be `known`."""
    match type_:
        case Known(value) if not known(value):
            return Exact(type(value))
        case TupleOf(items):
            return TupleOf(tuple([without_objects(t, known) for t in items]))
        case Held(cls, fields, item):
            inside = tuple([(name, without_objects(t, known)) for name, t in fields])
            return Held(cls, inside, None if item is None else without_objects(item, known))
    return type_


def only_used(type_: Type, names: set[Anything]) -> Type:
    """Without the fields of other names, at any depth."""
    if isinstance(type_, TupleOf):
        return TupleOf(tuple(only_used(t, names) for t in type_.items))
    if not isinstance(type_, Held):
        return type_
    if type_.item is not None:
        return Held(type_.cls, (), only_used(type_.item, names))
    kept = tuple((name, only_used(t, names)) for name, t in type_.fields if name in names)
    return Held(type_.cls, kept) if kept else Exact(type_.cls)
