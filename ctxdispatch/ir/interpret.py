"""The reference interpreter: what a graph means, in as few lines as possible.

    interpret(lift(f), args) is f(*args)

It is the oracle of the tests, so it is written to be obviously right, not fast.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import CellType
from typing import Any, NoReturn

from ctxdispatch.ir.graph import Block, Branch, Edge, Graph, Iterate, Jump, Op, Raise, Return
from ctxdispatch.ir.primitives import MULTIPLE_RESULTS
from ctxdispatch.ir.values import Operand, Value

Trace = Callable[[Block, Op, tuple[Any, ...]], None]
"""Called after each op with the values of its results."""


def interpret(
    graph: Graph, args: Sequence[Any], cells: Sequence[CellType] = (), *, trace: Trace | None = None
) -> Any:
    """Run `graph` on arguments that are bound already: one per name of its signature, in that order."""
    frame = _Frame(trace)
    frame.bind(graph.params, args)
    frame.bind(graph.cells, cells)
    block = graph.entry
    while True:
        for op in block.ops:
            frame.run(block, op)
        terminator = block.terminator
        if isinstance(terminator, Return):
            return frame.get(terminator.value)
        if isinstance(terminator, Raise):
            frame.throw(terminator)
        block = frame.follow(*frame.choose(terminator))


class _Frame:
    """The values of one run."""

    def __init__(self, trace: Trace | None) -> None:
        self.values: dict[Value, Any] = {}
        self.trace = trace

    def get(self, operand: Operand) -> Any:
        return self.values[operand] if isinstance(operand, Value) else operand.value

    def bind(self, values: Sequence[Value], objects: Sequence[Any]) -> None:
        self.values.update(zip(values, objects, strict=True))

    def run(self, block: Block, op: Op) -> None:
        args = [self.get(a) for a in op.args]
        plain = len(args) - len(op.kwnames)
        out = self.get(op.callee)(*args[:plain], **dict(zip(op.kwnames, args[plain:], strict=True)))
        results = tuple(out) if _several(op) else (out,) * len(op.results)
        self.bind(op.results, results)
        if self.trace is not None:
            self.trace(block, op, results)

    def choose(self, terminator: Any) -> tuple[Edge, list[Any]]:
        """The edge that is taken, and what the terminator itself passes along it."""
        match terminator:
            case Jump():
                return terminator.edge, []
            case Branch():
                cond = self.get(terminator.cond)
                assert type(cond) is bool, f"branch on {cond!r}"
                return (terminator.then if cond else terminator.orelse), []
            case Iterate():
                try:
                    return terminator.body, [next(self.get(terminator.iterator))]
                except StopIteration:
                    return terminator.exit, []
        raise AssertionError(f"no terminator: {terminator!r}")

    def follow(self, edge: Edge, extra: list[Any]) -> Block:
        """All arguments are read before any parameter is set: parameters may be among them."""
        self.bind(edge.target.params, extra + [self.get(a) for a in edge.args])
        return edge.target

    def throw(self, terminator: Raise) -> NoReturn:
        if terminator.exc is None:
            raise NotImplementedError(
                "a bare `raise` needs the exception being handled, which a graph does not have"
            )
        if terminator.cause is None:
            raise self.get(terminator.exc)
        raise self.get(terminator.exc) from self.get(terminator.cause)


def _several(op: Op) -> bool:
    """One result per item of what the callee returns."""
    return len(op.results) > 1 or any(op.fn is f for f in MULTIPLE_RESULTS)
