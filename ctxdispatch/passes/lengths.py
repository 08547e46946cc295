"""Whose lengths the dimensions of arrays have: named in types, taken away, found again after a slice.

named(ArrayOf(float, (None,)), x)      ArrayOf(float, (Length((x, 0)),))
plain(..of that..)                     ArrayOf(float, (None,)): what holds of the values anywhere
"""

from __future__ import annotations

from typing import Any as Anything

from ctxdispatch.passes.types import ArrayOf, Bound, Held, IterOf, Length, ListOf, TupleOf, Type, flag


def plain(type_: Type) -> Type:
    """Without whose lengths they are: what holds of the values anywhere."""
    if isinstance(type_, ArrayOf):
        known = not any(isinstance(d, Length) for d in type_.dims)
        return type_ if known else ArrayOf(type_.dtype, tuple(map(flag, type_.dims)))
    if isinstance(type_, TupleOf):
        return TupleOf(tuple(map(plain, type_.items)))
    if isinstance(type_, (ListOf, IterOf)):
        return (
            type(type_)(plain(type_.item))
            if isinstance(type_, ListOf)
            else IterOf(plain(type_.item), type_.plain)
        )
    if isinstance(type_, Bound):
        return Bound(plain(type_.self), type_.function)
    if isinstance(type_, Held):
        fields = tuple((name, plain(t)) for name, t in type_.fields)
        return Held(type_.cls, fields, None if type_.item is None else plain(type_.item))
    return type_


def named(type_: Type, value: Anything) -> Type:
    """The type of `value`: unknown lengths are its own."""
    if not isinstance(type_, ArrayOf) or None not in type_.dims:
        return type_
    return ArrayOf(
        type_.dtype, tuple(Length((value, i)) if d is None else d for i, d in enumerate(type_.dims))
    )


def with_own_lengths(type_: ArrayOf, value: Anything) -> ArrayOf:
    """For who takes slices of `value`: each length that may be cut is named."""
    named = (
        d if d is True or isinstance(d, Length) else Length((value, i)) for i, d in enumerate(type_.dims)
    )
    return ArrayOf(type_.dtype, tuple(named))


def without_own_lengths(type_: Type, value: Anything, known: ArrayOf) -> Type:
    """A length of `value` that was not cut is what was known of it."""
    if not isinstance(type_, ArrayOf):
        return type_
    whole = {Length((value, i)): d for i, d in enumerate(known.dims)}
    return ArrayOf(type_.dtype, tuple(whole.get(d, d) if isinstance(d, Length) else d for d in type_.dims))
