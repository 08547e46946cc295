"""Rules for containers and iterators: what is in them, what iterating over them gives, what adds up."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence

from ctxdispatch.ir import primitives as prim
from ctxdispatch.passes import named_tuples, numpy_shapes, numpy_types
from ctxdispatch.passes.held import holds_list
from ctxdispatch.passes.scalar_types import SCALARS, add_type
from ctxdispatch.passes.type_rules import INT, STR, UNKNOWN, Args, join_all, known, rule
from ctxdispatch.passes.types import (
    Any,
    ArrayOf,
    Exact,
    Held,
    IterOf,
    ListOf,
    Never,
    OneOf,
    TupleOf,
    Type,
    cls_of,
    join,
    widen,
)


@rule(prim.build_tuple)
def _build_tuple(args: Args, kwargs: Mapping[str, Type]) -> Type:
    return TupleOf(args)


@rule(tuple.__new__)
def _new_tuple(args: Args, kwargs: Mapping[str, Type]) -> Type:
    """A named tuple; not one that holds a list, of which more may be known than stays true."""
    cls, items = known(args[0]), args[1]
    names = named_tuples.names_of(cls)
    if not isinstance(items, TupleOf) or len(names) != len(items.items) or not names:
        return Any
    types = [Any if holds_list(t) else t for t in items.items]
    return Held(cls, tuple(zip(names, types, strict=True)))


@rule(prim.build_list)
def _build_list(args: Args, kwargs: Mapping[str, Type]) -> Type:
    item = join_all(map(widen, args))
    return Exact(list) if item is Any else ListOf(item)


@rule(operator.getitem)
def _getitem(args: Args, kwargs: Mapping[str, Type]) -> Type:
    container, index = args
    if isinstance(container, TupleOf):
        return _tuple_item(container, index)
    if isinstance(container, ListOf):
        return (
            container.item if cls_of(index) in (int, bool) else container if cls_of(index) is slice else Any
        )
    if isinstance(container, Held):
        return _held_item(container, index)
    return _GETITEM.get((cls_of(container), cls_of(index)), Any)


def _held_item(container: Held, index: Type) -> Type:
    key, cls = known(index), cls_of(index)
    if container.item is not None:
        if cls is slice:
            return _slice_of(container.cls, [container.item])
        return container.item if cls in (int, bool) else Any
    if container.cls is dict:
        return container.field(key) or Any if isinstance(key, str) else Any
    if type(key) is int and -len(container.fields) <= key < len(container.fields):
        return container.fields[key][1]
    items = [type_ for _, type_ in container.fields] if container.by_position else []
    if cls is slice and items:
        return _slice_of(container.cls, items)
    return join_all(items) if key is UNKNOWN and cls is int and items else Any


def _slice_of(cls: type, items: Sequence[Type]) -> Type:
    """Of some of the items: a list of its own, or a tuple."""
    item = join_all(items)
    if cls is list:
        return Exact(list) if item is Any else ListOf(item)
    return Held(tuple, (), item) if cls is tuple else Any


@rule(dict.values)
def _values(args: Args, kwargs: Mapping[str, Type]) -> Type:
    if isinstance(args[0], Held):
        return Held(type({}.values()), (), join_all(t for _, t in args[0].fields))
    return Any


@rule(dict.items)
def _items(args: Args, kwargs: Mapping[str, Type]) -> Type:
    if isinstance(args[0], Held):
        return Held(type({}.items()), (), TupleOf((STR, join_all(t for _, t in args[0].fields))))
    return Any


@rule(dict.get)
def _get(args: Args, kwargs: Mapping[str, Type]) -> Type:
    key = known(args[1]) if len(args) > 1 else UNKNOWN
    return args[0].field(key) or Any if isinstance(args[0], Held) and isinstance(key, str) else Any


_GETITEM: dict[tuple[type | None, type | None], Type] = {
    (str, int): STR,
    (str, slice): STR,
    (bytes, int): INT,
    (range, int): INT,
    (tuple, slice): Exact(tuple),
    (list, slice): Exact(list),
}


def _tuple_item(container: TupleOf, index: Type) -> Type:
    value = known(index)
    if value is UNKNOWN:
        return join_all(container.items) if cls_of(index) is int and container.items else Any
    try:
        picked = container.items[value]
    except (TypeError, IndexError):
        return Any
    return TupleOf(picked) if isinstance(value, slice) else picked


def unpacked(sequence: Type, n: int) -> list[Type]:
    """The types of the n results of `unpack`."""
    if isinstance(sequence, TupleOf) and len(sequence.items) == n:
        return list(sequence.items)
    items = by_position(sequence)
    return [*items] if items is not None and len(items) == n else [item_of(sequence)] * n


def unpacked_with_star(sequence: Type, before: int, after: int) -> list[Type]:
    """The types of the results of `unpack_ex`, the list in the midst of them."""
    items = by_position(sequence)
    if items is None or len(items) < before + after:
        item = item_of(sequence)
        return [item] * before + [_slice_of(list, [item])] + [item] * after
    end = len(items) - after
    return [*items[:before], _slice_of(list, items[before:end]), *items[end:]]


def by_position(sequence: Type) -> Sequence[Type] | None:
    """The types of all items, where it is known how many there are."""
    if isinstance(sequence, TupleOf):
        return sequence.items
    if isinstance(sequence, Held) and sequence.by_position:
        return [type_ for _, type_ in sequence.fields]
    return None


def item_of(iterable: Type) -> Type:
    """The type of every item that iterating over a value of this type gives."""
    if isinstance(iterable, (ListOf, IterOf)):
        return iterable.item
    if isinstance(iterable, Held):
        return _held_items(iterable)
    if isinstance(iterable, TupleOf):
        return join_all(iterable.items)
    if isinstance(iterable, ArrayOf):
        return numpy_shapes.getitem((iterable, INT), {}) if iterable.dims else Any
    return _ITEMS.get(cls_of(iterable), Any)


def _held_items(iterable: Held) -> Type:
    if iterable.item is not None:
        return iterable.item
    if iterable.cls is dict:
        return STR
    return join_all(t for _, t in iterable.fields) if iterable.by_position else Any


_ITEMS: dict[type | None, Type] = {range: INT, str: STR, bytes: INT}


@rule(iter)
def _iter(args: Args, kwargs: Mapping[str, Type]) -> Type:
    return _iterator(args[0]) if len(args) == 1 else Any


def _iterator(iterable: Type) -> Type:
    if isinstance(iterable, IterOf):
        return iterable
    item = item_of(iterable)
    return IterOf(item) if item is not Any or cls_of(iterable) in (list, tuple) else Any


@rule(reversed)
def _reversed(args: Args, kwargs: Mapping[str, Type]) -> Type:
    return Any if isinstance(args[0], (IterOf, ArrayOf)) else _iterator(args[0])


@rule(enumerate)
def _enumerate(args: Args, kwargs: Mapping[str, Type]) -> Type:
    inner = _iterator(args[0])
    item = inner.item if isinstance(inner, IterOf) else Any
    return IterOf(TupleOf((INT, item)), isinstance(inner, IterOf) and inner.plain)


@rule(zip)
def _zip(args: Args, kwargs: Mapping[str, Type]) -> Type:
    inner = [_iterator(a) for a in args]
    items = tuple(i.item if isinstance(i, IterOf) else Any for i in inner)
    return IterOf(TupleOf(items), all(isinstance(i, IterOf) and i.plain for i in inner))


@rule(next)
def _next(args: Args, kwargs: Mapping[str, Type]) -> Type:
    return item_of(args[0]) if len(args) == 1 and isinstance(args[0], IterOf) else Any


@rule(list.pop)
def _pop(args: Args, kwargs: Mapping[str, Type]) -> Type:
    return args[0].item if isinstance(args[0], ListOf) else Any


@rule(list.copy)
def _copy(args: Args, kwargs: Mapping[str, Type]) -> Type:
    return _list(args, kwargs) if isinstance(args[0], Held) else args[0]




# -- made of all items ---------------------------------------------------------------------------------------


@rule(tuple, prim.list_to_tuple)
def _tuple(args: Args, kwargs: Mapping[str, Type]) -> Type:
    if not args or isinstance(args[0], TupleOf):
        return args[0] if args else TupleOf(())
    items = by_position(args[0])
    if items is not None:
        return TupleOf(tuple(items))
    item = item_of(args[0])
    return Exact(tuple) if item is Any else Held(tuple, (), item)


@rule(list, sorted)
def _list(args: Args, kwargs: Mapping[str, Type]) -> Type:
    item = item_of(args[0]) if args else Never
    return Exact(list) if item is Any else ListOf(item)


@rule(min, max)
def _extremum(args: Args, kwargs: Mapping[str, Type]) -> Type:
    """Of scalars only: arrays raise, and what a user's class does is not known."""
    items = args if len(args) > 1 else (item_of(args[0]),) if args else ()
    if kwargs or not all(cls_of(i) in SCALARS for i in items):
        return Any
    return join_all(map(widen, items))


def _plus(a: Type, b: Type) -> Type:
    if isinstance(a, OneOf):
        return join_all(_plus(Exact(cls), b) for cls in a.classes)
    if isinstance(b, OneOf):
        return join_all(_plus(a, Exact(cls)) for cls in b.classes)
    either = any(map(numpy_types.is_numpy, (a, b)))
    return numpy_types.elementwise(operator.add, (a, b), {}) if either else add_type((a, b), {})


@rule(sum)
def _sum(args: Args, kwargs: Mapping[str, Type]) -> Type:
    """sum() adds up from the left, and gives the start (0) for an empty iterable."""
    item = item_of(args[0])
    total = widen(args[1]) if len(args) > 1 else kwargs.get("start", INT)
    if isinstance(args[0], TupleOf):
        for each in args[0].items:
            total = _plus(widen(total), each)
        return widen(total)
    return _added_up(total, item)


def sum_of_some(args: Args, kwargs: Mapping[str, Type]) -> Type:
    """Of a list that is not empty."""
    if not isinstance(args[0], (ListOf, Held)):
        return _sum(args, kwargs)
    item = item_of(args[0])
    return _added_up(widen(_plus(widen(args[1]), item)), item)


def _added_up(total: Type, item: Type) -> Type:
    for _ in range(3):
        total = join(total, widen(_plus(total, item)))
    return total if join(total, _plus(total, item)) == total else Any
