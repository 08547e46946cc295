"""Everything in the table of derivatives through forward mode.

Values against the plain call; tangents against finite differences, per argument; their types; a block of
tangents against them one by one; arguments that stay as they were. The cases are those that reverse mode has
(`test_through_vjp.py`): a callee of the table that has no case fails there.
"""

from __future__ import annotations

import copy
import warnings

import numpy as np
import pytest
from derivative_cases import CASES
from derivative_checker import assert_same, is_leaf, leaves, random_like, replace, shifted
from derivative_programs import assert_equal, assert_of_type, called_by_name, literal
from hypothesis import given, settings
from hypothesis import strategies as st
from program_cases import CONVERSIONS, MORE, VARY
from test_through_vjp import RANDOM_ORDERS, SETTINGS, by_name, named, program_of

from ctxdispatch_contexts.derivatives import table
from ctxdispatch_contexts.derivatives.vectorizing import VECTORIZE_CALL
from ctxdispatch_contexts.forward import jvp

WITH_DERIVATIVE = [*CASES, *MORE]


def tangent_like(x, rng):
    """A tangent of the form of `x`; None for what has none."""
    if is_leaf(x):
        return random_like(x, rng)
    if isinstance(x, (list, tuple)) and leaves(x):
        parts = [tangent_like(item, rng) for item in x]
        return parts if isinstance(x, list) else tuple(parts)
    return None


def along(f, args, tangents, t):
    moved = [
        a
        if d is None
        else replace(a, iter([shifted(x, t * dx) for x, dx in zip(leaves(a), leaves(d), strict=True)]))
        for a, d in zip(args, tangents, strict=True)
    ]
    return leaves(f(*moved))


def check(f, args, active=None, tolerance=1e-6, h=2e-4):
    rng = np.random.default_rng(0)
    before, y = copy.deepcopy(args), f(*args)
    for i, x in enumerate(args):
        if not leaves(x) or (active is not None and i not in active):
            continue
        tangents = [None] * len(args)
        tangents[i] = tangent_like(x, rng)
        value, moved = jvp(f, args, tangents)
        assert_equal(value, y)
        assert_same(before, args)
        assert_of_type(moved, y)
        points = [along(f, args, tangents, t) for t in (h, -h, 2 * h, -2 * h)]
        found = tangent_leaves(moved, y)
        for actual, a, b, c, d in zip(found, *points, strict=True):
            expected = (8 * (a - b) - (c - d)) / (12 * h)
            scale = 1.0 + np.max(np.abs(expected), initial=0.0)
            np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance * scale)


def step(case):
    """Near the kink of hypot only short differences are exact."""
    return 2e-5 if case.name.startswith("row hypot") else 2e-4


def tangent_leaves(d, y):
    if is_leaf(y):
        return [np.zeros(np.shape(y)) if d is None else d]
    if not isinstance(y, (list, tuple)):
        return []
    parts = [None] * len(y) if d is None else d
    return [leaf for part, item in zip(parts, y, strict=True) for leaf in tangent_leaves(part, item)]


@pytest.mark.every(16)
@named(WITH_DERIVATIVE)
@SETTINGS
@given(data=st.data())
def test_value_and_tangents(case, data):
    f, args = program_of(case, data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(f, args, case.options.get("active"), h=step(case))


@pytest.mark.every(16)
@named([case for case in WITH_DERIVATIVE if by_name(case)])
@settings(SETTINGS, max_examples=1)
@given(data=st.data())
def test_types_known_at_run_time_only(case, data):
    args, kwargs = data.draw(case.arguments)
    if any(not isinstance(x, (str, int, float)) and literal(x) is None for x in kwargs.values()):
        kwargs = {}
    f, boxed = called_by_name(case.callee, args, kwargs)
    active = case.options.get("active")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(f, (case.callee, *boxed), None if active is None else {i + 1 for i in active}, h=step(case))


def test_every_function_with_a_reverse_rule_is_among_the_cases():
    covered = {case.callee for case in WITH_DERIVATIVE} | set(VARY) | set(CONVERSIONS) | RANDOM_ORDERS
    covered.add(VECTORIZE_CALL)  # tests/behaviours/test_vectorize.py
    names = {"elementwise", "vjp", "lowering"}
    missing = [c for kind, c in table.names() if kind in names and not table.is_zero(c) and c not in covered]
    assert not missing, missing


@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
def test_dtypes_stay(dtype):
    x = np.ones(3, dtype)
    for f in (np.sin, np.sum, lambda x: x * 2.0 + 1, lambda x: x @ x, lambda x: x[:, None] * x):
        y, dy = jvp(f, (x,), (x,))
        assert dy.dtype == y.dtype == dtype
