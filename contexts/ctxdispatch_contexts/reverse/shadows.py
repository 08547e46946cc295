"""The shadows of the arrays that are stored to: what happens to them in the reverse sweep.

    primal            sweep, from the last line to the first; dx is the shadow of x
    y = x[i]          dx[i] += dy
    x[i] = v          dv += dx[i]; dx[i] = 0
    x += v            dv += dx
    x *= v            dv += dx * x (as it was); dx *= v
    add.at(x, i, v)   dv += dx[i]
    y = f(x)          dx += what the rule of f gives
    x = g(z)          dz += what the rule of g gives for dx; dx is not read again

A part of `x` has the same part of `dx` as its shadow. Of data that is read by the sweep and stored to after
that, see `Overwritten`: the sweep reads a copy. So a sweep leaves the arrays of the program as they are, and
may be run again.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

import numpy as np

from ctxdispatch.facts import says
from ctxdispatch.ir.analysis import Loop
from ctxdispatch.ir.graph import Block, Op
from ctxdispatch.ir.values import Const, Operand, Value
from ctxdispatch.passes import types as T
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.programs.activity import SCATTERS, carries
from ctxdispatch_contexts.programs.followed import Followed, is_basic, unread_stores
from ctxdispatch_contexts.programs.operands import infer_op
from ctxdispatch_contexts.programs.scaling import typed
from ctxdispatch_contexts.reverse import fitting
from ctxdispatch_contexts.reverse.adjoint import Adjoint
from ctxdispatch_contexts.reverse.bars import is_zero, may_be_none
from ctxdispatch_contexts.reverse.cotangents import unique_index, unwrapped
from ctxdispatch_contexts.reverse.elementwise import add_reduce, cast, fit_scalar, same_shape


class Shadows:
    """Emits what the sweep does with them."""

    def __init__(self, followed: Followed) -> None:
        self.followed = followed
        self._open: dict[Value, Value] = {}  # root -> its shadow, wherever the sweep is now
        self._certain: set[Operand] = set()  # shadows that are arrays for sure
        self._parts: dict[tuple[Block, Value], Value] = {}
        self._unread: set[Op] | None = None

    def has(self, operand: Operand) -> bool:
        return self.followed.root(operand) is not None

    # -- where a shadow begins -------------------------------------------------------------------------------

    def open(self, adjoint: Adjoint, loop: Loop | None, ends: Iterable[Block]) -> None:
        """The sweep comes to the region of `loop` that control left from `ends`: the arrays that were made in
        it, on all paths, get their shadows here, so that inner loops find them."""
        shape, ends = adjoint.shape, list(ends)
        for root in self.followed.roots:
            home = adjoint.home[root]
            if shape.loop(home) is not loop or not adjoint.has_bar(root):
                continue
            self._open.pop(root, None)
            if all(shape.tree.dominates(home, end) for end in ends):
                self._open[root] = self._zeros(adjoint, root)

    def _zeros(self, adjoint: Adjoint, root: Value) -> Value:
        type_ = root.type
        assert isinstance(type_, T.ArrayOf)
        array = adjoint.shaped(root)
        shape = adjoint.call(getattr, array, Const("shape"), syntax=True, type=T.Exact(tuple))
        made = adjoint.call(np.zeros, shape, Const(type_.dtype), type=type_, name="d" + root.name)
        self._certain.add(made)
        return made

    def bar(self, adjoint: Adjoint, root: Value) -> Operand:
        """The shadow of a root, or zero where the sweep has not come upon it yet."""
        if root in self._open:
            return self._open[root]
        found = adjoint.variable(root)
        if is_zero(found) or found in self._certain:
            return found
        made = adjoint.call(ensured, found, adjoint.shaped(root), type=root.type)
        return self._is_now(adjoint, root, made)

    def of(self, adjoint: Adjoint, value: Operand) -> Value:
        """The shadow of a root or part."""
        assert isinstance(value, Value)
        if value in self.followed.roots:
            shadow = self.bar(adjoint, value)
            if isinstance(shadow, Value):
                return shadow
            return self._is_now(adjoint, value, self._zeros(adjoint, value))
        key = (adjoint.build.block, value)
        if key not in self._parts:
            reading = adjoint.makers[value]
            whole = self.of(adjoint, reading.args[0])
            self._parts[key] = self._item(adjoint, whole, adjoint.recall(reading.args[1]), value.type)
        return self._parts[key]

    def _is_now(self, adjoint: Adjoint, root: Value, shadow: Value) -> Value:
        adjoint.set_bar(root, shadow)
        self._certain.add(shadow)
        return shadow

    @staticmethod
    def _item(adjoint: Adjoint, array: Operand, index: Operand, type_: T.Type | None) -> Value:
        return adjoint.call(operator.getitem, array, index, syntax=True, type=type_)

    # -- what is read ----------------------------------------------------------------------------------------

    def add(self, adjoint: Adjoint, value: Value, cotangent: Operand) -> None:
        """bar(value) += cotangent"""
        shadow = self.of(adjoint, value)
        if may_be_none(cotangent):
            adjoint.call(add_whole, shadow, cotangent)
        else:
            adjoint.call(operator.iadd, shadow, cotangent, syntax=True, type=shadow.type)

    def read(self, adjoint: Adjoint, op: Op) -> None:
        """Reverse `y = x[i]` of a root or part."""
        if op.results[0] in self.followed.part_of:
            return  # what arrived for the part is in the shadow of the whole
        g = adjoint.pullbacks.arrived(adjoint, op.results[0])
        if is_zero(g):
            return
        shadow, index = self.of(adjoint, op.args[0]), adjoint.recall(op.args[1])
        basic = is_basic(operand_type(op.args[1])) and not may_be_none(g)
        if basic and isinstance(op.results[0].type, T.Exact):
            old = self._item(adjoint, shadow, index, op.results[0].type)
            new = adjoint.call(operator.add, old, g, syntax=True, type=old.type)
            adjoint.call(operator.setitem, shadow, index, new, syntax=True)
        else:
            adjoint.call(add_part, shadow, index, g)

    # -- what is stored --------------------------------------------------------------------------------------

    def reverse_store(self, adjoint: Adjoint, op: Op) -> None:
        if self._unread is None:
            self._unread = set(unread_stores(self.followed, adjoint.makers))
        if op in self._unread:
            return
        if op.fn is operator.setitem:
            self._reverse_setitem(adjoint, op)
        elif op.fn in SCATTERS:
            self._reverse_scatter(adjoint, op)
        else:
            self._reverse_update(adjoint, op)

    def _reverse_setitem(self, adjoint: Adjoint, op: Op) -> None:
        target, index, value = op.args
        shadow, at = self.of(adjoint, target), adjoint.recall(index)
        if not is_basic(operand_type(index)):
            type_ = operand_type(value) if carries(operand_type(value)) else T.Any
            taken = adjoint.call(take_part, shadow, at, adjoint.shaped(value), type=type_)
            adjoint.add(value, taken)
            return
        part = infer_op(Op(Const(operator.getitem), [target, index], [Value()]))
        if value in adjoint.active:
            cotangent = self._stored(adjoint, value, self._item(adjoint, shadow, at, part))
            adjoint.call(operator.setitem, shadow, at, Const(0.0), syntax=True)
            adjoint.add(value, cotangent)
        else:
            adjoint.call(operator.setitem, shadow, at, Const(0.0), syntax=True)

    @staticmethod
    def _stored(adjoint: Adjoint, value: Operand, old: Value, *, fresh: bool = False) -> Operand:
        """The cotangent of a value that was stored where the shadow has `old`: never a view of it. `fresh`:
        `old` is none."""
        mine, part = operand_type(value), operand_type(old)
        if isinstance(mine, T.Exact) and isinstance(part, T.Exact):
            return fit_scalar(adjoint, old, mine, part)  # type: ignore[no-any-return]
        if isinstance(mine, T.Exact) and isinstance(part, T.ArrayOf) and part.dims:
            total = T.Exact(part.dtype.type)
            summed = add_reduce(adjoint, old, None if len(part.dims) > 1 else 0, total)
            return fit_scalar(adjoint, summed, mine, total)  # type: ignore[no-any-return]
        arrays = isinstance(mine, T.ArrayOf) and isinstance(part, T.ArrayOf)
        if arrays and mine.dims and same_shape(mine, part):  # type: ignore[attr-defined, arg-type]
            return cast(adjoint, old if fresh else copied(adjoint, old), mine, part)  # type: ignore
        return adjoint.call(of_stored, old, adjoint.shaped(value), type=mine)

    def _reverse_update(self, adjoint: Adjoint, op: Op) -> None:
        """x += v and the like"""
        target, value = op.args
        shadow = self.of(adjoint, target)
        wanted, scales = value in adjoint.active, op.fn in _PRODUCTS and not adjoint.masking
        cotangent = shadow
        if wanted and scales:
            cotangent = self._of_factor(adjoint, op, shadow)
        elif wanted and op.fn is operator.isub and not adjoint.masking:
            cotangent = typed(adjoint.build, operator.neg, shadow)
        if scales:
            adjoint.call(op.fn, shadow, adjoint.recall(value), syntax=True, type=shadow.type)
        if wanted:
            adjoint.add(value, self._stored(adjoint, value, cotangent, fresh=cotangent is not shadow))

    def _reverse_scatter(self, adjoint: Adjoint, op: Op) -> None:
        """add.at(x, i, v) and subtract.at: what was there before stays part of what is there."""
        target, index, value = op.args
        if value not in adjoint.active:
            return
        type_ = infer_op(Op(Const(operator.getitem), [target, index], [Value()]))
        part = self._item(adjoint, self.of(adjoint, target), adjoint.recall(index), type_)
        moved = op.fn == np.subtract.at and not adjoint.masking
        cotangent = typed(adjoint.build, operator.neg, part) if moved else part
        fresh = moved or not is_basic(operand_type(index))
        adjoint.add(value, self._stored(adjoint, value, cotangent, fresh=fresh))

    @staticmethod
    def _of_factor(adjoint: Adjoint, op: Op, g: Value) -> Value:
        """Of v in x * v: g * x. In x / v: -g * x / v / v."""
        old, factor = map(adjoint.recall, op.args)
        slope = typed(adjoint.build, operator.mul, g, old)
        if op.fn is operator.imul:
            return slope
        for _ in range(2):
            slope = typed(adjoint.build, operator.truediv, slope, factor)
        return typed(adjoint.build, operator.neg, slope)


_PRODUCTS = frozenset({operator.imul, operator.itruediv})


def copied(adjoint: Adjoint, array: Operand) -> Value:
    """Emit a copy of an array that has axes."""
    return adjoint.call(np.ndarray.copy, array, type=operand_type(array))


# -- at run time ---------------------------------------------------------------------------------------------


def ensured(shadow: Any, array: Any) -> Any:
    """The shadow of `array`, on a path on which nothing may have arrived for it."""
    return shadow if isinstance(shadow, np.ndarray) else np.zeros(array.shape, array.dtype)


@says(stores="0", known=False)
def add_whole(shadow: Any, cotangent: Any) -> None:
    """shadow += cotangent"""
    cotangent = unwrapped(cotangent)
    if cotangent is not None:
        shadow += cotangent


@says(stores="0", known=False)
def add_part(shadow: Any, index: Any, cotangent: Any) -> None:
    """shadow[index] += cotangent, also where the index names an element twice"""
    cotangent = unwrapped(cotangent)
    if cotangent is None:
        return
    if unique_index(index):
        shadow[index] += cotangent
    else:
        np.add.at(shadow, index, cotangent)


@says(stores="0", known=False)
def take_part(shadow: Any, index: Any, value: Any) -> Any:
    """The cotangent of the `value` of `array[index] = value`. Of an element that was named twice the last
    value is in the array."""
    part = np.array(shadow[index])
    if not unique_index(index):
        number = np.arange(part.size).reshape(part.shape)
        last = np.empty(shadow.shape, np.intp)
        last[index] = number
        part[last[index] != number] = 0.0
    shadow[index] = 0.0
    return of_stored(part, value)


def of_stored(part: Any, value: Any) -> Any:
    """`part` as the cotangent of a value that was broadcast to its shape; the value may have more axes of
    length 1. A new array."""
    if not isinstance(value, (float, np.floating, np.ndarray)):
        return None
    part, missing = np.array(part), np.ndim(value) - np.ndim(part)
    if missing > 0:
        part = part.reshape((1,) * missing + part.shape)
    return fitting.unbroadcast(part, value, part)


__all__ = ["Shadows", "add_part", "add_whole", "copied", "ensured", "of_stored", "take_part"]
