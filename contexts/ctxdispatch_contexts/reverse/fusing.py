"""Chains of elementwise operations on large arrays are kernels: Revels et al. 2018, equation 2.

Whether arrays are large is known when a program is asked for, and tested at its entry
(`programs/sizes.py`). A program that has no chains is for arrays of any size.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ctxdispatch.ir.graph import Graph
from ctxdispatch.passes import types as T


def fuse_if_large(graph: Graph, mode: Any) -> bool:
    """Fuse them, in place, where the mode is for large arrays; else: whether there are any."""
    arrays = any(isinstance(r.type, T.ArrayOf) for _, op in graph.ops() for r in op.results)
    if not arrays or not (mode.large or mode.for_large()):
        return False
    fusion: Any = import_module("ctxdispatch_contexts.broadcast.fusion")
    if not mode.large:
        return bool(fusion.has_chains(graph))
    fusion.fuse(graph)
    return False
