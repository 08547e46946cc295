"""Arrays of which it is known how many elements they have: `Graph.lengths` of parameters, and what is made of
these.

    len(%p)             3                   %q = %p[1:]             two, too
    %p.shape            (3,)                %q = exp(%p) * 2.0      three
    %a, *%b = %p        %a = %p[0]; %b = [%p[1], %p[2]]

Programs know it where they need to: what goes through an array of a few parameters, and makes objects, tuples
or arguments of them, says something else of each (`sizes.Counted`).
"""

from __future__ import annotations

import operator

import numpy as np

from ctxdispatch.facts import fact_of
from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Block, Graph, Op
from ctxdispatch.ir.rewrite import substitute
from ctxdispatch.ir.values import Const, Operand, hashable
from ctxdispatch.passes import types as T
from ctxdispatch.passes.inline import emit_before
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.derivatives.table import elementwise


def counts(graph: Graph) -> dict[Operand, int]:
    """How many elements there are in each value of which that is known."""
    found: dict[Operand, int] = {**graph.lengths}
    if not found or any(_may_reshape(op) for _, op in graph.ops()):
        return {}
    size = -1
    while size != len(found):
        size = len(found)
        for _, op in graph.ops():
            if len(op.results) == 1 and op.result not in found and (n := _count(op, found)) is not None:
                found[op.result] = n
    return found


def _may_reshape(op: Op) -> bool:
    """The shape of an array, in place."""
    row = fact_of(op.fn)
    named = op.fn is setattr and not (isinstance(op.args[1], Const) and op.args[1].value != "shape")
    return named or (row is not None and row.layout)


def _count(op: Op, known: dict[Operand, int]) -> int | None:
    type_ = op.result.type
    if not hashable(op.fn) or not isinstance(type_, T.ArrayOf) or type_.ndim != 1:
        return None
    if op.fn is operator.getitem:
        n, part = known.get(op.args[0]), operand_type(op.args[1])
        sliced = n is not None and isinstance(part, T.Known) and type(part.value) is slice
        return len(range(n)[part.value]) if sliced else None  # type: ignore[arg-type,attr-defined]
    if op.fn is not np.asarray and (elementwise(op.fn) is None or op.kwnames):
        return None
    arrays = [a for a in op.args if isinstance(operand_type(a), T.ArrayOf) and operand_type(a).dims]  # type: ignore[attr-defined]
    found = {known.get(a) for a in arrays}
    return found.pop() if len(found) == 1 else None


def spell_out_counts(graph: Graph) -> bool:
    """In place. Whether anything is changed."""
    known = counts(graph)
    if not known:
        return False
    spelled = [_spell(graph, block, op, known) for block in graph.blocks for op in [*block.ops]]
    return any(spelled)


def _spell(graph: Graph, block: Block, op: Op, known: dict[Operand, int]) -> bool:
    n = known.get(op.args[0]) if op.args and not op.kwnames else None
    if n is None:
        return False
    if op.fn is primitives.unpack_ex and isinstance(op.args[1], Const):
        return _unpack(graph, block, op, n)
    said = op.args[1].value if op.fn is getattr and isinstance(op.args[1], Const) else None
    value = n if op.fn is len or said == "size" else (n,) if said == "shape" else None
    if value is not None:
        block.ops.remove(op)
        substitute(graph, {op.result: Const(value)})
    return value is not None


def _unpack(graph: Graph, block: Block, op: Op, n: int) -> bool:
    before, after = [a.value for a in op.args[1:]]  # type: ignore[union-attr]
    if n < before + after:
        return False
    emit = emit_before(block, op)
    items = [emit(operator.getitem, op.args[0], Const(i)) for i in range(n)]
    rest = emit(primitives.build_list, *items[before : n - after])
    block.ops.remove(op)
    given: list[Operand] = [*items[:before], rest, *items[n - after :]]
    substitute(graph, dict(zip(op.results, given, strict=True)))
    return True


__all__ = ["counts", "spell_out_counts"]
