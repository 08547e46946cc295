"""Variables that may have no value yet: where they are read, they must have one on every path.

    for k in range(3): ...          k has a value after the loop: it has gone round
    for k in range(n): ...          it may have none: refused, for a kernel does not raise
"""

from __future__ import annotations

from collections.abc import Iterator, Set

from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Block, Edge, Graph, Op
from ctxdispatch.ir.rewrite import substitute
from ctxdispatch.ir.values import UNDEF, Const, Operand, Value
from ctxdispatch_contexts.broadcast.errors import refuse

Place = tuple[Block, Edge]


def settle_bounds(graph: Graph, sure: Set[Edge]) -> None:
    """Drop the tests, in place; KernelError where a value may be missing. `sure`: edges into loops that go
    round once at least."""
    preds = graph.predecessors()
    home = {param: block for block in graph.blocks for param in block.params}
    mapping: dict[Value, Operand] = {}
    for block in graph.blocks:
        for op in block.ops:
            if op.fn is primitives.check_bound:
                for edge in _missing(op.args[0], home, preds, set()):
                    if edge not in sure:
                        raise _unbound(op)
                mapping[op.result] = op.args[0]
        block.ops = [op for op in block.ops if op.fn is not primitives.check_bound]
    substitute(graph, mapping)


def _missing(
    operand: Operand, home: dict[Value, Block], preds: dict[Block, list[Place]], seen: set[Operand]
) -> Iterator[Edge | None]:
    """The edges by which no value comes; None where there is none at all."""
    if operand is UNDEF:
        yield None
    block = home.get(operand) if isinstance(operand, Value) else None
    if block is None or operand in seen:
        return
    seen.add(operand)
    k = block.params.index(operand)  # type: ignore[arg-type]
    for _, edge in preds[block]:
        if edge.args[k] is UNDEF:
            yield edge
        else:
            yield from _missing(edge.args[k], home, preds, seen)


def _unbound(op: Op) -> Exception:
    name = op.args[1].value if isinstance(op.args[1], Const) else "a variable"
    return refuse(op, f"{name!r} may be unbound here; give it a value on every path before")
