"""An array divided by a number, whichever way NumPy runs faster: `share(e, s)` and `normalised(e)` stand for
e / s and e / sum(e) until code is emitted.

    e / s               a division per element                 319, 588, 2848 ns for 100, 1000, 10,000 numbers
    e * (1.0 / s)       one division, then products            382, 463,  938 ns
    add.reduce(e)       the sum                                 638, 765, 1975 ns
    add.reduceat(e, 0)  the sum from 0 on, as an array          421, 548, 1779 ns, its one number read

(NumPy 2.4, Python 3.11. From NumPy 2.5 on the first sum is the faster one.) The results differ in the last
bit, so only generated programs that may choose use it. The choice is made where they run; the rest of the
block is there twice then, which is why only the short end of a program gets it.
"""

from __future__ import annotations

import operator
from typing import Any as Anything

import numpy as np

from ctxdispatch.ir.graph import Block, Branch, Edge, Graph, Op, Return
from ctxdispatch.ir.rewrite import copy_blocks, split_block
from ctxdispatch.ir.values import Const, Operand, Value
from ctxdispatch.passes.types import Exact

SHORT = 400
"""Arrays with fewer numbers are divided."""

MOST_OPS = 8
"""A longer rest of the block is not doubled."""


REDUCEAT = tuple(map(int, np.__version__.split(".")[:2])) < (2, 5)
"""`add.reduceat` is the faster sum of a short vector."""

FIRST = np.zeros(1, int)


def normalised(e: Anything) -> Anything:
    """e / sum(e), to the last bits. `e`: an array of floats with one axis."""
    return e / np.add.reduce(e)


def share(e: Anything, s: Anything) -> Anything:
    """e / s, to the last bit but one. `e`: an array with one axis; `s`: a NumPy number of its dtype."""
    return e * (1.0 / s)


def is_share(op: Op) -> bool:
    return op.fn is share or op.fn is normalised


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
    short.ops[:0] = _quotient(op)
    long.ops[:0] = _product(op, quotient)
    n = Value("n", Exact(int))
    block.ops.append(Op(Const(len), [op.args[0]], [n], (), op.pos))
    if op.fn is normalised and REDUCEAT:  # it does not take an empty array
        block = _if(graph, block, op, operator.gt, n, 0, long)
    _if(graph, block, op, operator.lt, n, SHORT, long, short)


def _if(
    graph: Graph, block: Block, at: Op, compare: Anything, n: Value, limit: int, orelse: Block,
    then: Block | None = None,
) -> Block:  # fmt: skip
    """End `block`: go on where the comparison holds."""
    holds = Value("few", Exact(bool))
    then = then or graph.new_block()
    block.ops.append(Op(Const(compare), [n, Const(limit)], [holds], (), at.pos, True))
    block.terminator = Branch(holds, Edge(then), Edge(orelse), at.pos)
    return then


def _quotient(op: Op) -> list[Op]:
    """For a short array."""
    ops: list[Op] = []
    s: Operand = op.args[1] if op.fn is share else _sum(op, ops, short=REDUCEAT)
    return [*ops, Op(Const(operator.truediv), [op.args[0], s], [op.result], (), op.pos, True)]


def _product(op: Op, result: Value) -> list[Op]:
    ops: list[Op] = []
    s: Operand = op.args[1] if op.fn is share else _sum(op, ops, short=False)
    inverse = Value("inverse", s.type if isinstance(s, Value) else None)
    return [
        *ops,
        Op(Const(operator.truediv), [Const(1.0), s], [inverse], (), op.pos, True),
        Op(Const(operator.mul), [inverse, op.args[0]], [result], (), op.pos, True),
    ]


def _sum(op: Op, ops: list[Op], *, short: bool) -> Value:
    e = op.args[0]
    total = Value("total", Exact(e.type.dtype.type) if isinstance(e, Value) else None)
    if not short:
        ops.append(Op(Const(np.add.reduce), [e], [total], (), op.pos))
        return total
    sums = Value("sums")
    ops.append(Op(Const(np.add.reduceat), [e, Const(FIRST)], [sums], (), op.pos))
    ops.append(Op(Const(operator.getitem), [sums, Const(0)], [total], (), op.pos, True))
    return total
