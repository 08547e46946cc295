"""Which ops read and walk through containers and objects as they are, without code of the user's."""

from __future__ import annotations

import copy
import operator
from collections import deque
from types import FunctionType
from typing import Any

import numpy as np

from ctxdispatch.facts import SETS_ATTRIBUTE, Fact, Shares
from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Op
from ctxdispatch.ir.values import Const, Operand
from ctxdispatch.passes import effects
from ctxdispatch.passes import types as T
from ctxdispatch.passes.resolve import class_attribute
from ctxdispatch.passes.types import operand_type

CONTAINERS = (list, tuple, dict, set, frozenset)
DISPLAYS = (primitives.build_tuple, primitives.build_list, primitives.build_map)
"""They make containers of their operands."""


def copies_items(op: Op) -> bool:
    """Where the row of what `op` calls says less: an iterator over a container, a part of a list."""
    if op.fn is operator.getitem:
        container, place = (T.cls_of(operand_type(a)) for a in op.args[:2])
        return container is list and place is slice
    return op.fn is iter and T.cls_of(operand_type(op.args[0])) in CONTAINERS


def copies_by_index(index: T.Type) -> bool:
    """An array indexed with it is certainly copied: there is an array of positions, or a mask, in it."""
    if isinstance(index, T.TupleOf):
        return any(map(copies_by_index, index.items))
    return (isinstance(index, T.ArrayOf) and bool(index.dims)) or isinstance(index, T.ListOf)


_BARE = (*DISPLAYS, object.__new__, *SETS_ATTRIBUTE)


def gives_new_inside(op: Op, row: Fact | None) -> bool:
    """It gives a tuple, list or object that may hold what is new as well: `np.modf(x)` two arrays. (Displays
    and containers made of others hold what these hold.)"""
    if op.fn in _BARE or issubclass(type(op.fn), type) or all(map(_holds_nothing, op.results)):
        return False
    if row is None or (type(op.fn) is np.ufunc and op.fn.nout > 1):
        return True
    if row.out is not None:  # an array, which could be written into another
        return False
    holding = [s.operands for s in row.result if s.shares in (Shares.HOLDS, Shares.COPIES)]
    if any(operands.positions or operands.start is not None for operands in holding):
        return False
    return not row.result or any(s.shares is not Shares.ITEM for s in row.result)


def _holds_nothing(value: Operand) -> bool:
    return effects.immutable(operand_type(value)) or is_of_numbers(value)


def is_of_numbers(operand: Operand) -> bool:
    """An array that holds no objects."""
    type_ = operand_type(operand)
    return isinstance(type_, T.ArrayOf) and type_.dtype.kind != "O"


def rebuild(like: Any, items: list[Any]) -> Any:
    """A tuple, named tuple, list or deque, as `like` is, of these items."""
    if isinstance(like, list):
        return items
    if isinstance(like, deque):
        return deque(items, like.maxlen)
    cls = type(like)
    return tuple.__new__(cls if hasattr(cls, "_make") else tuple, items)  # not by code that the class has


def with_attributes(value: Any, attributes: dict[str, Any]) -> Any:
    """A copy of an object that has these in their place."""
    made = copy.copy(value)
    for name, item in attributes.items():
        object.__setattr__(made, name, item)
    return made


def by_index(entries: dict[Any, Any], sequence: Any) -> dict[Any, Any]:
    """The fields of a named tuple by number, as its items are."""
    fields = getattr(type(sequence), "_fields", ())
    return {fields.index(k) if k in fields else k: v for k, v in entries.items()}


def attribute_key(op: Op) -> Const:
    """The entry that an attribute is: a named tuple's fields are its items."""
    name = op.args[1].value  # type: ignore[union-attr]
    fields = getattr(T.cls_of(operand_type(op.args[0])), "_fields", ())
    return Const(fields.index(name) if name in fields else name)


def plain_attribute_of(op: Op) -> bool:
    """Read off an instance of a known class of no array kind, and by no code: no property, no __getattr__."""
    cls = T.cls_of(operand_type(op.args[0]))
    name = op.args[1]
    if cls is None or not isinstance(name, Const) or len(op.args) != 2:
        return False
    return plain_attribute(cls, name.value)


def plain_attribute(cls: type, name: str) -> bool:
    """Reading `name` off an instance runs no Python code and computes nothing."""
    if issubclass(cls, (np.ndarray, np.generic, int, float, complex)):
        return False
    if type(class_attribute(cls, "__getattribute__")) is FunctionType or hasattr(cls, "__getattr__"):
        return False
    found = getattr(cls, name, None)
    return (not issubclass(type(found), property) and not hasattr(type(found), "__get__")) or _is_slot(found)


def _is_slot(found: Any) -> bool:
    return type(found).__name__ in ("member_descriptor", "_tuplegetter")


def indexable(op: Op) -> bool:
    cls = T.cls_of(operand_type(op.args[0]))
    if cls is None or not issubclass(cls, (list, tuple, dict)):
        return cls is np.ndarray
    return type(class_attribute(cls, "__getitem__")) is not FunctionType


def any_iterable(op: Op) -> bool:
    """Iterating runs no Python code of the user's."""
    type_ = operand_type(op.args[0])
    if isinstance(type_, T.IterOf):
        return type_.plain
    cls = T.cls_of(type_)
    method = class_attribute(cls, "__iter__") if cls is not None else None
    return method is not None and type(method) is not FunctionType


def is_sequence(operand: Operand) -> bool:
    return T.cls_of(operand_type(operand)) in (list, tuple)


def all_sequences(op: Op) -> bool:
    return all(map(is_sequence, op.args))


def sequence_and_int(op: Op) -> bool:
    a, b = op.args
    return any(is_sequence(s) and T.cls_of(operand_type(n)) in (int, bool) for s, n in ((a, b), (b, a)))
