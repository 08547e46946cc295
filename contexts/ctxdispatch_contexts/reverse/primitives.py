"""What primitives (`programs/primitive.py`) ask of the sweep."""

from __future__ import annotations

import operator

from ctxdispatch.ir.graph import Op
from ctxdispatch.ir.values import Const, Operand, Value
from ctxdispatch.passes import types as T
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.programs.operands import numeric
from ctxdispatch_contexts.programs.scaling import typed
from ctxdispatch_contexts.reverse import cotangents, fitting, releasing
from ctxdispatch_contexts.reverse.adjoint import Adjoint
from ctxdispatch_contexts.reverse.bars import ZERO, is_zero, may_be_none


def cotangents_of(adjoint: Adjoint, op: Op, n: int | None) -> list[Operand]:
    """Of the result, or of the n numbers or arrays that the result is a tuple of. One may be of smaller shape
    than its value, and is then constant along the missing axes; `is_zero` tells which are zero."""
    if n is None:
        g = adjoint.pullbacks.arrived(adjoint, op.result)
        if not is_zero(g) and may_be_none(g):
            g = adjoint.call(releasing.finish, g, adjoint.shaped(op.result), type=operand_type(op.result))
        return [g]
    bar = adjoint.bar(op.result)
    if is_zero(bar):
        return [ZERO] * n
    return [_entry(adjoint, op, bar, m) for m in range(n)]


def item_of_result(adjoint: Adjoint, op: Op, m: int) -> Value:
    """Item m of the tuple that `op` gave, as a value of the sweep."""
    return typed(adjoint.build, operator.getitem, adjoint.recall(op.result), Const(m))


def fit_to_operand(adjoint: Adjoint, cotangent: Operand, arg: Operand, y: Operand) -> Operand:
    """The cotangent of `arg`, from that of a result `y` it was broadcast to, a value of the sweep."""
    mine, now = operand_type(arg), operand_type(cotangent)
    known = isinstance(mine, T.ArrayOf) and now == mine and all(d is False for d in mine.dims)
    if known and operand_type(y) == mine:
        return cotangent
    type_ = mine if isinstance(mine, (T.ArrayOf, T.Exact)) else T.Any
    return adjoint.call(fitting.unbroadcast, cotangent, adjoint.shaped(arg), y, type=type_)


def _entry(adjoint: Adjoint, op: Op, bar: Operand, m: int) -> Operand:
    found = operand_type(op.result)
    type_ = found.items[m] if isinstance(found, T.TupleOf) else T.Any
    if not numeric(type_):
        return ZERO
    entry = adjoint.call(cotangents.entry_of, bar, Const(m), type=T.Any)
    y = item_of_result(adjoint, op, m)
    return adjoint.call(fitting.expand, entry, y, type=type_)
