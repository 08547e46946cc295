"""The linear operations that vjp rules are written with, each with its own rule: its transpose.

They mutate arrays that nobody else has seen, so they are opaque to whoever differentiates a rule once more.
"""

# ruff: noqa: C419 (a list: rules are lifted, and a generator is a frame of its own)
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ctxdispatch_contexts.derivatives.registry import vjp


def spread(g: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """A fresh array of `shape` that repeats `g`. A product that broadcasts can take `g` itself instead."""
    out = np.empty(shape, dtype)
    out[...] = g
    return out


def unbroadcast(g: Any, shape: tuple[int, ...]) -> Any:
    """The transpose of broadcasting an array of `shape` to the shape of `g`."""
    if g.shape == shape:
        return g
    extra = g.ndim - len(shape)
    axes = tuple(range(extra)) + tuple(
        [extra + i for i, n in enumerate(shape) if n == 1 and g.shape[extra + i] != 1]
    )
    return np.add.reduce(g, axis=axes).reshape(shape)


def place(g: Any, index: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Zeros of `shape` with `g` at `index`, in which no element occurs twice."""
    out = np.zeros(shape, dtype)
    out[index] = g
    return out


def scatter(g: Any, index: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Zeros of `shape` with `g` added at `index`, where an index may repeat: the transpose of `a[index]`."""
    if basic(index) or (isinstance(index, np.ndarray) and index.dtype == bool):
        return place(g, index, shape, dtype)
    out = np.zeros(shape, dtype)
    np.add.at(out, index, g)
    return out


def basic(index: Any) -> bool:
    """Whether an index is a slice of the array, in which no element occurs twice."""
    items = index if isinstance(index, tuple) else (index,)
    return all([type(i) is int or type(i) is slice or i is None or i is Ellipsis for i in items])


def scatter_along(g: Any, indices: Any, axis: int | None, shape: tuple[int, ...], dtype: Any) -> Any:
    """Zeros of `shape` with `g` added where take_along_axis takes it from."""
    out = np.zeros(shape, dtype)
    np.add.at(out if axis is not None else out.reshape(-1), along(indices, axis, shape), g)
    return out


def along(indices: Any, axis: int | None, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """The index that take_along_axis stands for: `indices` broadcast against an array of `shape`."""
    if axis is None:
        return (indices,)
    ndim = len(shape)
    axis = axis % ndim
    grid = [np.arange(n).reshape((-1,) + (1,) * (ndim - i - 1)) for i, n in enumerate(shape)]
    return (*grid[:axis], indices, *grid[axis + 1 :])


def pieces(g: Any, lengths: Sequence[int], axis: int) -> list[Any]:
    """`g` cut along `axis` into that many pieces of these lengths: the transpose of concatenate."""
    lead, start, parts = (slice(None),) * axis, 0, []
    for n in lengths:
        parts.append(g[(*lead, slice(start, start + n))])
        start += n
    return parts


def layers(g: Any, axis: int) -> list[Any]:
    """`g` cut along `axis` into arrays of one dimension less: the transpose of stack."""
    lead = (slice(None),) * (axis % g.ndim)
    return [g[(*lead, i)] for i in range(g.shape[axis])]


@vjp(spread, linear=(0,))
def spread_vjp(g, y, a, shape, dtype):
    return (unbroadcast(g, np.shape(a)),)


@vjp(unbroadcast, linear=(0,))
def unbroadcast_vjp(g, y, a, shape):
    return (spread(g, a.shape, a.dtype),)


@vjp(place, scatter, linear=(0,))
def scatter_vjp(g, y, a, index, shape, dtype):
    return (g[index],)


@vjp(scatter_along, linear=(0,))
def scatter_along_vjp(g, y, a, indices, axis, shape, dtype):
    return (np.take_along_axis(g, indices, axis),)


@vjp(pieces, linear=(0,))
def pieces_vjp(g, y, a, lengths, axis):
    return (np.concatenate(g, axis),)


@vjp(layers, linear=(0,))
def layers_vjp(g, y, a, axis):
    return (np.stack(g, axis),)
