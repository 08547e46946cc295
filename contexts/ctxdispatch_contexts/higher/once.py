"""Whether somebody sees how often a program runs: it changes what was there before, or may."""

from __future__ import annotations

from ctxdispatch.ir.graph import Graph, Op
from ctxdispatch.passes import effects
from ctxdispatch_contexts.derivatives.table import elementwise, vjp_rule
from ctxdispatch_contexts.programs.aliases import Objects, is_outside
from ctxdispatch_contexts.programs.changes import changed, changed_objects


def is_seen(graph: Graph) -> bool:
    objects = Objects(graph)
    return any(_is_seen(objects, op) for _, op in graph.ops())


def _is_seen(objects: Objects, op: Op) -> bool:
    """What has a rule changes nothing else; of what is not known, anything may come."""
    if changed(op):
        return any(map(is_outside, changed_objects(objects, op)))
    return not (effects.op_is_pure(op) or elementwise(op.fn) or vjp_rule(op.fn))


__all__ = ["is_seen"]
