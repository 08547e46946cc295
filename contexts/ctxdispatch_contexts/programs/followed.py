"""Stores into arrays that the program made itself, or was given: which derivatives can follow.

    x = np.zeros(n); x[0] = w; x[1:] += x[:-1] * s; y = x[n - 1]

A derivative program keeps one array for such an `x`, its *shadow*. In the reverse sweep it is at every point
the cotangent of what was in `x` at that point of the program (Griewank, Walther 2008, section 3.3;
`reverse/shadows.py` emits what happens to it), in forward mode the tangent of what is in `x`
(`forward/arrays.py`). That is right as long as whoever reads the memory of `x` reads it as `x`, or as a part
`x[i:j]` of `x`:

    root     the value that is the array: a call made it, or the paths on which it was made meet in it; an
             argument, of which is tested that it lies apart from others (`apart.py`); or, in the sweep,
             beside such arrays, one of any origin that is not stored to, and that a loop reads by parts
    part     root[index], or part[index], with an index that gives a view
    store    root[index] = value;  root += value, -=, *=, /=;  and the same of a part

A root is followed (`following.py` says which are) if no store to it is seen by another value that may be the
same array (`a = x.T`, an item of a list, one of two arrays that were swapped), and if nothing that may keep
it (a container, a closure, a call out of sight) had it before it was stored to. Everything else is left to
the `stores.py` of the mode, which refuses it.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping
from types import EllipsisType, NoneType

import numpy as np

from ctxdispatch.facts import INPLACE
from ctxdispatch.ir.graph import Graph, Op
from ctxdispatch.ir.prune import prune
from ctxdispatch.ir.rewrite import substitute
from ctxdispatch.ir.values import Const, Operand, Value
from ctxdispatch.passes import types as T
from ctxdispatch.passes.types import operand_type

# -- before activity is known --------------------------------------------------------------------------------


def name_updates(graph: Graph) -> None:
    """`y = iadd(x, v)` of an array `x` is `x` itself: one name for it, in place."""
    same: dict[Value, Operand] = {}
    for _, op in graph.ops():
        if op.fn in INPLACE and op.results and is_array(op.args[0]) and op.args[0] is not op.results[0]:
            same[op.results[0]] = op.args[0]
            op.results = [Value(op.results[0].name, op.results[0].type)]
    if same:
        substitute(graph, same)
        prune(graph)


def parts(graph: Graph) -> dict[Value, Value]:
    """part -> the array that it is a view of"""
    return {op.results[0]: op.args[0] for _, op in graph.ops() if _is_part(op)}  # type: ignore[misc]


def whole(value: Value, part_of: Mapping[Value, Value]) -> Value:
    """What `value` is a part of, of a part, ..., or `value`."""
    while value in part_of:
        value = part_of[value]
    return value


def _is_part(op: Op) -> bool:
    if op.fn is not operator.getitem or not is_array(op.args[0]) or not isinstance(op.args[0], Value):
        return False
    return is_array(op.results[0]) and is_basic(operand_type(op.args[1]))


def is_array(operand: Operand) -> bool:
    """Certainly no NumPy scalar."""
    type_ = operand_type(operand)
    return isinstance(type_, T.ArrayOf) and bool(type_.dims)


def is_basic(index: T.Type) -> bool:
    """Indexing with it gives an element or a view."""
    if isinstance(index, T.TupleOf):
        return all(map(is_basic, index.items))
    cls = T.cls_of(index)
    basic = (int, np.integer, slice, NoneType, EllipsisType)
    return cls is not None and cls is not bool and issubclass(cls, basic)


# -- which roots are followed --------------------------------------------------------------------------------


class Followed:
    """The roots that are followed, and the stores to them and to their parts."""

    def __init__(self, part_of: Mapping[Value, Value]) -> None:
        self.part_of = part_of
        self.roots: dict[Value, None] = {}
        self.given: list[Value] = []  # arguments that are stored to
        self.stores: set[Op] = set()

    def root(self, operand: Operand) -> Value | None:
        """The root that `operand` is, or is a part of, if that is followed."""
        found = whole(operand, self.part_of) if isinstance(operand, Value) else None
        return found if found in self.roots else None


def unread_stores(followed: Followed, makers: Mapping[Value, Op]) -> Iterator[Op]:
    """`x[i] = t` where `t` is `x[i]`, as `x[i] += v` ends: nothing happens."""
    for op in followed.stores:
        if op.fn is operator.setitem and isinstance(op.args[2], Value) and op.args[2] in followed.part_of:
            reading = makers[op.args[2]]
            if reading.args[0] is op.args[0] and _same_index(reading.args[1], op.args[1], makers):
                yield op


def _same_index(a: Operand, b: Operand, makers: Mapping[Value, Op]) -> bool:
    if a is b:
        return True
    if isinstance(a, Const) and isinstance(b, Const):
        return type(a.value) is type(b.value) and repr(a.value) == repr(b.value)
    return False


__all__ = ["Followed", "is_array", "is_basic", "name_updates", "parts", "unread_stores", "whole"]
