"""What the sweep reads of arrays that are stored to after the op whose reverse reads it.

    y = sin(x); x[0] = 0.0      ->      c = copy(x); y = sin(x); x[0] = 0.0
                                        and in the sweep: dx[0] = 0.0; dx += dy * cos(c)

A copy costs no more than the op that has read all of it. Copies that the sweep does not read after all go.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ctxdispatch.facts import says
from ctxdispatch.ir.graph import Block, Graph, Op
from ctxdispatch.ir.leaves import is_ours
from ctxdispatch.ir.values import Const, Operand, Value
from ctxdispatch.passes import effects
from ctxdispatch.passes import types as T
from ctxdispatch_contexts.programs.aliases import Objects
from ctxdispatch_contexts.programs.changes import data_changed, spread
from ctxdispatch_contexts.programs.errors import OWN_FILES
from ctxdispatch_contexts.programs.order import Order
from ctxdispatch_contexts.programs.sources import NAMESPACE as SOURCES


class Overwritten:
    """Where an op's operands and results have changed by the end of the program. `stores`: the ops that
    change, or may change, what the sweep may have to read as it was, and the objects of which they do."""

    def __init__(self, graph: Graph, objects: Objects) -> None:
        self._objects = objects
        self._found: dict[tuple[Value, Op], bool] = {}
        is_of_rule = _rule_ops(graph)
        changes = ((op, data_changed(objects, op, unseen=not is_of_rule(op))) for _, op in graph.ops())
        self.stores = [(op, sites) for op, sites in changes if sites]
        self._order = Order(graph)

    def after(self, value: Operand, reader: Op | None) -> bool:
        """The array `value`, an operand or a result of `reader`, or one of a tuple of arrays and numbers (an
        index), is stored to by `reader` or later."""
        if not self.stores or reader is None or not (isinstance(value, Value) and _has_elements(value.type)):
            return False
        if (value, reader) not in self._found:
            self._found[value, reader] = self._is_stored_to(value, reader)
        return self._found[value, reader]

    def _is_stored_to(self, value: Value, reader: Op) -> bool:
        here = self._order.place.get(reader)
        data = self._objects.of if isinstance(value.type, T.ArrayOf) else self._objects.reach
        mine = self._objects.loose(data(value))
        if here is None:
            return False
        for store, sites in self.stores:
            at = self._order.place[store]
            if any(store is reader or self._order.after(here, at, site) for site in sites & mine):
                return True
        return False


def _rule_ops(graph: Graph) -> Callable[[Op], bool]:
    """Whether an op is a rule's of this package, which calls methods of arrays and nothing that changes them
    out of sight. The program of a single call is what the call became: a rule, or code of the users."""
    space = str((graph.namespace or {}).get("__name__", ""))
    if space == SOURCES["__name__"]:
        return _is_of_no_user
    return lambda op: is_ours(space)


def _is_of_no_user(op: Op) -> bool:
    called = spread(op) is not op
    return not called and (op.pos is None or op.pos.filename.startswith(OWN_FILES))


def insert_copy(block: Block, reader: Op, value: Value) -> Value:
    """A copy of `value` as `reader` reads it, or leaves it."""
    copy = Value(value.name, value.type)
    at = next(i for i, op in enumerate(block.ops) if op is reader)
    copies = np.ndarray.copy if isinstance(value.type, T.ArrayOf) else copied
    made = Op(Const(copies), [value], [copy], (), reader.pos)
    block.ops.insert(at + 1 if value in reader.results else at, made)
    return copy


def _has_elements(type_: T.Type | None) -> bool:
    if isinstance(type_, T.TupleOf):
        return effects.plain(type_) and any(map(_has_elements, type_.items))
    return isinstance(type_, T.ArrayOf) and bool(type_.dims)


@says(result="copies 0", raises=False)
def copied(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """The same tuple, of copies of its arrays."""
    return tuple([each.copy() if type(each) is np.ndarray else each for each in values])


__all__ = ["Overwritten", "insert_copy"]
