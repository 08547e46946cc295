"""Reductions and accumulations along axes.

The cotangent of a reduction gets its axes back (`restore`) and is spread over what was summed, or
multiplied by what selects or scales: every rule below is one of the two. Ties of max and min share equally.
`initial`, which goes into each element of the result, has a cotangent too.
"""

from __future__ import annotations

import math

import numpy as np

from ctxdispatch_contexts.derivatives.linear import scatter_along, spread, unbroadcast
from ctxdispatch_contexts.derivatives.registry import mask, of, vjp

NoValue = np._NoValue  # what NumPy's own Python code passes on for "not given"


def restore(g, shape, axis, keepdims):
    """`g` in a shape that broadcasts against the array that was reduced along `axis`."""
    if axis is None or len(shape) <= 1 or (keepdims is not NoValue and keepdims):
        return g
    if isinstance(axis, tuple):
        return np.expand_dims(g, axis)
    if axis == -1 or axis == len(shape) - 1:
        return g[..., None]
    if axis == 0:
        return g
    return np.expand_dims(g, axis)


def everywhere(where):
    return where is True or where is NoValue


def absent(value):
    return value is None or value is NoValue


def count(a, axis, where):
    """How many elements go into one of the result, at least 1; with a mask an array of `a`'s rank."""
    if not everywhere(where):
        selected = np.broadcast_to(where, a.shape)
        return np.maximum(np.count_nonzero(selected, axis=axis, keepdims=True), 1).astype(a.real.dtype)
    if axis is None or a.ndim == 0:
        return a.size or 1
    if isinstance(axis, tuple):
        return math.prod([a.shape[i] for i in axis]) or 1
    return a.shape[axis] or 1


def masked(cotangent, where):
    if everywhere(where):
        return cotangent
    return np.where(where, cotangent, 0.0)


def of_initial(g, initial, slope=1.0):
    """The cotangent of `initial`, which each element of the result varies with by `slope`."""
    return None if absent(initial) else np.add.reduce(np.asarray(g * slope), axis=None)


# -- sums ----------------------------------------------------------------------------------------------------


@vjp(np.sum, *of(np.ndarray, "sum"), *of(np.generic, "sum"), linear=(0,), unless="initial out")
def sum_(g, y, a, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=True):
    cotangent = masked(spread(restore(g, a.shape, axis, keepdims), a.shape, y.dtype), where)
    return (cotangent, None, None, None, None, of_initial(g, initial))


@vjp(np.add.reduce, linear=(0,), unless="initial out")
def add_reduce(g, y, a, axis=0, dtype=None, out=None, keepdims=False, initial=None, where=True):
    return sum_(g, y, a, axis, dtype, out, keepdims, initial, where)


@vjp(np.nansum, picks="nan")
def nansum(g, y, a, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=True):
    cotangent = masked(np.where(np.isnan(a), 0.0, restore(g, a.shape, axis, keepdims)), where)
    return (cotangent, None, None, None, None, of_initial(g, initial))


@vjp(np.mean, *of(np.ndarray, "mean"), *of(np.generic, "mean"), linear=(0,), unless="out")
def mean(g, y, a, axis=None, dtype=None, out=None, keepdims=False, *, where=True):
    share = restore(g, a.shape, axis, keepdims) / count(a, axis, where)
    return (masked(spread(share, a.shape, y.dtype), where),)


@vjp(np.nanmean, picks="nan")
def nanmean(g, y, a, axis=None, dtype=None, out=None, keepdims=False, *, where=True):
    return mean(g, y, a, axis, dtype, out, keepdims, where=present(a, where))


def present(a, where):
    if everywhere(where):
        return ~np.isnan(a)
    return ~np.isnan(a) & where


@vjp(np.trace, *of(np.ndarray, "trace"), linear=(0,), unless="out", picks=True)
def trace(g, y, a, offset=0, axis1=0, axis2=1, dtype=None, out=None):
    unit = np.eye(a.shape[axis1], a.shape[axis2], offset, y.dtype)
    if a.ndim == 2 and axis1 % 2 == 0:
        return (g * unit,)
    if a.ndim == 2:
        return (g * unit.T,)
    return (np.moveaxis(g[..., None, None] * unit, (-2, -1), (axis1, axis2)),)


@vjp(*of(np.linalg, "trace"), linear=(0,), picks=True)
def linalg_trace(g, y, x, /, *, offset=0, dtype=None):
    return trace(g, y, x, offset, -2, -1)


# -- variance ------------------------------------------------------------------------------------------------


def deviation(a, axis, where, mean, dtype):
    """conj(a - mean), 0 where the mask leaves out; of the mean of `a` where none is given."""
    if everywhere(where):
        d = a - (center(a, axis, count(a, axis, where), dtype) if absent(mean) else mean)
    else:
        # Under the mask only what is selected counts; elsewhere there may be nan.
        d = np.where(where, a, 0.0)
        if absent(mean):
            mean = center(d, axis, count(a, axis, where), dtype)
        d = np.where(where, d - mean, 0.0)
    if a.dtype.kind == "c":
        return np.conj(d)
    return d


def center(a, axis, n, dtype):
    """The mean. In a real dtype NumPy adds up the real parts alone of complex numbers."""
    mean = np.add.reduce(a, axis=axis, keepdims=True) / n
    if a.dtype.kind == "c" and dtype is not None and np.dtype(dtype).kind != "c":
        return mean.real
    return mean


def freedom(a, axis, where, ddof, correction):
    if correction is not NoValue:
        return count(a, axis, where) - correction
    return count(a, axis, where) - ddof


@vjp(np.var, *of(np.ndarray, "var"), *of(np.generic, "var"))
def var(
    g, y, a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *,
    where=True, mean=NoValue, correction=NoValue,
):  # fmt: skip
    scale = restore(g, a.shape, axis, keepdims) * (2.0 / freedom(a, axis, where, ddof, correction))
    cotangent = scale * deviation(a, axis, where, mean, dtype)
    of_mean = None if absent(mean) else -unbroadcast(cotangent, np.shape(mean))
    return (cotangent, None, None, None, None, None, None, of_mean)


def nonzero(y):
    """`y`, and inf for 0: where all are equal the deviation has a minimum, and slope zero."""
    return np.where(y == 0, np.inf, y)[()]


@vjp(np.std, *of(np.ndarray, "std"), *of(np.generic, "std"))
def std(
    g, y, a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *,
    where=True, mean=NoValue, correction=NoValue,
):  # fmt: skip
    return var(
        g * (0.5 / nonzero(y)), y, a, axis, dtype, out, ddof, keepdims,
        where=where, mean=mean, correction=correction,
    )  # fmt: skip


@vjp(np.nanvar)
def nanvar(
    g, y, a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *,
    where=True, mean=NoValue, correction=NoValue,
):  # fmt: skip
    return var(
        g, y, a, axis, dtype, out, ddof, keepdims, where=present(a, where), mean=mean, correction=correction
    )


@vjp(np.nanstd)
def nanstd(
    g, y, a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *,
    where=True, mean=NoValue, correction=NoValue,
):  # fmt: skip
    return std(
        g, y, a, axis, dtype, out, ddof, keepdims, where=present(a, where), mean=mean, correction=correction
    )


@mask(
    np.var, np.std, np.prod, *of(np.ndarray, "var", "std", "prod"), *of(np.generic, "var", "std", "prod"),
)  # fmt: skip
def mask_of_reduction(g, y, a, axis=None, dtype=None, out=None, *rest, keepdims=False, where=True, **kwargs):
    return (masked(spread(restore(g, a.shape, axis, keepdims), a.shape, y.dtype), where),)


@mask(np.nanvar, np.nanstd, np.nanprod, picks="nan")
def mask_of_present(g, y, a, axis=None, dtype=None, out=None, *rest, keepdims=False, where=True, **kwargs):
    return mask_of_reduction(g, y, a, axis, keepdims=keepdims, where=present(a, where))


# -- extrema -------------------------------------------------------------------------------------------------


@vjp(
    np.max, np.min, *of(np, "amax", "amin"),
    *of(np.ndarray, "max", "min"), *of(np.generic, "max", "min"), picks=True,
)  # fmt: skip
@vjp(np.nanmax, np.nanmin, picks="nan")
def extremum(g, y, a, axis=None, out=None, keepdims=False, initial=None, where=True):
    chosen = a == restore(y, a.shape, axis, keepdims)
    if not everywhere(where):
        chosen = chosen & where
    start = None
    if not absent(initial):
        found = np.count_nonzero(chosen, axis=axis, keepdims=keepdims is not NoValue and keepdims)
        start = of_initial(g, initial, found == 0)
    if axis is None:
        cotangent = np.where(chosen, g / (int(np.count_nonzero(chosen)) or 1), 0.0)
        return (cotangent, None, None, None, start)
    ties = np.add.reduce(chosen, axis=axis, keepdims=True, dtype=y.real.dtype)
    cotangent = np.where(chosen, restore(g, a.shape, axis, keepdims) / np.maximum(ties, 1.0), 0.0)
    return (cotangent, None, None, None, start)


@vjp(np.maximum.reduce, np.minimum.reduce, np.fmax.reduce, np.fmin.reduce, picks=True)
def extremum_reduce(g, y, a, axis=0, dtype=None, out=None, keepdims=False, initial=None, where=True):
    if absent(initial):
        return extremum(g, y, a, axis, out, keepdims, initial, where)
    cotangents = extremum(g, y, a, axis, out, keepdims, initial, where)
    return (cotangents[0], None, None, None, None, cotangents[4])


@vjp(np.logaddexp.reduce)
def logaddexp_reduce(g, y, a, axis=0, dtype=None, out=None, keepdims=False, initial=None, where=True):
    top = restore(y, a.shape, axis, keepdims)
    cotangent = masked(restore(g, a.shape, axis, keepdims) * np.exp(a - top), where)
    start = None if absent(initial) else of_initial(g, initial, np.exp(initial - y))
    return (cotangent, None, None, None, None, start)


# -- products ------------------------------------------------------------------------------------------------


@vjp(np.prod, *of(np.ndarray, "prod"), *of(np.generic, "prod"))
def prod(g, y, a, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=True):
    if not everywhere(where):
        found = prod(g, y, np.where(where, a, 1), axis, dtype, out, keepdims, initial)
        return (masked(found[0], where), None, None, None, None, found[5])
    start = None
    if not absent(initial):
        start = of_initial(g, initial, np.multiply.reduce(a, axis=axis, keepdims=bool(keepdims)))
    if np.count_nonzero(a) == a.size:
        return (restore(g * y, a.shape, axis, keepdims) / a, None, None, None, None, start)
    scale = restore(g, a.shape, axis, keepdims) * (1.0 if absent(initial) else initial)
    return (scale * others(a, axis), None, None, None, None, start)


@vjp(np.multiply.reduce)
def multiply_reduce(g, y, a, axis=0, dtype=None, out=None, keepdims=False, initial=None, where=True):
    return prod(g, y, a, axis, dtype, out, keepdims, initial, where)


@vjp(np.nanprod)
def nanprod(g, y, a, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=True):
    return prod(g, y, a, axis, dtype, out, keepdims, initial, present(a, where))


def others(a, axis):
    """Per element the product of all others along `axis`, without a division: right where there are zeros."""
    axes = tuple(range(a.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    moved = np.moveaxis(a, axes, range(len(axes)))
    flat = moved.reshape((math.prod(moved.shape[: len(axes)]), *moved.shape[len(axes) :]))
    product = before(flat) * before(flat[::-1])[::-1]
    return np.moveaxis(product.reshape(moved.shape), range(len(axes)), axes)


def before(a):
    """Along axis 0 the product of all elements before each."""
    return np.multiply.accumulate(np.concatenate((np.ones_like(a[:1]), a[:-1])))


# -- accumulations -------------------------------------------------------------------------------------------


@vjp(np.cumsum, *of(np.ndarray, "cumsum"), *of(np.generic, "cumsum"), linear=(0,), unless="out")
def cumsum(g, y, a, axis=None, dtype=None, out=None):
    if axis is None or a.ndim == 0:  # the result has an axis
        return (np.add.accumulate(g[::-1])[::-1].reshape(a.shape),)
    if axis == 0 or a.ndim == 1:
        return (np.add.accumulate(g[::-1])[::-1],)
    return (np.flip(np.add.accumulate(np.flip(g, axis), axis), axis),)


@vjp(np.add.accumulate, linear=(0,), unless="out")
def add_accumulate(g, y, a, axis=0, dtype=None, out=None):
    return cumsum(g, y, a, axis)


@vjp(np.cumprod, *of(np.ndarray, "cumprod"), *of(np.generic, "cumprod"))
def cumprod(g, y, a, axis=None, dtype=None, out=None):
    if np.count_nonzero(a) == a.size:
        return (cumsum(g * y, y, a, axis)[0] / a,)
    if axis is None or a.ndim == 0:
        return (cumprod_with_zeros(g, a.reshape(-1), 0).reshape(a.shape),)
    return (cumprod_with_zeros(g, a, axis),)


@vjp(np.multiply.accumulate)
def multiply_accumulate(g, y, a, axis=0, dtype=None, out=None):
    return cumprod(g, y, a, axis)


def cumprod_with_zeros(g, a, axis):
    """Horner's scheme from the end: r[i] = g[i] + a[i+1] r[i+1], times the product of what comes before i."""
    g, a = np.moveaxis(g, axis, 0), np.moveaxis(a, axis, 0)
    rest = [g[-1]]
    for i in range(len(a) - 2, -1, -1):
        rest.append(g[i] + a[i + 1] * rest[-1])
    return np.moveaxis(before(a) * np.stack(rest[::-1]), 0, axis)


@vjp(np.maximum.accumulate, np.minimum.accumulate, picks=True)
def extremum_accumulate(g, y, a, axis=0, dtype=None, out=None):
    """Each running extremum goes to the element that set it: the first of equal ones."""
    moved, top = np.moveaxis(a, axis, -1), np.moveaxis(y, axis, -1)
    new = np.ones(moved.shape, bool)
    new[..., 1:] = top[..., 1:] != top[..., :-1]
    setter = np.maximum.accumulate(np.where(new, np.arange(moved.shape[-1]), 0), axis=-1)
    from_ = np.moveaxis(setter, -1, axis)
    return (scatter_along(g, from_, axis, a.shape, y.dtype),)
