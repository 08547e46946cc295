"""Whether a value is of a type: what inference promised, held against what a program computed."""

from ctxdispatch.passes.lengths import plain
from ctxdispatch.passes.types import (
    Any,
    ArrayOf,
    Bound,
    Exact,
    IterOf,
    Known,
    ListOf,
    OneOf,
    TupleOf,
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
    if isinstance(type_, Bound):
        return covers(type_.self, getattr(value, "__self__", None))
    return isinstance(type_, IterOf) or (isinstance(type_, ArrayOf) and leq(type_of(value), plain(type_)))
