"""Tangents as the transform sees them: their types, zeros, and how they are fitted to the values that they
belong to.

    x: float            dx: float                  a block of k tangents: array (k,)
    x: array (n, m)     dx: array (n, m)           array (k, n, m)
    x: (a, b)           dx: (da, db), None for what has no tangent

A tangent has its value's dtype. The tangent of a number or array is never None; that of a container, and of a
value of which nothing is known beforehand, may be: it is then zero.
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
from ctxdispatch_contexts.programs import operands
from ctxdispatch_contexts.programs.helper_types import block_like, like_argument, returning
from ctxdispatch_contexts.programs.operands import leaf_class
from ctxdispatch_contexts.programs.scaling import typed

NONE = Const(None)


class Shapes:
    """Single tangents, or blocks of them: `count` says how many."""

    lead = T.Length("k")

    def __init__(self, block: bool, count: Operand = NONE) -> None:
        self.block, self.count = block, count

    def type(self, type_: T.Type | None) -> T.Type:
        """The type of the tangent of a value of `type_`."""
        if not numeric(type_):
            return T.Any
        if not self.block:
            return type_ if isinstance(type_, (T.ArrayOf, T.Exact)) else T.Any
        if isinstance(type_, T.ArrayOf):
            return T.ArrayOf(type_.dtype, (self.lead, *type_.dims))
        return T.ArrayOf(np.dtype(type_.cls), (self.lead,)) if isinstance(type_, T.Exact) else T.Any

    def zero(self, run: Companions, operand: Operand) -> Operand:
        """The tangent of what does not vary."""
        type_ = T.widen(operand_type(operand))
        if not numeric(type_) and leaf_class(type_) not in (int, bool):
            return NONE
        if self.block:
            return run.call(zeros_block, operand, self.count, type=self.type(type_))
        if isinstance(type_, T.ArrayOf):
            return run.call(np.zeros_like, operand, type=type_)
        cls = T.cls_of(type_)
        return Const(cls(0)) if cls in (complex,) or issubclass(cls or int, np.inexact) else Const(0.0)

    def definite(
        self, run: Companions, tangent: Operand, value: Value, *, certainly: bool = False
    ) -> Operand:
        """The tangent of a number or array, from where None may be meant for zero. `certainly`: `value` is
        one, though inference does not know it."""
        if operand_type(tangent) not in (T.Any, T.Known(None)) or not (certainly or numeric(value.type)):
            return tangent
        args = (tangent, value, self.count) if self.block else (tangent, value)
        return run.call(or_zeros_block if self.block else or_zeros, *args, type=self.type(value.type))

    def aligned(self, run: Companions, tangent: Operand, arg: Operand, result: Operand) -> Operand:
        """The tangents of an operand, so that they broadcast as the operand does."""
        if not self.block:
            return tangent
        mine, full = operand_type(arg), operand_type(result)
        rank = full.ndim if isinstance(full, T.ArrayOf) else 0 if leaf_class(full) else None
        own = mine.ndim if isinstance(mine, T.ArrayOf) else 0 if leaf_class(mine) else None
        if rank is None or own is None:
            return run.call(align, tangent, arg, result)
        if rank <= own:
            return tangent
        return typed(run.build, operator.getitem, tangent, Const((slice(None), *[None] * (rank - own))))

    def fit(self, run: Companions, tangent: Operand, value: Value, *, whole: bool = True) -> Operand:
        """`tangent` with the shape and dtype that the tangent of `value` has. `whole`: of arrays of one rank,
        the lengths that are not known are the same."""
        if value.type in (None, T.Any) and tangent is not NONE:
            return run.call(of_inexact, tangent, value)
        want, now = self.type(value.type), T.widen(operand_type(tangent))
        whole = whole or not (isinstance(value.type, T.ArrayOf) and None in value.type.dims)
        if want is T.Any or (now == want and whole):
            return tangent
        if not isinstance(want, T.ArrayOf):
            return _number(run, tangent, want, now)
        if isinstance(now, T.ArrayOf) and whole and same_shape(now, want):
            return _cast(run, tangent, want, now)
        if not self.block:
            return run.call(expand, tangent, value, type=want)
        return run.call(expand_block, tangent, value, self.count, type=want)


@says(known=False, raises=False)
def of_inexact(tangent: Any, value: Any) -> Any:
    """Arrays of whole numbers have none, whatever they were put together of; that of a number is one."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "biu":
        return None
    return tangent[()] if isinstance(value, np.generic) and type(tangent) is np.ndarray else tangent


def numeric(type_: T.Type | None) -> bool:
    """Of numbers, literals too, and arrays that carry derivatives."""
    if isinstance(type_, T.Known):
        return isinstance(type_.value, (float, complex))
    return operands.numeric(type_)


def tangent_or_none(run: Companions, operand: Operand) -> Operand:
    found = run.of(operand)
    return NONE if found is None else found


def put_result(shapes: Shapes, run: Companions, op: Op, fn: Any, args: list[Operand]) -> None:
    """fn(*args) is the tangent of what the op gives."""
    if not op.results:
        run.build.op(fn, args, [], syntax=op.syntax)
        return
    value = run.call(fn, *args, syntax=op.syntax, name="d" + op.result.name)
    value.type = of_list(operands.infer_op(run.build.block.ops[-1]))
    run.put(op.result, shapes.definite(run, value, op.result))


def of_list(type_: T.Type) -> T.Type:
    """The type of a tangent: None may be put into a list later, whatever it has been made of."""
    return T.Exact(list) if isinstance(type_, T.ListOf) else type_


def same_shape(now: T.ArrayOf, want: T.ArrayOf) -> bool:
    """Certainly of one shape, `now` being broadcast to `want`."""
    return len(now.dims) == len(want.dims) and all(
        T.flag(x) is False or (x is not None and x == y) for x, y in zip(now.dims, want.dims, strict=True)
    )


def _number(run: Companions, tangent: Operand, want: T.Type, now: T.Type) -> Operand:
    assert isinstance(want, T.Exact)
    cls, own = want.cls, T.cls_of(now)
    if own is None:
        return run.call(as_number, tangent, Const(cls), type=want)
    if issubclass(own, (complex, np.complexfloating)) and issubclass(cls, (float, np.floating)):
        tangent = run.call(getattr, tangent, Const("real"), syntax=True)
        return run.call(cls, tangent, type=want)
    if own is cls or (isinstance(tangent, Const) and cls is float):
        return tangent
    return run.call(cls, tangent, type=want)


def _cast(run: Companions, tangent: Operand, want: T.ArrayOf, now: T.ArrayOf) -> Operand:
    if now.dtype == want.dtype:
        return tangent
    if now.dtype.kind == "c" and want.dtype.kind == "f":
        tangent = run.call(getattr, tangent, Const("real"), syntax=True, type=T.Any)
    return run.call(np.ndarray.astype, tangent, Const(want.dtype), type=want)


# -- at run time ---------------------------------------------------------------------------------------------


def dtype_of(value: Any) -> Any:
    """The dtype of the tangent of a number or array."""
    dtype = np.result_type(value)
    return dtype if dtype.kind in "fc" else np.dtype(float)


@says(known=False, raises=False)
def zeros_block(value: Any, k: int) -> Any:
    return np.zeros((k, *np.shape(value)), dtype_of(value))


@says(known=False, raises=False)
def or_zeros(tangent: Any, value: Any) -> Any:
    """None for None: what a path that was not taken would have kept for a sweep."""
    if tangent is not None or value is None:
        return tangent
    return np.zeros_like(value) if isinstance(value, np.ndarray) else type(value)(0)


@says(known=False, raises=False)
def or_zeros_block(tangent: Any, value: Any, k: int) -> Any:
    return zeros_block(value, k) if tangent is None and value is not None else tangent


@says(known=False, raises=False)
def align(tangent: Any, arg: Any, result: Any) -> Any:
    """Axes of length 1 after the first, as many as broadcasting adds to `arg`."""
    extra = np.ndim(result) - np.ndim(arg)
    return tangent.reshape(tangent.shape[:1] + (1,) * extra + tangent.shape[1:]) if extra > 0 else tangent


@says(known=False, raises=False)
def expand(tangent: Any, value: Any) -> Any:
    """`tangent` in the shape and dtype of `value`."""
    if isinstance(tangent, np.ndarray) and tangent.shape == value.shape and tangent.dtype == value.dtype:
        return tangent
    out = np.empty(value.shape, value.dtype)
    out[...] = real_part(tangent, value)
    return out


@says(known=False, raises=False)
def expand_block(tangent: Any, value: Any, k: int) -> Any:
    shape, dtype = (k, *np.shape(value)), dtype_of(value)
    if isinstance(tangent, np.ndarray) and tangent.shape == shape and tangent.dtype == dtype:
        return tangent
    out = np.empty(shape, dtype)
    out[...] = real_part(tangent, value)
    return out


def real_part(tangent: Any, value: Any) -> Any:
    return np.real(tangent) if np.iscomplexobj(tangent) and not np.iscomplexobj(value) else tangent


@says(known=False, raises=False)
def as_number(tangent: Any, cls: type) -> Any:
    if tangent is None:
        return cls(0)
    return cls(tangent.real if issubclass(cls, (float, np.floating)) else tangent)


returning(like_argument(1), expand)
returning(block_like(1), expand_block)
returning(block_like(0), zeros_block)
