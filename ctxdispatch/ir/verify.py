"""The invariants of `ir.graph`, checked. Every pass must leave a graph that passes.

A use is checked against dominance only in blocks that the entry reaches; what is unreachable must still be
well formed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NoReturn

from ctxdispatch.ir.analysis import DominatorTree, dominators
from ctxdispatch.ir.frames import Instruction
from ctxdispatch.ir.graph import Block, Branch, Edge, Graph, Op, Terminator
from ctxdispatch.ir.primitives import MULTIPLE_RESULTS
from ctxdispatch.ir.printer import Printer
from ctxdispatch.ir.sites import Site
from ctxdispatch.ir.values import Const, Operand, Value


class VerificationError(AssertionError):
    """A graph breaks an invariant: a bug in the pass that made it. The message names block and op."""


def verify(graph: Graph) -> Graph:
    """Returns `graph`, so that a pass can end in it."""
    _Verifier(graph).run()
    return graph


Defined = dict[Value, tuple[Block, int]]
"""Where each value is defined: block and the index of its op, -1 for parameters."""


class _Verifier:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.blocks = set(graph.blocks)
        self.defined: Defined = {}

    def fail(
        self, message: str, block: Block | None = None, where: Op | Terminator | None = None
    ) -> NoReturn:
        printer = Printer(self.graph)
        place = f" {printer.block_name(block)}" if block else ""
        if where is not None:
            place += f", `{printer.op(where) if isinstance(where, Op) else printer.terminator(where)}`"
        raise VerificationError(f"{self.graph.name}{place}: {message}\n{printer.graph_text()}")

    def name(self, value: Value) -> str:
        return Printer(self.graph).operand(value)

    def run(self) -> None:
        self.shape()
        for block in self.graph.blocks:
            self.edges(block)
            self.ops(block)
        self.definitions()
        tree = dominators(self.graph)
        for block in self.graph.blocks:
            self.uses(block, tree)

    # -- form --------------------------------------------------------------------------------------

    def shape(self) -> None:
        graph = self.graph
        if len(graph.params) != len(graph.signature.names):
            self.fail(
                f"{len(graph.params)} parameters for {len(graph.signature.names)} arguments", graph.entry
            )
        if len(graph.cells) != len(graph.cellnames):
            self.fail(f"{len(graph.cells)} cells for {len(graph.cellnames)} names")
        for block, count in Counter(graph.blocks).items():
            if count > 1:
                self.fail("the block is listed twice", block)
            if block.terminator is None:
                self.fail("the block has no terminator", block)

    def edges(self, block: Block) -> None:
        terminator = block.terminator
        for edge, implicit in _edges(block):
            if edge.target not in self.blocks:
                self.fail(f"an edge leads to {edge.target!r}, which is not in the graph", block, terminator)
            if edge.target is self.graph.entry:
                self.fail("an edge leads to the entry", block, terminator)
            wanted = len(edge.target.params) - implicit
            if len(edge.args) != wanted:
                self.fail(f"{len(edge.args)} arguments on an edge that takes {wanted}", block, terminator)
        cond = terminator.cond if isinstance(terminator, Branch) else None
        if isinstance(cond, Const) and type(cond.value) is not bool:
            self.fail("the condition is no bool", block, terminator)

    def ops(self, block: Block) -> None:
        for op in block.ops:
            if len(op.kwnames) > len(op.args):
                self.fail("more keywords than arguments", block, op)
            if len(op.results) > 1 and op.syntax and not _several(op):
                self.fail("several results of a call that returns one", block, op)

    # -- definitions and uses ----------------------------------------------------------------------

    def definitions(self) -> None:
        frame = self.graph.frame
        for cell in (*self.graph.cells, *(frame.cells.values() if frame else ())):
            self.define(cell, self.graph.entry, -1)
        for block in self.graph.blocks:
            for param in block.params:
                self.define(param, block, -1)
            for index, op in enumerate(block.ops):
                for result in op.results:
                    self.define(result, block, index, op)

    def define(self, value: Value, block: Block, index: int, op: Op | None = None) -> None:
        if value in self.defined:
            self.fail(f"{self.name(value)} is defined a second time", block, op)
        self.defined[value] = block, index

    def uses(self, block: Block, tree: DominatorTree[Block]) -> None:
        for index, op in enumerate(block.ops):
            self.check(op.operands(), block, index, tree, op)
        terminator = block.terminator
        assert terminator is not None
        end = len(block.ops)
        self.check(terminator.operands(), block, end, tree, terminator)
        for edge in terminator.edges():
            self.check(edge.args, block, end, tree, terminator)
        if block.handler is not None:
            self.check(block.handler.edge.args, block, 0, tree, terminator)
        if self.graph.frame is not None:
            self.stays(block)

    def stays(self, block: Block) -> None:
        """In frame form a block hands on its stack: the values that it uses are its own."""
        passed = (argument for edge in block.edges() for argument in edge.args)
        for operand in (*passed, *(v for op in block.ops for v in op.operands())):
            if isinstance(operand, Value) and self.defined[operand][0] not in (block, self.graph.entry):
                self.fail(f"{self.name(operand)} is a value of another block", block)

    def check(
        self,
        operands: Iterable[Operand],
        block: Block,
        index: int,
        tree: DominatorTree[Block],
        user: Op | Terminator,
    ) -> None:
        for operand in operands:
            if isinstance(operand, Value):
                if operand not in self.defined:
                    self.fail(f"{self.name(operand)} is not defined in the graph", block, user)
                if block in tree and not _reaches(self.defined[operand], block, index, tree):
                    self.fail(f"{self.name(operand)} is not defined on every path to here", block, user)
            elif not isinstance(operand, Const):
                self.fail(f"{operand!r} is no operand", block, user)


def _several(op: Op) -> bool:
    fn = op.fn
    if type(fn) is Site:
        return fn.told is not None
    return isinstance(fn, Instruction) or any(fn is f for f in MULTIPLE_RESULTS)


def _edges(block: Block) -> Iterator[tuple[Edge, int]]:
    """With the number of parameters that are given without being arguments."""
    for edge in block.edges():
        yield edge, block.implicit(edge)
    if block.handler is not None:
        yield block.handler.edge, block.handler.implicit


def _reaches(definition: tuple[Block, int], block: Block, index: int, tree: DominatorTree[Block]) -> bool:
    home, place = definition
    if home is block:
        return place < index
    return home in tree and tree.dominates(home, block)
