"""What another derivative does with the functions that sweeps call: all of them are linear in cotangents.

    tangent of a sweep's value     the same function of the tangents; None stays the zero
    block of tangents              the same again, where the function looks at no shape; else a form below
    cotangent of one               its transpose: a sweep may be swept

So the derivative of a gradient is computed with what the gradient is computed with.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from ctxdispatch_contexts.derivatives import registry
from ctxdispatch_contexts.derivatives.registry import Linear
from ctxdispatch_contexts.programs.activity import ZERO_BY_RULE
from ctxdispatch_contexts.programs.containers import by_index, rebuild
from ctxdispatch_contexts.programs.errors import DerivativeError, user_position
from ctxdispatch_contexts.programs.helper_types import block_like, first_if_numeric, like_argument, returning
from ctxdispatch_contexts.programs.refusals import refuse_floats
from ctxdispatch_contexts.reverse import (
    containers,
    cotangents,
    defaults,
    fitting,
    pullbacks,
    releasing,
    seeds,
    walking,
)
from ctxdispatch_contexts.reverse.cotangents import (
    OwnedArray,
    Partial,
    entries_of,
    project,
)
from ctxdispatch_contexts.reverse.through import as_one, masks_through

POSITIONS: dict[Any, tuple[int, ...]] = {
    cotangents.accumulate: (0, 1),
    cotangents.add_entry: (0, 2),
    cotangents.add_own_entry: (0, 2),
    cotangents.opened: (0,),
    cotangents.unwrapped: (0,),
    cotangents.take_entry: (0,),
    cotangents.entry_of: (0,),
    cotangents.reversed_items: (0,),
    walking.unzip: (0,),
    walking.backwards: (0,),
    walking.by_key: (0,),
    walking.entries_before: (0,),
    walking.entries_from: (0,),
    walking.entries_modulo: (0,),
    walking.add_present: (0, 3),
    walking.if_absent: (2,),
    walking.flat_items: (0,),
    walking.flatten_star: (0,),
    containers.take_from: (0,),
    containers.take_keys: (0,),
    containers.by_position: (0,),
    defaults.defaults_of: (0,),
    containers.of_pairs: (0,),
    releasing.own: (0,),
    pullbacks.supplied: (0,),
}
"""They look at no shape: a block goes through them like a single tangent."""

for _function, _positions in POSITIONS.items():
    registry.LINEAR[_function] = Linear(_positions, True)
    registry.BLOCK[_function, None] = _function

ZERO_BY_RULE.update((
    seeds.scalar_seed, seeds.signature_of, refuse_floats, containers.position, cotangents.ones_of, as_one,
    masks_through,
))  # fmt: skip


def linear_in(*positions: int, of: Any) -> Any:
    """Decorator: the function below is the block form of `of`, which is linear in these arguments."""

    def register(form: Any) -> Any:
        registry.LINEAR[of] = Linear(positions, True)
        registry.BLOCK[of, None] = form
        return form

    return register


# -- blocks of what looks at shapes --------------------------------------------------------------------------


@linear_in(0, of=fitting.unbroadcast)
def unbroadcast_block(block: Any, primal: Any, result: Any) -> Any:
    if block is None:
        return None
    k, full, shape = block.shape[0], np.shape(result), np.shape(primal)
    if block.shape[1:] != full:
        block = np.broadcast_to(_aligned(block, len(full)), (k, *full))
    if shape != full:
        lead = block.ndim - 1 - len(shape)
        spread = tuple(i + lead + 1 for i, n in enumerate(shape) if n == 1 and block.shape[i + lead + 1] != 1)
        axes = (*range(1, lead + 1), *spread)
        block = np.add.reduce(block, axis=axes, keepdims=True).reshape((k, *shape)) if axes else block
    return _cast(block, primal)


def _aligned(block: Any, ndim: int) -> Any:
    return block.reshape(block.shape[:1] + (1,) * (ndim + 1 - block.ndim) + block.shape[1:])


def _cast(block: Any, primal: Any) -> Any:
    dtype = np.result_type(primal)
    if block.dtype.kind == "c" and dtype.kind == "f":
        block = block.real
    return block if block.dtype == dtype or dtype.kind not in "fc" else block.astype(dtype)


@linear_in(0, of=fitting.expand)
def expand_block(block: Any, primal: Any) -> Any:
    if block is None:
        return None
    shape = (block.shape[0], *np.shape(primal))
    if block.shape == shape:
        return _cast(block, primal)
    return np.array(np.broadcast_to(_aligned(_cast(block, primal), np.ndim(primal)), shape))


registry.LINEAR[fitting.full] = Linear((0,), True)
registry.BLOCK[fitting.full, None] = expand_block


@linear_in(0, of=fitting.or_zeros)
def or_zeros_block(block: Any, result: Any) -> Any:
    """None stays the zero."""
    return block


@linear_in(0, of=project)
def project_block(block: Any, primal: Any) -> Any:
    if block is None:
        return None
    if np.ndim(primal) == 0 and block.ndim > 1:
        block = np.add.reduce(block, axis=tuple(range(1, block.ndim)))
    return expand_block(block, primal)


@linear_in(0, of=releasing.finish)
def finish_block(block: Any, primal: Any) -> Any:
    """Leaf by leaf; None stays the zero."""
    if block is None or isinstance(primal, (int, str, bytes, np.integer, np.bool_)):
        return None
    if isinstance(block, OwnedArray):
        block = block.array
    if isinstance(primal, OwnedArray):
        primal = primal.array
    if isinstance(primal, (float, complex, np.inexact, np.ndarray)):
        return project_block(as_one_block(block, primal), primal)
    if isinstance(block, np.ndarray):  # of an array, in the place of a sequence
        if block.ndim < 2:
            raise DerivativeError(
                "a block of cotangents of a sequence came as numbers, which is not followed; use jacfwd",
                user_position(),
            )
        block = [block[:, i] for i in range(block.shape[1])]
    entries = dict(entries_of(block))
    if isinstance(primal, dict):
        return {k: finish_block(entries[k], p) for k, p in primal.items() if k in entries}
    if isinstance(primal, (tuple, list)):
        at = by_index(entries, primal)
        return rebuild(primal, [finish_block(at.get(i), p) for i, p in enumerate(primal)])
    if isinstance(primal, Partial):
        made = Partial()
        made.entries.update((k, finish_block(b, primal.entries.get(k))) for k, b in entries.items())
        return made
    return SimpleNamespace(
        **{str(k): finish_block(b, getattr(primal, str(k), None)) for k, b in entries.items()}
    )


def as_one_block(block: Any, primal: Any) -> Any:
    """What a rule gave for an array: a block, or a list of one for each row, None for zeros."""
    if not isinstance(block, (list, tuple)):
        return block
    rows = [None if b is None else as_one_block(b, primal[i]) for i, b in enumerate(block)]
    k = next(iter([len(row) for row in rows if row is not None]), None)
    if k is None:
        return np.zeros((0, *primal.shape), primal.dtype)
    whole = [np.zeros((k, *primal.shape[1:])) if row is None else row for row in rows]
    return np.stack([project_block(row, primal[i]) for i, row in enumerate(whole)], 1)


for _function in (releasing.released, cotangents.whole, fitting.fitted):
    registry.LINEAR[_function] = Linear((0,), True)
    registry.BLOCK[_function, None] = finish_block


@linear_in(0, of=releasing.number)
def number_block(block: Any) -> Any:
    return block


registry.LINEAR[pullbacks.or_zero] = Linear((0,), True)
registry.BLOCK[pullbacks.or_zero, None] = number_block


@linear_in(0, 3, of=cotangents.add_array_index)
def add_array_index_block(bar: Any, array: Any, index: Any, block: Any) -> Any:
    if block is None:
        return bar
    block = block.array if isinstance(block, OwnedArray) else block
    if not isinstance(bar, OwnedArray):
        fresh = OwnedArray(np.zeros((len(block), *array.shape), array.dtype))
        if bar is not None:
            fresh.array += _aligned(bar, array.ndim)
        bar = fresh
    for into, row in zip(bar.array, block, strict=True):
        np.add.at(into, index, row)
    return bar


@linear_in(0, 3, of=cotangents.add_index)
def add_index_block(bar: Any, sequence: Any, index: Any, block: Any) -> Any:
    if isinstance(sequence, np.ndarray):
        return add_array_index_block(bar, sequence, index, block)
    return cotangents.add_index(bar, sequence, index, block)


@linear_in(0, of=walking.from_items)
def from_items_block(bars: Any, iterable: Any) -> Any:
    if not isinstance(iterable, np.ndarray) or bars is None:
        return walking.from_items(bars, iterable)
    lengths = [len(b) for _, b in entries_of(bars) if b is not None]
    if not lengths:
        return None
    k = lengths[0]
    out = np.zeros((k, *iterable.shape), iterable.dtype)
    for row, bar in entries_of(bars):
        if bar is not None:
            out[:, row] += bar
    return out


registry.LINEAR[cotangents.times] = Linear((0, 1), False)


def times_block(g: Any, slope: Any) -> Any:
    """Where the slope is zero so is the product, whatever the other factor is."""
    return np.where(slope == 0, 0.0, np.multiply(g, np.where(slope == 0, 0.0, slope)))


registry.BLOCK[cotangents.times, 0] = registry.BLOCK[cotangents.times, 1] = times_block


# -- types ---------------------------------------------------------------------------------------------------

returning(
    like_argument(1), fitting.unbroadcast, fitting.expand, fitting.full, fitting.full_result, fitting.fitted,
    project, releasing.finish, releasing.released,
)  # fmt: skip
returning(first_if_numeric, releasing.own, releasing.number, pullbacks.or_zero, pullbacks.supplied)
returning(block_like(1), unbroadcast_block, expand_block, project_block, finish_block)
