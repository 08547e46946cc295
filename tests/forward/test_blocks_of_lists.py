"""Blocks of tangents where a list stands for an array, or an array for a list; steep slopes; orders of axes;
an argument that is asked for twice."""

import math
import warnings

import numpy as np
import pytest

from ctxdispatch import hessian, jacfwd, jacrev, jvp

X = np.array([0.3, -0.7, 0.5])
M = np.arange(6.0).reshape(2, 3) + 1.0


def differences(f, x, e=1e-4):
    moved = [(np.asarray(f(x + e * d)) - np.asarray(f(x - e * d))) / (2 * e) for d in np.eye(len(x))]
    return np.stack(moved, -1)


NUMBERS = {
    "fsum": lambda x: math.fsum(x) ** 2 * x[0],
    "fsum of a list": lambda x: math.fsum([x[0] * x[1], x[1] ** 2, x[2] ** 3]) ** 2 * x[0],
    "sum": lambda x: sum(x) ** 2 * x[0],
    "dist": lambda x: math.dist(x, np.array([1.0, 2.0, 3.0])) * x[0],
    "dist of both": lambda x: math.dist(x, x**2) * x[0],
    "dist of a list": lambda x: math.dist([1.0, 2.0, 3.0], x * x) * x[0],
    "hypot": lambda x: math.hypot(x[0], x[1] ** 2) * x[0],
    "np.sum of a list": lambda x: np.sum([x[0] ** 2, x[1] ** 2 * x[0], x[2] ** 3]) ** 2 * x[0],
    "np.prod of a list": lambda x: np.prod([x[0] ** 2, x[1] ** 2 * x[0], x[2] ** 3]) * x[0],
    "np.max of a list": lambda x: np.max([x[0] ** 2, x[1] ** 2 * x[0], x[2] ** 3]) ** 2 * x[0],
    "np.dot of lists": lambda x: np.dot([x[0], x[1]], [x[1] ** 2, x[2] * x[0]]) * x[0],
    "np.dot with a list": lambda x: np.dot(x, [x[1] ** 2, x[2] * x[0], x[0]]) * x[0],
}
if hasattr(math, "sumprod"):
    NUMBERS["sumprod"] = lambda x: math.sumprod(x, x**2) * x[0]


@pytest.mark.parametrize("name", NUMBERS)
def test_second_derivatives_of_numbers(name):
    f = NUMBERS[name]
    want = differences(lambda x: differences(f, x), X)
    for found in (hessian(f), jacfwd(jacfwd(f)), jacrev(jacrev(f))):
        np.testing.assert_allclose(found(X), want, atol=1e-5)


ARRAYS = {
    "fsum": lambda x: math.fsum(x) ** 2 * x[:2],
    "sum": lambda x: sum(x) ** 2 * x[:2],
    "dist": lambda x: math.dist(x, x**2) * x[:2],
}


@pytest.mark.parametrize("name", ARRAYS)
def test_second_derivatives_of_arrays_that_are_not_square(name):
    f = ARRAYS[name]
    want = differences(lambda x: differences(f, x), X)
    for found in (hessian(f), jacfwd(jacfwd(f)), jacrev(jacrev(f))):
        np.testing.assert_allclose(found(X), want, atol=1e-5)


def test_a_hessian_is_symmetric():
    want = [[1.0, 0.8, 0.8], [0.8, 0.6, 0.6], [0.8, 0.6, 0.6]]
    np.testing.assert_allclose(hessian(lambda x: math.fsum(x) ** 2 * x[0])(X), want)


def test_an_infinite_slope_stays_in_its_column():
    at = np.array([0.0, 1.0])
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="invalid value")
        warnings.filterwarnings("ignore", message="divide by zero")
        for f in (lambda x: np.sqrt(x).sum() + x[0], lambda x: (x**0.5).sum() + x[0]):
            np.testing.assert_array_equal(jacfwd(f)(at), [np.inf, 0.5])
            np.testing.assert_array_equal(jacrev(f)(at), [np.inf, 0.5])
        np.testing.assert_array_equal(jacfwd(np.sqrt)(at), [[np.inf, 0.0], [0.0, 0.5]])
        np.testing.assert_array_equal(jvp(lambda x: np.sqrt(x), (at,), (np.array([0.0, 1.0]),))[1], [0, 0.5])


@pytest.mark.parametrize("f", [lambda x: np.sqrt(x).sum() * x[0], lambda x: math.sqrt(x[0]) * x[1]])
def test_second_derivatives_through_a_steep_row(f):
    at = np.array([0.25, 1.0])
    want = differences(lambda x: differences(f, x), at)
    for found in (hessian(f), jacfwd(jacfwd(f)), jacrev(jacfwd(f)), jacrev(jacrev(f))):
        np.testing.assert_allclose(found(at), want, atol=1e-5)


@pytest.mark.parametrize("x", [X, M], ids=["1-d", "2-d"])
@pytest.mark.parametrize(
    "f",
    [
        lambda x: x.ravel("F"),
        lambda x: x.flatten("F"),
        lambda x: np.ravel(x, order="F"),
        lambda x: np.reshape(x, x.shape[::-1], order="F"),
        lambda x: x.reshape((3, -1), order="F"),
    ],
)
def test_fortran_order(f, x):
    units = [f(e.reshape(x.shape)) for e in np.eye(x.size)]
    want = np.stack(units, -1).reshape(f(x).shape + x.shape)
    np.testing.assert_array_equal(jacfwd(f)(x), want)
    np.testing.assert_array_equal(jacrev(f)(x), want)


@pytest.mark.parametrize("jacobian", [jacfwd, jacrev])
def test_an_argument_asked_for_twice(jacobian):
    first, second, third = jacobian(lambda a, b: a * b, argnums=(0, 1, 0))(X, 2 * X)
    np.testing.assert_array_equal(first, np.diag(2 * X))
    np.testing.assert_array_equal(second, np.diag(X))
    np.testing.assert_array_equal(third, first)
    assert not np.shares_memory(first, third)
