"""Joining and splitting arrays. The cotangent of a sequence of arrays is a list of cotangents.

Where a function returns several arrays the cotangents of those that nobody used are None.
"""

from __future__ import annotations

import numpy as np

from ctxdispatch_contexts.derivatives.linear import layers, pieces
from ctxdispatch_contexts.derivatives.registry import of, vjp

# -- joining -------------------------------------------------------------------------------------------------


@vjp(np.concatenate, *of(np, "concat"), arrays=0, linear=(0,), unless="out")
def concatenate(g, y, arrays, axis=0, out=None, *, dtype=None, casting="same_kind"):
    if isinstance(arrays, np.ndarray):
        return (np.stack(cut(g, arrays, axis)),)
    return (cut(g, arrays, axis),)


def cut(g, arrays, axis):
    """`g` in pieces of the shapes of `arrays`, in whichever way they were lifted to its rank."""
    if axis is None:
        return [
            piece.reshape(np.shape(a)) for piece, a in zip(pieces(g, sizes(arrays), 0), arrays, strict=True)
        ]
    return pieces(g, [np.shape(a)[axis] for a in arrays], axis % g.ndim)


def sizes(arrays):
    return [np.size(a) for a in arrays]


@vjp(np.stack, arrays=0, linear=(0,), unless="out")
def stack(g, y, arrays, axis=0, out=None, *, dtype=None, casting="same_kind"):
    if isinstance(arrays, np.ndarray):
        return (np.moveaxis(g, axis, 0),)
    return (layers(g, axis),)


def joined_along(g, arrays, axis, lengths):
    cotangents = [
        piece.reshape(np.shape(a)) for piece, a in zip(pieces(g, lengths, axis), arrays, strict=True)
    ]
    return np.stack(cotangents) if isinstance(arrays, np.ndarray) else cotangents


@vjp(*of(np, "vstack", "row_stack"), arrays=0, linear=(0,))
def vstack(g, y, tup, *, dtype=None, casting="same_kind"):
    return (joined_along(g, tup, 0, [np.shape(a)[0] if np.ndim(a) > 1 else 1 for a in tup]),)


@vjp(np.hstack, arrays=0, linear=(0,))
def hstack(g, y, tup, *, dtype=None, casting="same_kind"):
    if y.ndim == 1:
        return (joined_along(g, tup, 0, sizes(tup)),)
    return (joined_along(g, tup, 1, [np.shape(a)[1] for a in tup]),)


@vjp(np.dstack, arrays=0, linear=(0,))
def dstack(g, y, tup):
    return (joined_along(g, tup, 2, [np.shape(a)[2] if np.ndim(a) > 2 else 1 for a in tup]),)


@vjp(np.column_stack, arrays=0, linear=(0,))
def column_stack(g, y, tup):
    return (joined_along(g, tup, 1, [np.shape(a)[1] if np.ndim(a) > 1 else 1 for a in tup]),)


@vjp(np.append, arrays=2, linear=(0, 1))
def append(g, y, arr, values, axis=None):
    if axis is None:
        return (g[: arr.size].reshape(arr.shape), g[arr.size :].reshape(values.shape))
    first, second = pieces(g, (arr.shape[axis], values.shape[axis]), axis % g.ndim)
    return (first, second)


@vjp(np.block, arrays=0, linear=(0,))
def block(g, y, arrays):
    return (unblocked(g, arrays, block_depth(arrays)),)


def block_depth(item):
    return 1 + block_depth(item[0]) if isinstance(item, list) else 0


def unblocked(g, item, depth):
    """The innermost lists were joined along the last axis, the next along the one before, and so on."""
    if not isinstance(item, list):
        return g.reshape(np.shape(item))
    lengths = [np.array(np.block(x), ndmin=g.ndim).shape[-depth] for x in item]
    parts = pieces(g, lengths, g.ndim - depth)
    return [unblocked(part, x, depth - 1) for part, x in zip(parts, item, strict=True)]


# -- splitting -----------------------------------------------------------------------------------------------


@vjp(np.split, np.array_split, linear=(0,))
def split(g, y, ary, indices_or_sections, axis=0):
    return (np.concatenate(filled(g, y), axis),)


def filled(g, y):
    """The cotangents `g` of the arrays `y`, zeros where there is None."""
    return [np.zeros(yi.shape, yi.dtype) if gi is None else gi for gi, yi in zip(g, y, strict=True)]


@vjp(np.hsplit, linear=(0,))
def hsplit(g, y, ary, indices_or_sections):
    return (np.concatenate(filled(g, y), 1 if ary.ndim > 1 else 0),)


@vjp(np.vsplit, linear=(0,))
def vsplit(g, y, ary, indices_or_sections):
    return (np.concatenate(filled(g, y), 0),)


@vjp(np.dsplit, linear=(0,))
def dsplit(g, y, ary, indices_or_sections):
    return (np.concatenate(filled(g, y), 2),)


@vjp(*of(np, "unstack"), linear=(0,))
def unstack(g, y, x, /, *, axis=0):
    return (np.stack(filled(g, y), axis),)
