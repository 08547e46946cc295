"""The companion transform: every tracked value of a program gets one companion value that travels beside it.

    y = f(x)      ->      y = f(x);  y' = what the algebra says f does to companions

    b1(%x): ..; jump b2(%y)      ->      b1(%x, %x'): ..; jump b2(%y, %y')

What companions are (tangents, index sets, intervals, ...) is the algebra's business; that they follow the
values through blocks, loops and merges is this file's. A value that is not tracked has no companion, and
costs nothing; where it meets tracked ones in a merge, the algebra gives it one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from ctxdispatch.ir import primitives
from ctxdispatch.ir.analysis import reverse_postorder
from ctxdispatch.ir.builder import Builder
from ctxdispatch.ir.graph import Block, Edge, Graph, Iterate, Op
from ctxdispatch.ir.rewrite import definitions, uses
from ctxdispatch.ir.values import UNREAD, Const, Operand, Value
from ctxdispatch.passes import transfer
from ctxdispatch.passes import types as T
from ctxdispatch.passes.types import operand_type


class Algebra(Protocol):
    """What companions are, and what ops do to them."""

    def op(self, run: Companions, op: Op) -> None:
        """Emit `op` (or what comes in its place) and what gives the companions of its results."""

    def parameter(self, param: Value) -> Value:
        """A new companion, for a parameter of a block."""

    def absent(self, run: Companions, operand: Operand, param: Value) -> Operand:
        """The companion of an untracked operand that is passed for the tracked parameter `param`."""

    def item(self, run: Companions, iterator: Operand, item: Value) -> Operand:
        """The companion of the next item, from that of the iterator; the item itself has been taken."""


class Companions:
    """One run of the transform over `graph`, in place. `build` is where ops go."""

    def __init__(self, graph: Graph, tracked: set[Value], algebra: Algebra) -> None:
        self.graph, self.tracked, self.algebra = graph, tracked, algebra
        self.build = Builder(graph)
        self.companions: dict[Value, Operand] = {}
        loops = [b.terminator for b in graph.blocks if isinstance(b.terminator, Iterate)]
        self.loop_of = {loop.body.target: loop for loop in loops}
        self.home = definitions(graph)
        self.uses = {value: len(found) for value, found in uses(graph).items()}
        self.makers: dict[Value, Op] = {r: op for _, op in graph.ops() for r in op.results}

    def of(self, operand: Any) -> Operand | None:
        """The companion of a tracked value, else None."""
        return self.companions.get(operand)

    def put(self, value: Value, companion: Operand) -> None:
        if value in self.tracked:
            self.companions[value] = companion

    def emit(self, op: Op) -> None:
        """`op` itself."""
        self.build.block.ops.append(op)

    def call(self, callee: Any, *args: Operand, **options: Any) -> Value:
        return self.build.call(callee, *args, **options)

    # -- the walk --------------------------------------------------------------------------------------------

    def run(self, seeds: dict[Value, Operand]) -> None:
        """`seeds`: the companions of the graph's own parameters."""
        blocks = list(self.graph.blocks)
        self.companions.update(seeds)
        params = {block: self._parameters(block) for block in blocks if block is not self.graph.entry}
        for block in reverse_postorder(self.graph):
            self._block(block)
        for block in blocks:
            for edge in block.edges():
                self._pass(block, edge)
        for block, added in params.items():
            block.params += added

    def _parameters(self, block: Block) -> list[Value]:
        added = []
        for param in block.params[1 if block in self.loop_of else 0 :]:
            if param in self.tracked:
                self.companions[param] = companion = self.algebra.parameter(param)
                added.append(companion)
        return added

    def _block(self, block: Block) -> None:
        ops, block.ops = block.ops, []
        self.build.enter(block)
        if block in self.loop_of and block.params[0] in self.tracked:
            companion = self.of(self.loop_of[block].iterator)
            assert companion is not None, "items are tracked where their iterator is"
            item = block.params[0]
            self.companions[item] = self.algebra.item(self, companion, item)
        for op in ops:
            self.build.pos = op.pos
            self.algebra.op(self, op)

    def item_beside(self, item: Value, always: Callable[..., Any]) -> Value | None:
        """For companions of iterators that are iterators: the companion of `item`, both being taken from
        zip(iterator, companion), which is strict where both go through what has a length. None where more
        than this loop takes from the iterator.
        `always(companion, iterator)` is an iterator, where it is not known that the companion is."""
        loop = self.loop_of[self.build.block]
        iterator = loop.iterator
        companion = self.of(iterator)
        home = self.home.get(iterator)  # type: ignore[arg-type]
        if home is None or companion is None or self.uses.get(iterator) != 1:  # type: ignore[arg-type]
            return None
        made = [i for i, op in enumerate(home.ops) if companion in op.results]
        if not made:
            return None
        sized = all(any(_is_of_sized(op, v) for op in home.ops) for v in (iterator, companion))
        pairs, pair, beside = Value("pairs"), Value("pair"), Value(companion_name(item))
        if isinstance(companion, Value) and not isinstance(companion.type, T.IterOf):
            sure = Value(companion.name)
            home.ops.insert(made[0] + 1, Op(Const(always), [companion, iterator], [sure], (), self.build.pos))
            companion, made = sure, [made[0] + 1]
        types = [v.type or T.Any for v in (iterator, companion) if isinstance(v, Value)]
        pairs.type = transfer.call(zip, tuple(types), {})
        pair.type, beside.type = (transfer.call(next, (t,), {}) for t in (pairs.type, types[1]))
        given, named = ([Const(True)], ("strict",)) if sized else ([], ())
        zipping = Op(Const(zip), [iterator, companion, *given], [pairs], named, self.build.pos)
        home.ops.insert(made[0] + 1, zipping)
        loop.iterator, self.build.block.params[0] = pairs, pair
        self.build.op(primitives.unpack, [pair, Const(2)], [item, beside], syntax=True)
        return beside

    def _pass(self, block: Block, edge: Edge) -> None:
        """The companions of the arguments, for those of the parameters."""
        self.build.enter(block)
        skip = len(edge.target.params) - len(edge.args)
        for param, arg in list(zip(edge.target.params[skip:], edge.args, strict=True)):
            if param in self.tracked:
                companion = UNREAD if arg is UNREAD else self.of(arg)
                edge.args.append(self.algebra.absent(self, arg, param) if companion is None else companion)


def _is_of_sized(op: Op, iterator: Operand) -> bool:
    """It makes the iterator, of a list, tuple or array."""
    if op.fn is not iter or iterator not in op.results:
        return False
    type_ = operand_type(op.args[0])
    return isinstance(type_, T.ArrayOf) or T.cls_of(type_) in (list, tuple)


def companion_name(value: Value) -> str:
    return "d" + value.name if value.name else ""
