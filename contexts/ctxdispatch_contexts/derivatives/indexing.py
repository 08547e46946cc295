"""Reading elements at an index: the cotangent is added where they were read, zero elsewhere."""

from __future__ import annotations

import operator

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from ctxdispatch_contexts.derivatives.linear import place, scatter, scatter_along, unbroadcast
from ctxdispatch_contexts.derivatives.registry import of, vjp


@vjp(operator.getitem, np.ndarray.__getitem__, *of(np.generic, "__getitem__"), linear=(0,), picks=True)
def getitem(g, y, a, index):
    """Of arrays; tuples, lists and dicts are their reader's business. The index may repeat elements."""
    if isinstance(index, (int, slice)):
        return (place(g, index, a.shape, a.dtype),)
    return (scatter(g, index, a.shape, a.dtype),)


@vjp(np.take, *of(np.ndarray, "take"), *of(np.generic, "take"), linear=(0,), unless="out", picks=True)
def take(g, y, a, indices, axis=None, out=None, mode="raise"):
    if axis is None:
        index = within(indices, a.size, mode)
        return (scatter(g, index, (a.size,), y.dtype).reshape(a.shape),)
    axis = axis % a.ndim
    return (scatter(g, (slice(None),) * axis + (within(indices, a.shape[axis], mode),), a.shape, y.dtype),)


def within(indices, n, mode):
    indices = np.asarray(indices, np.intp)  # where True is one of them it is 1
    if mode == "clip":
        return np.clip(indices, 0, n - 1)
    return indices % n if mode == "wrap" else indices


@vjp(np.take_along_axis, linear=(0,), picks=True)
def take_along_axis(g, y, arr, indices, axis=-1):
    if axis is None:
        return (scatter(g, indices, (arr.size,), y.dtype).reshape(arr.shape),)
    return (scatter_along(g, indices, axis, arr.shape, y.dtype),)


@vjp(np.compress, arrays=2, linear=(1,), unless="out", picks=True)
def compress(g, y, condition, a, axis=None, out=None):
    return (None, *take(g, y, a, np.flatnonzero(condition), axis))


@vjp(np.ndarray.compress, linear=(0,), unless="out", picks=True)
def compress_method(g, y, a, condition, axis=None, out=None):
    return take(g, y, a, np.flatnonzero(condition), axis)


@vjp(np.extract, arrays=2, linear=(1,), picks=True)
def extract(g, y, condition, arr):
    return (None, *take(g, y, arr, np.flatnonzero(condition)))


@vjp(np.delete, linear=(0,), picks=True)
def delete(g, y, arr, obj, axis=None):
    n = arr.size if axis is None else arr.shape[axis]
    return take(g, y, arr, np.delete(np.arange(n), obj), axis)


@vjp(np.unique, picks=True)
def unique(
    g, y, ar, return_index=False, return_inverse=False, return_counts=False, axis=None, *,
    equal_nan=True, sorted=True,
):  # fmt: skip
    """Of the values alone; equal elements: the first has the derivative."""
    if return_index or return_inverse or return_counts:
        g, y = g[0], y[0]
    if g is None:
        return (None,)
    if axis is not None:
        _, first = np.unique(ar, return_index=True, axis=axis)
        return take(g, y, ar, first, axis)
    order = np.argsort(ar, axis=None, kind="stable")
    return take(g, y, ar, order[np.searchsorted(np.ravel(ar)[order], y)])


@vjp(np.bincount, arrays=0, linear=(1,))
def bincount(g, y, x, weights=None, minlength=0):
    return (None,) if weights is None else (None, g[np.asarray(x, np.intp)])  # flags are counted too


@vjp(np.trim_zeros, picks=True)
def trim_zeros(g, y, filt, trim="fb", axis=None):
    return (scatter(g, trimmed(filt, trim.lower(), axis), filt.shape, y.dtype),)


def trimmed(filt, trim, axis):
    """The index of what trim_zeros leaves: of the box around what is not zero, along those axes."""
    axes = range(filt.ndim) if axis is None else [i % filt.ndim for i in np.atleast_1d(axis).tolist()]
    return tuple([box(found, trim) if i in axes else slice(None) for i, found in enumerate(np.nonzero(filt))])


def box(found, trim):
    if found.size == 0:
        return slice(0, 0)
    return slice(int(found.min()) if "f" in trim else None, int(found.max()) + 1 if "b" in trim else None)


# -- selection -----------------------------------------------------------------------------------------------


@vjp(np.where, arrays=3, linear=(1, 2), picks=True)
def where(g, y, condition, a=None, b=None):
    """A selection, not a product with a mask: where it is not selected, inf does not become nan."""
    if a is None:
        return (None,)
    return (
        None,
        narrowed(np.where(condition, g, 0.0), a.shape),
        narrowed(np.where(condition, 0.0, g), b.shape),
    )


def narrowed(g, shape):
    return g if len(shape) == g.ndim == 0 else unbroadcast(g, shape)


@vjp(np.choose, np.ndarray.choose, linear=(1,), unless="out", picks=True)
def choose(g, y, a, choices, out=None, mode="raise"):
    cotangents = chosen(g, one_hot(within(a, len(choices), mode), len(choices)), choices)
    return (None, np.stack(cotangents) if isinstance(choices, np.ndarray) else cotangents)


@vjp(np.select, arrays=0, linear=(1, 2), picks=True)
def select(g, y, condlist, choicelist, default=0):
    first, none = firsts(condlist)
    rest = None if type(default) is int else unbroadcast(np.where(none, g, 0.0), np.shape(default))
    return (None, chosen(g, first, choicelist), rest)


def one_hot(index, n):
    return [index == i for i in range(n)]


def firsts(conditions):
    """Per condition where it is the first to hold; and where none holds."""
    first, none = [], np.True_
    for condition in conditions:
        first.append(np.logical_and(condition, none))
        none = np.logical_and(none, np.logical_not(condition))
    return first, none


def chosen(g, masks, arrays):
    return [unbroadcast(np.where(mask, g, 0.0), np.shape(a)) for mask, a in zip(masks, arrays, strict=True)]


@vjp(sliding_window_view, linear=(0,))
def windows(g, y, x, window_shape, axis=None, *, subok=False, writeable=False):
    """An element stands in many windows, whose cotangents add."""
    at = sliding_window_view(np.arange(x.size).reshape(x.shape), window_shape, axis).reshape(-1)
    whole = np.bincount(at, g.real.reshape(-1), x.size)
    if np.iscomplexobj(g):
        whole = whole + 1j * np.bincount(at, g.imag.reshape(-1), x.size)
    return (whole.reshape(x.shape).astype(x.dtype, copy=False),)
