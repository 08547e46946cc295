"""A block of tangents is pushed as each of them is, through every function of the table.

One example each: the block forms take long to compile, those of factorisations many seconds.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from derivative_checker import is_leaf, leaves, replace
from hypothesis import given, settings
from hypothesis import strategies as st
from test_through_jvp import WITH_DERIVATIVE, tangent_leaves, tangent_like
from test_through_vjp import SETTINGS, named, program_of

from ctxdispatch import overdub
from ctxdispatch_contexts.forward import Dual, DualContext


def check_block(f, args, active=None, k=3):
    rng = np.random.default_rng(0)
    for i, x in enumerate(args):
        if not leaves(x) or (active is not None and i not in active):
            continue
        singles = [tangent_like(x, rng) for _ in range(k)]
        block = replace(x, iter([np.stack(each) for each in zip(*map(leaves, singles), strict=True)]))
        block = drop_constants(block, x)
        dual = overdub(DualContext(), f, *args[:i], Dual(x, block), *args[i + 1 :])
        rows = [overdub(DualContext(), f, *args[:i], Dual(x, d), *args[i + 1 :]) for d in singles]
        for j, row in enumerate(rows):
            for whole, one in zip(
                tangent_leaves(dual.partials, dual.value),
                tangent_leaves(row.partials, row.value),
                strict=True,
            ):
                if np.ndim(whole) == 0:
                    assert np.all(whole == 0) and not np.any(one)
                    continue
                assert whole.shape == (k, *np.shape(one)) or not np.any(one)
                np.testing.assert_allclose(whole[j], one, rtol=1e-9, atol=1e-11)


def drop_constants(block, x):
    """None in the place of what has no tangent."""
    if is_leaf(x):
        return block
    if isinstance(x, (list, tuple)) and leaves(x):
        parts = [drop_constants(b, v) for b, v in zip(block, x, strict=True)]
        return parts if isinstance(x, list) else tuple(parts)
    return None


@pytest.mark.every(24)
@named(WITH_DERIVATIVE)
@settings(SETTINGS, max_examples=1)
@given(data=st.data())
def test_a_block_of_tangents(case, data):
    f, args = program_of(case, data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_block(f, args, case.options.get("active"))
