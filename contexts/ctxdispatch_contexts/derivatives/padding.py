"""The cotangents of np.pad: of the array in the modes that compute something, and of the values that are
given for what is put around.

NumPy pads one axis after the other, so that what is put on comes of the borders put on before, too:
y = P_n .. P_1 a, and the cotangent goes back axis by axis. Along its axis each P is linear in most modes, and
NumPy says which matrix it is; extrema and medians select.
"""

from __future__ import annotations

import numpy as np

from ctxdispatch.facts import says
from ctxdispatch_contexts.derivatives.linear import scatter, unbroadcast
from ctxdispatch_contexts.derivatives.registry import vjp
from ctxdispatch_contexts.programs.no_derivative import no_derivative

LINEAR = ("linear_ramp", "mean", "reflect", "symmetric")


@vjp(
    np.pad, array_keywords="constant_values end_values", linear=(0,),
    unless="mode constant_values reflect_type",
)  # fmt: skip
def pad(
    g, y, array, pad_width, mode="constant", stat_length=None, constant_values=0, end_values=0,
    reflect_type="even",
):  # fmt: skip
    if mode == "constant" or mode == "empty":
        inner = unpadded(g, array.shape, pad_width)
        if isinstance(constant_values, int):
            return (inner,)
        found = of_values(g, np.shape(constant_values), array.shape, pad_width, mode)
        return (inner, None, None, None, found)
    if mode in ("edge", "reflect", "symmetric", "wrap") and reflect_type == "even":
        index = np.pad(np.arange(array.size).reshape(array.shape), pad_width, mode)
        return (scatter(g.reshape(-1), index.reshape(-1), (array.size,), y.dtype).reshape(array.shape),)
    if mode == "linear_ramp":
        inner = unpadded_by_axes(g, array, pad_width, mode, {"end_values": end_values})
        if isinstance(end_values, int):
            return (inner,)
        found = of_values(g, np.shape(end_values), array.shape, pad_width, mode)
        return (inner, None, None, None, None, found)
    options = (
        {"reflect_type": reflect_type} if mode in ("reflect", "symmetric") else {"stat_length": stat_length}
    )
    return (unpadded_by_axes(g, array, pad_width, mode, options),)


@says(known=False, raises=False)
def unpadded(g, shape, pad_width):
    if isinstance(pad_width, dict):
        before = [pad_width.get(i, pad_width.get(i - len(shape), 0)) for i in range(len(shape))]
        before = [width if isinstance(width, int) else width[0] for width in before]
    else:
        before = np.broadcast_to(pad_width, (len(shape), 2))[:, 0].tolist()
    return g[tuple([slice(b, b + n) for b, n in zip(before, shape, strict=True)])]


def unpadded_by_axes(g, array, pad_width, mode, kwargs):
    if callable(mode):
        raise no_derivative("pad with an object as mode", "give it a function, `mode=obj.__call__`")
    widths, stages = pairs(pad_width, array.ndim), [array]
    for axis in range(array.ndim):
        alone = [w if i == axis else (0, 0) for i, w in enumerate(widths)]
        stages.append(np.pad(stages[-1], alone, mode, **kwargs))
    for axis in reversed(range(array.ndim)):
        rows, before = np.moveaxis(g, axis, 0), np.moveaxis(stages[axis], axis, 0)
        options = along(kwargs, axis, array.ndim)
        step = by_matrix if mode in LINEAR else by_selection
        g = np.moveaxis(step(rows, before, widths[axis], mode, options), 0, axis)
    return g


@says(known=False, raises=False)
def of_values(g, shape, padded, pad_width, mode):
    """The transpose of `around`, the cotangent of `constant_values` or `end_values` of that `shape`: per axis
    and end, the shares that the given value has in what is put on there; the axes after it have come back by
    then."""
    ndim = len(padded)
    widths = pairs(pad_width, ndim)
    matrices = [
        np.pad(np.eye(n, dtype=g.real.dtype), (width, (0, 0)), mode)
        for n, width in zip(padded, widths, strict=True)
    ]
    ends = [
        at_ends(without_later(g, matrices, axis), matrices[axis], axis, widths[axis][0])
        for axis in range(ndim)
    ]
    return unbroadcast(np.stack(ends), shape) if ends else np.zeros(shape, g.dtype)


@says(known=False, raises=False)
def around(values, padded, pad_width, mode):
    """What the values come to around zeros of shape `padded`."""
    zeros = np.zeros(padded, values.dtype)
    return np.pad(zeros, pad_width, mode, **{VALUES[mode]: values})


VALUES = {"constant": "constant_values", "linear_ramp": "end_values"}


@vjp(of_values, linear=(0,))
def of_values_vjp(g, y, a, shape, padded, pad_width, mode):
    return (around(g, padded, pad_width, mode),)


@vjp(around, linear=(0,))
def around_vjp(g, y, a, padded, pad_width, mode):
    return (of_values(g, a.shape, padded, pad_width, mode),)


def without_later(g, matrices, axis):
    for later in reversed(range(axis + 1, len(matrices))):
        g = np.moveaxis(np.tensordot(matrices[later], g, (0, later)), 0, later)
    return g


def at_ends(g, matrix, axis, before):
    """Shares add up to 1: what is not the array's is the value's."""
    shares = 1.0 - np.add.reduce(matrix, axis=1)
    rows = np.moveaxis(g, axis, -1)
    rows = shares * np.add.reduce(rows, axis=tuple(range(rows.ndim - 1)))
    return np.stack((np.add.reduce(rows[:before]), np.add.reduce(rows[before + matrix.shape[1] :])))


def pairs(given, ndim):
    """Whole numbers before and after, per axis."""
    if isinstance(given, dict):
        found = [given.get(i, given.get(i - ndim, (0, 0))) for i in range(ndim)]
        return [(w, w) if isinstance(w, int) else tuple(w) for w in found]
    return [tuple(w) for w in np.broadcast_to(given, (ndim, 2)).tolist()]


def along(kwargs, axis, ndim):
    """The options as they are for that axis, but for the values at the ends of ramps, which are added."""
    found = {name: value for name, value in kwargs.items() if name == "reflect_type"}
    lengths = kwargs.get("stat_length")
    return found if lengths is None else {**found, "stat_length": pairs(lengths, ndim)[axis]}


def by_matrix(g, a, width, mode, options):
    """P^T g. P are the unit vectors, padded."""
    matrix = np.pad(np.eye(len(a), dtype=a.real.dtype), (width, (0, 0)), mode, **spread_out(options))
    return np.tensordot(matrix, g, (0, 0))


def spread_out(options):
    """Lengths for both axes of the matrix."""
    if "stat_length" not in options:
        return options
    return {**options, "stat_length": (options["stat_length"], (1, 1))}


def by_selection(g, a, width, mode, options):
    """The border is an extremum, or the median, of the elements next to it."""
    n, (before, after) = len(a), width
    first, last = options.get("stat_length", (n, n))
    found = g[before : before + n]
    if before:
        part = a[: min(first, n)]
        chosen = selected(np.add.reduce(g[:before], axis=0), part, mode)
        found = found + np.concatenate((chosen, np.zeros_like(a[len(part) :])))
    if after:
        part = a[n - min(last, n) :]
        chosen = selected(np.add.reduce(g[before + n :], axis=0), part, mode)
        found = found + np.concatenate((np.zeros_like(a[: n - len(part)]), chosen))
    return found


def selected(g, part, mode):
    """`g` at the elements of each column that are its extremum, or in its middle; shared by equal ones."""
    if mode == "median":
        order = np.sort(part, axis=0)
        low, high = order[(len(part) - 1) // 2], order[len(part) // 2]
        return 0.5 * (shared(g, part == low) + shared(g, part == high))
    top = np.max(part, axis=0) if mode == "maximum" else np.min(part, axis=0)
    return shared(g, part == top)


def shared(g, chosen):
    return chosen * (g / np.maximum(np.count_nonzero(chosen, axis=0), 1))
