"""An object, list or dict that is an argument may be what a variable leads to as well, and has its numbers
once: by either name they are what is differentiated. A program takes what variables hold for constants. So
it looks into what they hold only where types tell that from all there is in the arguments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ctxdispatch.passes import types as T
from ctxdispatch.passes.guards import Guard, OfType
from ctxdispatch_contexts.programs.activity import carries, is_numeric


def may_meet(types: Sequence[T.Type], guards: Iterable[Guard]) -> bool:
    """By their types, variables may hold containers of numbers that arguments of these types hold too."""
    given = [*_containers(types)]
    looked_into = _containers(guard.type for guard in guards if isinstance(guard, OfType)) if given else ()
    numbers = [held for held in looked_into if isinstance(held, T.Held) and any(map(carries, _parts(held)))]
    return any(_may_be_same(held, each) for held in numbers for each in given)


def _containers(types: Iterable[T.Type]) -> Iterator[T.Type]:
    """What there is in values of these types that can be changed, and may hold numbers."""
    for type_ in types:
        if isinstance(type_, T.TupleOf):
            yield from _containers(type_.items)
        elif isinstance(type_, T.Held):
            if not issubclass(type_.cls, tuple):
                yield type_
            yield from _containers(_parts(type_))
        elif carries(type_) and not is_numeric(type_):
            yield type_


def _parts(type_: T.Held) -> list[T.Type]:
    return [*(t for _, t in type_.fields), *([] if type_.item is None else [type_.item])]


def _may_be_same(a: T.Type, b: T.Type) -> bool:
    match a, b:
        case T.Held(), T.Held():
            return a.cls is b.cls and _may_hold_the_same(a, b)
        case T.ArrayOf(), T.ArrayOf():
            return a.dtype == b.dtype and len(a.dims) == len(b.dims)
        case T.TupleOf(), T.TupleOf():
            return len(a.items) == len(b.items) and all(map(_may_be_same, a.items, b.items))
    one, other = T.cls_of(a), T.cls_of(b)
    return one is None or other is None or one is other


def _may_hold_the_same(a: T.Held, b: T.Held) -> bool:
    """(An empty list is of any type of items, and has nothing in it.)"""
    if a.by_position and b.by_position and len(a.fields) != len(b.fields):
        return False
    names = {name for name, _ in (*a.fields, *b.fields)} or {0}
    both = [(a.item or a.field(name), b.item or b.field(name)) for name in names]
    return all(x is None or y is None or _may_be_same(x, y) for x, y in both)
