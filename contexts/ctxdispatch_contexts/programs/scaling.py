"""Products of a cotangent or tangent with a partial derivative, as a person would write them."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ctxdispatch.ir.builder import Builder
from ctxdispatch.ir.graph import Op
from ctxdispatch.ir.values import Const, Operand, Value
from ctxdispatch.passes import types as T
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.derivatives.namespaces import MATH
from ctxdispatch_contexts.derivatives.table import Elementwise
from ctxdispatch_contexts.programs.operands import infer_op, leaf_class, namespace
from ctxdispatch_contexts.programs.rules import call_rule


def typed(build: Builder, fn: Any, *args: Operand) -> Value:
    """Emit fn(*args), spelled as syntax, with the type that inference gives it."""
    value = build.call(fn, *args, syntax=True)
    value.type = infer_op(build.block.ops[-1])
    return value


def partial_of(
    build: Builder, op: Op, row: Elementwise, i: int, recall: Callable[[Operand], Operand] = lambda a: a
) -> Operand:
    """Emit the i-th partial derivative of an elementwise `op`. `recall` finds its operands again."""
    partial = row.partials(namespace(op))[i]
    if row.kinds[i] == "const":
        return Const(float(partial(*[0.0] * len(row.params), 0.0)))
    args: list[Operand] = []
    for name, arg in zip((*row.params, "y"), (*op.args, op.result), strict=True):
        args.append(_in_floats(build, row, recall(arg), op.result) if name in row.needs[i] else Const(None))
    factor = call_rule(build, partial, args)
    if isinstance(factor, Value) and factor.type in (None, T.Any) and namespace(op) is MATH:
        factor.type = T.Exact(float)
    return factor


def _in_floats(build: Builder, row: Elementwise, arg: Operand, result: Operand) -> Operand:
    """Whole numbers of NumPy's as what the function itself computes in: formulas would go beyond their range
    (-a of uint8, a * a of int8), or know less digits (log of int8 is a float16)."""
    type_, out = operand_type(arg), operand_type(result)
    dtype = out.dtype if isinstance(out, T.ArrayOf) else np.dtype(leaf_class(out) or float)
    if row.name == "mul" or dtype.kind not in "fc":
        return arg
    dtype = np.finfo(dtype).dtype
    if isinstance(type_, T.ArrayOf) and type_.dtype.kind in "biu":
        return typed(build, np.ndarray.astype, arg, Const(dtype))
    if issubclass(leaf_class(type_) or float, (np.integer, np.bool_)):
        return typed(build, dtype.type, arg)
    return arg


def product(build: Builder, g: Operand, factor: Operand) -> Operand:
    """g * factor. A factor 1/b makes it g / b, a factor -p the negated product."""
    if isinstance(factor, Const) and isinstance(factor.value, (int, float)) and factor.value in (1.0, -1.0):
        return g if factor.value == 1.0 else typed(build, operator.neg, g)
    ops = build.block.ops
    last: Op | None = ops[-1] if ops else None
    if last is not None and last.results[0] is factor and last.syntax:
        if last.fn is operator.truediv and is_one(last.args[0]):
            ops.pop()
            return typed(build, operator.truediv, g, last.args[1])
        if last.fn is operator.neg:
            ops.pop()
            inner = product(build, g, last.args[0])
            return typed(build, operator.neg, inner)
        if (
            last.fn is operator.mul
            and _is_number(last.args[0])
            and _is_number(g)
            and not _is_number(last.args[1])
        ):
            ops.pop()  # scalars first: one array less
            scale = product(build, g, last.args[0])
            return typed(build, operator.mul, scale, last.args[1])
    if known_number(g) == -1.0 and _is_inexact(operand_type(factor)):
        return typed(build, operator.neg, factor)
    if is_one(g) and _is_inexact(operand_type(factor)):
        return factor
    return typed(build, operator.mul, g, factor)


def _is_inexact(type_: T.Type) -> bool:
    """1.0 times a value of this type is the value itself."""
    if isinstance(type_, T.ArrayOf):
        return type_.dtype.kind in "fc"
    return leaf_class(type_) not in (None, np.ndarray, int, bool)


def _is_number(operand: Operand) -> bool:
    return leaf_class(operand_type(operand)) not in (None, np.ndarray)


def is_one(operand: Operand) -> bool:
    return known_number(operand) == 1


def known_number(operand: Operand) -> float | None:
    """A number that is known beforehand."""
    type_ = operand_type(operand)
    return type_.value if isinstance(type_, T.Known) and type(type_.value) in (int, float) else None
