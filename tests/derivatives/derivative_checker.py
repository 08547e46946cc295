"""The one checker that every derivative rule goes through.

`check(callee, args, kwargs, pull)` compares the cotangents that `pull` computes with finite differences,
and checks their shapes and dtypes, and that neither the arguments nor the result were changed.
`pull_by_table` evaluates the rules as they stand in the table; any other function of the same signature can
be checked against the same cases.
"""

from __future__ import annotations

import cmath
import copy
import math

import numpy as np

from ctxdispatch_contexts.derivatives import table
from ctxdispatch_contexts.derivatives.linear import unbroadcast
from ctxdispatch_contexts.derivatives.namespaces import CMATH, MATH, NUMPY

SCALARS = (float, complex)


# -- real leaves of an argument ------------------------------------------------------------------------------


def is_leaf(x):
    return isinstance(x, SCALARS) or (isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind in "fc")


def leaves(x):
    """The differentiable numbers and arrays in `x`, through lists and tuples."""
    if is_leaf(x):
        return [x]
    return [leaf for item in x for leaf in leaves(item)] if isinstance(x, (list, tuple)) else []


def replace(x, new):
    """`x` with its leaves taken from the iterator `new`."""
    if is_leaf(x):
        return next(new)
    if isinstance(x, (list, tuple)):
        items = [replace(item, new) for item in x]
        return items if isinstance(x, list) else tuple(items)
    return x


def cotangent_leaves(cotangent, x):
    """One cotangent per leaf of `x`; None stands for zeros."""
    if is_leaf(x):
        return [np.zeros(np.shape(x)) if cotangent is None else cotangent]
    if not isinstance(x, (list, tuple)):
        return []
    parts = [None] * len(x) if cotangent is None else cotangent
    return [leaf for c, item in zip(parts, x, strict=True) for leaf in cotangent_leaves(c, item)]


def random_like(x, rng):
    d = rng.uniform(0.5, 1.5, np.shape(x)) * rng.choice([-1.0, 1.0], np.shape(x))
    if np.iscomplexobj(x):
        d = d + 1j * rng.uniform(-1.5, 1.5, np.shape(x))
    return d.astype(x.dtype)[()] if isinstance(x, (np.ndarray, np.generic)) else d.item()


# -- evaluating rules ----------------------------------------------------------------------------------------


def namespace_of(args, y):
    if isinstance(y, (np.ndarray, np.generic)):
        return NUMPY
    return CMATH if any(isinstance(x, complex) for x in args) else MATH


def pull_by_table(callee, g, y, args, kwargs):
    """The cotangents of `args` by the table's rule."""
    entry = table.elementwise(callee)
    if entry is not None and len(entry.params) == len(args):
        partials = entry.partials(namespace_of(args, y))
        return [
            None if kind == "zero" or not leaves(x) else fit(g * partial(*args, y), x)
            for kind, partial, x in zip(entry.kinds, partials, args, strict=True)
        ]
    n = table.array_arguments(callee)
    arrays = [np.asarray(x) if isinstance(x, (int, float, complex)) else x for x in args[:n]]
    return table.vjp_rule(callee)(g, y, *arrays, *args[n:], **kwargs)


def fit(cotangent, x):
    """Project a cotangent as a context does: sum what was broadcast."""
    cotangent = np.asarray(cotangent)
    return unbroadcast(cotangent, np.shape(x)) if cotangent.shape != np.shape(x) else cotangent


# -- the check -----------------------------------------------------------------------------------------------


def dot(gs, ds):
    return sum(np.sum(np.multiply(g, d)).real for g, d in zip(gs, ds, strict=True))


def check(callee, args, kwargs, pull=pull_by_table, seed=0, tolerance=1e-6, active=None):
    """Cotangents against central differences along a random direction, per argument."""
    rng = np.random.default_rng(seed)
    before = copy.deepcopy((args, kwargs))
    y = callee(*args, **kwargs)
    g = replace(y, iter([random_like(leaf, rng) for leaf in leaves(y)]))
    kept = copy.deepcopy(y)
    cotangents = pull(callee, g, y, args, kwargs)
    assert_same(before, (args, kwargs))
    assert_same(kept, y)
    for i, (x, cotangent) in enumerate(zip(args, cotangents, strict=False)):
        if active is not None and i not in active:
            continue
        found = cotangent_leaves(cotangent, x)
        for leaf, c in zip(leaves(x), found, strict=True):
            assert np.shape(c) == np.shape(leaf), f"argument {i}: shape {np.shape(c)} for {np.shape(leaf)}"
        check_direction(callee, args, kwargs, i, g, found, rng, tolerance)
    assert all(not leaves(x) for x in args[len(cotangents) :]), "an argument without a cotangent"


def check_direction(callee, args, kwargs, i, g, found, rng, tolerance):
    points = leaves(args[i])
    ds = [random_like(leaf, rng) for leaf in points]

    def along(t):
        moved = replace(args[i], iter([shifted(leaf, t * d) for leaf, d in zip(points, ds, strict=True)]))
        y = callee(*args[:i], moved, *args[i + 1 :], **kwargs)
        return dot(leaves(g), leaves(y))

    h = 2e-4
    # Of fourth order: the error is that of rounding.
    expected = (8 * (along(h) - along(-h)) - (along(2 * h) - along(-2 * h))) / (12 * h)
    actual = dot(found, ds)
    scale = 1.0 + sum(float(np.sum(np.abs(np.multiply(c, d)))) for c, d in zip(found, ds, strict=True))
    assert math.isclose(actual, expected, rel_tol=tolerance, abs_tol=tolerance * scale), (i, actual, expected)


def shifted(x, d):
    """x + d, in the memory order of x: some functions follow it."""
    if not isinstance(x, np.ndarray):
        return x + d
    moved = np.empty_like(x)
    moved[...] = x + d
    return moved


def check_float32(callee, args, kwargs, pull=pull_by_table, seed=0, tolerance=2e-3):
    """In float32 the cotangents stay float32, and near those of float64."""
    rng = np.random.default_rng(seed)
    narrow = replace(args, iter([narrowed(leaf) for leaf in leaves(args)]))
    wide = replace(narrow, iter([widened(leaf) for leaf in leaves(narrow)]))
    y = callee(*wide, **kwargs)
    g = replace(y, iter([random_like(leaf, rng) for leaf in leaves(y)]))
    y32 = callee(*narrow, **kwargs)
    g32 = replace(y, iter([narrowed(leaf) for leaf in leaves(g)]))
    for x, c32, c64 in zip(
        args, pull(callee, g32, y32, narrow, kwargs), pull(callee, g, y, wide, kwargs), strict=False
    ):
        for leaf, a, b in zip(leaves(x), cotangent_leaves(c32, x), cotangent_leaves(c64, x), strict=True):
            if c32 is not None and isinstance(leaf, np.ndarray) and not is_wide(y32):
                assert a.real.dtype == np.float32, f"{a.dtype} for a float32 argument"
            np.testing.assert_allclose(
                a, b, rtol=tolerance, atol=tolerance * (1 + np.max(np.abs(b), initial=0))
            )


def of_dtype(x, dtype):
    """In the same memory layout."""
    return np.asarray(x, dtype) if isinstance(x, np.ndarray) else x.astype(dtype)


def narrowed(x):
    if isinstance(x, (np.ndarray, np.generic)):
        return of_dtype(x, np.complex64 if x.dtype.kind == "c" else np.float32)
    return x


def widened(x):
    if isinstance(x, (np.ndarray, np.generic)):
        return of_dtype(x, np.complex128 if x.dtype.kind == "c" else np.float64)
    return x


def is_wide(y):
    return any(
        leaf.dtype.itemsize > (8 if leaf.dtype.kind == "c" else 4) for leaf in map(np.asarray, leaves(y))
    )


def assert_same(a, b):
    if isinstance(a, dict):
        assert a.keys() == b.keys()
        a, b = list(a.values()), list(b.values())
    if isinstance(a, (list, tuple)):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            assert_same(x, y)
    elif isinstance(a, (np.ndarray, np.generic)):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)
    elif isinstance(a, SCALARS):
        assert a == b or cmath.isnan(a)


def assert_value(a, b):
    """The same result up to rounding: containers, shapes, dtypes."""
    if isinstance(a, (list, tuple)):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            assert_value(x, y)
    elif isinstance(a, (int, float, complex, np.ndarray, np.generic)):
        assert np.shape(a) == np.shape(b)
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)
    else:
        assert a == b
