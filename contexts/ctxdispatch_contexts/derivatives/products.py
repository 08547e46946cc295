"""Products of matrices and tensors. No conjugation anywhere but where the function itself conjugates."""

# ruff: noqa: C419 (a list: rules are lifted, and a generator is a frame of its own)
from __future__ import annotations

import math
import operator

import numpy as np

from ctxdispatch_contexts.derivatives.linear import place, spread, unbroadcast
from ctxdispatch_contexts.derivatives.registry import of, vjp

# -- matmul and dot ------------------------------------------------------------------------------------------


@vjp(operator.matmul, np.matmul, *of(np.linalg, "matmul"), arrays=2, multilinear=(0, 1))
def matmul(g, y, a, b):
    """g b^T and a^T g; a vector is a row on the left and a column on the right; stacks are summed back."""
    if a.ndim == 2 and b.ndim == 2:
        return (g @ b.T, a.T @ g)
    if a.ndim == 1 and b.ndim == 1:
        return (g * b, g * a)
    if a.ndim == 1 and b.ndim == 2:
        return (b @ g, a[:, None] * g)
    if a.ndim == 2 and b.ndim == 1:
        return (g[:, None] * b, g @ a)
    if a.ndim == 1:
        return (np.tensordot(g, b.swapaxes(-1, -2), g.ndim), a[:, None] * g[..., None, :])
    if b.ndim == 1:
        return (g[..., None] * b, np.tensordot(g, a, g.ndim))
    if b.ndim == 2:
        return (g @ b.T, flat_rows(a).T @ flat_rows(g))
    return (
        unbroadcast(g @ b.swapaxes(-1, -2), a.shape),
        unbroadcast(a.swapaxes(-1, -2) @ g, b.shape),
    )


def flat_rows(a):
    """All rows of a stack of matrices as one matrix."""
    return a.reshape((math.prod(a.shape[:-1]), a.shape[-1]))


@vjp(np.dot, *of(np.ndarray, "dot"), arrays=2, multilinear=(0, 1), unless="out")
def dot(g, y, a, b, out=None):
    if a.ndim == 0 or b.ndim == 0:
        return (contract(g, b, a), contract(g, a, b))
    if b.ndim <= 2 and a.ndim <= 2:
        return matmul(g, y, a, b)
    return tensordot_cotangents(g, a, b, (a.ndim - 1,), (max(b.ndim - 2, 0),))


def contract(g, factor, like):
    """The cotangent of `like` in a product with a number."""
    if like.ndim == 0 and factor.ndim > 0:
        return np.add.reduce(g * factor, axis=None)
    return g * factor


@vjp(np.inner, arrays=2, multilinear=(0, 1))
def inner(g, y, a, b):
    if a.ndim == 0 or b.ndim == 0:
        return (contract(g, b, a), contract(g, a, b))
    if a.ndim == 1 and b.ndim == 1:
        return (g * b, g * a)
    return tensordot_cotangents(g, a, b, (a.ndim - 1,), (b.ndim - 1,))


@vjp(np.outer, *of(np.linalg, "outer"), arrays=2, multilinear=(0, 1), unless="out")
def outer(g, y, a, b, out=None):
    if a.ndim == 1 and b.ndim == 1:
        return (g @ b, a @ g)
    return ((g @ b.reshape(-1)).reshape(a.shape), (a.reshape(-1) @ g).reshape(b.shape))


@vjp(np.multiply.outer, arrays=2, multilinear=(0, 1))
def multiply_outer(g, y, a, b):
    return (np.tensordot(g, b, b.ndim), np.tensordot(a, g, a.ndim))


@vjp(np.vdot, arrays=2, multilinear=(0, 1))
def vdot(g, y, a, b):
    if a.dtype.kind == "c":
        return (np.conj(g * b).reshape(a.shape), (g * np.conj(a)).reshape(b.shape))
    if b.dtype.kind == "c":
        return ((g * b).reshape(a.shape), (g * a).reshape(b.shape))
    return ((g * b).reshape(a.shape), (g * a).reshape(b.shape))


# -- tensordot -----------------------------------------------------------------------------------------------


@vjp(np.tensordot, arrays=2, multilinear=(0, 1))
def tensordot(g, y, a, b, axes=2):
    if isinstance(axes, int):
        if axes == 0 or axes == a.ndim == b.ndim:
            return (np.tensordot(g, b, b.ndim - axes), np.tensordot(a, g, a.ndim - axes))
        return tensordot_cotangents(g, a, b, range(a.ndim - axes, a.ndim), range(axes))
    left, right = axes
    left = (left,) if isinstance(left, int) else left
    right = (right,) if isinstance(right, int) else right
    return tensordot_cotangents(g, a, b, left, right)


@vjp(*of(np.linalg, "tensordot"), arrays=2, multilinear=(0, 1))
def linalg_tensordot(g, y, x1, x2, /, *, axes=2):
    return tensordot(g, y, x1, x2, axes)


def tensordot_cotangents(g, a, b, left, right):
    """Of y = sum over the pairs of axes (left, right) of a and b; y has a's free axes, then b's."""
    left, right = [i % a.ndim for i in left], [i % b.ndim for i in right]
    free_a = [i for i in range(a.ndim) if i not in left]
    free_b = [i for i in range(b.ndim) if i not in right]
    n = len(free_a)
    ga = np.tensordot(g, b, (list(range(n, n + len(free_b))), free_b))
    gb = np.tensordot(a, g, (free_a, list(range(n))))
    order_a = free_a + [left[right.index(i)] for i in sorted(right)]
    order_b = [right[left.index(i)] for i in sorted(left)] + free_b
    return (ga.transpose(np.argsort(order_a)), gb.transpose(np.argsort(order_b)))


# -- einsum --------------------------------------------------------------------------------------------------

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


@vjp(np.einsum, arrays=0, multilinear=slice(None), unless="out")
def einsum(g, y, *operands, out=None, optimize=False, **kwargs):
    if isinstance(operands[0], str):
        return (None, *einsum_cotangents(g, operands[0], operands[1:], optimize))
    return interleaved_cotangents(g, operands, optimize)


def interleaved_cotangents(g, operands, optimize):
    """einsum(a, [0, 1], b, [1, 2], [0, 2]): the subscripts as lists of integers."""
    pairs = len(operands) // 2
    arrays, lists = operands[: 2 * pairs : 2], operands[1 : 2 * pairs : 2]
    subscripts = ",".join([spell(subscript) for subscript in lists])
    if len(operands) % 2:
        subscripts += "->" + spell(operands[-1])
    cotangents = einsum_cotangents(g, subscripts, arrays, optimize)
    return tuple([c for cotangent in cotangents for c in (cotangent, None)])


def spell(subscript):
    return "".join(["..." if i is Ellipsis else _LETTERS[i] for i in subscript])


def einsum_cotangents(g, subscripts, arrays, optimize):
    terms, output = explicit(subscripts, [np.ndim(a) for a in arrays])
    return [einsum_cotangent(g, i, terms, output, arrays, optimize) for i in range(len(terms))]


def explicit(subscripts, ndims):
    """The subscripts with a letter for every axis and the output spelled out."""
    inputs, arrow, output = subscripts.replace(" ", "").partition("->")
    terms = inputs.split(",")
    spare = [c for c in _LETTERS if c not in subscripts]
    depth = [n - len(t) + 3 if "..." in t else 0 for n, t in zip(ndims, terms, strict=True)]
    dots = "".join(spare[: max(depth)])
    terms = [t.replace("...", dots[len(dots) - n :]) for t, n in zip(terms, depth, strict=True)]
    if arrow:
        return terms, output.replace("...", dots)
    named = "".join(sorted({c for c in "".join(terms) if c not in dots}))
    return terms, dots + "".join([c for c in named if "".join(terms).count(c) == 1])


def einsum_cotangent(g, i, terms, output, arrays, optimize):
    """Contract g with the other operands to the axes of operand i they have; spread over the rest.

    An axis named twice is a diagonal: the cotangent goes there. An axis of length 1 that was broadcast is
    summed.
    """
    term, shape = terms[i], np.shape(arrays[i])
    rest = [output, *terms[:i], *terms[i + 1 :]]
    axes = "".join(dict.fromkeys(term))
    have = "".join([c for c in axes if any([c in other for other in rest])])
    cotangent = np.einsum(",".join(rest) + "->" + have, g, *arrays[:i], *arrays[i + 1 :], optimize=optimize)
    lengths = dict(zip(term, shape, strict=True))
    cotangent = cotangent.reshape(tuple([cotangent.shape[have.index(c)] if c in have else 1 for c in axes]))
    cotangent = unbroadcast_or_spread(cotangent, tuple([lengths[c] for c in axes]))
    return cotangent if axes == term else onto_diagonal(cotangent, term, axes, shape)


def unbroadcast_or_spread(cotangent, shape):
    if any([n == 1 < m for n, m in zip(shape, cotangent.shape, strict=True)]):
        summed = tuple([1 if n == 1 else m for n, m in zip(shape, cotangent.shape, strict=True)])
        cotangent = unbroadcast(cotangent, summed)
    return cotangent if cotangent.shape == shape else spread(cotangent, shape, cotangent.dtype)


def onto_diagonal(cotangent, term, axes, shape):
    """Zeros of `shape` with the cotangent, whose axes are `axes`, where the indices of `term` agree."""
    return place(cotangent, diagonal_index(term, axes, cotangent.shape), shape, cotangent.dtype)


def diagonal_index(term, axes, shape):
    grid = np.ix_(*[np.arange(n) for n in shape])
    return tuple([grid[axes.index(c)] for c in term])


# -- cross products ------------------------------------------------------------------------------------------


@vjp(np.cross, arrays=2, multilinear=(0, 1), mixed=True)
def cross(g, y, a, b, axisa=-1, axisb=-1, axisc=-1, axis=None):
    if axis is not None:
        axisa = axisb = axisc = axis
    left, right = np.moveaxis(a, axisa, -1), np.moveaxis(b, axisb, -1)
    n, m = left.shape[-1], right.shape[-1]
    if n == 2 and m == 2:  # the third component alone
        g = np.stack((np.zeros_like(g), np.zeros_like(g), g), -1)
    else:
        g = np.moveaxis(g, axisc, -1)
    left, right = spatial(left), spatial(right)
    ga = unbroadcast(np.cross(right, g), left.shape)[..., :n]
    gb = unbroadcast(np.cross(g, left), right.shape)[..., :m]
    return (np.moveaxis(ga, -1, axisa), np.moveaxis(gb, -1, axisb))


def spatial(vectors):
    """Those of a plane lie in space, at height 0."""
    if vectors.shape[-1] == 3:
        return vectors
    return np.concatenate((vectors, np.zeros_like(vectors[..., :1])), -1)


@vjp(*of(np.linalg, "cross"), arrays=2, multilinear=(0, 1), mixed=True)
def linalg_cross(g, y, x1, x2, /, *, axis=-1):
    return cross(g, y, x1, x2, -1, -1, -1, axis)


# -- convolution ---------------------------------------------------------------------------------------------


@vjp(np.convolve, arrays=2, multilinear=(0, 1))
def convolve(g, y, a, v, mode="full"):
    g = widened(g, a.size, v.size, mode)
    ga = np.convolve(g, np.ravel(v)[::-1])[v.size - 1 : v.size - 1 + a.size]
    gv = np.convolve(g, np.ravel(a)[::-1])[a.size - 1 : a.size - 1 + v.size]
    return (ga.reshape(a.shape), gv.reshape(v.shape))  # a number is an array of one


def widened(g, n, m, mode):
    """`g` as the cotangent of the full convolution."""
    short = min(n, m) - 1
    start = {"full": 0, 2: 0, "same": short // 2, 1: short // 2, "valid": short, 0: short}
    return place(g, slice(start[mode], start[mode] + g.size), (n + m - 1,), g.dtype)


@vjp(np.correlate, arrays=2, multilinear=(0, 1))
def correlate(g, y, a, v, mode="valid"):
    if a.size < v.size:  # NumPy exchanges the two, and reverses the result
        gv, ga = correlate(np.conj(g[::-1]), y, v, a, mode)
        return (ga, gv)
    ga, gv = convolve(g, y, a, np.conj(v[::-1]), mode)
    return (ga, np.conj(gv[::-1]))
