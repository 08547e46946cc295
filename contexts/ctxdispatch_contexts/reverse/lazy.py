"""Sums and means under the sweep: their cotangents are constant along the axes summed over, and stay lazy.

    y = sum(x, axis)     bar(x) = bar(y), the summed axes put back with length 1
    y = mean(x, axis)    the same, divided by how many went into each
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ctxdispatch.ir.graph import Const, Op, Operand, Value
from ctxdispatch.passes import types as T
from ctxdispatch_contexts.reverse.elementwise import leaf_class
from ctxdispatch_contexts.reverse.rules import infer_op, operand_type

SUMS: dict[Any, tuple[str, ...]] = {
    np.add.reduce: ("axis", "dtype", "out", "keepdims"),
    np.sum: ("axis", "dtype", "out", "keepdims"),
    np.ndarray.sum: ("axis", "dtype", "out", "keepdims"),
    np.mean: ("axis", "dtype", "out", "keepdims"),
    np.ndarray.mean: ("axis", "dtype", "out", "keepdims"),
}
"""The parameters after the array."""

MEANS = (np.mean, np.ndarray.mean)


def arguments(op: Op) -> dict[str, Any] | None:
    """The constant arguments of a sum of an array of known rank, or None where there is more to it."""
    n = len(op.args) - len(op.kwnames)
    names = SUMS[op.fn][: n - 1] + op.kwnames
    given = dict(zip(names, op.args[1:], strict=False))
    known = {k: a.value for k, a in given.items() if isinstance(a, Const)}
    if len(known) != len(given) or len(names) != len(op.args) - 1 or set(known) - {"axis", "keepdims", "dtype", "out"}:
        return None
    plain = known.get("dtype") is None and known.get("out") is None and isinstance(operand_type(op.args[0]), T.ArrayOf)
    default_axis = 0 if op.fn == np.add.reduce else None
    axis = known.get("axis", default_axis)
    whole_axis = axis is None or isinstance(axis, int) or (isinstance(axis, tuple) and len(axis) > 0)
    return {"axis": axis, "keepdims": known.get("keepdims", False) is True} if plain and whole_axis else None


def reverse_sum(adjoint: Any, op: Op) -> None:
    """The cotangent of the summed array, lazy."""
    given = arguments(op)
    assert given is not None
    g = adjoint.pullbacks.arrived(adjoint, op.result)
    if adjoint.pullbacks.is_zero(g):
        return
    if adjoint.pullbacks.may_be_scalar(adjoint, g):
        g = adjoint.pullbacks.in_full(adjoint, op.result)
    array = op.args[0]
    g = _restored(adjoint, g, array, **given)
    if op.fn in MEANS:
        g = adjoint.pullbacks.typed(adjoint, operator.truediv, g, _count(adjoint, array, given["axis"]))
    adjoint.add(array, g)
    adjoint.pullbacks.mark_lazy(array)


def _restored(adjoint: Any, g: Operand, array: Operand, axis: Any, keepdims: bool) -> Operand:
    """`g` broadcastable against `array`."""
    if axis is None or keepdims or leaf_class(operand_type(g)) is not np.ndarray:
        return g
    rank = len(operand_type(array).dims)  # type: ignore[attr-defined]
    summed = {a % rank for a in (axis if isinstance(axis, tuple) else (axis,))}
    if summed == set(range(len(summed))):
        return g  # leading axes come back by broadcasting
    index = tuple(None if i in summed else slice(None) for i in range(rank))
    value: Value = adjoint.call(operator.getitem, g, Const(index), syntax=True)
    value.type = infer_op(adjoint.build.block.ops[-1])
    return value


def _count(adjoint: Any, array: Operand, axis: Any) -> Operand:
    primal = adjoint.recall(array)
    if axis is None:
        return adjoint.call(getattr, primal, Const("size"), syntax=True, type=T.Exact(int))  # type: ignore[no-any-return]
    shape = adjoint.call(getattr, primal, Const("shape"), syntax=True)
    shape.type = infer_op(adjoint.build.block.ops[-1])
    count: Operand | None = None
    for a in axis if isinstance(axis, tuple) else (axis,):
        length = adjoint.call(operator.getitem, shape, Const(a), syntax=True, type=T.Exact(int))
        count = length if count is None else adjoint.call(operator.mul, count, length, syntax=True, type=T.Exact(int))
    assert count is not None
    return count
