"""Stores into arrays in forward mode: what happens to their tangents. Which are followed: see
`programs/followed.py`.

    primal            dx is the tangent of x, an array of its own memory
    x = f(z)          dx = what the rule of f gives, copied where that may be another tangent
    p = x[i:j]        dp = dx[i:j], a view too
    y = x[i]          dy = dx[i], copied where x is stored to later
    x[i] = v          dx[i] = dv
    x += v            dx += dv
    x *= v            dx = dx * v + dv * x (as it was)
    x /= v            dx = (dx - dv * x / v) / v (x as it was)
    add.at(x, i, v)   add.at(dx, i, dv), and the same of subtract

A block has the index of an array behind a full slice. What an argument's tangent is stored to is a copy of
what the caller gave.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ctxdispatch.facts import INPLACE, SUMS, says
from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Graph, Op
from ctxdispatch.ir.values import Const, Operand, Value
from ctxdispatch.passes import types as T
from ctxdispatch.passes.buffers import makes_new
from ctxdispatch.passes.companion import Companions
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.derivatives.block_indexing import arrays_in, under
from ctxdispatch_contexts.derivatives.blocks import blocked, level
from ctxdispatch_contexts.forward.releasing import apart
from ctxdispatch_contexts.forward.structural import fill, fill_block
from ctxdispatch_contexts.forward.tangents import Shapes, numeric, zeros_block
from ctxdispatch_contexts.programs.activity import SCATTERS
from ctxdispatch_contexts.programs.aliases import Objects
from ctxdispatch_contexts.programs.followed import Followed, is_basic, unread_stores
from ctxdispatch_contexts.programs.following import UPDATES, is_real, stored_type, stores_numbers
from ctxdispatch_contexts.programs.operands import infer_op, leaf_class
from ctxdispatch_contexts.programs.order import Order
from ctxdispatch_contexts.programs.scaling import typed

FULL = slice(None)


class Arrays:
    """The tangents of arrays that are stored to. `objects`, `order`: of the graph as it was."""

    def __init__(self, graph: Graph, followed: Followed, objects: Objects, order: Order) -> None:
        self.followed, self._objects, self._order = followed, objects, order
        self._made: frozenset[Any] = frozenset().union(*map(objects.of, followed.roots))
        self._stores = [(op, objects.of(op.args[0])) for op in followed.stores]
        makers = {r: op for _, op in graph.ops() for r in op.results}
        self._unread = set(unread_stores(followed, makers))
        self._makers = makers

    def has(self, op: Op) -> bool:
        """It is a store, or reads a part, of what is followed."""
        return op in self.followed.stores or self._is_part(op)

    def push(self, shapes: Shapes, run: Companions, op: Op) -> None:
        """Emit `op`, and what happens to tangents."""
        if self._is_part(op):
            run.emit(op)
            dx = _tangent(run, op.args[0])
            part = _item(run, dx, self._index(shapes, run, op.args[1]), shapes.type(op.result.type))
            run.put(op.result, part)
        elif op in self._unread:
            run.emit(op)
        elif op.fn not in UPDATED:
            self._set(shapes, run, op)
        else:
            UPDATED[op.fn](shapes, run, op)

    def _is_part(self, op: Op) -> bool:
        return bool(op.results) and op.results[0] in self.followed.part_of and self._is_followed(op.args[0])

    def _is_followed(self, operand: Operand) -> bool:
        return self.followed.root(operand) is not None

    # -- memory of their own ---------------------------------------------------------------------------------

    def separate(self, shapes: Shapes, run: Companions, op: Op, start: int) -> None:
        """The tangents of the results, which `op` has from what stands in the block from `start` on, share
        memory with no tangent that is stored to later, where the results share none themselves."""
        for result in op.results:
            tangent = run.of(result)
            if tangent is None or isinstance(tangent, Const) or not self._may_change(op, result):
                continue
            if not (shapes.block or _has_memory(result)):
                continue
            made = [o for o in run.build.block.ops[start:] if tangent in o.results]
            if not (made and _makes_tangent(made[0])):
                run.put(result, _own(shapes, run, tangent, result))

    def _may_change(self, op: Op, result: Value) -> bool:
        if op in self._made:
            return True
        shared = self._objects.of(result)
        read = frozenset().union(*map(self._objects.reach, op.operands())) & self._made
        return not read <= shared and any(self._is_stored_to(op, site) for site in read - shared)

    def _is_stored_to(self, op: Op, site: Any) -> bool:
        """After `op`."""
        place, after = self._order.place, self._order.after
        return any(site in sites and after(place[op], place[store], site) for store, sites in self._stores)

    # -- stores ----------------------------------------------------------------------------------------------

    def _set(self, shapes: Shapes, run: Companions, op: Op) -> None:
        if is_basic(operand_type(op.args[1])):
            run.emit(op)
            self._set_tangent(shapes, run, op)
        else:
            self._set_tangent(shapes, run, op)  # first: of arrays that are indices nothing else is known
            run.emit(op)

    def _set_tangent(self, shapes: Shapes, run: Companions, op: Op) -> None:
        target, index, value = op.args
        dx, dv = _tangent(run, target), run.of(value)
        if dv is None and op.fn in SCATTERS:
            return
        fitted = Const(0.0) if dv is None else _aligned(shapes, run, op, dv)
        if fitted is None:
            counted = [shapes.count] if shapes.block else []
            run.call(set_any_block if shapes.block else set_any, op.callee, dx, index, dv, value, *counted)
        else:
            at = self._index(shapes, run, index)
            run.build.op(op.callee, [dx, at, fitted], [], syntax=op.syntax)

    def _index(self, shapes: Shapes, run: Companions, index: Operand) -> Operand:
        """Where in the tangent is what is at `index` in the array."""
        if not shapes.block:
            return index
        if isinstance(index, Const):
            return Const(under(index.value))
        maker = self._makers.get(index) if isinstance(index, Value) else None
        if maker is not None and maker.fn is primitives.build_tuple:
            return typed(run.build, primitives.build_tuple, Const(FULL), *maker.args)
        if T.cls_of(operand_type(index)) in (None, tuple):
            return run.call(under, index)
        return typed(run.build, primitives.build_tuple, Const(FULL), index)


def _tangent(run: Companions, operand: Operand) -> Operand:
    found = run.of(operand)
    assert found is not None, "what is stored to, and its parts, vary"
    return found


def _item(run: Companions, array: Operand, index: Operand, type_: T.Type) -> Value:
    return run.call(operator.getitem, array, index, syntax=True, type=type_)


def _makes_tangent(op: Op) -> bool:
    """A new array."""
    return op.fn is zeros_block or (isinstance(op.result.type, T.ArrayOf) and makes_new(op))


def _has_memory(value: Value) -> bool:
    """It is no number."""
    return not (numeric(value.type) and leaf_class(value.type) is not np.ndarray)


def _own(shapes: Shapes, run: Companions, tangent: Operand, value: Value) -> Operand:
    type_ = operand_type(tangent)
    if isinstance(type_, T.ArrayOf) and type_.dims:
        return run.call(np.ndarray.copy, tangent, type=type_)
    counted = [shapes.count] if shapes.block else []
    return run.call(apart, tangent, value, *counted, type=type_)


def _aligned(shapes: Shapes, run: Companions, op: Op, dv: Operand) -> Operand | None:
    """The tangents `dv` of the value of x[i] = v, so that they are stored as the value is; None where only
    run time knows how."""
    target, index, value = op.args
    if not is_real(operand_type(value)):
        return None
    if not shapes.block:
        return dv
    part = infer_op(Op(Const(operator.getitem), [target, index], [Value()]))
    rank, own = (_rank(t) for t in (part, operand_type(value)))
    if not is_basic(operand_type(index)) or rank is None or own is None or own > rank:
        return None
    return shapes.aligned(run, dv, value, Value(type=part))


def _rank(type_: T.Type) -> int | None:
    if isinstance(type_, T.ArrayOf):
        return len(type_.dims)
    return 0 if leaf_class(type_) is not None else None


# -- x += v and the like -------------------------------------------------------------------------------------


def _update(run: Companions, fn: Any, array: Operand, by: Operand) -> None:
    run.call(fn, array, by, syntax=True, type=operand_type(array))


def _moved(shapes: Shapes, run: Companions, op: Op) -> None:
    """x += v, x -= v"""
    target, value = op.args
    run.emit(op)
    dv = run.of(value)
    if dv is not None:
        _update(run, op.fn, _tangent(run, target), _level(shapes, run, op, dv))


def _scaled(shapes: Shapes, run: Companions, op: Op) -> None:
    """x *= v, x /= v"""
    target, value = op.args
    dx, dv = _tangent(run, target), run.of(value)
    if op.fn is operator.itruediv:
        if dv is not None:
            quotient = typed(run.build, operator.truediv, target, value)
            _update(run, operator.isub, dx, _product(shapes, run, op, dv, quotient))
        _update(run, op.fn, dx, value)
    else:
        term = _product(shapes, run, op, dv, target) if dv is not None else None
        _update(run, op.fn, dx, value)
        if term is not None:
            _update(run, operator.iadd, dx, term)
    run.emit(op)


def _product(shapes: Shapes, run: Companions, op: Op, dv: Operand, factor: Operand) -> Operand:
    """A new array."""
    return typed(run.build, operator.mul, _level(shapes, run, op, dv), factor)


def _level(shapes: Shapes, run: Companions, op: Op, dv: Operand) -> Operand:
    """The tangent `dv` of the value of x += v, so that it broadcasts to that of x."""
    target, value = op.args
    if is_real(operand_type(value)):
        return shapes.aligned(run, dv, value, target)
    if shapes.block:
        return run.call(as_array_block, dv, value, target, shapes.count)
    return run.call(fill, dv, value)


UPDATED: dict[Any, Callable[[Shapes, Companions, Op], None]] = {
    f: _moved if INPLACE[f] in SUMS else _scaled for f in UPDATES
}


def has_store(op: Op) -> bool:
    """It stores numbers, or what may be such, into an array of floats."""
    type_ = stored_type(op)
    return stores_numbers(op) or (type_ is not T.Never and T.cls_of(type_) is None)


# -- at run time ---------------------------------------------------------------------------------------------


@says(stores="1", known=False)
def set_any(store: Any, tangent: Any, index: Any, given: Any, value: Any) -> None:
    """store(tangent, index, given), where `given`, the tangent of `value`, may be None for zero."""
    store(tangent, index, fill(given, value))


@says(stores="1", known=False)
def set_any_block(store: Any, tangent: Any, index: Any, given: Any, value: Any, k: int) -> None:
    """store(tangent[j], index, given[j]) for every j."""
    block = blocked(fill_block(given, value, k))
    if isinstance(index, (np.ndarray, list)) and block.ndim - 1 <= (ndim := _read_ndim(tangent, index)):
        store(tangent, under(index), level(block, ndim))
        return
    for into, row in zip(tangent, block, strict=True):
        store(into, index, row)


def _read_ndim(tangent: Any, index: Any) -> int:
    """Of how many dimensions x[index] is, x having the tangents `tangent`."""
    index = np.asarray(index)
    taken = index.ndim if index.dtype == bool else 1
    return tangent.ndim - 1 - taken + arrays_in(index)


@says(known=False, raises=False)
def as_array_block(given: Any, value: Any, array: Any, k: int) -> Any:
    """The tangents of `value`, as they broadcast to those of `array`."""
    return level(blocked(fill_block(given, value, k)), array.ndim)



__all__ = ["Arrays", "has_store", "set_any", "set_any_block"]
