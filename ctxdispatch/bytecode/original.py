"""Code that is lifted as the graph it was made from, not as what it does.

A pass that is run last may leave calls that other passes do not know. `remember` puts the graph from before
that pass into the pool of the code, which then says where; so the graph lives as long as the function does.
"""

from __future__ import annotations

from types import CellType, CodeType
from typing import Any

from ctxdispatch.bytecode.pool import Pool
from ctxdispatch.bytecode.spelling import ROWS
from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Graph
from ctxdispatch.ir.rewrite import clone, definitions


class Original:
    """A constant that nothing loads: where in the pool the graph is that the code was made from."""

    __slots__ = ("index",)

    def __init__(self, index: int) -> None:
        self.index = index


def remember(code: CodeType, graph: Graph, pool: Pool) -> CodeType:
    return code.replace(co_consts=(*code.co_consts, Original(pool.index(graph))))


def is_generated(code: CodeType) -> bool:
    """Whether `code` is lifted as the graph it was made from."""
    return bool(code.co_consts) and isinstance(code.co_consts[-1], Original)


def recall(code: CodeType, closure: tuple[CellType, ...], namespace: dict[str, Any]) -> Graph | None:
    """A copy of the graph that `code` was made from, as lifting would give it: without types, and with no
    syntax that is none. `closure` is that of a function of this code: its pool is the last, those before are
    of code that it was made from."""
    marker = code.co_consts[-1] if code.co_consts else None
    if not isinstance(marker, Original) or not closure:
        return None
    items = closure[-1].cell_contents
    graph = clone(items[marker.index])
    graph.use_pool(Pool(items))
    graph.code, graph.namespace = code, namespace
    for value in definitions(graph):
        value.type = None
    for _, op in graph.ops():
        op.syntax = op.syntax and id(op.fn) in SYNTAX
    return graph


SYNTAX = {id(f) for f in vars(primitives).values()} | ROWS.keys()
"""By id, what an instruction stands for. A pass may mark as syntax what is emitted as a call all the same;
contexts would not see it."""
