"""Other contexts over reverse mode: they see the program that computes the gradient, and nothing of the
engine."""

import math
import operator

import numpy as np
import pytest

from ctxdispatch import Context, grad, overdub, value_and_grad, vjp


class Trace(Context):
    seen: list = None

    def prehook(self, f, args, kwargs):
        self.seen.append(getattr(f, "__name__", repr(f)))


def traced(f, *args):
    seen = []
    return overdub(Trace(seen=seen), f, *args), seen


def wave(x, k=2.0):
    return math.sin(k * x)


def scaled(x, *, by=1.0):
    return x * x * by


def loss(w, x):
    return np.sum(np.tanh(w @ x))


@pytest.mark.parametrize("f, args, seen", [
    (wave, (0.5, 3.0), {"mul", "cos"}),
    (loss, (np.ones((2, 2)), np.ones(2)), {"matmul", "tanh", "mul", "sub", "getitem"}),
])  # fmt: skip
def test_a_context_over_a_gradient_sees_the_program_alone(f, args, seen):
    plain = grad(f)(*args)
    for _ in range(2):
        found, calls = traced(grad(f), *args)
        np.testing.assert_array_equal(found, plain)
        assert set(calls) == seen


def test_the_first_call_of_a_gradient_is_like_the_others():
    def fresh(x):
        return x * x

    assert traced(grad(fresh), 3.0) == (6.0, ["mul"]) == traced(grad(fresh), 3.0)


def test_defaults_keywords_and_other_types():
    assert traced(grad(wave), 0.0)[0] == 2.0
    assert overdub(Trace(seen=[]), grad(wave), 0.0, k=3.0) == 3.0
    assert overdub(Trace(seen=[]), grad(scaled), 2.0, by=3.0) == 12.0
    assert overdub(Trace(seen=[]), grad(wave), np.float32(0.0)).dtype == np.float32


def test_a_context_over_value_and_grad_and_vjp():
    (value, slope), calls = traced(value_and_grad(wave), 0.0)
    assert (value, slope) == (0.0, 2.0) and {"sin", "cos"} <= set(calls)
    (y, pullback), calls = traced(vjp, wave, 0.0, 2.0)
    assert (y, pullback(1.0)) == (0.0, (2.0, 0.0)) and "sin" in calls and "overdub" not in calls


def test_rules_of_the_context_over_it_replace_what_the_gradient_calls():
    class Flat(Context):
        pass

    @Flat.rule(math.cos)
    def _(ctx, x):
        return 100.0

    assert overdub(Flat(), grad(wave), 0.5) == 200.0
    assert grad(wave)(0.5) == 2.0 * math.cos(1.0)


def test_a_gradient_of_a_program_under_a_context():
    class Double(Context):
        pass

    @Double.rule(operator.mul, float, float)
    def _(ctx, a, b):
        return 2.0 * (a * b)

    assert overdub(Double(), lambda x: grad(lambda y: y * 5.0)(x) * x, 3.0) == 2.0 * 5.0 * 3.0


def test_a_program_that_makes_a_gradient():
    def program(x):
        return grad(wave)(x) + value_and_grad(wave)(x)[1] + vjp(wave, x)[1](1.0)[0]

    found, calls = traced(program, 0.0)
    assert found == 6.0
    assert {"sin", "cos", "mul", "add"} <= set(calls)
    assert {"overdub", "miss", "held_type", "guardable", "is_", "type"}.isdisjoint(calls)
