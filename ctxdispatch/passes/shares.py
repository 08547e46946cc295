"""An array divided by a number, whichever way NumPy runs faster: `share(e, s)` stands for it until code is
emitted.

    e / s            a division per element                 319, 588, 2848 ns for 100, 1,000, 10,000 numbers
    e * (1.0 / s)    one division, then products            382, 463,  938 ns (NumPy 2.4, Python 3.11)

The two differ in the last bit, so only generated programs that may choose use it. The choice is made where
they run; the rest of the block is there twice then, which is why only the short end of a program gets it.
"""

from __future__ import annotations

import operator
from typing import Any as Anything

import numpy as np

from ctxdispatch.ir.graph import Block, Branch, Const, Edge, Graph, Op, Return, Value
from ctxdispatch.ir.rewrite import copy_blocks, split_block
from ctxdispatch.passes.types import Exact

SHORT = 400
"""Arrays with fewer numbers are divided."""

MOST_OPS = 8
"""A longer rest of the block is not doubled."""


def share(e: Anything, s: Anything) -> Anything:
    """e / s, to the last bit but one. `e`: an array with one axis; `s`: a NumPy number of its dtype."""
    return e * (1.0 / s)


def is_share(op: Op) -> bool:
    return op.fn is share


def lower_shares(graph: Graph) -> Graph:
    """In place: no `share` is left."""
    for block in list(graph.blocks):
        shares = [i for i, op in enumerate(block.ops) if is_share(op)]
        if not shares:
            continue
        last = shares[-1]
        ends = isinstance(block.terminator, Return) and len(block.ops) - last <= MOST_OPS
        if ends:
            _choose(graph, block, last)
        for op in [op for op in block.ops if is_share(op)]:
            at = block.ops.index(op)
            block.ops[at : at + 1] = _product(op, op.result)
    return graph


def _choose(graph: Graph, block: Block, at: int) -> None:
    op = block.ops[at]
    short = split_block(graph, block, at + 1)
    block.ops.pop()
    quotient = Value(op.result.name, op.result.type)
    long = copy_blocks([short], {op.result: quotient}).blocks[0]
    long.name = f"b{len(graph.blocks)}"
    graph.blocks.append(long)
    e, s = op.args
    short.ops.insert(0, Op(Const(operator.truediv), [e, s], [op.result], (), op.pos, True))
    long.ops[:0] = _product(op, quotient)
    n, few = Value("n", Exact(int)), Value("few", Exact(bool))
    block.ops.append(Op(Const(len), [e], [n], (), op.pos))
    block.ops.append(Op(Const(operator.lt), [n, Const(SHORT)], [few], (), op.pos, True))
    block.terminator = Branch(few, Edge(short), Edge(long), op.pos)


def _product(op: Op, result: Value) -> list[Op]:
    e, s = op.args
    inverse = Value("inverse", Exact(np.float64) if not isinstance(s, Value) else s.type)
    return [
        Op(Const(operator.truediv), [Const(1.0), s], [inverse], (), op.pos, True),
        Op(Const(operator.mul), [inverse, e], [result], (), op.pos, True),
    ]
