"""Every vjp rule is linear in its cotangent, and its transpose is the function's derivative:

    rule(g, y, a) = J^T g      so the vjp of      g -> rule(g, y, a)      pulled back from da is      J da

which is how forward mode differentiates what is not linear. Against finite differences.
"""

from __future__ import annotations

import copy
import warnings

import numpy as np
import pytest
from derivative_cases import CASES
from derivative_checker import cotangent_leaves, leaves, random_like, replace, shifted
from derivative_programs import program
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from program_cases import MORE
from test_blocks import as_arrays
from test_linearity import SETTINGS, VJP, call, prepared

import ctxdispatch
from ctxdispatch_contexts.derivatives import table

STEP = 2e-4
KINKS = "row hypot: math number"  # as near to the origin as a step
LISTS = "numpy.einsum[subscripts as lists]"  # spelled as strings in a loop; it is linear by mark
NUMBERS = "scipy.stats._stats_pythran._bvnu"  # takes no array without dimensions
LEFT_OUT = (KINKS, LISTS, NUMBERS)
TRANSPOSED = [case for case in [*CASES, *MORE] if case.callee in VJP and case.name not in LEFT_OUT]


def arguments_of(case, data):
    args, kwargs = data.draw(case.arguments)
    entry = table.linearity(case.callee)
    args = as_arrays(case.callee, args)
    return args if entry is None else prepared(entry, args), kwargs


def tangents_of(args, active):
    """A tangent for every argument that has a derivative there, else None."""
    rng = np.random.default_rng(0)
    return [tangent(x, rng) if leaves(x) and (active is None or i in active) else None
            for i, x in enumerate(args)]  # fmt: skip


def tangent(x, rng):
    return replace(x, iter([as_class(random_like(leaf, rng), leaf) for leaf in leaves(x)]))


def as_class(value, x):
    return np.asarray(value, x.dtype) if isinstance(x, np.ndarray) else type(x)(value)


def as_cotangent(t, c):
    """The tangent of an argument in the form of the cotangent that the rule gives it: lists, dtypes."""
    if t is None or c is None:
        return None
    if isinstance(c, (list, tuple)):
        return type(c)([as_cotangent(x, y) for x, y in zip(t, c, strict=True)])
    return as_class(t.real if np.iscomplexobj(t) and not np.iscomplexobj(c) else t, c)


def transposed(callee, y, args, kwargs, tangents):
    """J da by the rule: its own pullback with respect to g. The rule is linear, so that any g will do."""
    f, values = program(table.vjp_rule(callee), (y, copy.deepcopy(y), *args), kwargs)
    cotangents, pullback = ctxdispatch.vjp(f, *values)
    n = len(cotangents)
    given = [as_cotangent(t, c) for t, c in zip([*tangents, *[None] * n], cotangents)]
    return pullback(tuple(given))[0]


def difference_quotient(callee, args, kwargs, tangents):
    """Of fourth order."""

    def along(t):
        moved = [x if d is None else step(x, d, t) for x, d in zip(args, tangents, strict=True)]
        return [np.asarray(leaf) for leaf in leaves(call(callee, moved, kwargs))]

    points = [along(s * STEP) for s in (1, -1, 2, -2)]
    return [(8 * (a - b) - (c - d)) / (12 * STEP) for a, b, c, d in zip(*points, strict=True)]


def step(x, d, t):
    steps = iter(leaves(d))
    return replace(x, iter([shifted(leaf, t * next(steps)) for leaf in leaves(x)]))


@pytest.mark.every(8)
@pytest.mark.parametrize("case", TRANSPOSED, ids=[case.name for case in TRANSPOSED])
@settings(SETTINGS, max_examples=3, phases=[Phase.generate])
@given(data=st.data())
def test_the_transpose_of_a_rule_is_the_derivative(case, data):
    args, kwargs = arguments_of(case, data)
    if not table.takes(table.vjp_rule(case.callee), tuple(kwargs)):
        return  # a ufunc's keywords are spelled out, and its rule is not called with them
    tangents = tangents_of(args, case.options.get("active"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        y = call(case.callee, args, kwargs)
        if leaves(y):
            found = cotangent_leaves(transposed(case.callee, y, args, kwargs, tangents), y)
            expected = difference_quotient(case.callee, args, kwargs, tangents)
            for a, b in zip(found, expected, strict=True):
                assert np.shape(a) == b.shape
                np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)
