"""Types of what the arguments of a program hold: the fields of objects, the entries of dicts, the items of
lists.

    held_type(value)      the type with everything that is worth a guard
    without_objects(type) the user's functions and classes by their class alone
    without_held(type)    the part that stays true whatever runs meanwhile
    only_used(type, names)   the fields that a program reads; the others are none of the guard's business
    with_unset(type, unset)  with the attributes that objects must not have, for the class's are what is meant

What is held may be relied on while nothing that we do not see runs (`Inference.foreign`): code out of sight
could store into the same objects.
"""

from __future__ import annotations

import functools
from abc import ABCMeta
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from types import FunctionType, GetSetDescriptorType
from typing import Any as Anything

from ctxdispatch.ir import wrappers
from ctxdispatch.ir.leaves import is_leaf
from ctxdispatch.passes.lengths import plain
from ctxdispatch.passes.types import (
    MAX_ITEMS,
    Any,
    ArrayOf,
    Bound,
    Exact,
    Held,
    Known,
    ListOf,
    Never,
    OneOf,
    TupleOf,
    Type,
    Unset,
    join,
    type_of,
)

MAX_DEPTH, MAX_NODES = 5, 200
MAX_POSITIONS = 16
"""Lists that long have a type per item, where one for all would say less."""
MAX_NAME = 100
"""Texts that long are known: they may be keys, or names of functions."""
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
        return closed_type(value)
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


def closed_type(value: Anything) -> Type:
    """That of a value that is not looked into. A closure is known by its code at most, not by identity."""
    if is_closure(value):
        return Exact(type(value))
    if type(value) is str and len(value) <= MAX_NAME:
        return Known(value)
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
    return own and has_dict(cls)


def has_dict(cls: type) -> bool:
    """Its objects have a `__dict__`, which is no attribute that the class has made itself."""
    found = wrappers.class_attribute(cls, "__dict__")
    return type(found) is GetSetDescriptorType and found.__objclass__ in cls.__mro__


def _container(value: Anything, cls: type, depth: int, budget: list[int]) -> Type | None:
    if cls is list:
        return _list(value, depth, budget)
    fields: list[tuple[str | int, Type]] = []
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


def _list(value: list[Anything], depth: int, budget: list[int]) -> Type | None:
    if len(value) > MAX_ITEMS:
        numbers = _numbers(value)
        return Exact(list) if numbers is None else Held(list, (), numbers)
    items: list[Type] = []
    for each in value:
        type_ = _typed(each, depth, budget)
        if type_ is None:
            return None
        items.append(type_)
    item = functools.reduce(join, items, Never)
    if len(items) <= MAX_POSITIONS and any(loses(each, item) for each in items):
        return Held(list, tuple(enumerate(items)))
    return Exact(list) if item in (Any, Never) else Held(list, (), item)


def loses(type_: Type, joined: Type) -> bool:
    """A type that is joined with others says less than before: more than that lengths or numbers differ."""
    if isinstance(joined, OneOf) or joined == type_:
        return False
    if type(type_) is not type(joined) or isinstance(type_, Known):
        return True
    parts, found = _parts(type_), _parts(joined)
    return len(parts) != len(found) or any(map(loses, parts, found))


def _parts(type_: Type) -> Sequence[Type]:
    if isinstance(type_, TupleOf):
        return type_.items
    if isinstance(type_, Held):
        return [*(t for _, t in type_.fields), *([] if type_.item is None else [type_.item])]
    return ()


def guardable(type_: Type) -> Type:
    """The part of an argument's type that a cheap test at the entry can establish."""
    match type_:
        case ListOf():
            return Exact(list)
        case Held(cls, fields, item, whole):
            return Held(cls, tuple((k, guardable(t)) for k, t in fields), item and guardable(item), whole)
        case TupleOf(items):
            return TupleOf(tuple(map(guardable, items))) if len(items) <= 16 else Exact(tuple)
        case Known(value):
            kept = value is None or type(value) is str or _by_identity(value)
            return type_ if kept else Exact(type(value))
        case ArrayOf():
            return plain(type_)
        case Exact():
            return type_
    return type_ if type_ is Unset else Any


def _by_identity(value: Anything) -> bool:
    return callable(value) and not is_closure(value)


# -- parts of types ------------------------------------------------------------------------------------------


def holds_list(type_: Type) -> bool:
    """A list whose items' type is claimed can be reached through a value of this type."""
    if isinstance(type_, TupleOf):
        return any(map(holds_list, type_.items))
    return isinstance(type_, ListOf) or (isinstance(type_, Bound) and holds_list(type_.self))



def has_held(type_: Type) -> bool:
    return isinstance(type_, Held) or (isinstance(type_, TupleOf) and any(map(has_held, type_.items)))


def has_positions(type_: Type) -> bool:
    """The items of a list in it are known by position."""
    if isinstance(type_, Held) and type_.cls is list and type_.by_position:
        return True
    return any(map(has_positions, _parts(type_)))


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
        case Held(cls, fields, item, whole):
            inside = tuple([(name, without_objects(t, known)) for name, t in fields])
            return Held(cls, inside, None if item is None else without_objects(item, known), whole)
    return type_


KEYS: Anything = object()
"""Among the names that a program reads: that it goes through the keys of dicts, or asks which there are."""


def only_used(type_: Type, names: set[Anything]) -> Type:
    """Without the fields of other names, at any depth."""
    if isinstance(type_, TupleOf):
        return TupleOf(tuple(only_used(t, names) for t in type_.items))
    if not isinstance(type_, Held):
        return type_
    if type_.item is not None:
        return Held(type_.cls, (), only_used(type_.item, names))
    kept = tuple((name, only_used(t, names)) for name, t in type_.fields if name in names or t is Unset)
    whole = type_.cls is dict and KEYS in names
    if whole or (kept and type_.cls is list):  # of which the length is known
        used = dict(kept)
        kept = tuple((i, used.get(i, Any)) for i, _ in type_.fields)
    return Held(type_.cls, kept, None, whole) if kept or whole else Exact(type_.cls)


def names_in(type_: Type) -> Iterator[Anything]:
    """Of all fields, at any depth."""
    for each in type_.items if isinstance(type_, TupleOf) else ():
        yield from names_in(each)
    if isinstance(type_, Held):
        if type_.whole:
            yield KEYS
        for name, each in type_.fields:
            yield name
            yield from names_in(each)
        yield from names_in(type_.item or Never)


def with_unset(type_: Type, unset: Set[tuple[type, str]]) -> Type:
    """The objects of each class of `unset`, at any depth, have no attribute of their own of that name."""
    if isinstance(type_, TupleOf):
        return TupleOf(tuple(with_unset(t, unset) for t in type_.items))
    if not isinstance(type_, Held):
        return type_
    if type_.item is not None:
        return Held(type_.cls, (), with_unset(type_.item, unset))
    have = {name for name, _ in type_.fields}
    more = sorted(name for cls, name in unset if cls is type_.cls and name not in have)
    fields = [(name, with_unset(t, unset)) for name, t in type_.fields]
    return Held(type_.cls, (*fields, *[(name, Unset) for name in more]), None, type_.whole)


def unset_in(type_: Type) -> Iterator[tuple[type, str]]:
    """The attributes that objects in a value of this type do not have."""
    if isinstance(type_, TupleOf):
        for each in type_.items:
            yield from unset_in(each)
    if isinstance(type_, Held):
        yield from unset_in(type_.item) if type_.item is not None else ()
        for name, each in type_.fields:
            yield from ((type_.cls, str(name)),) if each is Unset else unset_in(each)
