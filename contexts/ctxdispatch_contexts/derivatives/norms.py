"""Linear algebra that is differentiated as Python code: norms, powers, chains, and systems of tensors."""

from __future__ import annotations

import math
import operator

import numpy as np

from ctxdispatch_contexts.derivatives.registry import lower, of
from ctxdispatch_contexts.derivatives.statistics import axis_index, flattened, normalized

# -- vectors in stacks ---------------------------------------------------------------------------------------


@lower(*of(np, "vecdot"))
def vecdot(x1, x2, /, *, axis=-1, keepdims=False):
    if np.shape(x1)[axis] != np.shape(x2)[axis]:
        raise ValueError("vecdot: the vectors are not of the same length")
    return np.sum(np.conj(x1) * x2, axis=axis, keepdims=keepdims)


@lower(*of(np.linalg, "vecdot"))
def linalg_vecdot(x1, x2, /, *, axis=-1):
    return vecdot(x1, x2, axis=axis)


@lower(*of(np, "matvec"))
def matvec(x1, x2, /):
    return (x1 @ x2[..., None])[..., 0]


@lower(*of(np, "vecmat"))
def vecmat(x1, x2, /):
    return (np.conj(x1)[..., None, :] @ x2)[..., 0, :]


# -- linear algebra ------------------------------------------------------------------------------------------


def squares(x):
    """|x|**2, elementwise"""
    return np.real(x * np.conj(x)) if x.dtype.kind == "c" else x * x


def root(s):
    """sqrt(s) with a finite slope at 0, so that a norm's gradient at 0 is 0 and not inf * 0."""
    zero = s == 0
    return np.sqrt(s + zero) - zero


@lower(np.linalg.norm)
def norm(x, ord=None, axis=None, keepdims=False):
    x = np.asarray(x)
    if ord is None:
        return root(np.sum(squares(x), axis=axis, keepdims=keepdims))
    if axis is None:
        axis = (0, 1) if x.ndim == 2 else 0 if x.ndim == 1 else ()
    if isinstance(axis, int) or len(axis) == 1:
        return length(x, ord, axis, keepdims)
    if len(axis) != 2:
        raise ValueError("Improper number of dimensions to norm.")
    row, column = axis_index(axis[0], x.ndim), axis_index(axis[1], x.ndim)
    if row == column:
        raise ValueError("Duplicate axes given.")
    return matrix_length(x, ord, row, column, keepdims)


def length(x, ord, axis, keepdims):
    """The norm of the vectors along `axis`: (sum |x|**ord)**(1/ord), or its limit, or a count for ord 0."""
    if ord == 2:
        return root(np.sum(squares(x), axis=axis, keepdims=keepdims))
    if ord == math.inf:
        return np.max(np.abs(x), axis=axis, keepdims=keepdims)
    if ord == -math.inf:
        return np.min(np.abs(x), axis=axis, keepdims=keepdims)
    if ord == 0:
        return np.sum((x != 0).astype(x.real.dtype), axis=axis, keepdims=keepdims)
    if ord == 1:
        return np.sum(np.abs(x), axis=axis, keepdims=keepdims)
    if isinstance(ord, str):
        raise ValueError(f"Invalid norm order '{ord}' for vectors")
    total = np.sum(np.abs(x) ** ord, axis=axis, keepdims=keepdims)
    if ord < 1:
        return total ** (1.0 / ord)
    zero = total == 0
    return (total + zero) ** (1.0 / ord) - zero


def matrix_length(x, ord, row, column, keepdims):
    """The norm of the matrices along `row` and `column`: of all elements, of sums, or of singular values."""
    if ord == "fro" or ord == "f":
        return root(np.sum(squares(x), axis=(row, column), keepdims=keepdims))
    if ord in (1, -1, math.inf, -math.inf):
        summed, other = (row, column) if abs(ord) == 1 else (column, row)
        sums = np.sum(np.abs(x), axis=summed, keepdims=True)
        y = np.max(sums, axis=other, keepdims=True) if ord > 0 else np.min(sums, axis=other, keepdims=True)
        return y if keepdims else np.squeeze(y, axis=(row, column))[()]
    s = np.linalg.svd(np.moveaxis(x, (row, column), (-2, -1)), compute_uv=False)
    y = spectral(s, ord)
    return np.expand_dims(y, (row, column)) if keepdims else y


def spectral(s, ord):
    if ord == 2:
        return np.max(s, axis=-1)
    if ord == -2:
        return np.min(s, axis=-1)
    if ord == "nuc":
        return np.sum(s, axis=-1)
    raise ValueError("Invalid norm order for matrices.")


@lower(*of(np.linalg, "vector_norm"))
def vector_norm(x, /, *, axis=None, keepdims=False, ord=2):
    """Several axes are flattened: their elements are one vector."""
    x = np.asarray(x)
    if axis is None:
        y = length(x.reshape(-1), ord, 0, False)
        return np.reshape(y, (1,) * x.ndim) if keepdims else y
    if isinstance(axis, int):
        return length(x, ord, axis, keepdims)
    axes = normalized(axis, x.ndim)
    y = length(flattened(x, axes), ord, 0, False)
    return np.expand_dims(y, axes) if keepdims else y


@lower(*of(np.linalg, "matrix_norm"))
def matrix_norm(x, /, *, keepdims=False, ord="fro"):
    x = np.asarray(x)
    return matrix_length(x, "fro" if ord is None else ord, x.ndim - 2, x.ndim - 1, keepdims)


@lower(np.linalg.multi_dot)
def multi_dot(arrays, *, out=None):
    total = arrays[0]
    for a in arrays[1:]:
        total = np.dot(total, a)
    return total


@lower(np.linalg.matrix_power)
def matrix_power(a, n):
    """By repeated squaring: log2(n) products, each with its own pullback."""
    a, n = np.asarray(a), operator.index(n)
    if n < 0:
        a, n = np.linalg.inv(a), -n
    if n == 0:
        return np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape).copy()
    y = None
    while n:
        if n % 2:
            y = a if y is None else y @ a
        n = n // 2
        a = a @ a if n else a
    return y


@lower(np.linalg.cond)
def cond(x, p=None):
    x = np.asarray(x)
    if p is None or p == 2 or p == -2:
        s = np.linalg.svd(x, compute_uv=False)
        return s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    return norm(x, p, (-2, -1)) * norm(np.linalg.inv(x), p, (-2, -1))


@lower(np.linalg.tensorsolve)
def tensorsolve(a, b, axes=None):
    a, b = np.asarray(a), np.asarray(b)
    if axes is not None:
        a = np.moveaxis(a, axes, range(a.ndim - len(axes), a.ndim))
    shape = a.shape[b.ndim :]
    return np.reshape(np.linalg.solve(a.reshape((b.size, -1)), b.reshape(-1)), shape)


@lower(np.linalg.tensorinv)
def tensorinv(a, ind=2):
    a = np.asarray(a)
    n = math.prod(a.shape[ind:])
    return np.reshape(np.linalg.inv(a.reshape((n, -1))), a.shape[ind:] + a.shape[:ind])
