"""The arrays that a graph stores to, under all names: what is read of them is read where it is written."""

from __future__ import annotations

from collections.abc import Set

from ctxdispatch.ir.graph import Graph
from ctxdispatch.ir.rewrite import definitions
from ctxdispatch.ir.values import Operand, Value
from ctxdispatch.passes import types as T
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.programs.aliases import Objects
from ctxdispatch_contexts.programs.changes import changed, changed_objects


def stored_arrays(graph: Graph) -> Set[Value]:
    """Values that may be an array that is stored to somewhere in `graph`."""
    stores = [op for _, op in graph.ops() if any(map(_may_be_array, changed(op)))]
    if not stores:
        return frozenset()
    objects = Objects(graph)
    sites = frozenset().union(*(objects.loose(changed_objects(objects, op)) for op in stores))
    return {v for v in definitions(graph) if not sites.isdisjoint(objects.loose(objects.of(v)))}


def _may_be_array(target: Operand) -> bool:
    """Or have some in it."""
    type_ = operand_type(target)
    return isinstance(type_, T.ArrayOf) or T.cls_of(type_) in (None, tuple)


__all__ = ["stored_arrays"]
