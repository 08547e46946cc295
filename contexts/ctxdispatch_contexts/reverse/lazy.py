"""Sums and means under the sweep: their cotangents are constant along the axes summed over, and stay lazy.

y = sum(x, axis)     bar(x) = bar(y), the summed axes put back with length 1
y = mean(x, axis)    the same, divided by how many went into each
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ctxdispatch.ir.graph import Op
from ctxdispatch.ir.values import Const, Operand, Value, hashable
from ctxdispatch.passes import types as T
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.programs.operands import infer_op, leaf_class, row_for
from ctxdispatch_contexts.programs.scaling import typed

MEANS = (np.mean, np.ndarray.mean)
SUMS = frozenset({*MEANS, np.sum, np.ndarray.sum, np.add.reduce})
_PARAMETERS = ("axis", "dtype", "out", "keepdims")
"""Of all of them, after the array."""


def arguments(op: Op) -> dict[str, Any] | None:
    """The constant arguments of a sum of an array of known rank, or None where there is more to it."""
    n = len(op.args) - len(op.kwnames)
    names = _PARAMETERS[: n - 1] + op.kwnames
    given = dict(zip(names, op.args[1:], strict=False))
    known = {k: a.value for k, a in given.items() if isinstance(a, Const)}
    if (
        len(known) != len(given)
        or len(names) != len(op.args) - 1
        or set(known) - {"axis", "keepdims", "dtype", "out"}
    ):
        return None
    plain = (
        known.get("dtype") is None
        and known.get("out") is None
        and isinstance(operand_type(op.args[0]), T.ArrayOf)
    )
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
        g = typed(adjoint.build, operator.truediv, g, _count(adjoint, array, given["axis"]))
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
    """How many elements of `array` went into one of the sum."""
    rank = len(operand_type(array).dims)  # type: ignore[attr-defined]
    axes = range(rank) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    count: Operand | None = None
    for a in axes:
        length = _length(adjoint, array, a % rank)
        if isinstance(length, Const):
            continue
        count = (
            length
            if count is None
            else adjoint.call(operator.mul, count, length, syntax=True, type=T.Exact(int))
        )
    return Const(1) if count is None else count


def _length(adjoint: Any, array: Operand, axis: int) -> Operand:
    if operand_type(array).dims[axis] is True:  # type: ignore[attr-defined]
        return Const(1)
    array, axis = length_of(adjoint.makers, array, axis)
    shape = adjoint.call(getattr, adjoint.shaped(array), Const("shape"), syntax=True)
    shape.type = infer_op(adjoint.build.block.ops[-1])
    return adjoint.call(operator.getitem, shape, Const(axis), syntax=True, type=T.Exact(int))  # type: ignore[no-any-return]


def length_of(makers: dict[Value, Op], array: Operand, axis: int) -> tuple[Operand, int]:
    """An array, as near to the arguments as can be, and which of its axes has the length of that axis of
    `array`: so that nothing is computed for its shape alone."""
    while True:
        op = makers.get(array) if isinstance(array, Value) else None
        found = None if op is None else _length_of_operand(op, array, axis)
        if found is None:
            return array, axis
        array, axis = found


def _length_of_operand(op: Op, array: Operand, axis: int) -> tuple[Operand, int] | None:
    if row_for(op) is not None:
        return _broadcast_source(op, len(operand_type(array).dims), axis)  # type: ignore[attr-defined]
    if op.fn is operator.matmul and all(_rank(a) == 2 for a in op.args):
        return op.args[axis], axis
    if hashable(op.fn) and op.fn in SUMS and (given := arguments(op)) is not None:
        return _unreduced(op, axis, given)
    return None


def _broadcast_source(op: Op, rank: int, axis: int) -> tuple[Operand, int] | None:
    for arg in op.args:
        mine = axis - (rank - _rank(arg))
        if mine >= 0 and operand_type(arg).dims[mine] is False:  # type: ignore[attr-defined]
            return arg, mine
    return None


def _unreduced(op: Op, axis: int, given: dict[str, Any]) -> tuple[Operand, int] | None:
    rank = _rank(op.args[0])
    summed = given["axis"]
    if given["keepdims"] or summed is None:
        return None
    gone = {a % rank for a in (summed if isinstance(summed, tuple) else (summed,))}
    return op.args[0], [a for a in range(rank) if a not in gone][axis]


def _rank(operand: Operand) -> int:
    return len(getattr(operand_type(operand), "dims", ()))
