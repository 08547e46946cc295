"""Generators whose consumer is known, as programs without frames of their own.

    as_list   for a consumer that takes all there is at once: the code of the generator, each item appended
    fuse      for a loop: the code of the generator, the loop's body where it yields (Wadler, "Deforestation",
              1990; the iterators of CLU are compiled so)

    for x in g(v): s = s + x            for a in v:
    def g(v):                    ->         s = s + a * a
        for a in v: yield a * a

Everything is done in the order in which it was done, also where the loop is left early, the generator is
endless, or both store into one array. What the graph of a generator is: `bytecode.lift_generator`.
"""

from __future__ import annotations

import builtins
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ctxdispatch.ir import primitives
from ctxdispatch.ir.analysis import Loop, LoopForest
from ctxdispatch.ir.graph import Block, Edge, Graph, Iterate, Jump, Op, Return
from ctxdispatch.ir.rewrite import clone_into, copy_blocks, definitions, split_block, substitute_in, uses
from ctxdispatch.ir.values import Const, Operand, Value


def as_list(generator: Graph) -> Graph:
    """In place: the function that returns the list of all items."""
    items = Value("items")
    for _, op in generator.ops():
        if op.fn is primitives.yielded:
            op.callee, op.args = Const(primitives.list_append), [items, *op.args]
    for block in generator.blocks:
        if isinstance(block.terminator, Return):
            block.terminator = Return(items, block.terminator.pos)
    generator.entry.ops.insert(0, Op(Const(primitives.build_list), [], [items], syntax=True))
    return generator


class Fused(NamedTuple):
    """The blocks of the generator; ops of the loop's body that are copies, and what of."""

    blocks: list[Block]
    copied: dict[Op, Op]


def source(makers: Mapping[Any, Op], iterator: Operand) -> list[Op]:
    """The call that gives the iterator, or what that is made of by `iter`, which comes first then."""
    first = makers.get(iterator)
    if first is None or first.fn is not builtins.iter:
        return [] if first is None else [first]
    second = makers.get(first.args[0])
    return [] if second is None or len(first.args) > 1 else [first, second]


def loop_over(graph: Graph, header: Block, ops: list[Op], forest: LoopForest) -> Loop | None:
    """The loop through what `ops` give; None where somebody else has it, or `fuse` cannot be."""
    end, loop = header.terminator, forest.header_of(header)
    if loop is None or header.ops or not isinstance(end, Iterate):
        return None
    home, known = definitions(graph), uses(graph)
    around = forest.loop_of.get(home[ops[-1].result])
    if around is not loop.parent or any(len(known[op.result]) > 1 for op in ops):
        return None  # it may be gone through again
    edges = [e for b in graph.blocks for e in b.edges() if e.target is header]
    stays = end.body.target in loop.blocks and end.exit.target not in loop.blocks
    if not stays or any(len(e.args) != len(header.params) for e in edges):
        return None  # the header gets the item of another loop
    return loop


def fuse(
    graph: Graph, loop: Loop, ops: Sequence[Op], generator: Graph, args: Sequence[Operand],
    cells: Sequence[Operand],
) -> Fused:  # fmt: skip
    """In place of `ops` and of the loop over what they give."""
    header = loop.header
    _close(graph, loop)
    entering = [e for b in graph.blocks if b not in loop.blocks for e in b.edges() if e.target is header]
    bodies = _Bodies(graph, loop, sum(op.fn is primitives.yielded for _, op in generator.ops()))
    made = clone_into(graph, generator, dict(zip(generator.cells, cells, strict=True))).blocks
    blocks = [block for each in made for block in bodies.write(each)]
    for edge in entering:
        edge.target, edge.args = made[0], [*args, *edge.args]
    graph.blocks.remove(header)
    for block in graph.blocks:
        block.ops = [op for op in block.ops if op not in ops]
    return Fused(blocks, bodies.copied)


Carried = dict[Any, Operand]
"""What the parameters of the loop's header are in a block."""


class _Bodies:
    """The body of a loop at each of the `count` places where a generator yields."""

    def __init__(self, graph: Graph, loop: Loop, count: int) -> None:
        self.graph, self.header = graph, loop.header
        self.end: Iterate = loop.header.terminator  # type: ignore[assignment]
        self.copied: dict[Op, Op] = {}
        body = [b for b in graph.blocks if b in loop.blocks and b is not loop.header]
        copies = [self._copied(body) for _ in range(count - 1)]
        self._left = [(body, self.end.body.target), *copies]

    def _copied(self, body: list[Block]) -> tuple[list[Block], Block]:
        copy = copy_blocks(body)
        for old, new in zip(body, copy.blocks, strict=True):
            self.copied.update(zip(new.ops, old.ops, strict=True))
            new.name = f"b{len(self.graph.blocks)}"
            self.graph.blocks.append(new)
        return copy.blocks, copy.block_of[self.end.body.target]

    def write(self, block: Block) -> list[Block]:
        """A block of the generator, which may be several then: what the loop carries goes through it."""
        at, carried, written = block, self._carry(block), [block]
        for op in [*block.ops]:
            if op.fn is primitives.yielded:
                rest = split_block(self.graph, at, at.ops.index(op) + 1)
                at.ops.pop()
                at.terminator = Jump(self._body(op.args[0], carried, rest), op.pos)
                at, carried = rest, self._carry(rest)
                written.append(rest)
        for edge in at.edges():
            edge.args = [*edge.args, *carried.values()]
        if isinstance(at.terminator, Return):
            out = self.end.exit
            edge = Edge(out.target, [carried.get(a, a) for a in out.args])
            at.terminator = Jump(edge, at.terminator.pos)
        return written

    def _carry(self, block: Block) -> Carried:
        params = [Value(p.name, p.type) for p in self.header.params]
        block.params = [*block.params, *params]
        return dict(zip(self.header.params, params, strict=True))

    def _body(self, item: Operand, carried: Carried, rest: Block) -> Edge:
        """The edge to a body of its own, which goes on at `rest`."""
        blocks, start = self._left.pop()
        for block in blocks:
            substitute_in(block, carried)
            for edge in block.edges():
                if edge.target is self.header:
                    edge.target = rest
        return Edge(start, [item, *(carried.get(a, a) for a in self.end.body.args)])


# -- what is read after a loop -------------------------------------------------------------------------------


def _close(graph: Graph, loop: Loop) -> None:
    """In place: what is defined in the loop and read after it is passed by edges that leave it (LCSSA)."""
    closing, known = _Closing(graph, loop), uses(graph)
    passed: dict[Block, dict[Value, Operand]] = {}
    for block in [b for b in graph.blocks if b in loop.blocks]:
        for value in [*block.params, *(r for op in block.ops for r in op.results)]:
            for use in known[value]:
                if use.block not in loop.blocks:
                    passed.setdefault(use.block, {})[value] = closing.at(use.block, value)
    for block, values in passed.items():
        substitute_in(block, values)


class _Closing:
    """What comes in the place of values of a loop after it, by block (Braun et al. 2013)."""

    def __init__(self, graph: Graph, loop: Loop) -> None:
        self._loop = loop
        self._known: dict[tuple[Block, Value], Value] = {}
        self._before: dict[Block, list[tuple[Block, Edge]]] = {}
        for block in graph.blocks:
            for edge in block.edges():
                self._before.setdefault(edge.target, []).append((block, edge))

    def at(self, block: Block, value: Value) -> Value:
        known, before = self._known, self._before.get(block, [])
        if (block, value) not in known:
            if len(before) == 1 and before[0][0] not in self._loop.blocks:
                known[block, value] = self.at(before[0][0], value)
            else:
                known[block, value] = param = Value(value.name, value.type)
                block.params = [*block.params, param]
                for above, edge in before:
                    given = value if above in self._loop.blocks else self.at(above, value)
                    edge.args = [*edge.args, given]
        return known[block, value]
