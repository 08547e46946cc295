"""How the elements of operands lie, as compiled loops want to know it: rows of a table.

    outer: 8 x ..           what could not be merged: slices, run one after the other
    table: rows x columns   what one call of the compiled loop goes over

    kind of an operand      it is read
      FULL                  in every element: rows of contiguous columns, `stride` bytes apart
      ROW                   along the columns: the same in every row
      COLUMN                along the rows, `stride` bytes apart: one per row
      ONE                   once

Axes along which all operands go on where they are (or stay where they are) are merged. Axes are taken in the
order in which the largest operand lies in memory, and outputs are laid out likewise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ctxdispatch_contexts.broadcast import pool

FULL, ROW, COLUMN, ONE = "FRC1"

Array = Any


@dataclass
class Table:
    """`kinds` and `strides` (between rows) per operand; `slices` gives, per slice of the outer axes, the
    offsets of the operands in bytes."""

    rows: int
    columns: int
    kinds: str
    strides: tuple[int, ...]
    outer: tuple[int, ...]
    outer_strides: tuple[tuple[int, ...], ...]

    def slices(self) -> Iterator[tuple[int, ...]]:
        """Per slice the offset of every operand."""
        if not self.outer:
            yield (0,) * len(self.kinds)
            return
        for index in np.ndindex(*self.outer):
            yield tuple(sum(i * s for i, s in zip(index, strides)) for strides in self.outer_strides)


def memory_order(arrays: Sequence[Array], shape: tuple[int, ...]) -> tuple[int, ...]:
    """The axes, the slowest first, as they lie in the operand that has most elements."""
    largest = max(arrays, key=lambda a: a.size, default=None)
    if largest is None or largest.flags.c_contiguous:
        return tuple(range(len(shape)))
    strides = np.broadcast_to(largest, shape).strides
    return tuple(sorted(range(len(shape)), key=lambda axis: -abs(strides[axis])))


def empty(shape: tuple[int, ...], order: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """A new array whose axes lie in memory in that order."""
    if order == tuple(range(len(shape))):
        return pool.empty(shape, dtype)
    made = pool.empty([shape[axis] for axis in order], dtype)
    return made.transpose(np.argsort(order))


def tabulate(
    arrays: Sequence[Array], shape: tuple[int, ...], order: tuple[int, ...]
) -> tuple[Table, list[Array]]:
    """The table, and the arrays to be read by it: copies of those that lie otherwise."""
    arrays = list(arrays)
    axes = _axes(arrays, shape, order)
    if len(axes) > 2 and _small_slices(axes):
        arrays = [_whole(a, shape, order) if 1 < a.size < math.prod(shape) else a for a in arrays]
        axes = _axes(arrays, shape, order)
    for i, array in enumerate(arrays):
        if not _readable(array, i, axes):
            arrays[i] = _contiguous(array, order, len(shape))
            axes = _axes(arrays, shape, order)
    return _table(arrays, axes), arrays


Axis = tuple[int, tuple[int, ...]]
"""Its length, and the stride of each operand along it."""


def _axes(arrays: Sequence[Array], shape: tuple[int, ...], order: tuple[int, ...]) -> list[Axis]:
    """The merged axes, the slowest first."""
    strides = [np.broadcast_to(a, shape).strides if a.shape != shape else a.strides for a in arrays]
    merged: list[Axis] = []
    for axis in order:
        n, own = shape[axis], tuple([s[axis] for s in strides])
        if n == 1:
            continue
        if merged and all(s == inner * n for s, inner in zip(merged[-1][1], own)):
            merged[-1] = (merged[-1][0] * n, own)
        else:
            merged.append((n, own))
    return merged


MIN_SLICE = 4096
"""Outer axes with smaller slices are not worth a call each: what is broadcast along them is copied."""


def _small_slices(axes: Sequence[Axis]) -> bool:
    return axes[-1][0] * axes[-2][0] < MIN_SLICE


def _whole(array: Array, shape: tuple[int, ...], order: tuple[int, ...]) -> Array:
    out = empty(shape, order, array.dtype)
    out[...] = array
    return out


def _readable(array: Array, i: int, axes: Sequence[Axis]) -> bool:
    """Its columns are contiguous, or stay where they are, and its rows go forward."""
    if not axes:
        return True
    inner = axes[-1][1][i]
    return inner in (0, array.itemsize)


def _contiguous(array: Array, order: tuple[int, ...], rank: int) -> Array:
    """A copy whose axes lie in memory in that order, those that are broadcast being kept so."""
    whole = array.reshape((1,) * (rank - array.ndim) + array.shape)
    out = empty(whole.shape, order, array.dtype)
    out[...] = whole
    return out


def _table(arrays: Sequence[Array], axes: list[Axis]) -> Table:
    none = (0,) * len(arrays)
    *outer, rows, columns = [*[(1, none)] * max(0, 2 - len(axes)), *axes]
    kinds = "".join(
        {(True, True): FULL, (False, True): ROW, (True, False): COLUMN, (False, False): ONE}[
            bool(r), bool(c)
        ]
        for r, c in zip(rows[1], columns[1])
    )
    if rows[0] == 1:
        kinds = kinds.replace(ROW, FULL)
    return Table(
        rows[0], columns[0], kinds, rows[1], tuple(n for n, _ in outer),
        tuple(tuple(s[i] for _, s in outer) for i in range(len(arrays))),
    )  # fmt: skip


def overlaps(out: Array, arrays: Sequence[Array]) -> bool:
    """It may share memory with one of them."""
    return any(np.may_share_memory(out, a) for a in arrays)
