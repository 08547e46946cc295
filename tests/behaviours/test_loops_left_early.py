"""Loops over few things that raise, return or break in one of their rounds: written out, round by round."""

import numpy as np
import pytest

from ctxdispatch import grad, jvp

GIVEN = {"a": 3.0, "b": 2.0, "c": 0.5, "d": -9.0}


def raising(x, limits):
    for name, sign in (("a", 1.0), ("b", -1.0), ("c", 0.5)):
        if x > limits[name]:
            raise ValueError(name)
        x = x * sign + limits[name]
    return x * x


def breaking(x, limits):
    for name in ("a", "b", "c", "d"):
        if x > limits[name]:
            x = x * 3.0
            break
        x = np.sin(x) * limits[name]
    return x * limits["a"]


def breaking_or_else(x, limits):
    for name in limits:
        if x > limits[name]:
            y = x**3
            break
    else:
        return -x
    return y * x


def returning(x, limits):
    for name, f in (("a", np.sin), ("b", np.cos), ("c", np.exp), ("d", np.tanh)):
        if x > limits[name]:
            return f(x * limits[name])
        x = x * 0.9
    return x


def nested(x, limits):
    for name in ("a", "b"):
        for other in ("c", "d"):
            if x > limits[name] * limits[other]:
                x = x * 2.0
                break
            x = x + limits[other]
        else:
            continue
        x = x * limits[name]
    return x


def searching(x, limits):
    def find(x):
        for name, f in (("a", np.sin), ("b", np.cos), ("c", np.exp), ("d", np.tanh)):
            if x > limits[name]:
                return f
        raise KeyError(x)

    y = find(x)(x)
    for _ in range(2):
        y = find(y)(y) + x
    y = find(y)(y) + x
    y = find(y)(y) + x
    return find(y)(y) + x


PROGRAMS = [raising, breaking, breaking_or_else, returning, nested, searching]


def outcome(run):
    try:
        return run()
    except (ValueError, KeyError) as error:
        return type(error), error.args


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_each_round(f):
    g = grad(f)
    for x in (-20.0, -3.0, 0.3, 0.7, 1.4, 2.5, 3.5, 0.7, -20.0):
        for limits in (GIVEN, {k: v + 0.27 for k, v in GIVEN.items()}):
            plain = outcome(lambda: f(x, limits))
            if isinstance(plain, tuple):
                assert outcome(lambda: g(x, limits)) == plain
                continue
            want = (f(x + 1e-6, limits) - f(x - 1e-6, limits)) / 2e-6
            np.testing.assert_allclose(g(x, limits), want, rtol=1e-5, atol=1e-8)
            value, slope = jvp(lambda x: f(x, limits), (x,), (1.0,))
            assert value == plain
            np.testing.assert_allclose(slope, want, rtol=1e-5, atol=1e-8)


def test_a_range_that_raises():
    def f(x):
        try:
            tuple(range(0, 3, 0))
        except ValueError:
            return x * x
        return x

    def g(x):
        if x > 100.0:
            for k in range(0, 3, 0):
                x = x * k
        return x * 3.0 if x < 100.0 else tuple(range(10**30))[1]

    for _ in range(2):
        assert grad(f)(1.5) == 3.0
        assert grad(g)(1.5) == 3.0
