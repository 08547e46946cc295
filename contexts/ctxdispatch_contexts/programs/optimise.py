"""What makes the generated program as a person would write it: the engine's passes, in the order that
pays."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Any

from ctxdispatch.ir.graph import Graph
from ctxdispatch.ir.prune import prune
from ctxdispatch.passes import types as T
from ctxdispatch.passes.cse import cse
from ctxdispatch.passes.dce import dce
from ctxdispatch.passes.fold import fold
from ctxdispatch.passes.guards import Guard
from ctxdispatch.passes.infer import GlobalName, infer


def optimise(
    graph: Graph, types: Sequence[T.Type], cells: Sequence[Any], untrusted: Set[GlobalName]
) -> list[Guard]:
    """Improve a derivative program in place. What that takes for granted is returned."""
    guards: list[Guard] = []
    prune(graph)
    for _ in range(2):
        inference = infer(graph, types, cells=cells, trust=True, untrusted=untrusted)
        fold(graph, inference)
        guards += inference.guards
        prune(graph)
        cse(graph)
        dce(graph)
        prune(graph)
    return guards
