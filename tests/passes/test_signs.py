"""Signs that are carried through derivative programs: fewer operations, the same numbers, and nothing of the
user's own program touched."""

import math
import operator
import random

import numpy as np
import pytest

from ctxdispatch import grad, jvp, value_and_grad
from ctxdispatch_contexts.programs.derived import entry_of


def wobble(x):
    return math.sin(math.cos(x)) * x


def program(f, *args):
    entry = entry_of(f)
    return entry.derivative(entry.types_of(args)).graph


def count(graph, function):
    return sum(op.fn is function for _, op in graph.ops())


@pytest.mark.parametrize(("order", "most"), [(1, 0), (2, 1), (3, 1), (4, 1)])
def test_few_negations_are_left(order, most):
    f = wobble
    for _ in range(order):
        f = grad(f)
    f(0.7)
    assert count(program(f, 0.7), operator.neg) <= most


def test_the_users_own_negations_stay_as_they_are():
    def f(x):
        return -x * 0.0 + (-x - x) * 0.0

    value, _ = value_and_grad(f)(1.0)
    assert math.copysign(1.0, value) == math.copysign(1.0, f(1.0))
    value, _ = jvp(lambda x: -x * 0.0, (1.0,), (1.0,))
    assert math.copysign(1.0, value) == -1.0


def expression(pick, depth):
    if depth == 0:
        return pick(["x", "y", "0.5", "math.sin(x)", "math.cos(y)", "math.exp(-x)"])
    a, b = expression(pick, depth - 1), expression(pick, depth - 1)
    forms = [f"({a} + {b})", f"({a} - {b})", f"{a} * {b}", f"-({a})", f"-({a}) * {b}"]
    return pick([*forms, f"{a} / (2.0 + {b} * {b})"])


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("module", [math, np], ids=["floats", "arrays"])
def test_random_expressions(seed, module):
    source = expression(random.Random(seed).choice, 4)
    f = eval(f"lambda x, y: {source} + 0.0 * x * y", {"math": module})  # noqa: S307
    x, y = (0.3, 0.8) if module is math else (np.array([0.3, 0.7]), np.array([0.8, 0.2]))
    total = f if module is math else (lambda x, y: f(x, y).sum())
    first, h = jvp(f, (x, y), (x, y))[1], 1e-6
    differences = (f(x + h * x, y + h * y) - f(x - h * x, y - h * y)) / (2 * h)
    assert first == pytest.approx(differences, rel=1e-5, abs=1e-7)
    gx, gy = grad(total, (0, 1))(x, y)
    assert np.sum(gx * x + gy * y) == pytest.approx(np.sum(first), rel=1e-11, abs=1e-13)
    along = grad(lambda x, y: np.sum(grad(total)(x, y)))(x, y)
    expected = (np.array(grad(total)(x + h, y)) - np.array(grad(total)(x - h, y))) / (2 * h)
    assert np.asarray(along) == pytest.approx(expected, rel=1e-4, abs=1e-6)


def test_a_negation_that_is_read_elsewhere_is_made_once():
    def f(x, flag):
        y = math.cos(x)
        if flag:
            y = y * x
        return y / (1.0 + x)

    for flag in (True, False):
        h = 1e-6
        assert grad(f)(0.4, flag) == pytest.approx((f(0.4 + h, flag) - f(0.4 - h, flag)) / (2 * h), rel=1e-7)
