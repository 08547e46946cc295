"""Differences, integrals and grids of NumPy, differentiated as Python code."""

from __future__ import annotations

import numpy as np

from ctxdispatch_contexts.derivatives.registry import lower, vjp
from ctxdispatch_contexts.derivatives.statistics import axis_index

NoValue = np._NoValue

# -- differences and integrals -------------------------------------------------------------------------------


@lower(np.diff)
def diff(a, n=1, axis=-1, prepend=NoValue, append=NoValue):
    """`n` times the difference of neighbours; of booleans whether they differ, as NumPy has it."""
    if n == 0:
        return a
    if n < 0:
        raise ValueError("order must be non-negative but got " + repr(n))
    a = np.asarray(a)
    if a.ndim == 0:
        raise ValueError("diff requires input that is at least one dimensional")
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
    """The chord between the two nearest points; beyond them `left`, `right` or the end's value."""
    x, xp = np.asarray(x, np.float64), np.asarray(xp, np.float64)
    fp = np.asarray(fp, np.complex128 if np.iscomplexobj(fp) else np.float64)
    if len(xp) == 0:
        raise ValueError("array of sample points is empty")
    if xp.ndim != 1 or fp.ndim != 1 or len(xp) != len(fp):
        raise ValueError("fp and xp are not of the same length.")
    if period is not None:
        left = right = None
        x, xp, fp = wrapped(x, xp, fp, np.abs(period))
    i = np.clip(np.searchsorted(xp, x, "right") - 1, 0, max(len(xp) - 2, 0))
    j = np.minimum(i + 1, len(xp) - 1)
    width = xp[j] - xp[i]
    y = fp[i] + (x - xp[i]) * ((fp[j] - fp[i]) / np.where(width == 0, 1.0, width))
    y = np.where(x < xp[0], fp[0] if left is None else left, y)
    return np.where(x > xp[-1], fp[-1] if right is None else right, y)[()]


def wrapped(x, xp, fp, period):
    """In one period, the points in order, and one more at both ends."""
    if period == 0:
        raise ValueError("period must be a non-zero value")
    x, xp = x % period, xp % period
    order = np.argsort(xp)
    xp, fp = xp[order], fp[order]
    xp = np.concatenate((xp[-1:] - period, xp, xp[0:1] + period))
    return x, xp, np.concatenate((fp[-1:], fp, fp[0:1]))


@lower(np.polyval)
def polyval(p, x):
    p, x = np.asarray(p), np.asarray(x)
    y = np.zeros_like(x)
    for i in range(len(p)):
        y = y * x + p[i]
    return y


@lower(np.polyadd)
def polyadd(a1, a2):
    if isinstance(a1, np.poly1d) or isinstance(a2, np.poly1d):
        return np.poly1d(np.polyadd(np.asarray(a1), np.asarray(a2)))
    a1, a2 = of_one_length(np.atleast_1d(a1), np.atleast_1d(a2))
    return a1 + a2


@lower(np.polysub)
def polysub(a1, a2):
    if isinstance(a1, np.poly1d) or isinstance(a2, np.poly1d):
        return np.poly1d(np.polysub(np.asarray(a1), np.asarray(a2)))
    a1, a2 = of_one_length(np.atleast_1d(a1), np.atleast_1d(a2))
    return a1 - a2


def of_one_length(a1, a2):
    return longer(a1, len(a2)), longer(a2, len(a1))


def longer(p, n):
    """With zeros before, as the coefficients of the highest powers."""
    return p if len(p) >= n else np.concatenate((np.zeros(n - len(p), p.dtype), p))


@lower(np.polymul)
def polymul(a1, a2):
    if isinstance(a1, np.poly1d) or isinstance(a2, np.poly1d):
        return np.poly1d(np.polymul(np.asarray(a1), np.asarray(a2)))
    a1, a2 = coefficients(a1), coefficients(a2)
    return np.convolve(a1, a2)[leading(a1) + leading(a2) :]


def coefficients(p):
    return np.atleast_1d(p) if np.size(p) > 0 else np.zeros(1)


def leading(p):
    """How many zeros it begins with, which NumPy takes away, but for a last one."""
    n = 0
    while n < len(p) - 1 and p[n] == 0:
        n += 1
    return n


@lower(np.polyder)
def polyder(p, m=1):
    if isinstance(p, np.poly1d):
        return np.poly1d(np.polyder(np.asarray(p), m))
    p, m = np.asarray(p), int(m)
    if m < 0:
        raise ValueError("Order of derivative must be positive (see polyint)")
    for _ in range(m):
        p = p[:-1] * np.arange(len(p) - 1, 0, -1)
    return p


@lower(np.polyint)
def polyint(p, m=1, k=None):
    if isinstance(p, np.poly1d):
        return np.poly1d(np.polyint(np.asarray(p), m, k))
    p, m = np.asarray(p), int(m)
    if m < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    constants = np.zeros(m) if k is None else np.atleast_1d(k)
    if len(constants) == 1 and m > 1:
        constants = constants[0] * np.ones(m)
    if len(constants) < m:
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or >m.")
    for i in range(m):
        p = np.concatenate((p / np.arange(len(p), 0, -1), constants[i : i + 1]))
    return p


@lower(np.gradient)
def gradient(f, *varargs, axis=None, edge_order=1):
    if edge_order > 2:
        raise ValueError("'edge_order' greater than 2 not supported")
    f = np.asarray(f)
    axes = tuple(range(f.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    one = len(varargs) == 1 and np.ndim(varargs[0]) == 0
    steps = varargs * len(axes) if one else varargs or (1.0,) * len(axes)
    if len(steps) != len(axes):
        raise TypeError("invalid number of arguments")
    if len(axes) == 1:
        return slope(f, steps[0], axis_index(axes[0], f.ndim), edge_order)
    return tuple([slope(f, step, axis_index(i, f.ndim), edge_order) for step, i in zip(steps, axes)])


def slope(f, step, axis, edge_order):
    """Central differences along `axis`, at the ends one-sided ones; `step` is a number or the coordinates."""
    moved = np.moveaxis(f, axis, -1)
    if moved.shape[-1] < edge_order + 1:
        raise ValueError(
            "Shape of array too small to calculate a numerical gradient, at least (edge_order + 1) elements "
            "are required."
        )
    if np.ndim(step) == 0:
        chord = (moved[..., 1:] - moved[..., :-1]) / step
        inner, before, after = 0.5 * (chord[..., 1:] + chord[..., :-1]), 0.5, 0.5
    else:
        if np.shape(step) != moved.shape[-1:]:
            raise ValueError("when 1d, distances must match the length of the corresponding dimension")
        d = np.diff(np.asarray(step) * 1.0)  # of unsigned coordinates too
        chord = (moved[..., 1:] - moved[..., :-1]) / d
        inner = (d[:-1] * chord[..., 1:] + d[1:] * chord[..., :-1]) / (d[1:] + d[:-1])
        before, after = d[:1] / (d[:1] + d[1:2]), d[-1:] / (d[-1:] + d[-2:-1])
    first, last = chord[..., :1], chord[..., -1:]
    if edge_order == 2:  # of the parabola through three points
        first = first + before * (first - chord[..., 1:2])
        last = last + after * (last - chord[..., -2:-1])
    y = np.moveaxis(np.concatenate((first, inner, last), -1), -1, axis)
    return y.astype(f.dtype) if f.dtype.kind in "fc" else y


@lower(np.vander)
def vander(x, N=None, increasing=False):
    x = np.asarray(x)
    if x.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    powers = np.arange(len(x) if N is None else N)
    return x[:, None] ** (powers if increasing else powers[::-1])


@vjp(np.unwrap)
def unwrap(g, y, p, discont=None, axis=-1, *, period=None):
    """y = p + k period, k whole."""
    if period is None or isinstance(period, int):
        return (g,)
    return (g, None, None, np.sum(g * np.rint((y - p) / period)))


# -- grids and products of them ------------------------------------------------------------------------------


@lower(np.meshgrid)
def meshgrid(*xi, copy=True, sparse=False, indexing="xy"):
    if indexing != "xy" and indexing != "ij":
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    if len(xi) == 2 and not sparse and copy:
        return grids_of_two(*xi, indexing)
    lines = [np.reshape(x, shape) for x, shape in zip(xi, line_shapes(len(xi), indexing), strict=True)]
    grids = lines if sparse else np.broadcast_arrays(*lines)
    return tuple([grid.copy() for grid in grids]) if copy else grids


def grids_of_two(x, y, indexing):
    """Without lists, whose lengths programs do not know."""
    x, y = np.reshape(x, -1), np.reshape(y, -1)
    shape = (y.size, x.size) if indexing == "xy" else (x.size, y.size)
    if indexing == "xy":
        return np.broadcast_to(x, shape).copy(), np.broadcast_to(y[:, None], shape).copy()
    return np.broadcast_to(x[:, None], shape).copy(), np.broadcast_to(y, shape).copy()


def line_shapes(n, indexing):
    place = [1, 0, *range(2, n)] if indexing == "xy" and n > 1 else list(range(n))
    return [tuple([-1 if k == place[i] else 1 for k in range(n)]) for i in range(n)]


@lower(np.geomspace)
def geomspace(start, stop, num=50, endpoint=True, dtype=None, axis=0):
    start, stop = np.asarray(start), np.asarray(stop)
    if np.any(start == 0) or np.any(stop == 0):
        raise ValueError("Geometric sequence cannot include zero")
    wide = np.result_type(start, stop, float(num), np.zeros((), dtype))
    start, stop = start.astype(wide), stop.astype(wide)
    sign = start / np.abs(start) if wide.kind == "c" else np.sign(start)
    low, high = np.log10(start / sign), np.log10(stop / sign)
    y = sign * np.power(10.0, np.linspace(low, high, num, endpoint))
    return np.moveaxis(y, 0, axis).astype(wide if dtype is None else dtype)


@lower(np.logspace)
def logspace(start, stop, num=50, endpoint=True, base=10.0, dtype=None, axis=0):
    if np.ndim(base) > 0:
        n = max(np.ndim(start), np.ndim(stop), np.ndim(base))
        start, stop, base = lifted(start, n), lifted(stop, n), np.expand_dims(lifted(base, n), axis)
    y = np.power(base, np.linspace(start, stop, num, endpoint, axis=axis))
    return y if dtype is None else y.astype(dtype)


def lifted(a, n):
    """With axes of length 1 before its own."""
    return np.reshape(a, (1,) * (n - np.ndim(a)) + np.shape(a))


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
