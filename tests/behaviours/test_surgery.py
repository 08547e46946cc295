"""Behaviours 72 and 73 in programs that change things, and what looks into or changes a derivative: hooks,
parts that are constants, rules that are checked where they are used."""

import copy
import math

import numpy as np
import pytest
from behaviour_checks import WAYS

from ctxdispatch import (
    ADContext,
    check_grads,
    checkpoint,
    custom_rule,
    grad,
    insert_grad_of,
    jvp,
    stop_gradient,
    vjp,
)
from ctxdispatch_contexts.reverse import MutationError

X = np.array([1.0, 2.0, 3.0])


@WAYS
def test_073_hooks_see_and_change_cotangents(way):
    seen = []

    def f(x):
        y = insert_grad_of(x * x, seen.append)
        return 3.0 * insert_grad_of(y, lambda dy: dy * 10.0)

    assert f(2.0) == 12.0 and not seen
    assert grad(way(f))(2.0) == 120.0 and seen == [30.0]
    assert jvp(way(f), (2.0,), (1.0,)) == (12.0, 12.0)  # none of forward mode's
    y, pullback = vjp(way(f), 2.0)
    assert [pullback(1.0), pullback(2.0)] == [(120.0,), (240.0,)] and seen == [30.0, 30.0, 60.0]


@WAYS
def test_073_hooks_of_arrays(way):
    def f(x):
        return (insert_grad_of(x * x, lambda d: np.clip(d, -0.5, 0.5)) * np.array([3.0, 0.1, -2.0])).sum()

    np.testing.assert_allclose(grad(way(f))(X.copy()), 2 * X * [0.5, 0.1, -0.5])


def test_073_a_hooked_array_that_is_changed_is_refused():
    def f(x):
        y = insert_grad_of(x, lambda d: d)
        y *= 2.0
        return y.sum()

    with pytest.raises(MutationError, match="test_surgery.py.*a copy"):
        grad(f)(X.copy())


@WAYS
def test_073_stop_gradient_of_parts(way):
    def f(x):
        tree = {"a": x, "b": [x * 2.0, (x, 3)]}
        still = stop_gradient(tree)
        return tree["a"] * still["b"][0] + still["b"][1][0] * stop_gradient(x) + still["a"]

    assert grad(way(f))(3.0) == 6.0
    assert jvp(way(f), (3.0,), (1.0,))[1] == 6.0


class Model:
    def __init__(self, w, b):
        self.w, self.b = w, b


def test_073_stop_gradient_of_an_object():
    def f(model, x):
        model.w *= x
        return model.w.sum() * stop_gradient(model).w.sum() * model.b

    found = grad(f)(Model(X.copy(), 2.0), 2.0)
    np.testing.assert_allclose(found.w, [2.0 * 12.0 * 2.0] * 3)
    assert found.b == 144.0


@WAYS
def test_072_checkpoints(way):
    calls = []

    def part(x):
        calls.append(1)
        return np.sin(x) * x

    def f(x):
        return (checkpoint(part)(x) * x).sum()

    expected = 2 * X * np.sin(X) + X**2 * np.cos(X)
    np.testing.assert_allclose(grad(way(f))(X.copy()), expected)
    assert len(calls) in (1, 2)


def slope_is_wrong(x):
    return x * x


def test_rules_are_checked_where_they_are_used():
    def f(x):
        state = {"v": math.sin(x[0])}
        state["v"] *= slope_is_wrong(x[1])
        return state["v"] + np.exp(x).sum() + max(x[0], x[1])

    check_grads(f, (X,), rules=True)

    @custom_rule(slope_is_wrong)
    def _(x):
        return x * x, lambda g: 3.0 * g * x

    try:
        where = r"test_surgery.py:\d+ in .*f: the rule for .*slope_is_wrong"
        with pytest.raises(AssertionError, match=where):
            check_grads(f, (X,), rules=True)
    finally:
        ADContext.unrule(slope_is_wrong)


def test_check_grads_of_what_changes_its_arguments():
    def f(x, bodies):
        x *= 2.0
        bodies["a"].w += x
        return (bodies["a"].w ** 2).sum()

    bodies = {"a": Model(X.copy(), 1.0)}
    check_grads(f, (X.copy(), copy.deepcopy(bodies)))
    check_grads(f, (X.copy(), bodies), rules=True)
