"""Common subexpressions: of two pure calls with the same operands one remains, where the first dominates the
second.

On arrays 1.0 * x, x / 1.0 and their like count as x. Of numbers and arrays b * a and b + a count as a * b and
a + b.

Calls that read only what never changes are always alike. On arrays and lists two more things must hold: no op
of the graph may change an array (`effects.writes`), and the two results must not both get out of the graph's
sight, where somebody may change one of them and look at the other.
"""

from __future__ import annotations

import operator
from collections.abc import Hashable
from typing import Any as Anything

import numpy as np

from ctxdispatch.facts import UFUNC_OF, fact_of
from ctxdispatch.ir import primitives as prim
from ctxdispatch.ir.analysis import DominatorTree, dominators
from ctxdispatch.ir.graph import Block, Graph, Op
from ctxdispatch.ir.rewrite import substitute
from ctxdispatch.ir.values import Operand, Value
from ctxdispatch.passes import effects, numpy_types
from ctxdispatch.passes.strength import equal_array
from ctxdispatch.passes.types import ArrayOf, IterOf, Type, is_literal, operand_type


def cse(graph: Graph) -> Graph:
    """In place."""
    tree = dominators(graph)
    finder = _Finder(sharing(graph))
    finder.walk(tree)
    substitute(graph, finder.replaced)
    return graph


class _Finder:
    def __init__(self, sharing: Sharing) -> None:
        self.sharing = sharing
        self.replaced: dict[Value, Operand] = {}
        self.seen: dict[Hashable, Op] = {}

    def walk(self, tree: DominatorTree[Block]) -> None:
        """Down the dominator tree; what a block adds is forgotten when its subtree is done."""
        work: list[tuple[Block | None, list[Hashable]]] = [(tree.order[0], [])]
        while work:
            block, added = work.pop()
            for key in added:
                del self.seen[key]
            if block is not None:
                work.append((None, self._block(block)))
                work.extend((child, []) for child in tree.children[block])

    def _block(self, block: Block) -> list[Hashable]:
        added, kept = [], []
        for op in block.ops:
            if self._is_operand(op):
                continue
            key = self._key(op)
            first = self.seen.get(key) if key is not None else None
            if first is not None and self.sharing.may_share(first, op):
                self.replaced.update(zip(op.results, first.results))
                self.sharing.merge(first, op)
                continue
            kept.append(op)
            if key is not None and first is None:
                self.seen[key] = op
                added.append(key)
        block.ops = kept
        return added

    def _is_operand(self, op: Op) -> bool:
        """1.0 * x on arrays is a copy of x, and who only looks at it may look at x."""
        same = equal_array(op)
        if same is None or not self.sharing.may_alias(op.result):
            return False
        self.replaced[op.result] = self.replaced.get(same, same) if isinstance(same, Value) else same
        return True

    def _key(self, op: Op) -> Hashable | None:
        if not effects.op_is_pure(op) or op.fn in NEW_EACH_TIME:
            return None
        if any(isinstance(operand_type(a), IterOf) for a in op.args):  # used up
            return None
        operands = tuple([self._operand(o) for o in op.operands()])
        if _commutes(op):
            return (operands[0], frozenset(operands[1:]))
        return (operands, op.kwnames, len(op.results))

    def _operand(self, operand: Operand) -> Hashable:
        if isinstance(operand, Value):
            return self.replaced.get(operand, operand)
        return const_key(operand.value)


def const_key(value: Anything) -> Hashable:
    """Equal for constants that are the same object, or literals of the same type and value."""
    if is_literal(value):
        return (type(value), repr(value))
    if type(value) is tuple:
        return tuple(map(const_key, value))
    return (type(value), repr(value)) if type(value) is slice else id(value) if not _bound(value) else value


def _commutes(op: Op) -> bool:
    """a * b is b * a, of numbers and arrays: exactly, but for the payload of a nan."""
    if op.fn not in COMMUTATIVE or len(op.args) != 2 or op.kwnames:
        return False
    return all(numpy_types.numeric(operand_type(a)) for a in op.args)


_COMMUTE = (operator.add, operator.mul)
COMMUTATIVE = frozenset({*_COMMUTE, *[UFUNC_OF[f] for f in _COMMUTE]})


def _bound(value: Anything) -> bool:
    """`np.add.reduce` is a new object each time, but equal."""
    return type(getattr(value, "__self__", None)) is np.ufunc


NEW_EACH_TIME = frozenset(
    {prim.build_list, prim.make_cell, prim.make_function, object, iter, list, enumerate, zip}
)
"""What they make has an identity of its own, and is used up or changed."""


# -- arrays --------------------------------------------------------------------------------------------------


class Sharing:
    """Whether two equal results may become one object. `writes`: some op may change anything, arrays too;
    `stores`: some op changes a list, cell or global. `outside`: values that get out of sight: returned,
    passed on to other blocks, kept by a container or a view."""

    def __init__(self, writes: bool, stores: bool, outside: set[Value]) -> None:
        self.writes = writes
        self.stores = stores
        self.outside = outside

    def may_share(self, first: Op, second: Op) -> bool:
        types = [operand_type(a) for a in second.args]
        reads_name = second.fn in effects.READS_NAMES
        if not reads_name and not effects.makes_mutable(second) and all(map(effects.immutable, types)):
            return True
        if self.writes or (self.stores and (reads_name or any(map(_list_like, types)))):
            return False
        return not (self._out(first) and self._out(second))

    def merge(self, first: Op, second: Op) -> None:
        if any(r in self.outside for r in second.results):
            self.outside.update(first.results)

    def may_alias(self, result: Value) -> bool:
        """`result` may be one of its operands rather than a copy of it."""
        return not self.writes and result not in self.outside

    def _out(self, op: Op) -> bool:
        return effects.makes_mutable(op) and any(r in self.outside for r in op.results)


def _list_like(type_: Type) -> bool:
    return not (isinstance(type_, ArrayOf) or effects.immutable(type_))


def sharing(graph: Graph) -> Sharing:
    """What `graph` writes to and lets out of sight."""
    found = Sharing(False, False, set(graph.params))
    for block in graph.blocks:
        for op in block.ops:
            found.writes = found.writes or effects.writes(op)
            found.stores = found.stores or not effects.op_is_pure(op)
            if not _fresh(op):
                found.outside.update(a for a in op.args if isinstance(a, Value))
        terminator = block.terminator
        found.outside.update(v for v in (terminator.operands() if terminator else ()) if isinstance(v, Value))
        for edge in block.edges():
            found.outside.update(a for a in edge.args if isinstance(a, Value))
    return found


def _fresh(op: Op) -> bool:
    """The result shares no memory with the operands."""
    if not effects.makes_mutable(op):
        return True
    known = fact_of(op.fn)
    return known is not None and known.new_array and all(isinstance(r.type, ArrayOf) for r in op.results)

