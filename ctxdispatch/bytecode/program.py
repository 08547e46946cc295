"""A function as a graph, in the form that transforms of whole programs want, and back.

The user's own code is lifted in frame form and emitted faithfully. What a transform generated is lifted as
the graph that it was made from, in SSA form, and emitted free.
"""

from __future__ import annotations

from types import CellType, CodeType, FunctionType
from typing import Any

from ctxdispatch.bytecode.emit import make_function
from ctxdispatch.bytecode.faithful import emit_frame
from ctxdispatch.bytecode.frame import lift_frame
from ctxdispatch.bytecode.original import recall
from ctxdispatch.ir.graph import Graph


def lift_program(f: FunctionType) -> Graph:
    generated = recall(f.__code__, f.__closure__ or (), f.__globals__)
    return lift_frame(f.__code__, f.__globals__) if generated is None else generated


def emit_program(graph: Graph, namespace: dict[str, Any]) -> CodeType:
    if graph.frame is not None:
        return emit_frame(graph)
    return make_function(graph, namespace, tuple(CellType() for _ in graph.cells)).__code__
