"""What makes the generated program as a person would write it: the engine's passes, in the order that
pays."""

from __future__ import annotations

from collections.abc import Container, Sequence, Set
from typing import Any

from ctxdispatch.ir.graph import Graph, Op
from ctxdispatch.ir.prune import prune
from ctxdispatch.passes import types as T
from ctxdispatch.passes.cse import cse
from ctxdispatch.passes.dce import dce
from ctxdispatch.passes.fold import fold
from ctxdispatch.passes.guards import Guard
from ctxdispatch.passes.infer import Variable, infer
from ctxdispatch.passes.snapshots import snapshot
from ctxdispatch_contexts.programs.signs import carry_signs
from ctxdispatch_contexts.programs.sums import collect_terms

MAX_ROUNDS = 3
"""Terms are collected so often: what is taken out of sums makes other sums."""


def loosen(graph: Graph, primal: Container[Op]) -> None:
    """Write what is not of `primal`, the user's own program, with fewer operations, in place. That may change
    its last bits."""
    for _, op in graph.ops():
        op.reassoc |= op not in primal
    carry_signs(graph)
    snapshot("carry signs", graph)
    for _ in range(MAX_ROUNDS):
        if not collect_terms(graph):
            return
        snapshot("collect terms", graph)
        carry_signs(graph)
        snapshot("carry signs", graph)


def optimise(
    graph: Graph, types: Sequence[T.Type], cells: Sequence[Any], untrusted: Set[Variable], held: bool
) -> list[Guard]:
    """Improve a derivative program in place. What that takes for granted is returned."""
    prune(graph)
    snapshot("prune", graph)
    inference = infer(graph, types, cells=cells, trust=True, held=held, untrusted=untrusted)
    snapshot("infer", graph)
    fold(graph, inference)
    snapshot("fold", graph)
    prune(graph)
    snapshot("prune", graph)
    cse(graph)
    snapshot("cse", graph)
    dce(graph)
    snapshot("dce", graph)
    prune(graph)
    snapshot("prune", graph)
    return inference.guards
