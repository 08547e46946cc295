"""Block forms (see `blocks.py`) of reading and selecting elements, of joining and splitting arrays, and of
the linear operations that rules are written with (`linear.py`).

The index of an element of a block is a full slice before that of an element. Where arrays in an index are
apart (`a[i, :, j]`) their axes come first in the result, before that of the slice: it is moved to the front.
"""

from __future__ import annotations

import operator

import numpy as np

from ctxdispatch_contexts.derivatives.blocks import after, blocked, blocks_in, flat, level
from ctxdispatch_contexts.derivatives.linear import (
    along,
    basic,
    layers,
    pieces,
    place,
    scatter,
    scatter_along,
    spread,
    unbroadcast,
)
from ctxdispatch_contexts.derivatives.registry import block, of

# -- indices -------------------------------------------------------------------------------------------------


@block(operator.getitem, np.ndarray.__getitem__, *of(np.generic, "__getitem__"))
def getitem(a, index):
    if not isinstance(index, tuple):
        return a[:, index]
    if basic(index):
        return a[(slice(None), *index)]
    return np.moveaxis(a[(slice(None), *index)], front(index), 0)


def under(index):
    """The index into the block."""
    return (slice(None), *index) if isinstance(index, tuple) else (slice(None), index)


def front(index):
    """How many axes come before the first when `under(index)` is read."""
    if not isinstance(index, tuple) or basic(index):
        return 0
    at = [i for i, x in enumerate(index) if x is not None and x is not Ellipsis and not isinstance(x, slice)]
    ndim = max([arrays_in(index[i]) for i in at])
    return 0 if at[-1] - at[0] == len(at) - 1 else ndim


def arrays_in(x):
    """Of how many dimensions the index array is that `x` stands for: a mask stands for vectors."""
    x = np.asarray(x)
    return 1 if x.dtype == bool else x.ndim


@block(np.take, *of(np.ndarray, "take"), *of(np.generic, "take"))
def take(a, indices, axis=None, out=None, mode="raise"):
    if axis is None or a.ndim == 1:
        return flat(a).take(indices, 1, mode=mode)
    return a.take(indices, after(axis), mode=mode)


@block(np.take_along_axis)
def take_along_axis(arr, indices, axis=-1):
    if axis is None:
        return flat(arr)[:, indices]
    return np.take_along_axis(arr, indices[None], after(axis))


@block(np.compress)
def compress(condition, a, axis=None, out=None):
    if axis is None:
        return flat(a).compress(condition, 1)
    return a.compress(condition, after(axis))


@block(np.ndarray.compress)
def compress_method(a, condition, axis=None, out=None):
    return compress(condition, a, axis)


@block(np.extract)
def extract(condition, arr):
    return flat(arr).compress(np.ravel(condition), 1)


@block(np.delete)
def delete(arr, obj, axis=None):
    if axis is None:
        return np.delete(flat(arr), obj, 1)
    return np.delete(arr, obj, after(axis))


@block(np.where)
def where(condition, a, b):
    if a.ndim != b.ndim or np.ndim(condition) >= a.ndim:
        ndim = max(np.ndim(condition), a.ndim - 1, b.ndim - 1)
        a, b = level(a, ndim), level(b, ndim)
    return np.where(condition, a, b)


# -- joining -------------------------------------------------------------------------------------------------


@block(np.concatenate, *of(np, "concat"))
def concatenate(arrays, axis=0, out=None, *, dtype=None, casting="same_kind"):
    if axis is None:
        return np.concatenate([flat(a) for a in blocks_in(arrays)], 1, dtype=dtype, casting=casting)
    return np.concatenate(blocks_in(arrays), after(axis), dtype=dtype, casting=casting)


@block(np.stack)
def stack(arrays, axis=0, out=None, *, dtype=None, casting="same_kind"):
    return np.stack(blocks_in(arrays), after(axis), dtype=dtype, casting=casting)


@block(*of(np, "vstack", "row_stack"))
def vstack(tup, *, dtype=None, casting="same_kind"):
    return np.concatenate([level(a, 2) for a in blocks_in(tup)], 1, dtype=dtype, casting=casting)


@block(np.hstack)
def hstack(tup, *, dtype=None, casting="same_kind"):
    items = [level(a, 1) for a in blocks_in(tup)]
    return np.concatenate(items, 1 if items[0].ndim == 2 else 2, dtype=dtype, casting=casting)


@block(np.dstack)
def dstack(tup):
    return np.concatenate([level(a, 2)[..., None] if a.ndim < 4 else a for a in blocks_in(tup)], 3)


@block(np.column_stack)
def column_stack(tup):
    return np.concatenate([column(a) for a in blocks_in(tup)], 2)


def column(a):
    return level(a, 1)[..., None] if a.ndim < 3 else a


@block(np.append)
def append(arr, values, axis=None):
    if axis is None:
        return np.concatenate((flat(arr), flat(values)), 1)
    return np.concatenate((arr, values), after(axis))


# -- splitting -----------------------------------------------------------------------------------------------


@block(np.split)
def split(ary, indices_or_sections, axis=0):
    return np.split(ary, indices_or_sections, after(axis))


@block(np.array_split)
def array_split(ary, indices_or_sections, axis=0):
    return np.array_split(ary, indices_or_sections, after(axis))


@block(np.hsplit)
def hsplit(ary, indices_or_sections):
    return np.split(ary, indices_or_sections, 2 if ary.ndim > 2 else 1)


@block(np.vsplit)
def vsplit(ary, indices_or_sections):
    return np.split(ary, indices_or_sections, 1)


@block(np.dsplit)
def dsplit(ary, indices_or_sections):
    return np.split(ary, indices_or_sections, 3)


@block(*of(np, "unstack"))
def unstack(x, /, *, axis=0):
    return tuple(layers(x, after(axis)))


# -- the operations of rules ---------------------------------------------------------------------------------


@block(spread)
def spread_block(g, shape, dtype):
    return spread(level(blocked(g), len(shape)), (g.shape[0], *shape), dtype)


@block(unbroadcast)
def unbroadcast_block(g, shape):
    """What the rank lost was behind the first axis: each array flattened to the rank that is left."""
    if g.shape[1:] == shape:
        return g
    extra = g.ndim - 1 - len(shape)
    if extra:
        g = np.add.reduce(g, axis=tuple(range(1, 1 + extra)))
    return unbroadcast(g, (g.shape[0], *shape))


@block(place)
def place_block(g, index, shape, dtype):
    if isinstance(index, (int, slice)):
        return place(g, (slice(None), index), g.shape[:1] + shape, dtype)
    if isinstance(index, tuple) and basic(index):
        return place(g, (slice(None), *index), g.shape[:1] + shape, dtype)
    return place(np.moveaxis(g, 0, front(index)), under(index), (g.shape[0], *shape), dtype)


@block(scatter)
def scatter_block(g, index, shape, dtype):
    if isinstance(index, np.ndarray) and index.dtype == bool:
        return place_block(g, index, shape, dtype)
    return scatter(np.moveaxis(g, 0, front(index)), under(index), (g.shape[0], *shape), dtype)


@block(scatter_along)
def scatter_along_block(g, indices, axis, shape, dtype):
    if axis is None:
        n = int(np.prod(shape))
        return scatter(g, (slice(None), indices), (g.shape[0], n), dtype).reshape((g.shape[0], *shape))
    return scatter(g, (slice(None), *along(indices, axis, shape)), (g.shape[0], *shape), dtype)


@block(pieces)
def pieces_block(g, lengths, axis):
    return pieces(g, lengths, axis + 1)


@block(layers)
def layers_block(g, axis):
    return layers(g, after(axis))
