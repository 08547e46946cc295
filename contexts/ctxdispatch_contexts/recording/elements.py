"""Elementwise arithmetic on arrays of floats, views of them and stores into them, the short way.

An elementwise row of the table says the partial derivatives of arrays too. What is written down is the
operands, the result and where their derivatives are; all other operands, dtypes and indices go the way of
everything else (`context.operate`).
"""

from __future__ import annotations

import operator
import types
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ctxdispatch_contexts.programs.overlapping import runs_over
from ctxdispatch_contexts.recording import halfway
from ctxdispatch_contexts.recording.acting import is_calm
from ctxdispatch_contexts.recording.addresses import address
from ctxdispatch_contexts.recording.record import Record

FLOATS = "df"
NUMBERS = frozenset({float, int, np.float64, np.float32, np.int64})
Otherwise = Callable[..., Any]
Partial = Callable[..., Any] | None


class Operand(NamedTuple):
    """Of an operation on elements. `known`: what the run knows of a number, True for an active array, else
    None."""

    value: Any
    known: Any
    partial: Partial


def binary(f: Any, partials: tuple[Partial, ...], otherwise: Otherwise) -> Callable[..., Any]:
    """f(a, b), one of which is an array."""
    of_a, of_b = partials
    if any("steep" in partial.__dict__ for partial in partials if partial is not None):
        return otherwise

    def rule(ctx: Any, a: Any, b: Any) -> Any:
        record: Record = ctx.record
        if not (record.by_elements and is_plain(a) and is_plain(b) and (np.ndim(a) or np.ndim(b))):
            return otherwise(ctx, a, b)
        y = f(a, b)
        if record.closed or y.dtype.char not in FLOATS or (of_a is None and of_b is None):
            return y
        first, second = known(record, a), known(record, b)
        if first is not None or second is not None:
            _made(record, y, (a, b), (Operand(a, first, of_a), Operand(b, second, of_b)))
        else:
            record.memory.made(y)
        return y

    return rule


def unary(f: Any, partials: tuple[Partial, ...], otherwise: Otherwise) -> Callable[..., Any]:
    """f(a) of an array."""
    (of_a,) = partials
    if of_a is not None and "steep" in of_a.__dict__:
        return otherwise

    def rule(ctx: Any, a: Any) -> Any:
        record: Record = ctx.record
        if not (record.by_elements and is_plain(a) and np.ndim(a)):
            return otherwise(ctx, a)
        y = f(a)
        if record.closed or y.dtype.char not in FLOATS or of_a is None:
            return y
        first = known(record, a)
        if first is not None:
            _made(record, y, (a,), (Operand(a, first, of_a),))
        else:
            record.memory.made(y)
        return y

    return rule


def is_plain(value: Any) -> bool:
    """A number, or an array of floats."""
    return value.dtype.char in FLOATS if type(value) is np.ndarray else type(value) in NUMBERS


def known(record: Record, value: Any) -> Any:
    if type(value) is np.ndarray:
        return record.memory.is_active(value) or None
    return record.numbers.get(id(value))


def _made(record: Record, y: Any, args: tuple[Any, ...], operands: tuple[Operand, ...]) -> None:
    """`y` is new; the operands, which the derivative is made of, are read once more."""
    for arg in args:
        if type(arg) is np.ndarray:
            record.memory.note(arg)
    record.memory.made(y)
    record.memory.activate(y)
    record.elements(y, args, operands)


# -- views, and stores into arrays ---------------------------------------------------------------------------

_INDICES = frozenset({int, np.int64, slice, types.EllipsisType, types.NoneType})


def is_basic(index: Any) -> bool:
    """It makes a view, or names one element."""
    cls = type(index)
    if cls is tuple:
        return all(type(i) in _INDICES and (type(i) is not slice or is_calm(i)) for i in index)
    return cls in _INDICES and (cls is not slice or is_calm(index))


def set_item(ctx: Any, array: Any, index: Any, value: Any) -> bool:
    """array[index] = value, several elements of an array; False where that goes another way."""
    record: Record = ctx.record
    short = record.by_elements and array.dtype.char in FLOATS and is_plain(value) and is_basic(index)
    if not short or record.copies or record.still or runs_over(array, index, value):
        return False
    active = not record.closed and known(record, value) is not None
    if record.closed or not (active or record.memory.find(array)) or _is_itself(array, index, value):
        array[index] = value
        return True
    kept = record.before(array, index)
    try:
        array[index] = value
    except Exception as error:
        halfway.interrupted(record, operator.setitem, error)
        raise
    if active:
        record.memory.stored(array, index)
    record.store(array, index, value, kept)
    return True


def _is_itself(array: Any, index: Any, value: Any) -> bool:
    """`value` is the view that it is stored into, as in `a[i] += v`."""
    if type(value) is not np.ndarray or value.base is None:
        return False
    view = array[index]
    same = type(view) is np.ndarray and (view.shape, view.strides) == (value.shape, value.strides)
    return same and address(view) == address(value)


def added(f: Any, sign: int, otherwise: Otherwise) -> Callable[..., Any]:
    """a += v, or a -= v, into an array."""

    def rule(ctx: Any, a: Any, v: Any) -> Any:
        record: Record = ctx.record
        short = record.by_elements and type(a) is np.ndarray and is_plain(a) and is_plain(v)
        short = short and not (record.copies or record.still)
        if not short or np.shape(a) != np.broadcast_shapes(np.shape(a), np.shape(v)):
            return otherwise(ctx, a, v)
        active = not record.closed and known(record, v) is not None
        if record.closed or not (active or record.memory.find(a)):
            return f(a, v)
        kept = record.before(a, ...)
        try:
            f(a, v)
        except Exception as error:
            halfway.interrupted(record, f, error)
            raise
        if active:
            record.memory.stored(a)
        record.add_to(a, v, sign, kept)
        return a

    return rule
