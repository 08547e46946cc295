"""Cheaper calls with bitwise the same results: one table, callee -> rewrite.

A rewrite gets the op and the ops that made its arguments, as far as what those read is still the same; it
changes the op in place, or returns the operand that the result is equal to. Floating point allows little:
x + 0.0 is not x where x is -0.0, and 0.0 * x is not 0.0.
"""

from __future__ import annotations

import operator
import types as pytypes
from collections.abc import Callable, Mapping
from typing import Any as Anything

import numpy as np

from ctxdispatch.facts import UNITS
from ctxdispatch.ir.graph import Op
from ctxdispatch.ir.values import Const, Operand, Value
from ctxdispatch.passes.numpy_types import numeric
from ctxdispatch.passes.types import ArrayOf, Exact, Known, cls_of, operand_type

Makers = Mapping[Value, Op]
Rewrite = Callable[[Op, Makers], "Operand | None"]

REAL = frozenset({float, np.float64, np.float32, np.float16})
"""Not complex: 1.0 * z is (1 + 0j) * z, and 0 * inf is nan."""


def strengthen(op: Op, makers: Makers) -> Operand | None:
    """Rewrite `op`; the operand that its result equals, where the op is superfluous."""
    function = op.fn
    if function is None or len(op.results) != 1 or getattr(type(function), "__hash__", None) is None:
        return None
    rewrite = REWRITES.get(function)
    return rewrite(op, makers) if rewrite is not None else None


# -- identities ----------------------------------------------------------------------------------------------


def unit(position: int, value: float) -> Rewrite:
    """The operand at `position` being `value`, the result equals the other operand. An array it only equals:
    the result is a new one, which may be changed later. `cse` sees to these."""

    def apply(op: Op, makers: Makers) -> Operand | None:
        if len(op.args) != 2 or not is_number(op.args[position], value):
            return None
        other = op.args[1 - position]
        return other if cls_of(operand_type(other)) in REAL and _same_class(op, other) else None

    return apply


def equal_array(op: Op) -> Operand | None:
    """The array that the result is a copy of."""
    units = (
        UNITS.get(op.fn, ()) if type(op.fn) is pytypes.BuiltinFunctionType and len(op.args) == 2 else ()
    )
    for position, value in units:
        other = op.args[1 - position]
        type_ = operand_type(other)
        if is_number(op.args[position], value) and isinstance(type_, ArrayOf) and type_.dtype.kind == "f":
            return other if op.results[0].type == type_ else None
    return None


def units(function: Anything) -> Rewrite:
    return either(*(unit(*row) for row in UNITS[function]))


def is_number(operand: Operand, value: float) -> bool:
    if not isinstance(operand, Const) or type(operand.value) not in (int, float):
        return False
    return bool(operand.value == value) and str(operand.value)[0] != "-"


def _same_class(op: Op, other: Operand) -> bool:
    return cls_of(operand_type(op.result)) is cls_of(operand_type(other))


def either(*rewrites: Rewrite) -> Rewrite:
    """The first that applies: what it made of the op is another function's, which the others are not for."""

    def apply(op: Op, makers: Makers) -> Operand | None:
        function = op.fn
        for rewrite in rewrites:
            found = rewrite(op, makers)
            if found is not None or op.fn is not function:
                return found
        return None

    return apply


def involution(op: Op, makers: Makers) -> Operand | None:
    """-(-x)"""
    maker = makers.get(op.args[0]) if isinstance(op.args[0], Value) else None
    if maker is None or maker.fn is not op.fn or cls_of(operand_type(op.result)) not in REAL | {int, complex}:
        return None
    return maker.args[0] if cls_of(operand_type(maker.args[0])) is cls_of(operand_type(op.result)) else None


def square(op: Op, makers: Makers) -> Operand | None:
    """x ** 2 is x * x on arrays: NumPy computes it so; for Python floats the C library's pow need not."""
    type_ = operand_type(op.args[0])
    if (
        len(op.args) == 2
        and is_number(op.args[1], 2)
        and isinstance(type_, ArrayOf)
        and type_.dtype.kind in "f"
    ):
        op.callee, op.args, op.syntax = Const(operator.mul), [op.args[0], op.args[0]], True
    return None


def negated(function: Anything, ufunc: np.ufunc) -> Rewrite:
    """a + -b is a - b, and a - -b is a + b: exactly, but for the sign of a nan."""

    def apply(op: Op, makers: Makers) -> Operand | None:
        if len(op.args) == 2 and not op.kwnames and all(map(_is_number, op.args)):
            b = _negative_of(op.args[1], makers)
            if b is not None:
                _call_binary(op, function, ufunc, [op.args[0], b])
        return None

    return apply


def negated_first(op: Op, makers: Makers) -> Operand | None:
    """-a + b is b - a."""
    if len(op.args) == 2 and not op.kwnames and all(map(_is_number, op.args)):
        a = _negative_of(op.args[0], makers)
        if a is not None:
            _call_binary(op, operator.sub, np.subtract, [op.args[1], a])
    return None


def _call_binary(op: Op, function: Anything, ufunc: np.ufunc, args: list[Operand]) -> None:
    op.callee, op.args = Const(ufunc if type(op.fn) is np.ufunc else function), args


def _negative_of(operand: Operand, makers: Makers) -> Operand | None:
    """What `operand` is the negative of. Not of unsigned integers: -b is no longer one of a wider type."""
    maker = makers.get(operand) if isinstance(operand, Value) else None
    if maker is None or maker.fn not in _NEGATIVE or len(maker.args) != 1:
        return None
    type_ = operand_type(maker.args[0])
    floats = isinstance(type_, ArrayOf) and type_.dtype.kind in "fc"
    return maker.args[0] if floats or cls_of(type_) in REAL | {int, complex} else None


_NEGATIVE = (operator.neg, np.negative)


def _is_number(operand: Operand) -> bool:
    return numeric(operand_type(operand))


def attribute(name: str) -> Rewrite:
    """np.shape(x) is x.shape of an array."""

    def apply(op: Op, makers: Makers) -> Operand | None:
        if len(op.args) == 1 and not op.kwnames and isinstance(operand_type(op.args[0]), ArrayOf):
            op.callee, op.args, op.syntax = Const(getattr), [op.args[0], Const(name)], True
        return None

    return apply


# -- reductions ----------------------------------------------------------------------------------------------


def reduction(ufunc: np.ufunc, *, kinds: str) -> Rewrite:
    """np.sum(x, axis, keepdims=k) is np.add.reduce(x, axis, ...) behind three Python frames. The default axis
    differs: all of them, against the first."""

    def apply(op: Op, makers: Makers) -> Operand | None:
        given = arguments(op)
        if given is None or not isinstance(given["a"], Value):
            return None
        type_ = operand_type(given["a"])
        if isinstance(type_, ArrayOf) and type_.dtype.kind in kinds:
            _call_reduce(op, ufunc, given, len(type_.dims))
        return None

    return apply


def arguments(op: Op) -> dict[str, Operand] | None:
    """The arguments of np.sum(a, axis, *, keepdims) by name; None where there are others."""
    plain = len(op.args) - len(op.kwnames)
    names = (*("a", "axis")[:plain], *op.kwnames)
    given = dict(zip(names, op.args))
    ok = plain in (1, 2) and len(given) == len(op.args) and set(given) <= {"a", "axis", "keepdims"}
    return given if ok and all(_settled(given[n]) for n in given if n != "a") else None


def _settled(operand: Operand) -> bool:
    return isinstance(operand_type(operand), (Known, Exact)) or isinstance(operand, Const)


def _call_reduce(op: Op, ufunc: np.ufunc, given: dict[str, Operand], rank: int) -> None:
    axis, keepdims = given.get("axis", Const(None)), given.get("keepdims")
    op.callee, op.syntax = Const(ufunc.reduce), False
    op.args, op.kwnames = [given["a"], axis], ()
    if rank == 1 and isinstance(axis, Const) and axis.value is None:
        op.args.pop()  # the one axis is the default
    elif not isinstance(axis, Value) and type(axis.value) not in (int, tuple):
        op.kwnames = ("axis",)
    if keepdims is not None and not (isinstance(keepdims, Const) and keepdims.value is False):
        op.args.append(keepdims)
        op.kwnames = (*op.kwnames, "keepdims")


# -- the table -----------------------------------------------------------------------------------------------

_REDUCTIONS = {
    "sum": (np.add, "fc"),
    "prod": (np.multiply, "fc"),
    "max": (np.maximum, "biufc"),
    "min": (np.minimum, "biufc"),
}

REWRITES: dict[Anything, Rewrite] = {
    operator.mul: units(operator.mul),
    operator.truediv: units(operator.truediv),
    operator.add: either(negated(operator.sub, np.subtract), negated_first),
    np.add: either(negated(operator.sub, np.subtract), negated_first),
    operator.sub: either(units(operator.sub), negated(operator.add, np.add)),
    np.subtract: negated(operator.add, np.add),
    operator.pow: either(units(operator.pow), square),
    operator.neg: involution,
    np.shape: attribute("shape"),
    **{
        getattr(owner, name): reduction(ufunc, kinds=kinds)
        for name, (ufunc, kinds) in _REDUCTIONS.items()
        for owner in (np, np.ndarray)
    },
}
