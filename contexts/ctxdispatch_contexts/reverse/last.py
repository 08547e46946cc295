"""The product that the last reversed iteration need not compute.

    for w in reversed(ws): ...; dx = d @ w.T        the last dx, that of the loop's start, is often nobody's:
    the gradient with respect to a network's input, say. Then it is computed only while an iteration is left.

A hand-written sweep leaves out the same product.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator

import numpy as np

from ctxdispatch.ir.analysis import Loop, loops
from ctxdispatch.ir.graph import Block, Branch, Edge, Graph, Iterate, Jump, Op
from ctxdispatch.ir.rewrite import Use, uses
from ctxdispatch.ir.values import Const, Value
from ctxdispatch.passes import types as T

EXPENSIVE = (operator.matmul, np.dot)


def skip_last(graph: Graph) -> None:
    """In place, on the optimised program."""
    for loop in loops(graph).loops:
        found = next(_candidates(graph, loop), None)
        if found is not None:
            _guard(graph, loop, *found)


def _candidates(graph: Graph, loop: Loop) -> Iterator[tuple[int, Op, Value]]:
    """(position of the header's parameter, the product passed for it, a list with one entry per iteration)"""
    kept = _kept_list(graph, loop)
    latch = loop.latches[0]
    if (
        kept is None
        or len(loop.latches) != 1
        or not isinstance(latch.terminator, Jump)
        or latch is loop.header
    ):
        return
    used = uses(graph)
    for position, param in enumerate(loop.header.params):
        arg = latch.terminator.edge.args[position]
        op = next((o for o in latch.ops if arg in o.results), None)
        if op is None or op.fn not in EXPENSIVE or len(used[op.result]) != 1:
            continue
        if all(use.block in loop.blocks and not _leaves(use, loop) for use in used[param]):
            yield position, op, kept


def _leaves(use: Use, loop: Loop) -> bool:
    return isinstance(use.user, Edge) and use.user.target not in loop.blocks


def _kept_list(graph: Graph, loop: Loop) -> Value | None:
    """What a reversed loop walks backwards."""
    terminator = loop.header.terminator
    if not isinstance(terminator, Iterate):
        return None
    makers = {r: op for _, op in graph.ops() for r in op.results}
    op = makers.get(terminator.iterator)  # type: ignore[arg-type]
    if op is not None and op.fn is zip:
        op = makers.get(op.args[0])  # type: ignore[arg-type]
    made = makers.get(op.args[0]) if op is not None and op.fn is reversed else None  # type: ignore[arg-type]
    return made.result if made is not None and made.fn.__name__ == "build_list" else None


def _guard(graph: Graph, loop: Loop, position: int, op: Op, kept: Value) -> None:
    header, latch = loop.header, loop.latches[0]
    before = next(b for b, e in graph.predecessors()[header] if b not in loop.blocks)
    left, rest, more = (Value(name, T.Exact(int)) for name in ("left", "left", "more"))
    count = Value("left", T.Exact(int))
    before.ops.append(Op(Const(len), [kept], [count], (), op.pos))
    for edge in before.edges():
        if edge.target is header:
            edge.args.append(count)
    header.params.append(left)
    _split_latch(graph, latch, header, position, op, [left, rest, more])


def _split_latch(
    graph: Graph, latch: Block, header: Block, position: int, op: Op, values: list[Value]
) -> None:
    left, rest, more = values
    jump = latch.terminator
    assert isinstance(jump, Jump)
    computing, leaving = graph.new_block(), graph.new_block()
    latch.ops.remove(op)
    computing.ops.append(op)
    computing.terminator = Jump(Edge(header, [*jump.edge.args, rest]), jump.pos)
    args = [Const(None) if i == position else a for i, a in enumerate(jump.edge.args)]
    leaving.terminator = Jump(Edge(header, [*args, rest]), jump.pos)
    latch.ops.append(Op(Const(operator.sub), [left, Const(1)], [rest], (), op.pos, True))
    latch.ops.append(Op(Const(operator.gt), [rest, Const(0)], [more], (), op.pos, True))
    latch.terminator = Branch(more, Edge(computing), Edge(leaving), jump.pos)
