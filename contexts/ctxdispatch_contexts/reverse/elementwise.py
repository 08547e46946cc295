"""Pullbacks of elementwise operations: g * partial, summed over the axes that were broadcast.

A cotangent may be *lazy*: of smaller shape than its value, and constant along the missing axes (the pullback
of a sum gives such). The next product broadcasts it for nothing; whoever needs it in full calls `strict`.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ctxdispatch.ir.graph import Const, Op, Operand, Value
from ctxdispatch.passes import types as T
from ctxdispatch_contexts.derivatives.namespaces import CMATH, MATH, NUMPY
from ctxdispatch_contexts.derivatives.table import Elementwise, elementwise
from ctxdispatch_contexts.reverse import cotangents, fitting
from ctxdispatch_contexts.reverse.rules import call_rule, operand_type

INPLACE = {
    getattr(operator, "i" + name): getattr(operator, other)
    for name, other in {
        "add": "add", "sub": "sub", "mul": "mul", "truediv": "truediv", "floordiv": "floordiv", "mod": "mod",
        "pow": "pow", "matmul": "matmul", "and": "and_", "or": "or_", "xor": "xor", "lshift": "lshift",
        "rshift": "rshift",
    }.items()
}  # fmt: skip
"""In-place operators and what they are on immutable operands."""


def leaf_class(type_: T.Type) -> type | None:
    """The class of a number or array type, else None."""
    if isinstance(type_, T.OneOf):
        return next((c for c in type_.classes if c not in (int, float, bool)), float)
    cls = T.cls_of(type_)
    if cls is None or not issubclass(cls, (int, float, complex, np.number, np.bool_, np.ndarray)):
        return None
    if isinstance(type_, T.Exact) and cls is np.ndarray:
        return None  # rank and dtype unknown
    return cls


def row_for(op: Op) -> Elementwise | None:
    """The row that differentiates `op`: all operands numbers or arrays of known type, no keywords."""
    row = elementwise(op.fn)
    if row is None or op.kwnames or len(op.args) != len(row.params):
        return None
    return row if all(leaf_class(operand_type(a)) for a in op.args) else None


def namespace(op: Op) -> dict[str, Any]:
    classes = [leaf_class(operand_type(a)) for a in op.args]
    if all(cls in (int, float, bool) for cls in classes):
        result = leaf_class(operand_type(op.result))
        return CMATH if result is complex else MATH
    if all(cls in (int, float, bool, complex) for cls in classes):
        return CMATH
    return NUMPY


def reverse_elementwise(adjoint: Any, op: Op, row: Elementwise, g: Operand) -> None:
    """bar(operand) += g * partial, for each operand that the row has a partial for."""
    if row.name == "mul" and op.args[0] is op.args[1]:
        _reverse_square(adjoint, op, g)
        return
    partials = row.partials(namespace(op))
    for i, (arg, kind) in enumerate(zip(op.args, row.kinds, strict=True)):
        if kind != "zero" and arg in adjoint.active:
            factor = _partial(adjoint, op, row, i, partials[i])
            power = (
                row.name == "pow"
                and i == 0
                and operand_type(op.result) == T.Exact(float)
                and _known(g) is None
            )
            if power:
                cotangent: Operand = adjoint.call(cotangents.times, g, factor, type=T.Exact(float))
            else:
                cotangent = product(adjoint, g, factor, op)
            adjoint.add(arg, fit(adjoint, cotangent, arg, op.result))


def _reverse_square(adjoint: Any, op: Op, g: Operand) -> None:
    """x * x: 2 x g at once."""
    arg = op.args[0]
    if operand_type(arg) == T.Exact(float) and _known(g) is None:
        slope = adjoint.pullbacks.typed(adjoint, operator.mul, Const(2.0), adjoint.recall(arg))
        cotangent: Operand = adjoint.call(cotangents.times, g, slope, type=T.Exact(float))
    else:
        twice = (
            adjoint.pullbacks.typed(adjoint, operator.mul, g, Const(2.0)) if not _is_one(g) else Const(2.0)
        )
        cotangent = product(adjoint, twice, adjoint.recall(arg), op)
    adjoint.add(arg, fit(adjoint, cotangent, arg, op.result))


def _partial(adjoint: Any, op: Op, row: Elementwise, i: int, partial: Any) -> Operand:
    if row.kinds[i] == "const":
        return Const(float(partial(*[0.0] * len(row.params), 0.0)))
    args: list[Operand] = []
    for name, arg in zip((*row.params, "y"), (*op.args, op.result), strict=True):
        args.append(adjoint.recall(arg) if name in row.needs[i] else Const(None))
    factor = call_rule(adjoint.build, partial, args)
    if isinstance(factor, Value) and factor.type in (None, T.Any) and namespace(op) is MATH:
        factor.type = T.Exact(float)
    return factor


def product(adjoint: Any, g: Operand, factor: Operand, op: Op) -> Operand:
    """g * factor. A factor 1/b makes it g / b, a factor -p the negated product."""
    if isinstance(factor, Const) and isinstance(factor.value, (int, float)) and factor.value in (1.0, -1.0):
        return g if factor.value == 1.0 else adjoint.pullbacks.typed(adjoint, operator.neg, g)
    ops = adjoint.build.block.ops
    last: Op | None = ops[-1] if ops else None
    if last is not None and last.results[0] is factor and last.syntax:
        if last.fn is operator.truediv and _is_one(last.args[0]):
            ops.pop()
            return adjoint.pullbacks.typed(adjoint, operator.truediv, g, last.args[1])  # type: ignore[no-any-return]
        if last.fn is operator.neg:
            ops.pop()
            inner = product(adjoint, g, last.args[0], op)
            return adjoint.pullbacks.typed(adjoint, operator.neg, inner)  # type: ignore[no-any-return]
        if (
            last.fn is operator.mul
            and _is_number(last.args[0])
            and _is_number(g)
            and not _is_number(last.args[1])
        ):
            ops.pop()  # scalars first: one array less
            scale = product(adjoint, g, last.args[0], op)
            return adjoint.pullbacks.typed(adjoint, operator.mul, scale, last.args[1])  # type: ignore[no-any-return]
    if _known(g) == -1.0 and _is_inexact(operand_type(factor)):
        return adjoint.pullbacks.typed(adjoint, operator.neg, factor)  # type: ignore[no-any-return]
    if _is_one(g) and _is_inexact(operand_type(factor)):
        return factor
    return adjoint.pullbacks.typed(adjoint, operator.mul, g, factor)  # type: ignore[no-any-return]


def _is_inexact(type_: T.Type) -> bool:
    """1.0 times a value of this type is the value itself."""
    if isinstance(type_, T.ArrayOf):
        return type_.dtype.kind in "fc"
    return leaf_class(type_) not in (None, np.ndarray, int, bool)


def _is_number(operand: Operand) -> bool:
    return leaf_class(operand_type(operand)) not in (None, np.ndarray)


def _is_one(operand: Operand) -> bool:
    return _known(operand) == 1


def _known(operand: Operand) -> float | None:
    """A number that is known beforehand."""
    type_ = operand_type(operand)
    return type_.value if isinstance(type_, T.Known) and type(type_.value) in (int, float) else None


# -- shapes --------------------------------------------------------------------------------------------------


def fit(adjoint: Any, cotangent: Operand, arg: Operand, result: Operand) -> Operand:
    """The cotangent of `arg`, from that of the `result` it was broadcast to."""
    mine, full, now = operand_type(arg), operand_type(result), T.widen(operand_type(cotangent))
    if isinstance(mine, T.OneOf) and not isinstance(full, T.ArrayOf):
        return cotangent
    if isinstance(mine, T.Exact) and not (isinstance(full, T.ArrayOf) or issubclass(mine.cls, np.ndarray)):
        return _fit_scalar(adjoint, cotangent, mine, now)
    if isinstance(mine, T.ArrayOf) and isinstance(full, T.ArrayOf) and isinstance(now, (T.ArrayOf, T.Exact)):
        if _same_shape(mine, full):
            return cast(adjoint, cotangent, mine, now)
        if _shape_known(mine) and _shape_known(full):
            return _reduce(adjoint, cotangent, mine, full, now, result)
    typed = mine if isinstance(mine, (T.ArrayOf, T.Exact)) else T.Any
    return adjoint.call(  # type: ignore[no-any-return]
        fitting.unbroadcast, cotangent, adjoint.shaped(arg), adjoint.shaped(result), type=typed
    )


def _fit_scalar(adjoint: Any, cotangent: Operand, mine: T.Exact, now: T.Type) -> Operand:
    if T.cls_of(now) is mine.cls or isinstance(cotangent, Const):
        return cotangent
    if now is T.Any:
        return adjoint.call(cotangents.project, cotangent, Const(mine.cls()), type=mine)  # type: ignore[no-any-return]
    if issubclass(mine.cls, (float, np.floating)) and T.cls_of(now) in (float, int, bool):
        return cotangent  # a Python number takes on the dtype of whatever it meets
    if issubclass(mine.cls, (float, np.floating)) and issubclass(
        T.cls_of(now) or object, (complex, np.complexfloating)
    ):
        real = adjoint.call(getattr, cotangent, Const("real"), syntax=True)
        return adjoint.call(mine.cls, real, type=mine)  # type: ignore[no-any-return]
    return adjoint.call(mine.cls, cotangent, type=mine)  # type: ignore[no-any-return]


def _same_shape(a: T.ArrayOf, b: T.ArrayOf) -> bool:
    """Certainly equal shapes, `a` being broadcast to `b`: equal rank, and no axis of `a` was stretched."""
    return len(a.dims) == len(b.dims) and all(
        x is False or (x is True and y is True) for x, y in zip(a.dims, b.dims, strict=True)
    )


def _shape_known(type_: T.ArrayOf) -> bool:
    return None not in type_.dims


def cast(adjoint: Any, cotangent: Operand, mine: T.ArrayOf, now: T.Type) -> Operand:
    """`cotangent` in the dtype of `mine`. One without axes may be a NumPy scalar, whatever its type says."""
    dtype = _dtype_of(now)
    if dtype is None or dtype == mine.dtype:
        return cotangent
    if dtype.kind == "c" and mine.dtype.kind == "f":
        cotangent = adjoint.call(getattr, cotangent, Const("real"), syntax=True, type=T.Any)
    if not isinstance(now, T.ArrayOf) or not now.dims:
        scalar = mine.dtype.type
        return adjoint.call(scalar, cotangent, type=T.Exact(scalar))  # type: ignore[no-any-return]
    return adjoint.call(  # type: ignore[no-any-return]
        np.ndarray.astype, cotangent, Const(mine.dtype), type=T.ArrayOf(mine.dtype, now.dims)
    )


def _dtype_of(type_: T.Type) -> Any:
    """None for a Python number: it takes on the dtype of whatever it meets."""
    if isinstance(type_, T.ArrayOf):
        return type_.dtype
    cls = T.cls_of(type_)
    if cls is complex:
        return np.dtype(complex)
    return np.dtype(cls) if cls is not None and issubclass(cls, np.inexact) else None


def _reduce(
    adjoint: Any, cotangent: Operand, mine: T.ArrayOf, full: T.ArrayOf, now: T.Type, result: Operand
) -> Operand:
    """Sum over the leading axes that `mine` lacks and, keeping them, over those of length 1."""
    dtype = full.dtype
    if isinstance(now, T.ArrayOf) and _same_shape(now, full):
        dtype = now.dtype
    else:
        cotangent = strict(adjoint, cotangent, result)
    lead = len(full.dims) - len(mine.dims)
    stretched = [i + lead for i, one in enumerate(mine.dims) if one and not full.dims[i + lead]]
    summed = T.ArrayOf(dtype, mine.dims)
    if stretched:
        kept = tuple(True if i in stretched else d for i, d in enumerate(full.dims))
        axes = stretched[0] if len(stretched) == 1 else tuple(stretched)
        cotangent = add_reduce(adjoint, cotangent, axes, T.ArrayOf(dtype, kept), keepdims=True)
    if lead and all(full.dims[:lead]):
        cotangent = adjoint.call(
            operator.getitem, cotangent, Const(0 if lead == 1 else (0,) * lead), syntax=True, type=summed
        )
    elif lead:
        cotangent = add_reduce(adjoint, cotangent, 0 if lead == 1 else tuple(range(lead)), summed)
    return cast(adjoint, cotangent, mine, summed)


def add_reduce(adjoint: Any, array: Operand, axes: Any, type_: T.Type, keepdims: bool = False) -> Value:
    args: list[Operand] = [array, Const(axes)]
    if keepdims:
        args += [Const(None), Const(None), Const(True)]
    return adjoint.call(np.add.reduce, *args, type=type_)  # type: ignore[no-any-return]


def is_lazy(cotangent: Operand, value: Operand) -> bool:
    """Certainly or possibly of smaller shape than `value`."""
    full, now = operand_type(value), operand_type(cotangent)
    if not isinstance(full, T.ArrayOf):
        return False
    if isinstance(now, T.ArrayOf):
        return len(now.dims) != len(full.dims) or any(
            n is True and f is not True for n, f in zip(now.dims, full.dims, strict=True)
        )
    return True  # a number, or something of which nothing is known


def strict(adjoint: Any, cotangent: Operand, value: Operand) -> Operand:
    """`cotangent` in the full shape of `value`."""
    if not is_lazy(cotangent, value):
        return cotangent
    return adjoint.call(  # type: ignore[no-any-return]
        fitting.expand, cotangent, adjoint.shaped(value), type=operand_type(value)
    )
