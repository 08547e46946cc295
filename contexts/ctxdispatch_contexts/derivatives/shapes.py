"""Functions that move, copy or repeat elements: the cotangent goes back the way the elements came."""

from __future__ import annotations

import numpy as np

from ctxdispatch_contexts.derivatives.linear import scatter, spread, unbroadcast
from ctxdispatch_contexts.derivatives.registry import of, vjp


def shaped(g, y, a):
    """`g` in the shape of `a`, both with the same elements in C order."""
    if y.ndim == 0:
        return np.reshape(g, a.shape)  # g may be a Python number
    return g.reshape(a.shape)


# -- new shapes ----------------------------------------------------------------------------------------------
# The orders "A" and "K" follow the memory of the argument, which a tangent need not share.


@vjp(np.reshape, linear=(0,), unless="order")
def reshape(g, y, a, shape=None, order="C", *, copy=None, newshape=None):
    return (unravelled(g, y, a, order),)


@vjp(np.ndarray.reshape, *of(np.generic, "reshape"), linear=(0,), unless="order")
def reshape_method(g, y, a, *shape, order="C", copy=None):
    return (unravelled(g, y, a, order),)


@vjp(
    np.ravel, *of(np.ndarray, "ravel", "flatten"), *of(np.generic, "ravel", "flatten"), linear=(0,),
    unless="order",
)  # fmt: skip
def ravel(g, y, a, order="C"):
    return (unravelled(g, y, a, order),)


def unravelled(g, y, a, order):
    if order == "C":
        return shaped(g, y, a)
    if order == "F" or (order == "A" and a.flags.fnc):
        return np.reshape(g, a.shape, order="F")
    if order == "A":
        return shaped(g, y, a)
    return in_memory_order(g, a)


def in_memory_order(g, a):
    """The transpose of a.ravel("K")"""
    position = np.empty_like(a, dtype=np.intp)
    position[...] = np.arange(a.size).reshape(a.shape)
    return scatter(g, position.ravel("K"), (a.size,), g.dtype).reshape(a.shape)


@vjp(np.expand_dims, linear=(0,))
def expand_dims(g, y, a, axis):
    return (shaped(g, y, a),)


@vjp(np.squeeze, *of(np.ndarray, "squeeze"), *of(np.generic, "squeeze"), linear=(0,))
def squeeze(g, y, a, axis=None):
    return (shaped(g, y, a),)


@vjp(np.atleast_1d, np.atleast_2d, np.atleast_3d, linear=slice(None))
def atleast(g, y, *arrays):
    if len(arrays) == 1:
        return (np.reshape(g, np.shape(arrays[0])),)
    return each_shaped(g, arrays)


def each_shaped(g, arrays):
    return tuple(
        [None if gi is None else np.reshape(gi, np.shape(a)) for gi, a in zip(g, arrays, strict=True)]
    )


@vjp(np.broadcast_to, linear=(0,))
def broadcast_to(g, y, array, shape, subok=False):
    if y.ndim == 0:
        return (g,)
    return (unbroadcast(g, array.shape),)


@vjp(np.broadcast_arrays, arrays=0, linear=slice(None))
def broadcast_arrays(g, y, *arrays, subok=False):
    return tuple(
        [None if gi is None else unbroadcast(gi, np.shape(a)) for gi, a in zip(g, arrays, strict=True)]
    )


# -- orders of axes ------------------------------------------------------------------------------------------


@vjp(np.transpose, linear=(0,))
def transpose(g, y, a, axes=None):
    if axes is None:
        return (g.T,) if a.ndim > 1 else (g,)
    return (g.transpose(inverse(axes)),)


@vjp(np.ndarray.transpose, *of(np.generic, "transpose"), linear=(0,))
def transpose_method(g, y, a, *axes):
    if len(axes) == 0:
        return transpose(g, y, a)
    if len(axes) == 1 and not isinstance(axes[0], int):
        return transpose(g, y, a, axes[0])
    return transpose(g, y, a, axes)


def inverse(axes):
    n = len(axes)
    order = [0] * n
    for i, axis in enumerate(axes):
        order[axis % n] = i
    return order


@vjp(np.ndarray.T, np.generic.T, linear=(0,))
def T(g, y, a):
    return transpose(g, y, a)


@vjp(*of(np.ndarray, "mT"), *of(np, "matrix_transpose"), *of(np.linalg, "matrix_transpose"), linear=(0,))
def matrix_transpose(g, y, a):
    return (g.swapaxes(-1, -2),)


@vjp(np.swapaxes, np.ndarray.swapaxes, linear=(0,))
def swapaxes(g, y, a, axis1, axis2):
    return (g.swapaxes(axis1, axis2),)


@vjp(np.moveaxis, linear=(0,))
def moveaxis(g, y, a, source, destination):
    return (np.moveaxis(g, destination, source),)


@vjp(np.rollaxis, linear=(0,))
def rollaxis(g, y, a, axis, start=0):
    axis, start = axis % a.ndim, start + a.ndim if start < 0 else start
    return (np.moveaxis(g, start - 1 if axis < start else start, axis),)


# -- reversal and rotation -----------------------------------------------------------------------------------


@vjp(np.flip, linear=(0,))
def flip(g, y, m, axis=None):
    return (np.flip(g, axis),) if m.ndim else (g,)


@vjp(np.flipud, linear=(0,))
def flipud(g, y, m):
    return (g[::-1],)


@vjp(np.fliplr, linear=(0,))
def fliplr(g, y, m):
    return (g[:, ::-1],)


@vjp(np.rot90, linear=(0,))
def rot90(g, y, m, k=1, axes=(0, 1)):
    return (np.rot90(g, -k, axes),)


@vjp(np.roll, linear=(0,))
def roll(g, y, a, shift, axis=None):
    return (np.roll(g, np.subtract(0, shift).tolist(), axis),)


# -- repetition ----------------------------------------------------------------------------------------------


@vjp(np.repeat, *of(np.ndarray, "repeat"), *of(np.generic, "repeat"), linear=(0,))
def repeat(g, y, a, repeats, axis=None):
    if axis is None:
        return (merge_repeats(g, a.size, repeats, 0).reshape(a.shape),)
    return (merge_repeats(g, a.shape[axis], repeats, axis % a.ndim),)


def merge_repeats(g, n, repeats, axis):
    lead, trail = g.shape[:axis], g.shape[axis + 1 :]
    if isinstance(repeats, int):
        return np.add.reduce(g.reshape((*lead, n, repeats, *trail)), axis=axis + 1)
    index = np.repeat(np.arange(n), repeats)
    return scatter(g, (*[slice(None)] * axis, index), (*lead, n, *trail), g.dtype)


@vjp(np.tile, linear=(0,))
def tile(g, y, A, reps):
    return (merge_tiles(g, A.shape, reps if np.ndim(reps) else (reps,)),)


def merge_tiles(g, shape, reps):
    full = (1,) * (g.ndim - len(shape)) + tuple(shape)
    reps = (1,) * (g.ndim - len(reps)) + tuple(reps)
    pairs = [n for pair in zip(reps, full, strict=True) for n in pair]
    return np.add.reduce(g.reshape(pairs), axis=tuple(range(0, 2 * g.ndim, 2))).reshape(shape)


@vjp(np.resize, linear=(0,), picks=True)
def resize(g, y, a, new_shape):
    index = np.resize(np.arange(a.size), y.size)
    return (scatter(g.reshape(-1), index, (a.size,), y.dtype).reshape(a.shape),)


# -- diagonals and triangles ---------------------------------------------------------------------------------


@vjp(np.diagonal, *of(np.ndarray, "diagonal"), linear=(0,), picks=True)
def diagonal(g, y, a, offset=0, axis1=0, axis2=1):
    return (onto_diagonal(g, a.shape, offset, axis1, axis2),)


@vjp(*of(np.linalg, "diagonal"), linear=(0,), picks=True)
def linalg_diagonal(g, y, x, /, *, offset=0):
    return (onto_diagonal(g, x.shape, offset, -2, -1),)


def onto_diagonal(g, shape, offset=0, axis1=0, axis2=1):
    """Zeros of `shape` with `g` on a diagonal: the transpose of np.diagonal."""
    out = np.zeros(shape, g.dtype)
    i = np.arange(g.shape[-1])
    np.moveaxis(out, (axis1, axis2), (-2, -1))[..., i + max(-offset, 0), i + max(offset, 0)] = g
    return out


@vjp(onto_diagonal, linear=(0,))
def onto_diagonal_vjp(g, y, a, shape, offset=0, axis1=0, axis2=1):
    return (np.diagonal(g, offset, axis1, axis2),)


@vjp(np.diag, linear=(0,), picks=True)
def diag(g, y, v, k=0):
    if v.ndim == 1:
        return (g.diagonal(k),)
    return (onto_diagonal(g, v.shape, k),)


@vjp(np.diagflat, linear=(0,))
def diagflat(g, y, v, k=0):
    return (g.diagonal(k).reshape(v.shape),)


@vjp(np.tril, linear=(0,), picks=True)
def tril(g, y, m, k=0):
    if m.ndim == 1:
        return (np.add.reduce(np.tril(g, k), axis=0),)
    return (np.tril(g, k),)


@vjp(np.triu, linear=(0,), picks=True)
def triu(g, y, m, k=0):
    if m.ndim == 1:
        return (np.add.reduce(np.triu(g, k), axis=0),)
    return (np.triu(g, k),)


# -- copies and constructors ---------------------------------------------------------------------------------


@vjp(
    np.copy, *of(np, "astype"), *of(np.ndarray, "astype", "copy", "__copy__", "__deepcopy__"),
    *of(np.generic, "astype", "copy", "__copy__", "__deepcopy__"), linear=(0,),
)  # fmt: skip
def copy(g, y, a, *args, **kwargs):
    return (g,)


@vjp(np.array, np.asarray, np.asanyarray, np.ascontiguousarray, np.asfortranarray, arrays=0, linear=(0,))
def array(g, y, object, *args, **kwargs):
    if isinstance(object, (np.ndarray, np.generic)):
        return (g,) if y.ndim == object.ndim else (np.reshape(g, object.shape),)
    if isinstance(object, (int, float, complex)):
        return (np.reshape(g, ()),)
    return (nested(g[(0,) * (y.ndim - depth(object))], object),)


def depth(item):
    if isinstance(item, (list, tuple)):
        return 1 + depth(item[0]) if item else 1
    return np.ndim(item)


def nested(g, item):
    """`g` as nested lists, as deep as `item` is: the transpose of np.array."""
    if isinstance(item, (list, tuple)):
        return [nested(gi, x) for gi, x in zip(g, item, strict=True)]
    if type(item) is float:
        return float(g.real)  # of an array of objects, a number of Python's own
    return complex(g) if type(item) is complex else g


@vjp(np.full, arrays=0, linear=(1,))
def full(g, y, shape, fill_value, dtype=None, order="C", *, device=None, like=None):
    return (
        None,
        np.add.reduce(g, axis=None) if np.ndim(fill_value) == 0 else unbroadcast(g, np.shape(fill_value)),
    )


@vjp(np.full_like, arrays=0, linear=(1,))
def full_like(g, y, a, fill_value, dtype=None, order="K", subok=True, shape=None, *, device=None):
    return full(g, y, shape, fill_value)


@vjp(np.linspace, arrays=2, linear=(0, 1), unless="retstep")
def linspace(g, y, start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0, *, device=None):
    if retstep:
        return with_step(g, start, stop, num, endpoint, axis)
    return of_line(g, start, stop, num, endpoint, axis)


def of_line(g, start, stop, num, endpoint, axis):
    g = np.moveaxis(g, axis, -1)
    t = np.arange(num, dtype=g.dtype) / max(num - bool(endpoint), 1)
    return (unbroadcast_or_sum(g @ (1.0 - t), start), unbroadcast_or_sum(g @ t, stop))


def with_step(g, start, stop, num, endpoint, axis):
    """The step is the difference of the ends, divided by the number of steps; nan where there are none."""
    points, step = g
    steps = num - bool(endpoint)
    if points is None or step is None or steps < 1:
        if points is not None:
            return of_line(points, start, stop, num, endpoint, axis)
        step = step / (steps or np.nan)
        return (unbroadcast_or_sum(-step, start), unbroadcast_or_sum(step, stop))
    first, last = of_line(points, start, stop, num, endpoint, axis)
    step = step / steps
    return (first + unbroadcast_or_sum(-step, start), last + unbroadcast_or_sum(step, stop))


def unbroadcast_or_sum(g, like):
    return unbroadcast(g, like.shape) if np.ndim(g) else g


# -- real and imaginary parts --------------------------------------------------------------------------------


@vjp(np.real, np.ndarray.real, np.generic.real, linear=(0,))
def real(g, y, a):
    return (g,)


@vjp(np.imag, np.ndarray.imag, np.generic.imag, linear=(0,))
def imag(g, y, a):
    if a.dtype.kind == "c":
        return (-1j * g,)
    return (spread(0.0, a.shape, a.dtype),)


@vjp(np.conjugate, *of(np.ndarray, "conj", "conjugate"), *of(np.generic, "conj", "conjugate"), linear=(0,))
def conjugate(g, y, a):
    if a.dtype.kind == "c":
        return (np.conjugate(g),)
    return (g,)


@vjp(np.angle)
def angle(g, y, z, deg=False):
    if z.dtype.kind != "c":
        return (spread(0.0, z.shape, y.dtype),)
    if deg:
        return (-57.29577951308232j * g / z,)
    return (-1j * g / z,)


@vjp(np.nan_to_num, picks="nan")
def nan_to_num(g, y, x, copy=True, nan=None, posinf=None, neginf=None):
    """Of complex numbers each part by itself."""
    if x.dtype.kind == "c":
        kept = np.where(np.isfinite(x.real), g.real, 0.0) + 1j * np.where(np.isfinite(x.imag), g.imag, 0.0)
    else:
        kept = np.where(np.isfinite(x), g, 0.0)
    if nan is None and posinf is None and neginf is None:
        return (kept,)
    return (
        kept,
        None,
        in_place_of(g, np.isnan(x.real), np.isnan(x.imag), nan),
        in_place_of(g, x.real == np.inf, x.imag == np.inf, posinf),
        in_place_of(g, x.real == -np.inf, x.imag == -np.inf, neginf),
    )


def in_place_of(g, real, imag, value):
    """The cotangent of what stands where those masks are true."""
    if value is None:
        return None
    return unbroadcast(np.where(real, g.real, 0.0) - np.where(imag, g.imag, 0.0), np.shape(value))


@vjp(np.real_if_close)
def real_if_close(g, y, a, *args, **kwargs):
    return (g,)
