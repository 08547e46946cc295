"""The split of one graph, the primal and its sweep, into a program that returns (y, pullback).

It is a cut at the op `cut`, which stands for the seed. What is live across it are the residuals; the pullback
is the sweep as a function of its own, with the residuals for defaults.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from ctxdispatch.bytecode.pool import Pool
from ctxdispatch.ir import primitives
from ctxdispatch.ir.analysis import liveness
from ctxdispatch.ir.builder import Builder
from ctxdispatch.ir.graph import Block, Edge, Graph, Jump, Op, positional
from ctxdispatch.ir.rewrite import split_block
from ctxdispatch.ir.values import Const, Operand, Value
from ctxdispatch.passes import buffers
from ctxdispatch.passes import types as T
from ctxdispatch_contexts.reverse import keeping
from ctxdispatch_contexts.reverse.seeds import no_more


def cut(y: Any) -> Any:
    """Stands where the primal ends and the sweep begins; `split` replaces it."""
    raise AssertionError("a program was not split")


def split(graph: Graph, checked: bool) -> None:
    """Cut at the op `cut`: the graph keeps the primal and returns (y, pullback), which
    takes one argument and, `checked`, says so."""
    block, index = next((b, i) for b in graph.blocks for i, op in enumerate(b.ops) if op.fn is cut)
    op = block.ops[index]
    live = liveness(graph).live_across(block, index)
    residuals = [v for v in _defined_in_order(graph) if v in live]
    rest = split_block(graph, block, index + 1)
    block.ops.pop()
    sweep = _sweep(graph, rest, residuals, op.result, checked)
    build = Builder(graph)
    build.block, build.pos = block, op.pos
    y, kept = op.args[0], _kept(build, [Const(...), *residuals] if checked else residuals)
    if checked and residuals and not (isinstance(y, Const) or T.number_classes(y.type or T.Any)):
        both = build.call(keeping.apart, y, kept)
        y, kept = (build.call(operator.getitem, both, Const(i), syntax=True) for i in (0, 1))
    pullback = _make_pullback(build, sweep, kept)
    build.ret(build.call(primitives.build_tuple, y, pullback, syntax=True))
    swept = _reachable(rest)
    graph.blocks = [b for b in graph.blocks if b not in swept]


def _kept(build: Builder, residuals: Sequence[Operand]) -> Operand:
    return build.call(primitives.build_tuple, *residuals, syntax=True) if residuals else Const(None)


def _make_pullback(build: Builder, sweep: Graph, kept: Operand) -> Value:
    """The pullback is a function whose defaults are the residuals: Python calls it without going through C,
    so that recursion is as deep as the program's own."""
    pool = Pool()
    code = buffers.emit(sweep, pool)
    none = Const(None)
    args = [Const(sweep.namespace), Const(code), kept, none, none, Const((pool.cell,))]
    return build.call(primitives.make_function, *args, syntax=True, name="pullback")


def _sweep(graph: Graph, rest: Block, residuals: list[Value], g: Value, checked: bool) -> Graph:
    """(ybar, *residuals). What the caller gives after `ybar` would take the place of residuals: `checked`, a
    parameter between them is looked at."""
    more = [Value("more")] if checked else []
    names = ["ybar", *(v.name for v in more), *(f"r{i}" for i in range(len(residuals)))]
    sweep = Graph(
        graph.name + ".pullback", positional(len(names), tuple(names)), namespace=graph.namespace,
        filename=graph.filename, line=graph.line,
    )  # fmt: skip
    sweep.entry.params = [g, *more, *residuals]
    sweep.entry.ops = [Op(Const(no_more), [v], [Value()], (), None, False) for v in more]
    sweep.entry.terminator = Jump(Edge(rest))
    sweep.blocks += [b for b in graph.blocks if b in _reachable(rest)]
    return sweep


def _reachable(block: Block) -> set[Block]:
    seen, work = {block}, [block]
    while work:
        for successor in work.pop().successors():
            if successor not in seen:
                seen.add(successor)
                work.append(successor)
    return seen


def _defined_in_order(graph: Graph) -> list[Value]:
    out: list[Value] = list(graph.cells)
    for block in graph.blocks:
        out += block.params
        for op in block.ops:
            out += op.results
    return out
