"""Shapes that do not go together are an error also where nobody wants the result.

    %t = mul(%x, %c)   dead, x and c arrays     ──▶   conform(mul, %x, %c)

Dead code goes, and with it the error that its operands' shapes might have raised. So where a dead elementwise
op is the only one that would notice, a comparison of shapes stays. Mostly another op notices too, one that is
not dead: `y - sigmoid(z)` in a sweep where `y * z` of the primal is dead. Let go are operands that nothing
else computes, whole dead loops and branches, and shapes of different rank.

Shapes are followed back through elementwise ops: exp(z) has the shape of z.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any as Anything

from ctxdispatch.facts import says
from ctxdispatch.ir.analysis import DominatorTree
from ctxdispatch.ir.graph import Block, Op
from ctxdispatch.ir.values import Const, Operand, Value, hashable
from ctxdispatch.passes import numpy_types
from ctxdispatch.passes.types import ArrayOf, operand_type

ELEMENTWISE: frozenset[Anything] = frozenset({*numpy_types.OPERATORS, *numpy_types.UFUNCS})


@says(known=False)
def conform(function: Anything, a: Anything, b: Anything) -> None:
    """Raise what function(a, b) raises where the shapes do not go together."""
    if a.shape != b.shape:
        function(a, b)



Pair = tuple[Operand, Operand]


class Shapes:
    """Which values surely have the same shape, once the ops are done that were `seen`."""

    def __init__(self, makers: dict[Value, Op]) -> None:
        self.makers = makers
        self._same: dict[Operand, Operand] = {}
        self._roots: dict[Operand, Operand] = {}

    def see(self, op: Op) -> None:
        pair = self.pair(op)
        if pair is not None and not self.same(*pair):
            self._same[self._find(pair[0])] = self._find(pair[1])

    def same(self, a: Operand, b: Operand) -> bool:
        return self._find(a) is self._find(b)

    def pair(self, op: Op) -> Pair | None:
        """The operands, as near to the arguments as can be, of an op that needs their lengths to agree."""
        if op.kwnames or not (hashable(op.fn) and op.fn in ELEMENTWISE) or len(op.args) != 2:
            return None
        a, b = op.args
        return (self.root(a), self.root(b)) if _must_agree(operand_type(a), operand_type(b)) else None

    def root(self, operand: Operand) -> Operand:
        passed = []
        while operand not in self._roots and (source := self._source(operand)) is not None:
            passed.append(operand)
            operand = source
        root = self._roots.get(operand, operand)
        self._roots.update(dict.fromkeys(passed, root))
        return root

    def _source(self, operand: Operand) -> Operand | None:
        op = self.makers.get(operand) if isinstance(operand, Value) else None
        return None if op is None else _same_shape(op)

    def _find(self, operand: Operand) -> Operand:
        passed = []
        while operand in self._same:
            passed.append(operand)
            operand = self._same[operand]
        self._same.update(dict.fromkeys(passed[:-1], operand))
        return operand


def _must_agree(a: Anything, b: Anything) -> bool:
    """Arrays of one rank, no axis of which is broadcast; others are left to those who compute with them."""
    return (
        isinstance(a, ArrayOf) and isinstance(b, ArrayOf) and len(a.dims) == len(b.dims) > 0
        and all(d is False for d in (*a.dims, *b.dims))
    )  # fmt: skip


def _same_shape(op: Op) -> Operand | None:
    """An operand of the shape of the result."""
    if op.kwnames or len(op.results) != 1 or not (hashable(op.fn) and op.fn in ELEMENTWISE):
        return None
    mine = operand_type(op.results[0])
    if not isinstance(mine, ArrayOf) or any(d is not False for d in mine.dims):
        return None
    arrays = [a for a in op.args if isinstance(operand_type(a), ArrayOf) and operand_type(a).dims]  # type: ignore[attr-defined]
    whole = [a for a in arrays if operand_type(a).dims == mine.dims]  # type: ignore[attr-defined]
    return whole[0] if whole and len(whole) == len(arrays) else None


def unnoticed(
    order: Iterable[Block], entry: Block, meet: DominatorTree[Block | None], makers: dict[Value, Op],
    is_live: Callable[[Op], bool],
) -> list[tuple[Op, Pair]]:  # fmt: skip
    """The dead ops in `order` that alone would notice that shapes do not go together."""
    shapes, found = Shapes(makers), []
    pairs = [(b, op, pair) for b in order for op in b.ops if (pair := shapes.pair(op)) is not None]
    dead = [each for each in pairs if not is_live(each[1])]
    always = _always(entry, meet) if dead else set()
    live = [(block, op) for block, op, _ in pairs if is_live(op)]
    for block, op in live:
        if block in always:
            shapes.see(op)
    within: dict[Block, Shapes] = {}
    for block, op, pair in dead:
        if block not in always and block not in within:
            within[block] = _with(shapes, [o for b, o in live if b is block])
        here = within.get(block, shapes)
        if not here.same(*pair):
            found.append((op, pair))
            here.see(op)
    return found


def _with(shapes: Shapes, ops: Iterable[Op]) -> Shapes:
    more = Shapes(shapes.makers)
    more._same = dict(shapes._same)
    for op in ops:
        more.see(op)
    return more


def _always(entry: Block, meet: DominatorTree[Block | None]) -> set[Block]:
    """The blocks that every run goes through."""
    found: set[Block] = set()
    block: Block | None = entry
    while block is not None and block not in found:
        found.add(block)
        block = meet.idom.get(block)
    return found


def test_shapes(op: Op, pair: Pair) -> None:
    """Make `op`, in place, the test of its operands' shapes."""
    op.callee, op.args, op.syntax = Const(conform), [Const(op.fn), *pair], False
    op.results = [Value()]
