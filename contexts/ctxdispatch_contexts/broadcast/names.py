"""The names in functions that a scalar program has taken in: what they stand for, and which guards say so.

Numbers stay reads, which the host does before the kernel; functions, modules and classes are constants.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Const, Graph, Op, Operand, Value
from ctxdispatch.ir.rewrite import substitute
from ctxdispatch.passes import types as T
from ctxdispatch.passes.guards import AttrIs, CellIs, CellType, Guard, PathIs, PathType
from ctxdispatch_contexts.programs.prepare import OURS

Assume = Callable[[Guard], None]


def resolve_names(graph: Graph, assume: Assume) -> bool:
    """Put constants in the place of names, in place; whether there were any."""
    mapping: dict[Value, Operand] = {}
    for block in graph.blocks:
        for op in block.ops:
            found = _resolved(op, assume)
            if found is not None:
                mapping[op.result] = found
        block.ops = [op for op in block.ops if op.results and op.result not in mapping]
    substitute(graph, mapping)
    return bool(mapping)


def _resolved(op: Op, assume: Assume) -> Const | None:
    if not all(isinstance(a, Const) for a in op.args):
        return None
    args = [a.value for a in op.args]  # type: ignore[union-attr]
    if op.fn is primitives.load_global:
        return _global(op, args[0], args[1], assume)
    if op.fn is getattr and len(args) == 2 and hasattr(args[0], args[1]):
        return _attribute(op, args[0], args[1], assume)
    if op.fn is primitives.cell_get:
        return _cell(op, args[0], assume)
    return None


def _global(op: Op, namespace: dict[str, Any], name: str, assume: Assume) -> Const | None:
    missing = object()
    value = namespace.get(name, vars(builtins).get(name, missing))
    if value is missing:
        return None
    if _is_ours(namespace):
        return Const(value)
    if _is_number(value):
        if op.result.type is None:
            assume(PathType(namespace, (name,), T.Exact(type(value))))
            op.result.type = T.Exact(type(value))
        return None
    assume(PathIs(namespace, (name,), value))
    return Const(value)


def _is_ours(namespace: dict[str, Any]) -> bool:
    return str(namespace.get("__name__", "")).startswith((*OURS, "derivatives of"))


def _is_number(value: Any) -> bool:
    return type(value) in (int, float, bool)


def _attribute(op: Op, owner: Any, name: str, assume: Assume) -> Const | None:
    value = getattr(owner, name)
    if type(owner).__name__ != "module":
        return None
    if _is_number(value) and not _is_constant_of_library(owner):
        op.result.type = T.Exact(type(value))
        return None
    assume(AttrIs(owner, name, value))
    return Const(value)


def _is_constant_of_library(module: Any) -> bool:
    """math.pi and the like."""
    return module.__name__ in ("math", "cmath", "numpy")


def _cell(op: Op, cell: Any, assume: Assume) -> Const | None:
    try:
        value = cell.cell_contents
    except ValueError:
        return None
    if _is_number(value):
        if op.result.type is None:
            assume(CellType(cell, T.Exact(type(value))))
            op.result.type = T.Exact(type(value))
        return None
    assume(CellIs(cell, value))
    return Const(value)
