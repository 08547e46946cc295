"""Blocks of tangents where a list stands for an array, or an array for a list; steep slopes; orders of axes;
an argument that is asked for twice."""

import math
import warnings

import numpy as np
import pytest

from ctxdispatch import grad, hessian, jacfwd, jacrev, jvp

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


@pytest.mark.every(8)
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


@pytest.mark.every(8)
@pytest.mark.parametrize("name", ARRAYS)
def test_second_derivatives_of_arrays_that_are_not_square(name):
    f = ARRAYS[name]
    want = differences(lambda x: differences(f, x), X)
    for found in (hessian(f), jacfwd(jacfwd(f)), jacrev(jacrev(f))):
        np.testing.assert_allclose(found(X), want, atol=1e-5)


# -- lists by keyword ----------------------------------------------------------------------------------------

BY_KEYWORD = {
    "sum": lambda x: np.sum(a=[x[0] ** 2, x[1] * x[2]]) * x[0],
    "cumsum of a tuple": lambda x: np.cumsum(a=(x[0] ** 2, x[1] * x[2])),
    "convolve": lambda x: np.convolve(a=[x[0] ** 2, x[1]], v=[x[2], 2.0, x[0]]),
    "dot": lambda x: np.dot(a=[x[0], x[1]], b=[x[1] ** 2, x[2]]),
    "tensordot": lambda x: np.tensordot([[x[0], x[1]]], b=[[x[1] ** 2], [x[2]]], axes=1).ravel(),
    "inv": lambda x: np.linalg.inv(a=[[x[0], x[1]], [x[2], 1.0]])[0],
    "solve": lambda x: np.linalg.solve(b=[x[0], 1.0], a=[[x[0], x[1]], [x[2], 1.0]]),
}

P = np.arange(4.0).reshape(2, 2)
PADDED = {
    "a number": lambda x: np.pad(x, 2, constant_values=x[0] * x[1]),
    "one in a tuple": lambda x: np.pad(x, 2, constant_values=(x[0] * x[1],)),
    "a pair": lambda x: np.pad(np.ones(3), 2, constant_values=(x[0], x[1])),
    "a pair of products": lambda x: np.pad(x * x[1], (2, 1), constant_values=(x[0] * x[1], x[1] ** 2)),
    "a list": lambda x: np.pad(x, 1, constant_values=[x[0] ** 2, 7]),
    "an array": lambda x: np.pad(x, 2, constant_values=x[:2] ** 2),
    "pairs": lambda x: np.pad(P * x[0], 1, constant_values=((x[0] ** 2, x[1]), (x[2] * x[1], 1))).ravel(),
    "lists in a tuple": lambda x: np.pad(
        P, ((1, 0), (2, 1)), constant_values=([x[0], 1], [2.0, x[1]])
    ).ravel(),
    "one per axis": lambda x: np.pad(P, 1, constant_values=[[x[0] ** 2], [x[1]]]).ravel(),
    "a pair of arrays": lambda x: np.pad(P, 1, constant_values=(x[:2], x[1:] * x[0])).ravel(),
    "widths by axis": lambda x: np.pad(P, {1: (2, 1)}, constant_values=((1, 2), (x[0], x[1] ** 2))).ravel(),
    "a complex pair": lambda x: np.pad(x * 1j, 1, constant_values=(x[0] ** 2, x[1] * 1j)),
    "a ramp to one": lambda x: np.pad(x, 2, "linear_ramp", end_values=x[0] ** 2),
    "a ramp to a pair": lambda x: np.pad(x * x[2], 2, mode="linear_ramp", end_values=(x[0], x[1] ** 2)),
    "ramps to pairs": lambda x: np.pad(
        P * x[0], 2, mode="linear_ramp", end_values=((x[0] ** 2, x[1]), (x[2] * x[1], 1.5))
    ).ravel(),
}
AGAIN = "a number", "a pair of products", "pairs", "a complex pair", "a ramp to a pair"
LISTS = {**BY_KEYWORD, **{f"np.pad with {name}": f for name, f in PADDED.items()}}


@pytest.mark.every(5)
@pytest.mark.parametrize("name", LISTS)
def test_lists_by_keyword(name):
    f, x = LISTS[name], X
    want = differences(f, x)
    np.testing.assert_allclose(jacfwd(f)(x), want, atol=1e-6)
    np.testing.assert_allclose(jvp(f, (x,), (X[::-1],))[1], want @ X[::-1], atol=1e-6)
    if not np.iscomplexobj(want):
        np.testing.assert_allclose(jacrev(f)(x), want, atol=1e-6)


@pytest.mark.every(12)
@pytest.mark.parametrize("name", ["convolve", "solve", *(f"np.pad with {n}" for n in AGAIN)])
def test_second_derivatives_of_lists_by_keyword(name):
    f = LISTS[name]
    slopes = differences(lambda x: differences(f, x), X)
    np.testing.assert_allclose(jacfwd(jacfwd(f))(X), slopes, atol=1e-5)

    def number(x):
        y = np.ravel(f(x))
        return np.sum(np.sin(np.abs(y)) * np.arange(1.0, 1 + len(y)))

    want = differences(lambda x: differences(number, x), X)
    np.testing.assert_allclose(hessian(number)(X), want, atol=1e-4)
    np.testing.assert_allclose(jacrev(grad(number))(X), want, atol=1e-4)


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
