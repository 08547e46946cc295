"""Code that is lifted as the graph it was made from, not as what it does.

A pass that is run last may leave calls that other passes do not know. `remember` has the code carry the graph
from before that pass, as a constant that nothing loads; so it lives as long as the code does.
"""

from __future__ import annotations

from types import CodeType
from typing import Any

from ctxdispatch.ir.graph import Graph
from ctxdispatch.ir.rewrite import clone, definitions


class Original:
    """A constant of the code that was emitted for `graph` after more passes."""

    __slots__ = ("graph",)

    def __init__(self, graph: Graph) -> None:
        self.graph = graph


def remember(code: CodeType, graph: Graph) -> CodeType:
    return code.replace(co_consts=(*code.co_consts, Original(graph)))


def recall(code: CodeType, namespace: dict[str, Any]) -> Graph | None:
    """A copy of the graph that `code` carries, as lifting would give it: without types."""
    carried = code.co_consts[-1] if code.co_consts else None
    if not isinstance(carried, Original):
        return None
    graph = clone(carried.graph)
    graph.code, graph.namespace = code, namespace
    for value in definitions(graph):
        value.type = None
    return graph
