"""Selections and statistics of NumPy, differentiated as Python code: `clip`, `quantile`, `cov` and others."""

from __future__ import annotations

import numpy as np

from ctxdispatch_contexts.derivatives.registry import lower, of

NoValue = np._NoValue


@lower(np.clip)
def clip(a, a_min=NoValue, a_max=NoValue, out=None, *, min=NoValue, max=NoValue, **named):
    """Both bounds under one pair of names, or one of them or none under the other."""
    if a_min is NoValue and a_max is NoValue:
        return clip_method(a, None if min is NoValue else min, None if max is NoValue else max, **named)
    if a_min is NoValue or a_max is NoValue:
        missing = "a_min" if a_min is NoValue else "a_max"
        raise TypeError(f"clip() missing 1 required positional argument: '{missing}'")
    if min is not NoValue or max is not NoValue:
        raise ValueError("Passing `min` or `max` where `a_min` and `a_max` are provided is forbidden.")
    return clip_method(a, a_min, a_max, **named)


@lower(np.ndarray.clip, *of(np.generic, "clip"))
def clip_method(
    a, min=None, max=None, out=None, *, where=True, casting="same_kind", order="K", dtype=None, subok=True,
    signature=None,
):  # fmt: skip
    named = {"where": where, "casting": casting, "order": order}
    if dtype is not None:
        named = {**named, "dtype": dtype}
    if signature is not None:
        named = {**named, "signature": signature}
    if where is True and casting == "same_kind" and order == "K" and dtype is None and signature is None:
        return within(a, min, max)
    return within(a, min, max, **named)


def within(a, low, high, **named):
    """A new array, also where there are no bounds."""
    if low is not None and low is not NoValue:
        a = np.maximum(a, low, **named)
    elif high is None or high is NoValue:
        return np.positive(a, **named)
    return a if high is None or high is NoValue else np.minimum(a, high, **named)


@lower(np.ptp, *of(np.ndarray, "ptp"))
def ptp(a, axis=None, out=None, keepdims=False):
    keep = keepdims is not NoValue and keepdims
    return np.max(a, axis=axis, keepdims=keep) - np.min(a, axis=axis, keepdims=keep)


@lower(np.average)
def average(a, axis=None, weights=None, returned=False, *, keepdims=False):
    """sum(a w) / sum(w); weights of some axes are spread over the others."""
    keep = keepdims is not NoValue and keepdims
    a = np.asarray(a)
    if weights is None:
        mean = np.mean(a, axis=axis, keepdims=keep)
        return (mean, np.full_like(mean, a.size / np.size(mean))[()]) if returned else mean
    w = weights_of(a, np.asarray(weights), axis)
    dtype = np.result_type(a, w, "f8") if a.dtype.kind in "biu" else np.result_type(a, w)
    total = np.sum(w, axis=axis, keepdims=keep, dtype=dtype)
    if np.any(np.equal(total, 0)):
        raise ZeroDivisionError("Weights sum to zero, can't be normalized")
    mean = np.sum(a * w, axis=axis, keepdims=keep) / total
    return (mean, total) if returned else mean


_INCONSISTENT = "Shape of weights must be consistent with shape of a along specified axis."


def weights_of(a, w, axis):
    """The weights of all elements, from those along the axes that are averaged over."""
    if w.shape == a.shape:
        return w
    if axis is None:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    if w.ndim == 1 and a.ndim == 2 and (axis == 0 or axis == 1 or axis == -1):  # without lists of lengths
        if w.shape[0] != a.shape[axis]:
            raise ValueError(_INCONSISTENT)
        return np.broadcast_to(w[:, None] if axis == 0 else w, a.shape)
    axes = normalized(axis, a.ndim)
    if w.shape != tuple([a.shape[i] for i in axes]):
        raise ValueError(_INCONSISTENT)
    ordered = w.transpose(np.argsort(axes).tolist())
    return np.broadcast_to(ordered.reshape([n if i in axes else 1 for i, n in enumerate(a.shape)]), a.shape)


# -- quantiles -----------------------------------------------------------------------------------------------


@lower(np.quantile)
def quantile(
    a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None,
    interpolation=None,
):  # fmt: skip
    """Between two order statistics, a selection in `a`; its slope in `q` is their gap, or zero."""
    check_shares("Quantiles", q, 1)
    a = np.asarray(a)
    if weights is not None:
        return weighted_quantile(a, np.asarray(q), axis, method, keepdims, np.asarray(weights))
    columns, kept = sorted_columns(a, axis)
    position = position_of(rank(q, a), columns.shape[0], method if interpolation is None else interpolation)
    low = np.clip(np.floor(position).astype(int), 0, columns.shape[0] - 1)
    high = np.minimum(low + 1, columns.shape[0] - 1)
    t = (position - low).astype(position.dtype).reshape(position.shape + (1,) * (columns.ndim - 1))
    below, above = columns[low], columns[high]
    y = np.where(t < 0.5, below + (above - below) * t, above - (above - below) * (1.0 - t))
    y = np.where(np.isnan(columns[-1]), columns[-1], y)
    return y.reshape(position.shape + kept) if keepdims else y[()]


def check_shares(name, q, most):
    if not np.all(np.logical_and(np.greater_equal(q, 0), np.less_equal(q, most))):
        raise ValueError(f"{name} must be in the range [0, {most}]")


def position_of(q, n, method):
    """Where the quantile `q` of n sorted numbers lies among them (Hyndman and Fan, "Sample quantiles in
    statistical packages", 1996)."""
    if method == "linear":
        return q * (n - 1.0)
    if method in PLOTTING:
        alpha, beta = PLOTTING[method]
        return np.asarray(np.clip(n * q + (alpha + q * (1.0 - alpha - beta)) - 1.0, 0.0, n - 1.0), q.dtype)
    if method not in STEPS:
        raise ValueError(f"{method!r} is not a valid method. Use one of: {sorted([*PLOTTING, *STEPS])}")
    return np.asarray(np.clip(STEPS[method](q, n), 0.0, n - 1.0), q.dtype)


PLOTTING = {
    "interpolated_inverted_cdf": (0.0, 1.0), "hazen": (0.5, 0.5), "weibull": (0.0, 0.0),
    "median_unbiased": (1 / 3, 1 / 3), "normal_unbiased": (3 / 8, 3 / 8),
}  # fmt: skip
"""Continuous in q: alpha and beta of the plotting positions."""


def averaged(q, n):
    return np.floor(n * q - 1) + np.where(n * q == np.floor(n * q), 0.5, 1.0)


def closest(q, n):
    """The nearest one; between two, the one of odd index."""
    index = n * q - 1.5
    low = np.floor(index)
    return np.where((index == low) & (low % 2 == 1), low, low + 1)


STEPS = {
    "lower": lambda q, n: np.floor((n - 1) * q), "higher": lambda q, n: np.ceil((n - 1) * q),
    "nearest": lambda q, n: np.rint((n - 1) * q),
    "midpoint": lambda q, n: 0.5 * (np.floor((n - 1) * q) + np.ceil((n - 1) * q)),
    "inverted_cdf": lambda q, n: np.ceil(n * q - 1), "averaged_inverted_cdf": averaged,
    "closest_observation": closest,
}  # fmt: skip
"""Piecewise constant in q."""


def weighted_quantile(a, q, axis, method, keepdims, weights):
    """The first number up to which a share `q` of the weights lies."""
    if method != "inverted_cdf":
        raise ValueError(f"Only method 'inverted_cdf' supports weights. Got: {method}.")
    axes = tuple(range(a.ndim)) if axis is None else normalized(axis, a.ndim)
    rows, shares = flattened(a, axes), flattened(weights_of(a, weights, axis), axes)
    order = np.argsort(rows, axis=0, kind="stable")
    columns = np.take_along_axis(rows, order, 0)
    share = np.cumsum(np.take_along_axis(shares, order, 0), axis=0)
    if np.any(np.less(weights, 0)):
        raise ValueError("Weights must be non-negative.")
    if not np.all(np.logical_and(np.isfinite(share[-1]), np.greater(share[-1], 0))):
        raise ValueError("Weights included NaN, inf or were all zero.")
    share = share / share[-1]
    wanted = q.reshape(q.shape + (1,) * columns.ndim)
    passed = np.logical_or(share < wanted, share == 0.0)
    index = np.minimum(np.count_nonzero(passed, axis=q.ndim), columns.shape[0] - 1)
    chosen = np.take_along_axis(columns, index.reshape((-1, *columns.shape[1:])), 0)
    y = chosen.reshape(q.shape + columns.shape[1:])
    return y.reshape(q.shape + ones_at(axes, a.shape)) if keepdims else y[()]


def rank(q, a):
    """`q` as an array; a number takes the precision of `a`."""
    return np.asarray(q, a.dtype) if isinstance(q, (int, float)) and a.dtype.kind == "f" else np.asarray(q)


@lower(np.percentile)
def percentile(
    a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None,
    interpolation=None,
):  # fmt: skip
    check_shares("Percentiles", q, 100)
    q = q / 100.0 if isinstance(q, (int, float)) else np.asarray(q) / 100.0
    how = method if interpolation is None else interpolation
    return quantile(a, q, axis, out, overwrite_input, how, keepdims, weights=weights)


@lower(np.median)
def median(a, axis=None, out=None, overwrite_input=False, keepdims=False):
    columns, kept = sorted_columns(np.asarray(a), axis)
    n = columns.shape[0]
    y = columns[n // 2] if n % 2 else 0.5 * (columns[n // 2 - 1] + columns[n // 2])
    y = np.where(np.isnan(columns[-1]), columns[-1], y)
    return y.reshape(kept) if keepdims else y[()]


@lower(np.nanmedian)
def nanmedian(a, axis=None, out=None, overwrite_input=False, keepdims=NoValue):
    """nan comes last, so that those that count are the first of each sorted column."""
    a = np.asarray(a)
    keep = keepdims is not NoValue and keepdims
    if not a.size:
        return np.nanmean(a, axis=axis, keepdims=keep)
    columns, kept = sorted_columns(a, axis)
    n = np.sum(~np.isnan(columns), axis=0)
    middle = np.stack(((n - 1) // 2, n // 2))
    y = np.mean(np.take_along_axis(columns, middle, 0), axis=0)
    return y.reshape(kept) if keep else y


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
    """The axes, counted from the first."""
    axes = tuple([axis_index(i, ndim) for i in (axis if isinstance(axis, tuple) else (axis,))])
    if len(set(axes)) < len(axes):
        raise ValueError("repeated axis")
    return axes


def axis_index(axis, ndim):
    if not -ndim <= axis < ndim:
        raise np.exceptions.AxisError(axis, ndim)
    return axis % ndim


def ones_at(axes, shape):
    return tuple([1 if i in axes else n for i, n in enumerate(shape)])


# -- covariances ---------------------------------------------------------------------------------------------


@lower(np.cov)
def cov(m, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None, *, dtype=None):
    """X W X^H / (n - ddof) of the centred rows."""
    if ddof is not None and ddof != int(ddof):
        raise ValueError("ddof must be integer")
    x = rows_of(m, rowvar)
    if y is not None:
        x = np.concatenate((x, rows_of(y, rowvar)))
    x = x.astype(np.result_type(x, np.float64) if dtype is None else dtype)
    free = (0 if bias else 1) if ddof is None else ddof
    if fweights is None and aweights is None:
        x = x - np.mean(x, axis=1, keepdims=True)
        return np.squeeze(x @ np.conj(x.T) / (x.shape[1] - free))
    w = observations(fweights, aweights, x.shape[1])
    total = np.sum(w)
    if total == 0:
        raise ZeroDivisionError("Weights sum to zero, can't be normalized")
    x = x - np.sum(x * w, axis=1, keepdims=True) / total
    if aweights is None or free == 0:
        return np.squeeze(x @ np.conj((x * w).T) / (total - free))
    lost = free * np.sum(w * np.asarray(aweights, float)) / total
    return np.squeeze(x @ np.conj((x * w).T) / (total - lost))


def observations(fweights, aweights, n):
    """The weight of each observation: how often it was made, times what it counts; NumPy's errors."""
    check_weights(fweights, "fweights", n)
    check_weights(aweights, "aweights", n)
    if fweights is None or aweights is None:
        return np.asarray(aweights if fweights is None else fweights, float)
    return np.asarray(fweights, float) * np.asarray(aweights, float)


def check_weights(weights, name, n):
    if weights is None:
        return
    if np.ndim(weights) > 1:
        raise RuntimeError(f"cannot handle multidimensional {name}")
    if np.shape(weights) != (n,):
        raise RuntimeError(f"incompatible numbers of samples and {name}")
    if np.any(np.less(weights, 0)):
        raise ValueError(f"{name} cannot be negative")
    if name == "fweights" and not np.all(np.equal(weights, np.around(weights))):
        raise TypeError("fweights must be integer")


def rows_of(m, rowvar):
    if np.ndim(m) > 2:
        raise ValueError("m has more than 2 dimensions")
    m = np.atleast_2d(m)
    return m.T if not rowvar and m.shape[0] != 1 else m


@lower(np.corrcoef)
def corrcoef(x, y=None, rowvar=True, *, dtype=None):
    c = cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return c / c
    scale = np.sqrt(np.real(np.diagonal(c)))
    return c / scale[:, None] / scale
