"""Block forms (see `blocks.py`) of functions that move, copy or repeat elements."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from ctxdispatch_contexts.derivatives.blocks import (
    after,
    afters,
    behind,
    blocked,
    each,
    flat,
    level,
    shape_of,
)
from ctxdispatch_contexts.derivatives.linear import spread
from ctxdispatch_contexts.derivatives.registry import block, of
from ctxdispatch_contexts.derivatives.shapes import onto_diagonal

# -- new shapes ----------------------------------------------------------------------------------------------


@block(np.reshape)
def reshape(a, shape=None, order="C", *, copy=None, newshape=None):
    if order == "C":
        return a.reshape(shape_of(newshape if shape is None else shape, a))
    if order == "F":
        whole = shape_of(newshape if shape is None else shape, a)
        return reverse(reverse(a).reshape((whole[0], *whole[:0:-1])))
    return each(np.reshape, (0,), (), a, newshape if shape is None else shape, order)


def reverse(a):
    """The axes of the arrays in opposite order."""
    return a.transpose((0, *range(a.ndim - 1, 0, -1)))


@block(np.ndarray.reshape, *of(np.generic, "reshape"))
def reshape_method(a, *shape, order="C", copy=None):
    if len(shape) == 1:
        return reshape(a, shape[0], order)
    return reshape(a, shape, order)


@block(np.ravel, *of(np.ndarray, "ravel"), *of(np.generic, "ravel"))
def ravel(a, order="C"):
    if order == "C":
        return flat(a)
    if order == "F":
        return flat(reverse(a))
    return each(np.ravel, (0,), (), a, order)


@block(*of(np.ndarray, "flatten"), *of(np.generic, "flatten"))
def flatten(a, order="C"):
    return ravel(a, order).copy()


@block(np.expand_dims)
def expand_dims(a, axis):
    if isinstance(axis, int) and axis == -1:
        return a[..., None]
    if isinstance(axis, int) and axis == 0:
        return a[:, None]
    return np.expand_dims(a, afters(axis))


@block(np.squeeze, *of(np.ndarray, "squeeze"), *of(np.generic, "squeeze"))
def squeeze(a, axis=None):
    if axis is None:
        return a.reshape((a.shape[0], *[n for n in a.shape[1:] if n != 1]))
    return a.squeeze(behind(axis, a))


@block(np.atleast_1d)
def atleast_1d(*arrays):
    if len(arrays) == 1:
        return level(arrays[0], 1)
    return tuple([level(a, 1) for a in arrays])


@block(np.atleast_2d)
def atleast_2d(*arrays):
    if len(arrays) == 1:
        return level(arrays[0], 2)
    return tuple([level(a, 2) for a in arrays])


@block(np.atleast_3d)
def atleast_3d(*arrays):
    if len(arrays) == 1:
        return deep(arrays[0])
    return tuple([deep(a) for a in arrays])


def deep(a):
    """A vector lies along the second of three axes, a matrix along the first two."""
    return level(a, 2)[..., None] if a.ndim < 4 else a


@block(np.broadcast_to)
def broadcast_to(array, shape, subok=False):
    full = shape_of(shape, array)
    return np.broadcast_to(level(array, len(full) - 1), full)


@block(np.broadcast_arrays)
def broadcast_arrays(*arrays, subok=False):
    return np.broadcast_arrays(*levelled(arrays))


def levelled(arrays):
    ndim = max([a.ndim for a in arrays]) - 1
    return [level(a, ndim) for a in arrays]


# -- orders of axes ------------------------------------------------------------------------------------------


@block(np.transpose)
def transpose(a, axes=None):
    if axes is not None:
        return a.transpose((0, *[after(i) for i in axes]))
    if a.ndim <= 2:
        return a
    if a.ndim == 3:
        return a.swapaxes(1, 2)
    return a.transpose((0, *range(a.ndim - 1, 0, -1)))


@block(np.ndarray.transpose, *of(np.generic, "transpose"))
def transpose_method(a, *axes):
    if len(axes) == 0:
        return transpose(a)
    if len(axes) == 1 and not isinstance(axes[0], int):
        return transpose(a, axes[0])
    return transpose(a, axes)


@block(np.ndarray.T, np.generic.T)
def T(a):
    return transpose(a)


@block(*of(np.ndarray, "mT"), *of(np, "matrix_transpose"), *of(np.linalg, "matrix_transpose"))
def matrix_transpose(a):
    return a.swapaxes(-1, -2)


@block(np.swapaxes, np.ndarray.swapaxes)
def swapaxes(a, axis1, axis2):
    return a.swapaxes(after(axis1), after(axis2))


@block(np.moveaxis)
def moveaxis(a, source, destination):
    return np.moveaxis(a, afters(source), afters(destination))


@block(np.rollaxis)
def rollaxis(a, axis, start=0):
    return np.rollaxis(a, after(axis), after(start))


# -- reversal and rotation -----------------------------------------------------------------------------------


@block(sliding_window_view)
def windows(x, window_shape, axis=None, *, subok=False, writeable=False):
    return sliding_window_view(x, window_shape, behind(axis, x))


@block(np.flip)
def flip(m, axis=None):
    return np.flip(m, behind(axis, m))


@block(np.flipud)
def flipud(m):
    return m[:, ::-1]


@block(np.fliplr)
def fliplr(m):
    return m[:, :, ::-1]


@block(np.rot90)
def rot90(m, k=1, axes=(0, 1)):
    return np.rot90(m, k, afters(axes))


@block(np.roll)
def roll(a, shift, axis=None):
    if axis is None:
        return np.roll(flat(a), shift, 1).reshape(a.shape)
    return np.roll(a, shift, afters(axis))


# -- repetition ----------------------------------------------------------------------------------------------


@block(np.repeat, *of(np.ndarray, "repeat"), *of(np.generic, "repeat"))
def repeat(a, repeats, axis=None):
    if axis is None or a.ndim == 1:
        return np.repeat(flat(a), repeats, 1)
    return np.repeat(a, repeats, after(axis))


@block(np.tile)
def tile(A, reps):
    reps = tuple(reps) if np.ndim(reps) else (reps,)
    A = level(A, len(reps))
    return np.tile(A, (1,) * (A.ndim - len(reps)) + reps)


@block(np.resize)
def resize(a, new_shape):
    vectors = flat(a)
    index = np.resize(np.arange(vectors.shape[1]), new_shape)
    return vectors[:, index]


@block(np.pad)
def pad(
    array, pad_width, mode="constant", stat_length=None, constant_values=0, end_values=0, reflect_type="even"
):
    """It is linear with zeros around alone."""
    return np.pad(array, ((0, 0), *widths(pad_width, array.ndim - 1)))


def widths(pad_width, ndim):
    """What is added before and behind, for every axis."""
    if isinstance(pad_width, dict):
        at = [pad_width.get(i, pad_width.get(i - ndim, 0)) for i in range(ndim)]
        return [(n, n) if isinstance(n, int) else tuple(n) for n in at]
    return np.broadcast_to(pad_width, (ndim, 2)).tolist()


# -- diagonals and triangles ---------------------------------------------------------------------------------


@block(np.diagonal, *of(np.ndarray, "diagonal"))
def diagonal(a, offset=0, axis1=0, axis2=1):
    return a.diagonal(offset, after(axis1), after(axis2))


@block(*of(np.linalg, "diagonal"))
def linalg_diagonal(x, /, *, offset=0):
    return x.diagonal(offset, -2, -1)


@block(onto_diagonal)
def onto_diagonal_block(g, shape, offset=0, axis1=0, axis2=1):
    return onto_diagonal(g, (g.shape[0], *shape), offset, after(axis1), after(axis2))


@block(np.diag)
def diag(v, k=0):
    if v.ndim == 3:
        return v.diagonal(k, 1, 2)
    n = v.shape[1] + abs(k)
    return onto_diagonal(v, (v.shape[0], n, n), k, 1, 2)


@block(np.diagflat)
def diagflat(v, k=0):
    return diag(flat(v), k)


@block(np.tril)
def tril(m, k=0):
    return np.tril(squared(m), k)


@block(np.triu)
def triu(m, k=0):
    return np.triu(squared(m), k)


def squared(m):
    """Of a vector the triangle is that of the matrix whose rows it is."""
    if m.ndim > 2:
        return m
    return np.broadcast_to(m[:, None], (m.shape[0], m.shape[1], m.shape[1]))


# -- copies and constructors ---------------------------------------------------------------------------------


@block(np.copy, *(f for cls in (np.ndarray, np.generic) for f in of(cls, "copy", "__copy__", "__deepcopy__")))
def copy(a, *args, **kwargs):
    return a.copy()


@block(*of(np, "astype"), *of(np.ndarray, "astype"), *of(np.generic, "astype"))
def astype(a, dtype, *args, **kwargs):
    return a.astype(dtype)


@block(np.array)
def array(object, dtype=None, *, copy=True, order="K", subok=False, ndmin=0, like=None):
    return level(np.array(blocked(object), dtype, copy=copy), ndmin)


@block(np.asarray, np.asanyarray)
def asarray(a, dtype=None, order=None, *, device=None, copy=None, like=None):
    return np.asarray(blocked(a), dtype)


@block(np.ascontiguousarray, np.asfortranarray)
def ascontiguousarray(a, dtype=None, *, like=None):
    """Of at least one dimension."""
    return np.asarray(level(blocked(a), 1), dtype)


@block(np.full)
def full(shape, fill_value, dtype=None, order="C", *, device=None, like=None):
    value, whole = blocked(fill_value), shape_of(shape, fill_value)
    return spread(level(value, len(whole) - 1), whole, value.dtype if dtype is None else dtype)


@block(np.full_like)
def full_like(a, fill_value, dtype=None, order="K", subok=True, shape=None, *, device=None):
    dtype = np.asarray(a).dtype if dtype is None else dtype
    return full(np.shape(a) if shape is None else shape, fill_value, dtype)


@block(np.linspace)
def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0, *, device=None):
    start, stop = levelled((start, stop))
    return np.linspace(start, stop, num, endpoint, False, dtype, after(axis))


# -- real and imaginary parts --------------------------------------------------------------------------------


@block(np.real, np.ndarray.real, np.generic.real)
def real(a):
    return a.real


@block(np.imag, np.ndarray.imag, np.generic.imag)
def imag(a):
    return a.imag


@block(np.conjugate)
def conjugate(a):
    return np.conjugate(a)


@block(*of(np.ndarray, "conj", "conjugate"), *of(np.generic, "conj", "conjugate"))
def conjugate_method(a):
    return a.conjugate()
