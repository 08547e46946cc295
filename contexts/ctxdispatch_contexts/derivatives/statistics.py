"""Selections and statistics of NumPy, differentiated as Python code: `clip`, `quantile`, `cov` and others."""

from __future__ import annotations

import numpy as np

from ctxdispatch_contexts.derivatives.registry import lower, of

NoValue = np._NoValue


@lower(np.clip, np.ndarray.clip, *of(np.generic, "clip"))
def clip(a, a_min=None, a_max=None, out=None, *, min=None, max=None, **kwargs):
    low = a_min if min is None or min is NoValue else min
    high = a_max if max is None or max is NoValue else max
    if low is not None and low is not NoValue:
        a = np.maximum(a, low, **kwargs)
    if high is not None and high is not NoValue:
        a = np.minimum(a, high, **kwargs)
    return a


@lower(np.ptp, *of(np.ndarray, "ptp"))
def ptp(a, axis=None, out=None, keepdims=False):
    keep = keepdims is not NoValue and keepdims
    return np.max(a, axis=axis, keepdims=keep) - np.min(a, axis=axis, keepdims=keep)


@lower(np.average)
def average(a, axis=None, weights=None, returned=False, *, keepdims=False):
    """sum(a w) / sum(w); weights of one axis are spread over the others."""
    keep = keepdims is not NoValue and keepdims
    a = np.asarray(a)
    if weights is None:
        if returned:
            raise NotImplementedError("no derivative of average with returned=True: sum the weights apart")
        return np.mean(a, axis=axis, keepdims=keep)
    w = np.asarray(weights)
    if w.shape != a.shape:
        axis %= a.ndim
        w = np.broadcast_to(w.reshape((1,) * axis + (-1,) + (1,) * (a.ndim - axis - 1)), a.shape)
    total = np.sum(w, axis=axis, keepdims=keep)
    mean = np.sum(a * w, axis=axis, keepdims=keep) / total
    return (mean, total) if returned else mean


@lower(np.quantile)
def quantile(
    a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None
):
    """Between the two nearest order statistics: a selection in `a`, of slope their gap in `q`."""
    if method != "linear" or weights is not None:
        raise NotImplementedError("no derivative of quantile but with method='linear' and without weights")
    a = np.asarray(a)
    columns, kept = sorted_columns(a, axis)
    position = rank(q, a) * (columns.shape[0] - 1.0)
    low = np.clip(np.floor(position).astype(int), 0, columns.shape[0] - 1)
    high = np.minimum(low + 1, columns.shape[0] - 1)
    t = (position - low).astype(position.dtype).reshape(position.shape + (1,) * (columns.ndim - 1))
    below, above = columns[low], columns[high]
    y = np.where(t < 0.5, below + (above - below) * t, above - (above - below) * (1.0 - t))
    y = np.where(np.isnan(columns[-1]), columns[-1], y)
    return y.reshape(position.shape + kept) if keepdims else y[()]


def rank(q, a):
    """`q` as an array; a number takes the precision of `a`."""
    return np.asarray(q, a.dtype) if isinstance(q, (int, float)) and a.dtype.kind == "f" else np.asarray(q)


@lower(np.percentile)
def percentile(
    a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None
):
    q = q / 100.0 if isinstance(q, (int, float)) else np.asarray(q) / 100.0
    return quantile(a, q, axis, out, overwrite_input, method, keepdims, weights=weights)


@lower(np.median)
def median(a, axis=None, out=None, overwrite_input=False, keepdims=False):
    columns, kept = sorted_columns(np.asarray(a), axis)
    n = columns.shape[0]
    y = columns[n // 2] if n % 2 else 0.5 * (columns[n // 2 - 1] + columns[n // 2])
    y = np.where(np.isnan(columns[-1]), columns[-1], y)
    return y.reshape(kept) if keepdims else y[()]


def sorted_columns(a, axis):
    """`a` sorted along `axis`, which comes first; and the shape that keepdims keeps."""
    if axis is None:
        return np.sort(a.reshape(-1), axis=0), (1,) * a.ndim
    axes = normalized(axis, a.ndim)
    return np.sort(flattened(a, axes), axis=0), ones_at(axes, a.shape)


def flattened(a, axes):
    """`a` with its `axes` as one, which comes first."""
    moved = np.moveaxis(a, axes, range(len(axes)))
    return moved.reshape((-1, *moved.shape[len(axes) :]))


def normalized(axis, ndim):
    return tuple([i % ndim for i in (axis if isinstance(axis, tuple) else (axis,))])


def ones_at(axes, shape):
    return tuple([1 if i in axes else n for i, n in enumerate(shape)])


@lower(np.cov)
def cov(m, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None, *, dtype=None):
    """X X^H / (n - ddof) of the centred rows."""
    if fweights is not None or aweights is not None:
        raise NotImplementedError("no derivative of cov with weights")
    x = rows_of(m, rowvar)
    if y is not None:
        x = np.concatenate((x, rows_of(y, rowvar)))
    x = x.astype(np.result_type(x, np.float64) if dtype is None else dtype)
    x = x - np.mean(x, axis=1, keepdims=True)
    free = x.shape[1] - ((0 if bias else 1) if ddof is None else ddof)
    return np.squeeze(x @ np.conj(x.T) / free)


def rows_of(m, rowvar):
    m = np.atleast_2d(m)
    return m.T if not rowvar and m.shape[0] != 1 else m


@lower(np.corrcoef)
def corrcoef(x, y=None, rowvar=True, *, dtype=None):
    c = cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return c / c
    scale = np.sqrt(np.real(np.diagonal(c)))
    return c / scale[:, None] / scale
