"""Branches on what a rule returned: that may be no bool, where the interpreter wants one.

    %y = bool(%x); branch %y ..      %g = select(bool, %x, %ctx); %y = %g(%x); %c = bool(%y); branch %c ..
"""

from __future__ import annotations

import builtins
from collections.abc import Container, Iterator

from ctxdispatch.ir.graph import Branch, Graph, Op
from ctxdispatch.ir.own_builtins import own as __builtins__  # type: ignore[no-redef]  # noqa: F401
from ctxdispatch.ir.values import Const, Position, Value


def exact_conditions(graph: Graph, changed: dict[Value, Position | None]) -> None:
    """A rule may have returned anything where a branch wants a bool, in its block or in one before it.
    `changed`: the results of ops that became others, and where they are."""
    while passed := {param: changed[arg] for param, arg in _passed(graph, changed) if param not in changed}:
        changed |= passed
    for block in graph.blocks:
        end = block.terminator
        if isinstance(end, Branch) and isinstance(end.cond, Value) and end.cond in changed:
            exact, pos = Value("cond"), changed[end.cond]
            block.ops.append(Op(Const(builtins.bool), [end.cond], [exact], pos=pos, syntax=True))
            block.terminator = Branch(exact, end.then, end.orelse, end.pos)


def _passed(graph: Graph, values: Container[Value]) -> Iterator[tuple[Value, Value]]:
    """The parameters of blocks that are given one of `values`, each with that."""
    for block in graph.blocks:
        for edge in block.edges():
            given = edge.target.params[block.implicit(edge) :]
            for param, arg in zip(given, edge.args):
                if isinstance(arg, Value) and arg in values:
                    yield param, arg
