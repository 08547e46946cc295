"""The arrays that a graph stores to, under all names: what is read of them is read where it is written."""

from __future__ import annotations

from collections.abc import Set

from ctxdispatch.ir.graph import Graph, Op
from ctxdispatch.ir.rewrite import definitions
from ctxdispatch.ir.values import Value
from ctxdispatch.passes import types as T
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.programs.aliases import Objects
from ctxdispatch_contexts.programs.changes import changed


def stored_arrays(graph: Graph) -> Set[Value]:
    """Values that may be an array that is stored to somewhere in `graph`."""
    targets = [changed(op) for _, op in graph.ops() if _stores(op)]
    if not targets:
        return frozenset()
    objects = Objects(graph)
    sites = frozenset().union(*(objects.loose(objects.of(t)) for t in targets if t is not None))
    return {v for v in definitions(graph) if not sites.isdisjoint(objects.loose(objects.of(v)))}


def _stores(op: Op) -> bool:
    target = changed(op)
    if target is None:
        return False
    type_ = operand_type(target)
    return isinstance(type_, T.ArrayOf) or T.cls_of(type_) is None


__all__ = ["stored_arrays"]
