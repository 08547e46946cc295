"""Sorting: a permutation, taken as it is at the point."""

from __future__ import annotations

import numpy as np

from ctxdispatch_contexts.derivatives.linear import scatter_along
from ctxdispatch_contexts.derivatives.registry import vjp


@vjp(np.sort, picks=True)
def sort(g, y, a, axis=-1, kind=None, order=None, *, stable=None):
    if axis is None:
        return (scatter_along(g, np.argsort(a, None), 0, (a.size,), y.dtype).reshape(a.shape),)
    return (scatter_along(g, np.argsort(a, axis), axis, a.shape, y.dtype),)


@vjp(np.sort_complex, picks=True)
def sort_complex(g, y, a):
    return sort(g, y, a)


@vjp(np.partition, picks=True)
def partition(g, y, a, kth, axis=-1, kind="introselect", order=None):
    """Within the parts the order is the library's secret: elements of `a` and `y` are matched by rank."""
    if axis is None:
        flat = partition(g, y, a.reshape(-1), kth)[0]
        return (flat.reshape(a.shape),)
    ranked = np.take_along_axis(g, np.argsort(y, axis), axis)
    return (scatter_along(ranked, np.argsort(a, axis), axis, a.shape, y.dtype),)
