"""Block forms (see `blocks.py`) of products, of either factor.

Where both factors are at most matrices a block is one more matrix: one product of BLAS, not k of them.
"""

from __future__ import annotations

import operator

import numpy as np

from ctxdispatch_contexts.derivatives.blocks import after, afters, each, flat, level
from ctxdispatch_contexts.derivatives.products import _LETTERS, explicit, flat_rows
from ctxdispatch_contexts.derivatives.registry import block, of

# -- matmul --------------------------------------------------------------------------------------------------


@block(operator.matmul, np.matmul, *of(np.linalg, "matmul"), of=0)
def matmul_left(a, b):
    """d @ b, of vectors (k, n), matrices (k, m, n) or stacks of them."""
    if a.ndim == 2:
        return a @ b if b.ndim <= 2 else np.moveaxis(a @ b, -2, 0)
    if a.ndim == 3 and b.ndim <= 2:
        return (flat_rows(a) @ b).reshape(a.shape[:2] + b.shape[1:])
    return level(a, b.ndim) @ b


@block(operator.matmul, np.matmul, *of(np.linalg, "matmul"), of=1)
def matmul_right(a, b):
    """a @ d. A vector is a column: the k of them, as rows, are multiplied with the transpose."""
    if b.ndim == 2:
        if a.ndim == 1:
            return b @ a
        return b @ a.T if a.ndim == 2 else np.moveaxis(b @ a.swapaxes(-1, -2), -2, 0)
    return a @ level(b, a.ndim)


# -- dot and inner -------------------------------------------------------------------------------------------


@block(np.dot, *of(np.ndarray, "dot"), of=0)
def dot_left(a, b, out=None):
    if a.ndim == 1 or np.ndim(b) == 0:
        return level(a, np.ndim(b)) * b
    return matmul_left(a, b) if a.ndim <= 3 and np.ndim(b) <= 2 else np.dot(a, b)


@block(np.dot, *of(np.ndarray, "dot"), of=1)
def dot_right(a, b, out=None):
    if np.ndim(a) == 0 or b.ndim == 1:
        return a * level(b, np.ndim(a))
    if np.ndim(a) <= 2 and b.ndim <= 3:
        return matmul_right(a, b)
    return np.moveaxis(np.dot(a, b.T if b.ndim == 2 else b), np.ndim(a) - 1, 0)


@block(np.inner, of=0)
def inner_left(a, b):
    if a.ndim == 1 or np.ndim(b) == 0:
        return level(a, np.ndim(b)) * b
    return np.inner(a, b)


@block(np.inner, of=1)
def inner_right(a, b):
    if np.ndim(a) == 0 or b.ndim == 1:
        return a * level(b, np.ndim(a))
    return np.inner(b, a) if np.ndim(a) == 1 else np.moveaxis(np.inner(a, b), np.ndim(a) - 1, 0)


@block(np.vdot, of=0)
def vdot_left(a, b):
    vectors = flat(np.conj(a)) if a.dtype.kind == "c" else flat(a)
    return vectors @ np.ravel(b)


@block(np.vdot, of=1)
def vdot_right(a, b):
    return flat(b) @ np.ravel(np.conj(a) if np.iscomplexobj(a) else a)


# -- outer products ------------------------------------------------------------------------------------------


@block(np.outer, *of(np.linalg, "outer"), of=0)
def outer_left(a, b, out=None):
    return flat(a)[:, :, None] * np.ravel(b)


@block(np.outer, *of(np.linalg, "outer"), of=1)
def outer_right(a, b, out=None):
    return np.reshape(a, (-1, 1)) * flat(b)[:, None]


@block(np.multiply.outer, of=0)
def multiply_outer_left(a, b):
    return a.reshape(a.shape + (1,) * np.ndim(b)) * b


@block(np.multiply.outer, of=1)
def multiply_outer_right(a, b):
    return np.reshape(a, np.shape(a) + (1,) * (b.ndim - 1)) * level(b, np.ndim(a) + b.ndim - 1)


# -- tensordot -----------------------------------------------------------------------------------------------


@block(np.tensordot, of=0)
def tensordot_left(a, b, axes=2):
    if isinstance(axes, int):
        return np.tensordot(a, b, axes)
    return np.tensordot(a, b, (afters(axes[0]), axes[1]))


@block(np.tensordot, of=1)
def tensordot_right(a, b, axes=2):
    """The result has a's free axes, then the block's first."""
    if isinstance(axes, int):
        free = np.ndim(a) - axes
        y = np.tensordot(a, b, (tuple(range(free, np.ndim(a))), tuple(range(1, 1 + axes))))
        return np.moveaxis(y, free, 0)
    y = np.tensordot(a, b, (axes[0], afters(axes[1])))
    return np.moveaxis(y, np.ndim(a) - (1 if isinstance(axes[0], int) else len(axes[0])), 0)


@block(*of(np.linalg, "tensordot"), of=0)
def linalg_tensordot_left(x1, x2, /, *, axes=2):
    return tensordot_left(x1, x2, axes)


@block(*of(np.linalg, "tensordot"), of=1)
def linalg_tensordot_right(x1, x2, /, *, axes=2):
    return tensordot_right(x1, x2, axes)


# -- einsum --------------------------------------------------------------------------------------------------


@block(np.einsum, of=0)
def einsum_0(*operands, out=None, optimize=False, **kwargs):
    return each(np.einsum, (0,), (), *operands, optimize=optimize, **kwargs)


@block(np.einsum, of=1)
def einsum_1(*operands, out=None, optimize=False, **kwargs):
    return einsum_of(1, operands, optimize, kwargs)


@block(np.einsum, of=2)
def einsum_2(*operands, out=None, optimize=False, **kwargs):
    return einsum_of(2, operands, optimize, kwargs)


@block(np.einsum, of=3)
def einsum_3(*operands, out=None, optimize=False, **kwargs):
    return einsum_of(3, operands, optimize, kwargs)


def einsum_of(i, operands, optimize, kwargs):
    """A letter more in the i-th term and in the output, at the front of both."""
    if not isinstance(operands[0], str):
        return each(np.einsum, (i,), (), *operands, optimize=optimize, **kwargs)
    ndims = [np.ndim(a) for a in operands[1:]]
    ndims[i - 1] -= 1
    terms, output = explicit(operands[0], ndims)
    used = output + "".join(terms)
    letter = min(set(_LETTERS).difference(used))
    terms[i - 1] = letter + terms[i - 1]
    return np.einsum(f"{','.join(terms)}->{letter}{output}", *operands[1:], optimize=optimize, **kwargs)


# -- cross products ------------------------------------------------------------------------------------------


@block(np.cross, of=0)
def cross_left(a, b, axisa=-1, axisb=-1, axisc=-1, axis=None):
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = np.moveaxis(a, after(axisa), -1), np.moveaxis(b, axisb, -1)
    return crossed(level(a, b.ndim), b, axisc)


@block(np.cross, of=1)
def cross_right(a, b, axisa=-1, axisb=-1, axisc=-1, axis=None):
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = np.moveaxis(a, axisa, -1), np.moveaxis(b, after(axisb), -1)
    return crossed(a, level(b, a.ndim), axisc)


def crossed(a, b, axisc):
    """Of two vectors of length 2 the product has no axis, and none to move."""
    y = np.cross(a, b)
    return y if a.shape[-1] == b.shape[-1] == 2 else np.moveaxis(y, -1, after(axisc))


@block(*of(np.linalg, "cross"), of=0)
def linalg_cross_left(x1, x2, /, *, axis=-1):
    return cross_left(x1, x2, axis=axis)


@block(*of(np.linalg, "cross"), of=1)
def linalg_cross_right(x1, x2, /, *, axis=-1):
    return cross_right(x1, x2, axis=axis)


# -- systems -------------------------------------------------------------------------------------------------


@block(np.linalg.solve, of=1)
def solve_b(a, b):
    if b.ndim > 2:
        return np.linalg.solve(a, level(b, a.ndim))
    if a.ndim == 2:
        return np.linalg.solve(a, b.T).T
    return np.linalg.solve(a, level(b[..., None], a.ndim))[..., 0]
