"""Every rule against finite differences, over shapes, layouts, axes and flags; float32; and the lowerings'
values."""

from __future__ import annotations

import warnings

import pytest
from derivative_cases import CASES
from derivative_checker import assert_value, check, check_float32, pull_by_table
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ctxdispatch_contexts.derivatives import table
from ctxdispatch_contexts.reverse import DerivativeError

SETTINGS = settings(
    max_examples=12, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)


def by_rule(case):
    return table.vjp_rule(case.callee) is not None or table.elementwise(case.callee) is not None


REFUSING = [case for case in CASES if "refuses" in case.options]
RULES = [case for case in CASES if by_rule(case) and case.name != "math.log" and case not in REFUSING]
LOWERED = [case for case in CASES if table.lowering(case.callee) is not None and "row" not in case.name]


def named(cases):
    return pytest.mark.parametrize("case", cases, ids=[case.name for case in cases])


@named(RULES)
@SETTINGS
@given(data=st.data())
def test_cotangents(case, data):
    args, kwargs = data.draw(case.arguments)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(case.callee, args, kwargs, active=case.options.get("active"))


@named(RULES)
@settings(SETTINGS, max_examples=4)
@given(data=st.data())
def test_float32(case, data):
    args, kwargs = data.draw(case.arguments)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_float32(case.callee, args, kwargs)


@named(REFUSING)
@SETTINGS
@given(data=st.data())
def test_rules_that_refuse(case, data):
    args, kwargs = data.draw(case.arguments)
    y = case.callee(*args, **kwargs)
    with pytest.raises(DerivativeError, match="there is no derivative of .* with respect to its"):
        pull_by_table(case.callee, y, y, args, kwargs)


@named(LOWERED)
@SETTINGS
@given(data=st.data())
def test_lowerings_mean_the_same(case, data):
    args, kwargs = data.draw(case.arguments)
    expected, found = case.callee(*args, **kwargs), table.lowering(case.callee)(*args, **kwargs)
    if hasattr(expected, "__next__"):
        expected, found = list(expected), list(found)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert_value(expected, found)
