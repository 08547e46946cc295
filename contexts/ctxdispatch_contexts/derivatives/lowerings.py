"""Functions that are differentiated as Python code: the same meaning, in terms of what has a derivative.

Each takes the parameters of what it stands for. Iterators come back as iterators over a finished list: what
the functions called on the way do, they do at once.
"""

from __future__ import annotations

import builtins
import functools
import math
import operator

import numpy as np

from ctxdispatch_contexts.derivatives.linear import unbroadcast
from ctxdispatch_contexts.derivatives.registry import lower, of, vjp

NoValue = np._NoValue
MISSING = object()

# -- builtins ------------------------------------------------------------------------------------------------


@lower(builtins.sum)
def sum_(iterable, /, start=0):
    items = list(iterable)
    if len(items) == 0:
        return start
    if isinstance(items[0], NUMERIC) and isinstance(start, NUMERIC):
        return sum_of(items, start)
    total = start
    for item in items:
        total = total + item
    return total


NUMERIC = (int, float, complex, np.ndarray, np.generic)


def sum_of(items, start):
    """`sum` itself, for numbers and arrays: it adds floats exacter than one after the other."""
    return sum(items, start)


@vjp(builtins.sum, sum_of, arrays=0)
def sum_vjp(g, y, items, start=0):
    """For sequences of numbers and arrays; what else there is to add is lowered."""
    if np.ndim(y) == 0:
        return ([g] * len(items), g)
    return (shares(g, items), unbroadcast(g, np.shape(start)))


def shares(g, items):
    return [unbroadcast(g, np.shape(item)) for item in items]


@lower(builtins.max)
def max_(first, /, *rest, key=None, default=MISSING):
    if len(rest) == 1 and key is None:
        return rest[0] if rest[0] > first else first
    return largest((first, *rest) if rest else list(first), key, default)


def largest(items, key, default):
    if not items:
        return fallback(default, "max")
    if key is None:
        best = items[0]
        for item in items:
            if item > best:
                best = item
        return best
    best, top = items[0], key(items[0])
    for item in items[1:]:
        value = key(item)
        if value > top:
            best, top = item, value
    return best


@lower(builtins.min)
def min_(first, /, *rest, key=None, default=MISSING):
    if len(rest) == 1 and key is None:
        return rest[0] if rest[0] < first else first
    return smallest((first, *rest) if rest else list(first), key, default)


def smallest(items, key, default):
    if not items:
        return fallback(default, "min")
    if key is None:
        best = items[0]
        for item in items:
            if item < best:
                best = item
        return best
    best, bottom = items[0], key(items[0])
    for item in items[1:]:
        value = key(item)
        if value < bottom:
            best, bottom = item, value
    return best


def fallback(default, name):
    if default is MISSING:
        raise ValueError(f"{name}() iterable argument is empty")
    return default


@lower(builtins.map)
def map_(function, iterable, /, *iterables):
    if len(iterables) == 0:
        return iter([function(item) for item in iterable])
    return iter([function(*items) for items in zip(iterable, *iterables, strict=False)])


@lower(builtins.filter)
def filter_(function, iterable, /):
    if function is None:
        return iter([item for item in iterable if item])
    return iter([item for item in iterable if function(item)])


@lower(functools.reduce)
def reduce(function, iterable, initial=MISSING, /):
    items = list(iterable)
    if initial is not MISSING:
        return reduced(function, initial, items)
    if len(items) == 0:
        raise TypeError("reduce() of empty iterable with no initial value")
    return reduced(function, items[0], items[1:])


def reduced(function, total, items):
    for item in items:
        total = function(total, item)
    return total


@lower(builtins.sorted)
def sorted_(iterable, /, *, key=None, reverse=False):
    items = list(iterable)
    return chosen(items, order(items if key is None else [key(item) for item in items], reverse))


def order(keys, reverse):
    return sorted(range(len(keys)), key=keys.__getitem__, reverse=reverse)


def chosen(items, indices):
    return [items[i] for i in indices]


@lower(builtins.divmod)
def divmod_(a, b, /):
    return (a // b, a % b)


@lower(operator.concat)
def concat(a, b, /):
    return a + b


# -- math ----------------------------------------------------------------------------------------------------


@lower(math.log)
def log(x, base=math.e, /):
    return math.log(x) / math.log(base)


@lower(math.prod)
def prod(iterable, /, *, start=1):
    total = start
    for item in iterable:
        total = total * item
    return total


# -- selections and statistics -------------------------------------------------------------------------------


@lower(np.clip, np.ndarray.clip, *of(np.generic, "clip"))
def clip(a, a_min=None, a_max=None, out=None, *, min=None, max=None):
    low = a_min if min is None or min is NoValue else min
    high = a_max if max is None or max is NoValue else max
    if low is not None and low is not NoValue:
        a = np.maximum(a, low)
    if high is not None and high is not NoValue:
        a = np.minimum(a, high)
    return a


@lower(np.ptp, *of(np.ndarray, "ptp"))
def ptp(a, axis=None, out=None, keepdims=False):
    keep = keepdims is not NoValue and keepdims
    return np.max(a, axis=axis, keepdims=keep) - np.min(a, axis=axis, keepdims=keep)


@lower(np.average)
def average(a, axis=None, weights=None, returned=False, *, keepdims=False):
    keep = keepdims is not NoValue and keepdims
    a = np.asarray(a)
    if weights is None:
        if returned:
            raise NotImplementedError("no derivative of average with returned=True: sum the weights apart")
        return np.mean(a, axis=axis, keepdims=keep)
    w = np.asarray(weights)
    if w.shape != a.shape:
        shape = [1] * a.ndim
        shape[axis] = a.shape[axis]
        w = np.broadcast_to(w.reshape(shape), a.shape)
    total = np.sum(w, axis=axis, keepdims=keep)
    mean = np.sum(a * w, axis=axis, keepdims=keep) / total
    return (mean, total) if returned else mean


@lower(np.quantile)
def quantile(
    a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None
):
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
    moved = np.moveaxis(a, axes, range(len(axes)))
    return np.sort(moved.reshape((-1, *moved.shape[len(axes) :])), axis=0), ones_at(axes, a.shape)


def normalized(axis, ndim):
    return tuple([i % ndim for i in (axis if isinstance(axis, tuple) else (axis,))])


def ones_at(axes, shape):
    return tuple([1 if i in axes else n for i, n in enumerate(shape)])


# -- differences and integrals -------------------------------------------------------------------------------


@lower(np.diff)
def diff(a, n=1, axis=-1, prepend=NoValue, append=NoValue):
    a = np.asarray(a)
    if n == 0:
        return a
    if prepend is not NoValue or append is not NoValue:
        a = extended(a, axis, prepend, append)
    last = (slice(None),) * (axis % a.ndim) + (slice(1, None),)
    first = (slice(None),) * (axis % a.ndim) + (slice(None, -1),)
    for _ in range(n):
        a = a[last] != a[first] if a.dtype == bool else a[last] - a[first]
    return a


def extended(a, axis, prepend, append):
    parts = [a]
    if prepend is not NoValue:
        parts = [slab(prepend, a, axis), *parts]
    if append is not NoValue:
        parts = [*parts, slab(append, a, axis)]
    return np.concatenate(parts, axis)


def slab(value, a, axis):
    value = np.asarray(value)
    return value if value.ndim else value + np.sum(np.zeros_like(a), axis=axis, keepdims=True)


@lower(np.ediff1d)
def ediff1d(ary, to_end=None, to_begin=None):
    a = np.ravel(ary)
    parts = [a[1:] - a[:-1]]
    if to_begin is not None:
        parts = [np.ravel(to_begin), *parts]
    if to_end is not None:
        parts = [*parts, np.ravel(to_end)]
    return np.concatenate(parts) if len(parts) > 1 else parts[0]


@lower(np.trapezoid)
def trapezoid(y, x=None, dx=1.0, axis=-1):
    y = np.moveaxis(np.asarray(y), axis, -1)
    if x is not None:
        x = np.asarray(x)
        dx = np.diff(x) if x.ndim == 1 else np.diff(np.moveaxis(x, axis, -1))
    return np.sum(dx * (y[..., 1:] + y[..., :-1]) / 2.0, axis=-1)


@lower(np.interp)
def interp(x, xp, fp, left=None, right=None, period=None):
    if period is not None:
        raise NotImplementedError("no derivative of interp with period=: wrap the points and x by hand")
    x, xp = np.asarray(x, np.float64), np.asarray(xp, np.float64)
    fp = np.asarray(fp, np.complex128 if np.iscomplexobj(fp) else np.float64)
    i = np.clip(np.searchsorted(xp, x, "right") - 1, 0, max(len(xp) - 2, 0))
    j = np.minimum(i + 1, len(xp) - 1)
    width = xp[j] - xp[i]
    y = fp[i] + (x - xp[i]) * ((fp[j] - fp[i]) / np.where(width == 0, 1.0, width))
    y = np.where(x < xp[0], fp[0] if left is None else left, y)
    return np.where(x > xp[-1], fp[-1] if right is None else right, y)[()]


@lower(np.polyval)
def polyval(p, x):
    p, x = np.asarray(p), np.asarray(x)
    y = np.zeros_like(x)
    for i in range(len(p)):
        y = y * x + p[i]
    return y


@lower(np.gradient)
def gradient(f, *varargs, axis=None, edge_order=1):
    if edge_order != 1:
        raise NotImplementedError("no derivative of gradient with edge_order=2")
    f = np.asarray(f)
    axes = tuple(range(f.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    steps = varargs * len(axes) if len(varargs) == 1 else varargs or (1.0,) * len(axes)
    slopes = [slope(f, step, i % f.ndim) for step, i in zip(steps, axes, strict=True)]
    return slopes[0] if len(slopes) == 1 else tuple(slopes)


def slope(f, step, axis):
    """Central differences along `axis`, one-sided at the ends; `step` is a number or the coordinates."""
    moved = np.moveaxis(f, axis, -1)
    if np.ndim(step) == 0:
        chord = (moved[..., 1:] - moved[..., :-1]) / step
        inner = 0.5 * (chord[..., 1:] + chord[..., :-1])
    else:
        d = np.diff(np.asarray(step))
        chord = (moved[..., 1:] - moved[..., :-1]) / d
        inner = (d[:-1] * chord[..., 1:] + d[1:] * chord[..., :-1]) / (d[1:] + d[:-1])
    y = np.moveaxis(np.concatenate((chord[..., :1], inner, chord[..., -1:]), -1), -1, axis)
    return y.astype(f.dtype) if f.dtype.kind in "fc" else y


@lower(np.vander)
def vander(x, N=None, increasing=False):
    x = np.asarray(x)
    powers = np.arange(len(x) if N is None else N)
    return x[:, None] ** (powers if increasing else powers[::-1])


@lower(np.cov)
def cov(m, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None, *, dtype=None):
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


# -- grids and outer operations ------------------------------------------------------------------------------


@lower(np.meshgrid)
def meshgrid(*xi, copy=True, sparse=False, indexing="xy"):
    lines = [np.reshape(x, shape) for x, shape in zip(xi, line_shapes(len(xi), indexing), strict=True)]
    if sparse:
        return tuple(lines)
    return tuple([np.copy(line) for line in np.broadcast_arrays(*lines)])


def line_shapes(n, indexing):
    place = [1, 0, *range(2, n)] if indexing == "xy" and n > 1 else list(range(n))
    return [tuple([-1 if k == place[i] else 1 for k in range(n)]) for i in range(n)]


@lower(np.geomspace)
def geomspace(start, stop, num=50, endpoint=True, dtype=None, axis=0):
    sign = np.sign(start)
    low, high = np.log10(sign * start), np.log10(sign * stop)
    return sign * np.power(10.0, np.linspace(low, high, num, endpoint, axis=axis))


@lower(np.logspace)
def logspace(start, stop, num=50, endpoint=True, base=10.0, dtype=None, axis=0):
    return np.power(base, np.linspace(start, stop, num, endpoint, axis=axis))


def raised(a, b):
    """`a` with the axes of `b` after its own, of length 1."""
    return np.reshape(a, np.shape(a) + (1,) * np.ndim(b))


@lower(np.add.outer)
def add_outer(a, b):
    return raised(a, b) + b


@lower(np.subtract.outer)
def subtract_outer(a, b):
    return raised(a, b) - b


@lower(np.divide.outer)
def divide_outer(a, b):
    return raised(a, b) / b


@lower(np.power.outer)
def power_outer(a, b):
    return raised(a, b) ** b


@lower(np.maximum.outer)
def maximum_outer(a, b):
    return np.maximum(raised(a, b), b)


@lower(np.minimum.outer)
def minimum_outer(a, b):
    return np.minimum(raised(a, b), b)


@lower(np.kron)
def kron(a, b):
    a, b = np.asarray(a), np.asarray(b)
    left, right, full = kron_shapes(a.shape, b.shape)
    return np.reshape(np.reshape(a, left) * np.reshape(b, right), full)


def kron_shapes(a, b):
    """To reshape the factors to, an axis of one beside each of the other, and the product."""
    n = max(len(a), len(b))
    pairs = list(zip((1,) * (n - len(a)) + a, (1,) * (n - len(b)) + b, strict=True))
    left, right = [k for i, _ in pairs for k in (i, 1)], [k for _, i in pairs for k in (1, i)]
    return left, right, [i * k for i, k in pairs]
