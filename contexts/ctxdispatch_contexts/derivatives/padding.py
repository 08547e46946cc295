"""The cotangent of what np.pad puts around an array in the modes that compute something.

NumPy pads one axis after the other, so that what is put on comes of the borders put on before, too:
y = P_n .. P_1 a, and the cotangent goes back axis by axis. Along its axis each P is linear in most modes, and
NumPy says which matrix it is; extrema and medians select.
"""

from __future__ import annotations

import numpy as np

from ctxdispatch_contexts.programs.no_derivative import no_derivative

LINEAR = ("linear_ramp", "mean", "reflect", "symmetric")


def unpadded_by_axes(g, array, pad_width, mode, kwargs):
    if callable(mode):
        raise no_derivative("pad with a function as mode", "store into the borders instead")
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
