"""Stores of a value that lies in the memory that is stored to.

    a[1:] = a[:-1]     as if the value was copied first
    g[1] = g[:, 2]     NumPy reads g[1, 2] after it was written

NumPy copies a value that overlaps before it stores it, but not where it stores along one axis and both have
strides of one sign: equal ones it goes through from the right end, others not. Nor does it by a mask. So such
a store is only followed where strides are known to be the same, up to sign.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Op
from ctxdispatch.ir.values import Const, Operand, Value
from ctxdispatch.passes import types as T
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.programs.followed import is_array, is_basic
from ctxdispatch_contexts.programs.operands import infer_op

Makers = Mapping[Value, Op]
Axes = list[tuple[int, int]]
"""Of each axis of a part: which of the root's it is, and its step there."""


def may_run_over(op: Op, makers: Makers) -> bool:
    """The store `op` may write elements of its value, which shares memory with its array, before it reads
    them."""
    if op.fn is not operator.setitem or not is_array(op.args[2]):
        return False
    target, index, value = op.args
    if not is_basic(operand_type(index)):
        return not _is_of_positions(operand_type(index))
    part = infer_op(Op(Const(operator.getitem), [target, index], [Value()]))
    if isinstance(part, T.Exact) or (isinstance(part, T.ArrayOf) and len(part.dims) != 1):
        return False
    reading = makers.get(value) if isinstance(value, Value) else None
    if reading is not None and reading.fn is operator.getitem and reading.args == [target, index]:
        return False
    return not _same_stride(_chain(target, makers, index), _chain(value, makers))


def _is_of_positions(index: T.Type) -> bool:
    """NumPy copies an overlapping value for these, if no mask is among them."""
    parts = index.items if isinstance(index, T.TupleOf) else (index,)
    arrays = [p for p in parts if not is_basic(p)]
    return all(isinstance(p, T.ArrayOf) and p.dtype.kind in "iu" for p in arrays)


def _same_stride(mine: tuple[Operand, Axes | None], others: tuple[Operand, Axes | None]) -> bool:
    (root, axes), (other, theirs) = mine, others
    if root is not other or not axes or not theirs:
        return False
    (axis, step), (its, its_step) = axes[-1], theirs[-1]
    return axis == its and abs(step) == abs(its_step)


def _chain(operand: Operand, makers: Makers, *indices: Operand) -> tuple[Operand, Axes | None]:
    """What `operand` is a part of, and its axes."""
    made = makers.get(operand) if isinstance(operand, Value) else None
    if made is not None and made.fn is operator.getitem and is_basic(operand_type(made.args[1])):
        return _chain(made.args[0], makers, made.args[1], *indices)
    type_ = operand_type(operand)
    axes: Axes | None = [(n, 1) for n in range(len(type_.dims))] if isinstance(type_, T.ArrayOf) else None
    for index in indices:
        axes = None if axes is None else _indexed(axes, [*_entries(index, makers)])
    return operand, axes


def _entries(index: Operand, makers: Makers) -> Iterable[Any]:
    """Of an index: a step for a slice, Ellipsis, "one" for a number, None for what is not known."""
    made = makers.get(index) if isinstance(index, Value) else None
    if made is not None and made.fn is primitives.build_tuple:
        return [entry for arg in made.args for entry in _entries(arg, makers)]
    if isinstance(index, Const):
        given = index.value if type(index.value) is tuple else (index.value,)
        return [_entry(one) for one in given]
    cls = T.cls_of(operand_type(index))
    if cls is not None and issubclass(cls, (int, np.integer)):
        return ["one"]
    return [_built(made)] if made is not None and made.fn is slice else [None]


def _entry(one: Any) -> Any:
    if type(one) is slice:
        return _step(one.step)
    return "one" if isinstance(one, (int, np.integer)) else one if one is Ellipsis else None


def _built(made: Op) -> Any:
    step = made.args[2] if len(made.args) == 3 else Const(None)
    return _step(step.value) if isinstance(step, Const) else None


def _step(step: Any) -> int | None:
    return 1 if step is None else step if isinstance(step, int) else None


def _indexed(axes: Axes, entries: list[Any]) -> Axes | None:
    if None in entries:
        return None
    if Ellipsis in entries:
        at = entries.index(Ellipsis)
        entries[at : at + 1] = [1] * (len(axes) - len(entries) + 1)
    entries += [1] * (len(axes) - len(entries))
    return [(axis, step * by) for (axis, step), by in zip(axes, entries) if by != "one"]


# -- at run time ---------------------------------------------------------------------------------------------


def runs_over(array: np.ndarray[Any, Any], index: Any, value: Any) -> bool:
    """Whether array[index] = value may do so, at run time. Along one axis the strides themselves are
    compared; an index with a list or an array in it may always, where `may_run_over` knows more."""
    if not isinstance(value, np.ndarray) or not value.ndim or not np.may_share_memory(array, value):
        return False
    parts = index if type(index) is tuple else (index,)
    if any(isinstance(p, (list, np.ndarray)) for p in parts):
        return True
    part = array[index]
    return isinstance(part, np.ndarray) and part.ndim == 1 and part.strides[0] != value.strides[-1]


__all__ = ["may_run_over", "runs_over"]
