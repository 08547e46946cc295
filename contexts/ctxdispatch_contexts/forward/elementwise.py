"""Tangents of elementwise operations, from the rows of the derivative table.

y = f(a, b)      dy = (partial a) * da + (partial b) * db
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ctxdispatch.facts import says
from ctxdispatch.ir.graph import Op
from ctxdispatch.ir.values import Const, Operand, Value
from ctxdispatch.passes import types as T
from ctxdispatch.passes.companion import Companions
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.derivatives.table import Elementwise
from ctxdispatch_contexts.forward.tangents import Shapes, numeric, same_shape
from ctxdispatch_contexts.programs.operands import infer_op, leaf_class
from ctxdispatch_contexts.programs.scaling import known_number, partial_of, product, typed


def push_row(shapes: Shapes, run: Companions, op: Op, row: Elementwise) -> None:
    """`op` has been emitted; its result's tangent is the sum of those of its operands, scaled."""
    if row.name == "mul" and op.args[0] is op.args[1] and run.of(op.args[0]) is not None:
        terms = [_square(shapes, run, op)]
    else:
        terms = [
            _term(shapes, run, op, row, i)
            for i, kind in enumerate(row.kinds)
            if kind != "zero" and run.of(op.args[i]) is not None
        ]
    total = terms[0] if terms else shapes.zero(run, op.result)
    for term in terms[1:]:
        total = _plus(run, total, term)
    run.put(op.result, shapes.fit(run, total, op.result, whole=_is_whole(run, op, row)))


def _is_whole(run: Companions, op: Op, row: Elementwise) -> bool:
    """One of the terms, at least, is of the result's shape."""
    moving = [a for a, kind in zip(op.args, row.kinds) if kind != "zero" and run.of(a) is not None]
    shaped = [a for a in op.args if leaf_class(operand_type(a)) in (None, np.ndarray)]
    if len(shaped) == 1:
        return shaped[0] in moving
    types = [operand_type(a) for a in (op.result, *moving)]
    arrays = [t for t in types if isinstance(t, T.ArrayOf)]
    return arrays[:1] == types[:1] and any(same_shape(mine, arrays[0]) for mine in arrays[1:])


def _term(shapes: Shapes, run: Companions, op: Op, row: Elementwise, i: int) -> Operand:
    tangent = run.of(op.args[i])
    assert tangent is not None
    tangent = shapes.aligned(run, tangent, op.args[i], op.result)
    factor = partial_of(run.build, op, row, i)
    if _steep(row, op, i) and not known_number(tangent) and numeric(operand_type(op.result)):
        if operand_type(op.result) == T.Exact(float) and not shapes.block:
            return run.call(times, factor, tangent, type=T.Exact(float))
        like = infer_op(Op(Const(operator.mul), [tangent, factor], [Value()], syntax=True))
        return run.call(steep_times, factor, tangent, type=like)
    return product(run.build, tangent, factor)


def _steep(row: Elementwise, op: Op, i: int) -> bool:
    """The partial may be infinite; that of a power is not where the exponent is known to be 1 or more."""
    if row.name == "pow" and i == 0 and (known_number(op.args[1]) or 0.0) >= 1.0:
        return False
    return row.steep[i]


def _square(shapes: Shapes, run: Companions, op: Op) -> Operand:
    tangent = run.of(op.args[0])
    assert tangent is not None
    twice = typed(run.build, operator.mul, Const(2.0), op.args[0])
    return product(run.build, shapes.aligned(run, tangent, op.args[0], op.result), twice)


def _plus(run: Companions, a: Operand, b: Operand) -> Operand:
    """a + b; a + (-c) is a - c."""
    last = run.build.block.ops[-1] if run.build.block.ops else None
    if last is not None and b in last.results and last.fn is operator.neg:
        run.build.block.ops.pop()
        return typed(run.build, operator.sub, a, last.args[0])
    return typed(run.build, operator.add, a, b)


@says(known=False, raises=False)
def times(slope: float, tangent: float) -> float:
    """slope * tangent where the slope may be infinite: what does not move stays where it is."""
    return slope * tangent if tangent else 0.0


@says(known=False, raises=False)
def steep_times(slope: Any, tangent: Any) -> Any:
    """`times` of arrays, and of what broadcasts."""
    if np.isfinite(slope).all():
        return slope * tangent
    moving = np.not_equal(tangent, 0)
    held = np.where(moving, slope, 0.0)
    return (held if moving.ndim or np.ndim(held) else held[()]) * tangent


