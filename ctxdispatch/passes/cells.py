"""A cell that nobody else has, and that is never set again, is what it holds.

    %c = make_cell(%x); %v = cell_get(%c, 'x')      ->      %v is %x

Such cells are left where a function that captured them has been inlined.
"""

from __future__ import annotations

from ctxdispatch.ir import primitives as prim
from ctxdispatch.ir.graph import UNDEF, Graph, Op, Operand, Value
from ctxdispatch.ir.rewrite import substitute, uses


def open_cells(graph: Graph) -> None:
    """In place."""
    held = _held(graph)
    if not held:
        return
    replaced: dict[Value, Operand] = {}
    for block in graph.blocks:
        kept = []
        for op in block.ops:
            if op.fn is prim.cell_get and op.args[0] in held:
                replaced[op.result] = held[op.args[0]]
            elif not held.keys() & set(op.results):
                kept.append(op)
        block.ops = kept
    substitute(graph, {value: _last(content, replaced) for value, content in replaced.items()})


def _held(graph: Graph) -> dict[Value, Operand]:
    """What the cells hold that are read, and nothing else."""
    used = uses(graph)
    return {
        op.result: op.args[0]
        for _, op in graph.ops()
        if op.fn is prim.make_cell and op.args and op.args[0] is not UNDEF
        and all(isinstance(use.user, Op) and _reads(use.user, op.result) for use in used[op.result])
    }  # fmt: skip


def _reads(op: Op, cell: Value) -> bool:
    return op.fn is prim.cell_get and op.args[0] is cell and cell not in op.args[1:]


def _last(content: Operand, replaced: dict[Value, Operand]) -> Operand:
    """A cell may hold what another one held."""
    while isinstance(content, Value) and content in replaced:
        content = replaced[content]
    return content
