"""Pullbacks of elementwise operations: g * partial, summed over the axes that were broadcast.

A cotangent may be *lazy*: of smaller shape than its value, and constant along the missing axes (the pullback
of a sum gives such). The next product broadcasts it for nothing; whoever needs it in full calls `strict`.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ctxdispatch.ir.graph import Op
from ctxdispatch.ir.values import Const, Operand, Value
from ctxdispatch.passes import types as T
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.derivatives.table import Elementwise
from ctxdispatch_contexts.programs.scaling import is_one, known_number, partial_of, product, typed
from ctxdispatch_contexts.reverse import cotangents, fitting
from ctxdispatch_contexts.reverse.bars import is_zero
from ctxdispatch_contexts.reverse.masks import ONE


def reverse_elementwise(adjoint: Any, op: Op, row: Elementwise, g: Operand) -> None:
    """bar(operand) += g * partial, for each operand that the row has a partial for."""
    if row.name == "mul" and op.args[0] is op.args[1] and not adjoint.masking:
        _reverse_square(adjoint, op, g)
        return
    for i, (arg, kind) in enumerate(zip(op.args, row.kinds, strict=True)):
        if kind != "zero" and adjoint.masking:
            _mask_operand(adjoint, op, row, g, i)
        elif kind != "zero" and arg in adjoint.active:
            factor = partial_of(adjoint.build, op, row, i, adjoint.recall)
            power = (
                row.name == "pow"
                and i == 0
                and operand_type(op.result) == T.Exact(float)
                and known_number(g) is None
            )
            if power:
                cotangent: Operand = adjoint.call(cotangents.times, g, factor, type=T.Exact(float))
            else:
                cotangent = product(adjoint.build, g, factor)
            if op in adjoint.masks.chosen and row.picks[i]:
                cotangent = _select(adjoint, cotangent, factor)
            if adjoint.masks.is_open(op, row, i):
                cotangent = selected(adjoint, cotangent, op)
            adjoint.add(arg, fit(adjoint, cotangent, arg, op.result))


def _mask_operand(adjoint: Any, op: Op, row: Elementwise, mask: Operand, i: int) -> None:
    """As if each partial were 1, but for a choice among the operands."""
    arg = op.args[i]
    if arg in adjoint.masks.values:
        if row.picks[i]:
            mask = product(adjoint.build, mask, partial_of(adjoint.build, op, row, i, adjoint.recall))
        adjoint.add(arg, mask if mask is ONE else fit(adjoint, mask, arg, op.result))


def selected(adjoint: Any, cotangent: Operand, op: Op) -> Operand:
    """`cotangent`, of an operand of `op`, and 0 where the mask of the result is, if `op` has a pole."""
    if op not in adjoint.masks.poles:
        return cotangent
    mask = adjoint.mask(op.result)
    return cotangent if mask is ONE or is_zero(mask) else _select(adjoint, cotangent, mask)


def _select(adjoint: Any, cotangent: Operand, mask: Operand) -> Operand:
    type_ = operand_type(cotangent)
    if isinstance(type_, T.ArrayOf) and type_.dims:
        return typed(adjoint.build, np.where, mask, cotangent, Const(0.0))
    return adjoint.call(cotangents.kept, cotangent, mask, type=type_)


def _reverse_square(adjoint: Any, op: Op, g: Operand) -> None:
    """x * x: 2 x g at once."""
    arg = op.args[0]
    if operand_type(arg) == T.Exact(float) and known_number(g) is None:
        slope = typed(adjoint.build, operator.mul, Const(2.0), adjoint.recall(arg))
        cotangent: Operand = adjoint.call(cotangents.times, g, slope, type=T.Exact(float))
    else:
        twice = typed(adjoint.build, operator.mul, g, Const(2.0)) if not is_one(g) else Const(2.0)
        cotangent = product(adjoint.build, twice, adjoint.recall(arg))
    cotangent = selected(adjoint, cotangent, op)
    adjoint.add(arg, fit(adjoint, cotangent, arg, op.result))


# -- shapes --------------------------------------------------------------------------------------------------


def fit(adjoint: Any, cotangent: Operand, arg: Operand, result: Operand) -> Operand:
    """The cotangent of `arg`, from that of the `result` it was broadcast to."""
    mine, full, now = operand_type(arg), operand_type(result), T.widen(operand_type(cotangent))
    if isinstance(mine, T.OneOf) and not isinstance(full, T.ArrayOf):
        return cotangent
    if isinstance(mine, T.Exact) and not (isinstance(full, T.ArrayOf) or issubclass(mine.cls, np.ndarray)):
        return fit_scalar(adjoint, cotangent, mine, now)
    if isinstance(mine, T.ArrayOf) and isinstance(full, T.ArrayOf) and isinstance(now, (T.ArrayOf, T.Exact)):
        if same_shape(mine, full):
            return cast(adjoint, cotangent, mine, now)
        if _shape_known(mine) and _shape_known(full):
            return _reduce(adjoint, cotangent, mine, full, now, result)
    if _is_number(mine) and isinstance(full, T.ArrayOf) and full.dims and now is not T.Any:
        return _reduce_all(adjoint, cotangent, mine, full, now, result)  # type: ignore[arg-type]
    typed = mine if isinstance(mine, (T.ArrayOf, T.Exact)) else T.Any
    return adjoint.call(  # type: ignore[no-any-return]
        fitting.unbroadcast, cotangent, adjoint.shaped(arg), adjoint.shaped(result), type=typed
    )


def fit_scalar(adjoint: Any, cotangent: Operand, mine: T.Exact, now: T.Type) -> Operand:
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


def same_shape(a: T.ArrayOf, b: T.ArrayOf) -> bool:
    """Certainly equal shapes, `a` being broadcast to `b`: equal rank, and no axis of `a` was stretched."""
    return len(a.dims) == len(b.dims) and all(
        T.flag(x) is False or (x is not None and x == y) for x, y in zip(a.dims, b.dims, strict=True)
    )


def _shape_known(type_: T.ArrayOf) -> bool:
    return all(T.flag(d) is not None for d in type_.dims)


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
    if isinstance(now, T.ArrayOf) and same_shape(now, full):
        dtype = now.dtype
    else:
        cotangent = strict(adjoint, cotangent, result)
    lead = len(full.dims) - len(mine.dims)
    stretched = [
        i + lead for i, one in enumerate(mine.dims) if one is True and full.dims[i + lead] is not True
    ]
    summed = T.ArrayOf(dtype, mine.dims)
    if stretched:
        kept = tuple(True if i in stretched else d for i, d in enumerate(full.dims))
        axes = stretched[0] if len(stretched) == 1 else tuple(stretched)
        cotangent = add_reduce(adjoint, cotangent, axes, T.ArrayOf(dtype, kept), keepdims=True)
    if lead and all(d is True for d in full.dims[:lead]):
        cotangent = adjoint.call(
            operator.getitem, cotangent, Const(0 if lead == 1 else (0,) * lead), syntax=True, type=summed
        )
    elif lead:
        cotangent = add_reduce(adjoint, cotangent, 0 if lead == 1 else tuple(range(lead)), summed)
    return cast(adjoint, cotangent, mine, summed)


def _is_number(type_: T.Type) -> bool:
    return isinstance(type_, T.Exact) and issubclass(type_.cls, (float, complex, np.inexact))


def _reduce_all(
    adjoint: Any, cotangent: Operand, mine: T.Exact, full: T.ArrayOf, now: T.Type, result: Operand
) -> Operand:
    """The sum, for a number."""
    dtype = now.dtype if isinstance(now, T.ArrayOf) and same_shape(now, full) else full.dtype
    total = T.Exact(dtype.type)
    axes = None if len(full.dims) > 1 else 0
    summed = add_reduce(adjoint, strict(adjoint, cotangent, result), axes, total)
    return fit_scalar(adjoint, summed, mine, total)


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
