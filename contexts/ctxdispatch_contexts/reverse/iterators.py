"""Iterators that more than one loop or call takes items from: refused where they are made.

The cotangent of an iterator is that of its items in order. Who took which of them is not remembered.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator

from ctxdispatch.ir.analysis import loops
from ctxdispatch.ir.graph import Block, Graph, Iterate, Op
from ctxdispatch.ir.values import Const, Operand, Value
from ctxdispatch.passes import types as T
from ctxdispatch_contexts.programs.errors import DerivativeError, Refusal

MAKERS = frozenset({builtins.iter, builtins.zip, builtins.enumerate, builtins.reversed, builtins.map})


def refuse_shared_iterators(graph: Graph, active: set[Value]) -> None:
    """In place."""
    made = {
        op.result: (block, op)
        for block, op in graph.ops()
        if op.results and op.result in active and _makes_iterator(op)
    }
    if not made:
        return
    forest = loops(graph)
    for iterator, (home, op) in made.items():
        users = list(_users(graph, iterator))
        here = forest.loop_of.get(home)
        once = len(users) <= 1 and all(_outside(forest.loop_of.get(b), b) is here for b, _ in users)
        if not once:
            op.callee, op.syntax = Const(Refusal(DerivativeError, MESSAGE, op)), False


MESSAGE = (
    "an iterator that more than one loop or call takes items from, or one loop again and again, is not "
    "followed in reverse mode; make a list of its items, and take them by index or slice"
)


def _makes_iterator(op: Op) -> bool:
    return isinstance(op.result.type, T.IterOf) or op.fn in MAKERS


def _users(graph: Graph, value: Value) -> Iterator[tuple[Block, object]]:
    for block in graph.blocks:
        for op in block.ops:
            yield from ((block, op) for a in _taken_from(op) if a is value)
        if isinstance(block.terminator, Iterate) and block.terminator.iterator is value:
            yield block, block.terminator
        for edge in block.edges():
            yield from ((block, edge) for a in edge.args if a is value)


def _taken_from(op: Op) -> list[Operand]:
    """Functions that programs call take items from the first operand only."""
    helper = str(getattr(op.fn, "__module__", "")).startswith("ctxdispatch_contexts.")
    return op.args[:1] if helper else list(op.operands())


def _outside(loop: object, block: Block) -> object:
    """The loop around the block; of a loop's own header, that around the loop."""
    while loop is not None and loop.header is block and isinstance(block.terminator, Iterate):  # type: ignore[attr-defined]
        loop = loop.parent  # type: ignore[attr-defined]
    return loop


__all__ = ["refuse_shared_iterators"]
