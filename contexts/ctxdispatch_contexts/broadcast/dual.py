"""Partial derivatives inside a kernel: multidimensional duals (Revels et al. 2018, section 2.2).

    y = f(a, b)      ->      y, dy/da, dy/db       each a number per element

Every direction is one run of the companion transform over the program's own values: a value has a companion
in the directions it depends on and no other, so zeros that follow from the structure cost nothing.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence

import numpy as np

from ctxdispatch.ir.graph import Block, Graph, Op
from ctxdispatch.ir.values import UNREAD, Const, Operand, Value
from ctxdispatch.passes import types as T
from ctxdispatch.passes.companion import Companions, companion_name
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.broadcast.dtypes import BOOL, Typing, is_weak
from ctxdispatch_contexts.broadcast.errors import refuse
from ctxdispatch_contexts.broadcast.instructions import CAST, CASTS, SELECT, STOP, Instruction
from ctxdispatch_contexts.broadcast.scalars import result_of
from ctxdispatch_contexts.derivatives.rows import ROWS
from ctxdispatch_contexts.derivatives.table import Elementwise, describe, is_zero
from ctxdispatch_contexts.forward import Shapes, push_row
from ctxdispatch_contexts.programs.errors import described
from ctxdispatch_contexts.programs.operands import leaf_class, row_for

FLOAT = T.Exact(float)

OURS = "ctxdispatch_contexts.broadcast.instructions."
"""Where instructions are that have a name of NumPy's."""


def as_numbers(graph: Graph, types: Sequence[type]) -> None:
    """Give all values the types of Python's numbers, for which the rows of the table are written."""
    typing = Typing(graph, [BOOL if t is bool else t for t in types])
    for value, type_ in typing.types.items():
        kind = type_ if is_weak(type_) else {"b": bool, "f": float}.get(type_.kind, int)
        value.type = T.Exact(kind)
    use_reciprocals(graph)


def use_reciprocals(graph: Graph) -> None:
    """1 / x is reciprocal(x), in place: its derivative takes a product where that of a quotient divides."""
    for _, op in graph.ops():
        if op.fn is operator.truediv and _is_one(op.args[0]) and operand_type(op.args[1]) == FLOAT:
            op.callee, op.args, op.syntax = Const(np.reciprocal), [op.args[1]], False


def _is_one(operand: Operand) -> bool:
    return isinstance(operand, Const) and type(operand.value) in (int, float) and operand.value == 1


def partials(graph: Graph, wrt: Sequence[int]) -> list[list[Operand | None]]:
    """Add to `graph` the partial derivatives of its outputs with respect to those parameters. For each of
    them a list with one operand per output, None where the derivative is zero."""
    own = {value for block in graph.blocks for value in _defined(block)}
    params, (_, result) = graph.params, result_of(graph)
    moving = [varied(graph, [params[i]]) for i in wrt]
    found = []
    for i, values in zip(wrt, moving, strict=True):
        run = Companions(graph, values & own, _Scalars())
        run.run({params[i]: Const(1.0)})
        found.append([run.of(y) for y in result.args])
    return found


def moving(graph: Graph, wrt: Sequence[int]) -> list[list[bool]]:
    """Per parameter of `wrt` and output: whether the output moves with it."""
    outputs = result_of(graph)[1].args
    found = [varied(graph, [graph.params[i]]) for i in wrt]
    return [[y in values for y in outputs] for values in found]


def push(graph: Graph, tangents: dict[Value, Operand]) -> list[Operand | None]:
    """Add to `graph` the derivatives of its outputs along one direction, in which those parameters move."""
    run = Companions(graph, varied(graph, list(tangents)), _Scalars())
    run.run(dict(tangents))
    return [run.of(y) for y in result_of(graph)[1].args]


def _defined(block: Block) -> list[Value]:
    return [*block.params, *(r for op in block.ops for r in op.results)]


def varied(graph: Graph, seeds: Sequence[Value]) -> set[Value]:
    """The floats that depend on the seeds through operations with a derivative."""
    found = {s for s in seeds if s.type == FLOAT}
    size = -1
    while size != len(found):
        size = len(found)
        for block in graph.blocks:
            for op in block.ops:
                if op.result.type == FLOAT and any(op.args[i] in found for i in _moved_by(op)):
                    found.add(op.result)
            for edge in block.edges():
                pairs = zip(edge.target.params, edge.args, strict=True)
                found.update(p for p, a in pairs if a in found and p.type == FLOAT)
    return found


def _moved_by(op: Op) -> Sequence[int]:
    """The operands with which the result moves."""
    if op.fn is SELECT:
        return (1, 2)
    if op.fn is CAST or op.fn in CASTS:
        return (0,)
    if op.fn is STOP:
        return ()
    row = _row(op)
    if row is not None:
        return [i for i, kind in enumerate(row.kinds) if kind != "zero"]
    if is_zero(op.fn):
        return ()
    raise refuse(
        op,
        f"{described(op.fn).removeprefix(OURS)} has no derivative in a kernel; call it on the arrays, "
        "before or after",
    )


def _row(op: Op) -> Elementwise | None:
    """An instruction that is no ufunc bears the name of its row."""
    if isinstance(op.fn, Instruction):
        return describe(op.fn.name) if op.fn.name in ROWS else None
    return row_for(op)


class _Numbers(Shapes):
    """All tangents have one shape, and are real; a condition may be a factor."""

    def fit(self, run: Companions, tangent: Operand, value: Value, *, whole: bool = True) -> Operand:
        if leaf_class(operand_type(tangent)) in (bool, int):
            return run.call(float, tangent, type=FLOAT)
        return tangent


class _Scalars:
    """The algebra of tangents of single numbers."""

    shapes = _Numbers(block=False)

    def op(self, run: Companions, op: Op) -> None:
        run.emit(op)
        result = op.results[0] if op.results else None
        if result is None or result not in run.tracked:
            return
        if op.fn is SELECT:
            pair = [_or_zero(run.of(a)) for a in op.args[1:]]
            run.put(result, run.call(op.fn, op.args[0], *pair, type=FLOAT))
        elif op.fn is CAST or op.fn in CASTS:
            companion = run.of(op.args[0])
            run.put(result, Const(0.0) if companion is None else companion)
        else:
            row = _row(op)
            assert row is not None
            push_row(self.shapes, run, op, row)

    def parameter(self, param: Value) -> Value:
        return Value(companion_name(param), FLOAT)

    def absent(self, run: Companions, operand: Operand, param: Value) -> Operand:
        return UNREAD if operand is UNREAD else Const(0.0)

    def item(self, run: Companions, iterator: Operand, item: Value) -> Operand:
        raise AssertionError("kernels have no iterators")


def _or_zero(companion: Operand | None) -> Operand:
    return Const(0.0) if companion is None else companion
