"""Everything in the table of derivatives as programs meet it: called by a small function, through `vjp`.

Values and types of results against the plain call; cotangents against finite differences, their shapes and
dtypes (float32 too); arguments that stay as they were; pullbacks called twice. A scalar of NumPy will do as
the cotangent of an array without dimensions: NumPy itself returns one for the other.
"""

from __future__ import annotations

import io
import math
import sys
import warnings

import numpy as np
import pytest
from derivative_cases import CASES
from derivative_checker import check, check_float32, leaves
from derivative_programs import (
    ATTRIBUTES,
    assert_equal,
    called_by_name,
    function,
    literal,
    program,
    pull_by_vjp,
)
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from program_cases import ARGUMENTS, CONVERSIONS, MORE, VARY, ZEROS

import ctxdispatch
from ctxdispatch_contexts.derivatives import table
from ctxdispatch_contexts.derivatives.vectorizing import VECTORIZE_CALL

SETTINGS = settings(
    max_examples=3, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck),
    phases=[Phase.generate],  # to shrink a failure takes minutes, as every step compiles
)  # fmt: skip
WITH_DERIVATIVE = [*CASES, *MORE]


def named(cases):
    return pytest.mark.parametrize("case", cases, ids=[case.name for case in cases])


def program_of(case, data):
    args, kwargs = data.draw(case.arguments)
    display = any(isinstance(x, (list, tuple)) and leaves(x) for x in args) and data.draw(st.booleans())
    return program(case.callee, args, kwargs, display)


@pytest.mark.every(12)
@named(WITH_DERIVATIVE)
@SETTINGS
@given(data=st.data())
def test_value_and_cotangents(case, data):
    f, args = program_of(case, data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(f, args, {}, pull_by_vjp, active=case.options.get("active"))


@pytest.mark.every(16)
@named(WITH_DERIVATIVE)
@settings(SETTINGS, max_examples=2)
@given(data=st.data())
def test_float32_stays_float32(case, data):
    f, args = program_of(case, data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_float32(f, args, {}, pull_by_vjp)


def by_name(case):
    return not isinstance(case.callee, ATTRIBUTES) and case.callee not in (map, filter)


@named([case for case in WITH_DERIVATIVE if by_name(case)])
@settings(SETTINGS, max_examples=1)
@given(data=st.data())
def test_known_at_run_time_only(case, data):
    args, kwargs = data.draw(case.arguments)
    if any(not isinstance(x, (str, int, float)) and literal(x) is None for x in kwargs.values()):
        kwargs = {}
    f, held = called_by_name(case.callee, args, kwargs)

    def pull(f, g, y, held, kwargs):
        return pull_by_vjp(f, g, y, (case.callee, *held), kwargs)[1:]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        active = case.options.get("active")
        check(lambda *held: f(case.callee, *held), held, {}, lambda _, *rest: pull(f, *rest), active=active)


@pytest.mark.parametrize("cls", CONVERSIONS)
@pytest.mark.parametrize("x", [0.75, np.float32(0.75), np.float64(0.75)])
def test_conversions_give_the_cotangent_back_in_the_class_of_the_argument(cls, x):
    def f(x):
        return cls(x)

    y, pullback = ctxdispatch.vjp(f, x)
    assert type(y) is cls and y == 0.75
    (cotangent,) = pullback(cls(2.0))
    assert type(cotangent) is type(x) and cotangent == 2.0


# -- edges ---------------------------------------------------------------------------------------------------


def test_sums_have_the_value_of_the_builtin():
    """Which since Python 3.12 adds floats exacter than one addition after the other does."""

    def of_list(xs):
        return sum(xs)

    def of_generator(xs):
        return sum(x * x for x in xs)

    xs = [0.1] * 10
    for f, slope in (of_list, 1.0), (of_generator, 0.2):
        y, pullback = ctxdispatch.vjp(f, xs)
        assert y == f(xs)
        assert pullback(1.0) == ([slope] * 10,)


@pytest.mark.parametrize("length", [np.linalg.norm, np.linalg.vector_norm, np.std])
def test_lengths_of_nothing_have_slope_zero_like_abs(length):
    def f(x):
        return length(x)

    assert ctxdispatch.grad(f)(np.zeros(3)).tolist() == [0.0, 0.0, 0.0]
    assert ctxdispatch.grad(math.hypot, argnums=(0, 1))(0.0, 0.0) == (0.0, 0.0)


# -- zero by rule --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("expression", [expression for _, expression in ZEROS])
def test_zero_by_rule(expression, monkeypatch):
    """Nothing comes back through it, and what stands beside it is differentiated."""
    f = function(f"def f({', '.join(ARGUMENTS)}, w):\n    return {expression}, w * x\n", None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected, _ = f(*arguments(monkeypatch))
        args = arguments(monkeypatch)
        (value, product), pullback = ctxdispatch.vjp(f, *args)
        cotangents = pullback((None, 2.0))
    assert type(value) is type(expected) and product == 3.0 * ARGUMENTS["x"]
    if not any(name in expression for name in VARY):
        assert_same_text(value, expected)
    assert cotangents[0] == 6.0 and cotangents[-1] == 2.0 * ARGUMENTS["x"]
    for name, x, cotangent in zip(list(ARGUMENTS)[1:], args[1:], cotangents[1:]):
        if leaves(x):
            assert np.all(np.equal(cotangent, np.zeros(np.shape(x)))), f"{name}: {cotangent}"
        else:
            assert cotangent is None, f"{name}: {cotangent}"


def arguments(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("text\n"))
    return [*ARGUMENTS.values(), 3.0]


def assert_same_text(value, expected):
    assert_equal(value, expected) if isinstance(expected, np.ndarray) else None
    assert str(value) == str(expected)


# -- all of the table ----------------------------------------------------------------------------------------


RANDOM_ORDERS = {
    method
    for cls in (np.random.Generator, np.random.RandomState)
    for method in (cls.shuffle, cls.permutation)
}
"""Methods of what they change: tests/behaviours/test_random_orders.py."""


def test_every_callee_of_the_table_is_tested_here():
    tested = {case.callee for case in WITH_DERIVATIVE} | {callee for callee, _ in ZEROS} | set(CONVERSIONS)
    tested |= {np.errstate.__enter__, np.errstate.__exit__}  # one with the other: tests/reverse/test_with.py
    tested |= RANDOM_ORDERS | {VECTORIZE_CALL}  # tests/behaviours/test_vectorize.py
    assert [(kind, callee) for kind, callee in table.names() if callee not in tested] == []
