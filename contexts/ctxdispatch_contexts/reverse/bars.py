"""Cotangents as the transform sees them: zero for sure or not, added with `+` or not, and their types."""

from __future__ import annotations

from ctxdispatch.ir.values import Const, Operand, Value
from ctxdispatch.passes import types as T
from ctxdispatch_contexts.programs.operands import numeric
from ctxdispatch_contexts.reverse import cotangents

ZERO = Const(cotangents.ZERO)
NONE = Const(None)


def is_zero(operand: Operand) -> bool:
    """A cotangent that is known to be zero."""
    return isinstance(operand, Const) and operand.value is cotangents.ZERO


def is_none(operand: Operand) -> bool:
    """No cotangent, as rules say it: zero."""
    if isinstance(operand, Const):
        return operand.value is None
    return operand.type is not None and T.cls_of(operand.type) is type(None)


def cotangent_type(value: Operand) -> T.Type:
    type_ = value.type if isinstance(value, Value) else None
    if isinstance(type_, T.OneOf) and numeric(type_):
        return T.OneOf(type_.classes | {float})
    return type_ if type_ is not None and numeric(type_) else T.Any


def may_be_none(cotangent: Operand) -> bool:
    """Nothing is known of it: a pullback met at run time gave it, or it is an entry of a container's
    cotangent."""
    return isinstance(cotangent, Value) and cotangent.type in (None, T.Any)
