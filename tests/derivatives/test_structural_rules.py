"""What rules do to structural zeros: where the mask of an argument is 0 nothing arrives for it, whatever the
cotangents are; and of what only moves elements, nothing but there."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from derivative_cases import CASES
from derivative_checker import leaves, pull_by_table
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from program_cases import MORE

from ctxdispatch_contexts.derivatives import table
from ctxdispatch_contexts.reverse.through import through

SETTINGS = settings(
    max_examples=2, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)
FLOWING = [
    case
    for case in [*CASES, *MORE]
    if callable(case.callee)
    and table.vjp_rule(case.callee) is not None
    and table.flow(case.callee) is not None
]


def some(value, random, signed):
    """A cotangent of `value`, or a mask, some elements of which are 0."""
    if isinstance(value, (list, tuple)):
        return [some(item, random, signed) for item in value]
    if not isinstance(value, (float, np.inexact, np.ndarray)) or np.asarray(value).dtype.kind != "f":
        return None
    zeros = random.integers(0, 2, np.shape(value))
    numbers = random.normal(size=np.shape(value)) if signed else 1.0
    return (
        (zeros * numbers)[()] if np.ndim(value) == 0 else np.asarray(zeros * numbers, np.asarray(value).dtype)
    )


@pytest.mark.parametrize("case", FLOWING, ids=[case.name for case in FLOWING])
@SETTINGS
@given(data=st.data(), seed=st.integers(0, 99))
def test_nothing_arrives_where_the_mask_is_zero(case, data, seed):
    args, kwargs = data.draw(case.arguments)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        y = case.callee(*args, **kwargs)
        if table.flow(case.callee, len(args), tuple(kwargs)) is None or any(
            np.iscomplexobj(leaf) for leaf in leaves((y, args, kwargs))
        ):
            return
        mask = some(y, np.random.default_rng(seed), False)
        masks = [*through(case.callee, y, (*args, *kwargs.values()), tuple(kwargs), mask)][: len(args)]
        for signs in range(2):
            g = some(y, np.random.default_rng(seed), False)
            g = scaled(g, np.random.default_rng(signs))
            found = pull_by_table(case.callee, g, y, args, kwargs)
            for bar, mask_of in zip(found, masks, strict=False):
                assert_covers(mask_of, bar)


def scaled(g, random):
    if isinstance(g, list):
        return [scaled(item, random) for item in g]
    return None if g is None else g * random.normal(size=np.shape(g))


def assert_covers(mask, bar):
    if bar is None:
        return
    if isinstance(bar, (list, tuple)):
        for m, b in zip([None] * len(bar) if mask is None else mask, bar, strict=True):
            assert_covers(m, b)
        return
    open_ = np.broadcast_to(np.asarray(0.0 if mask is None else mask) != 0, np.shape(bar))
    assert not np.any((np.asarray(bar) != 0) & ~open_)
