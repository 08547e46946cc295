"""`linearize`: the value, and a linear function to be called again and again."""

import numpy as np
import pytest

from ctxdispatch import grad, jvp, linearize
from ctxdispatch_contexts.reverse import DerivativeError


def f(x, y):
    return np.sin(x) * y


X, Y = np.array([0.3, -0.5]), np.array([2.0, 1.0])


def test_value_and_linear_function():
    y, push = linearize(f, X, Y)
    np.testing.assert_array_equal(y, f(X, Y))
    rng = np.random.default_rng(0)
    for _ in range(3):
        dx, dy = rng.normal(size=(2, 2))
        np.testing.assert_allclose(push(dx, dy), jvp(f, (X, Y), (dx, dy))[1])
        np.testing.assert_allclose(push(2 * dx, 2 * dy), 2 * push(dx, dy))
        np.testing.assert_allclose(push(dx, None), jvp(f, (X, Y), (dx, None))[1])


def test_of_a_gradient():
    y, push = linearize(grad(lambda x: np.sum(x**3)), X)
    np.testing.assert_allclose(push(np.ones(2)), 6 * X)


def test_bad_tangents():
    _, push = linearize(f, X, Y)
    with pytest.raises(DerivativeError, match="argument 1"):
        push(X, np.ones(3))
    with pytest.raises(DerivativeError, match="2 primals and 1 tangents"):
        push(X)


def test_arguments_that_change():
    """The linear function runs the program again: where its argument was, or not at all."""

    def changes(x):
        x[0] *= x[1]
        return x * x

    y, push = linearize(changes, X.copy())
    np.testing.assert_array_equal(y, changes(X.copy()))
    with pytest.raises(DerivativeError, match="argument 0 of linearize has changed since.*; give a copy"):
        push(np.ones(2))
    _, push = linearize(lambda x: changes(x.copy()), X)
    for _ in range(2):
        np.testing.assert_allclose(push(np.ones(2)), jvp(changes, (X.copy(),), (np.ones(2),))[1])
    x = np.array([np.nan, 1.0])
    _, push = linearize(np.sin, x)
    assert push(np.ones(2))[1] == np.cos(1.0)
    x[1] = 2.0
    with pytest.raises(DerivativeError, match="argument 0"):
        push(np.ones(2))


class Body:
    __slots__ = ("mass", "position")

    def __init__(self):
        self.mass, self.position = 2.0, np.array([1.0, 2.0])


def grown(bodies, x):
    bodies["sun"].mass *= x


def moved(bodies, x):
    bodies["sun"].position += x


def joined(bodies, x):
    bodies["moon"] = Body()


@pytest.mark.parametrize("change", [grown, moved, joined])
def test_objects_that_change(change):
    """By the function, or by anybody: numbers and arrays in objects, what containers hold."""

    def changes(x, bodies):
        change(bodies, x)
        return x * sum(b.mass * b.position.sum() for b in bodies.values())

    def keeps(x, bodies):
        return x * sum(b.mass * b.position.sum() for b in bodies.values())

    _, push = linearize(changes, 3.0, {"sun": Body()})
    with pytest.raises(DerivativeError, match="argument 1 of linearize has changed since"):
        push(1.0, None)
    bodies = {"sun": Body()}
    _, push = linearize(keeps, 3.0, bodies)
    assert push(1.0, None) == push(1.0, None) == 6.0
    change(bodies, 2.0)
    with pytest.raises(DerivativeError, match="argument 1 of linearize has changed since"):
        push(1.0, None)


def test_generators_that_have_gone_on():
    _, push = linearize(lambda x, rng: x * rng.normal(), 3.0, np.random.default_rng(0))
    with pytest.raises(DerivativeError, match="argument 1 of linearize has changed since"):
        push(1.0, None)


def test_nested_in_a_derivative():
    """Arrays in, and along, what is differentiated."""
    gradient = grad(lambda x: np.sum(linearize(lambda v: v**3, x)[1](np.ones(2))))(X)
    np.testing.assert_allclose(gradient, 6 * X)
