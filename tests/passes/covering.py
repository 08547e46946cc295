"""Whether a value is of a type: what inference promised, held against what a program computed."""

from ctxdispatch.passes.lengths import plain
from ctxdispatch.passes.types import (
    Any,
    ArrayOf,
    Bound,
    Exact,
    Held,
    IterOf,
    Known,
    ListOf,
    OneOf,
    TupleOf,
    Unset,
    leq,
    type_of,
)


def covers(type_, value):
    """`value` is of type `type_`. What an iterator will give cannot be seen."""
    if type_ is Any or isinstance(type_, Known):
        return type_ is Any or type_ == Known(value)
    if isinstance(type_, (Exact, OneOf)):
        return type(value) is type_.cls if isinstance(type_, Exact) else type(value) in type_.classes
    if isinstance(type_, TupleOf):
        same = type(value) is tuple and len(value) == len(type_.items)
        return same and all(map(covers, type_.items, value))
    if isinstance(type_, ListOf):
        return type(value) is list and all(covers(type_.item, item) for item in value)
    if isinstance(type_, Held):
        return type(value) is type_.cls and _holds(type_, value)
    if isinstance(type_, Bound):
        return covers(type_.self, getattr(value, "__self__", None))
    return isinstance(type_, IterOf) or (isinstance(type_, ArrayOf) and leq(type_of(value), plain(type_)))


def _holds(type_, value):
    if type_.item is not None:
        return all(covers(type_.item, item) for item in value)
    if type_.cls is list and len(value) != len(type_.fields):
        return False
    if type_.cls is dict or type_.cls is list:
        return all(covers(field, value[name]) for name, field in type_.fields)
    own = vars(value) if hasattr(value, "__dict__") else {}
    return all(
        name not in own if field is Unset else covers(field, getattr(value, name))
        for name, field in type_.fields
    )
