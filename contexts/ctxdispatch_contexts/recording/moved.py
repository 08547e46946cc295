"""Stores that move elements by indices, masks or values (`np.put`, `np.place`, `ndarray.sort`).

Such a function is run once more on numbers that say which element is which: its own code says where they go.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ctxdispatch.dispatch.overdub import resolve
from ctxdispatch_contexts.programs.errors import MissingRuleError, described, user_position
from ctxdispatch_contexts.recording.arrays import as_numbers, as_objects, holds_objects
from ctxdispatch_contexts.recording.leaves import is_number
from ctxdispatch_contexts.recording.memory import Array
from ctxdispatch_contexts.recording.numbered import numbers, places
from ctxdispatch_contexts.recording.record import Record

MOST = 64
"""So many axes an array may have."""


def activated(record: Record, array: Array, active: bool, index: Any = ...) -> None:
    """After the store into array[index]: `array` depends on what is differentiated if it did, or what was
    stored does; not one of whole numbers."""
    if active and array.dtype.kind not in "biu":
        record.memory.stored(array, index)


def check_dtype(callee: Any, array: Array) -> None:
    if array.dtype.kind in "biu":
        return  # rounded: its derivative is zero
    if array.dtype.kind not in "fcO":
        raise MissingRuleError(
            f"{described(callee)} writes what is differentiated into an array of dtype {array.dtype}; "
            "use an array of floats",
            user_position(),
        )


def put_objects(ctx: Any, callee: Any, args: Any, kwargs: Any, depth: int = MOST) -> Any:
    """A store into an array of objects: those that are in it are written down by themselves."""
    array, *rest = args
    if callee is np.copyto and ctx.record.any_active(rest[0]):  # which converts numbers of its own accord
        rest[0] = resolve(ctx, np.asarray)(rest[0])
    return callee(array, *[as_objects(ctx.record, a, depth) for a in rest], **kwargs)


def as_stored(ctx: Any, array: Array, value: Any) -> Any:
    """`value` as it goes into `array`: lists as arrays that are written down."""
    if holds_objects(value) and ctx.record.any_active(value):
        return as_numbers(ctx.record, value)
    listed = not issubclass(type(value), np.ndarray) and not is_number(value)
    return ctx.array(value) if listed and ctx.record.any_active(value) else value


def moved(at: int, ctx: Any, callee: Any, args: Any, kwargs: Any) -> Any:
    """args[0] gets elements of its own, or of the operand after it that has the new values."""
    array, *rest = args
    if array.dtype == object:
        return put_objects(ctx, callee, args, kwargs)
    record: Record = ctx.record
    rest = [as_stored(ctx, array, a) for a in rest]
    sources, tags = numbers(array, rest[at])
    callee(sources, *[tags if i == at else a for i, a in enumerate(rest)], **kwargs)
    kept = record.before(array, ...)
    out = callee(array, *rest, **kwargs)
    activated(record, array, record.is_active(rest[at]))
    record.move(array, [rest[at]], places(sources), kept)
    return out


def sorted_along(ctx: Any, callee: Any, args: Any, kwargs: Any) -> None:
    """sort, partition: where each element came from is seen by their order before and after."""
    array, *rest = args
    at = 1 if callee is np.ndarray.partition else 0
    axis = rest[at] if len(rest) > at else kwargs.get("axis", -1)
    numbered = np.arange(array.size).reshape(array.shape)
    before = np.take_along_axis(numbered, np.argsort(array, axis, kind="stable"), axis)
    kept = ctx.record.before(array, ...)
    callee(*args, **kwargs)
    sources = np.empty_like(numbered)
    np.put_along_axis(sources, np.argsort(array, axis, kind="stable"), before, axis)
    ctx.record.move(array, [], sources, kept)


def put_in_flat(array: Array, index: Any, value: Any) -> None:
    """A store through `flat`, in the order of its elements."""
    array.flat[index] = value


__all__ = ["activated", "as_stored", "check_dtype", "moved", "put_in_flat", "put_objects", "sorted_along"]
