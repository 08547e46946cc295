"""`np.r_` and `np.c_`, which are objects; further derivatives of what puts arrays together, and others."""

from __future__ import annotations

import numpy as np
import pytest
from derivative_checker import check
from derivative_programs import pull_by_vjp

from ctxdispatch import grad, jvp, vjp
from ctxdispatch_contexts.derivatives import table
from ctxdispatch_contexts.derivatives.assembling import joined

X, Y = np.array([0.5, -1.5, 2.0]), np.array([[1.0, 2.0], [3.0, 4.5], [0.25, 1.0]])

PROGRAMS = {
    "one": lambda x, y: np.r_[x],
    "arrays": lambda x, y: np.r_[x, 2 * x],
    "numbers": lambda x, y: np.r_[x, 1.5, x[0], 2],
    "ranges": lambda x, y: np.r_[0:3, x, 1:2:4j, 0.0:1.0:0.25],
    "matrices": lambda x, y: np.r_[y, y * y],
    "columns": lambda x, y: np.c_[x, y, x * x],
    "column": lambda x, y: np.c_[x],
    "columns and numbers": lambda x, y: np.c_[x[:1], 0.5, y[:1]],
    "along an axis": lambda x, y: np.r_["1", y, y],
    "of more dimensions": lambda x, y: np.r_["0,2", x, x],
    "put first": lambda x, y: np.r_["1,2,0", x, 1:4, y],
    "put last": lambda x, y: np.r_["0,3,-1", x, y[:, 0]],
    "put between": lambda x, y: np.r_["-1,3,1", x, x],
    "lists": lambda x, y: np.r_[x, [1.0, 2.0]],
    "values one by one": lambda x, y: np.piecewise(x, [x > 0.0, x < 0.0], [y[:2, 0] * 2.0, 3.0]),
    "one value of an array": lambda x, y: np.piecewise(x, [x > 0.0, x > 1.0], [1.0, x[:1] * y[0, 1]]),
    "a list of values": lambda x, y: np.piecewise(x, [x > 0.0], [[x[0], y[1, 1]], lambda v: v * y[0, 0]]),
    "of a number": lambda x, y: np.piecewise(1.0, [True], [x[:1]]) * x,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_joined_by_an_object_or_by_conditions(name):
    f = PROGRAMS[name]
    check(f, (X, Y), {}, pull_by_vjp)
    value, tangent = jvp(f, (X, Y), (np.ones(3), np.ones((3, 2))))
    h = 1e-6
    expected = (f(X + h, Y + h) - f(X - h, Y - h)) / (2 * h)
    np.testing.assert_allclose(value, f(X, Y), rtol=1e-15)
    np.testing.assert_allclose(tangent, expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("key", [
    (X,), (X, 1), (X.astype(np.float32), 1.0), (X.astype(np.float32), np.float64(1.0)), (X, 1j), (1, 2, 3),
    (slice(3),), (slice(0.5, 2, 0.25), X), (slice(5, 1, -2),), (slice(2, 1),),
    ("0,2,0", X, [1, 2]), (np.array(2.0), X), (np.zeros((0,)), X),
])  # fmt: skip
@pytest.mark.parametrize("object_", [np.r_, np.c_])
def test_values_and_dtypes_of_the_lowering(object_, key):
    try:
        expected = object_[key]
    except ValueError:
        pytest.skip("lengths that do not go together")
    found = joined(object_, key)
    assert found.dtype == expected.dtype and found.tolist() == expected.tolist()


def test_matrices():
    """The rule leaves them to NumPy's own code, which a recorded run follows."""
    np.testing.assert_array_equal(grad(lambda x: np.sum(np.r_["r", x * x]))(X), 2 * X)


def test_it_is_in_the_table():
    assert table.lowering(type(np.r_).__getitem__) is joined


def test_pieces_that_are_empty_or_complex():
    y, pullback = vjp(lambda x: np.r_[x, np.zeros(0)], X)
    assert pullback(np.arange(3.0))[0].tolist() == [0.0, 1.0, 2.0]
    y, pullback = vjp(lambda z: np.c_[z, 2.0], np.array([1.0 + 1.0j]))
    assert y.dtype == complex and pullback(np.array([[1j, 1.0]]))[0].tolist() == [1j]


@pytest.mark.parametrize("f", [
    lambda y: np.sum(np.c_[y[0], y[1:].T, y[2]] ** 3), lambda y: np.sum(np.r_["0,2,1", y[0], y] ** 3),
    lambda y: np.sum(np.insert(y, 1, y[0] ** 2, axis=0) ** 2), lambda y: np.sum(np.i0(y) ** 2),
    lambda y: np.sum(np.linalg.lstsq(y, y[:, 0] ** 2)[0] ** 2), lambda y: np.sum(np.abs(np.roots(y[0])) ** 2),
    lambda y: np.sum(np.piecewise(y, [y < 2.2], [np.sin, lambda v: v**3])),
    lambda y: np.sum(np.abs(np.fft.rfft2(y)) ** 4),
])  # fmt: skip
@pytest.mark.every(3)
def test_second_derivatives(f):
    d, h = np.array([[1.0, -0.5], [0.25, 2.0], [1.5, 1.0]]), 1e-4
    found = jvp(grad(f), (Y,), (d,))[1]
    a, b, c, e = (grad(f)(Y + s * h * d) for s in (1, -1, 2, -2))
    np.testing.assert_allclose(found, (8 * (a - b) - (c - e)) / (12 * h), rtol=1e-6, atol=1e-6)


def test_a_transform_of_one_axis_twice_is_refused():
    f = lambda x: np.sum(np.abs(np.fft.fftn(x, (3, 3), (0, 0))))  # noqa: E731
    with pytest.raises(NotImplementedError, match="one axis twice"):
        grad(f)(X)


@pytest.mark.parametrize("x", [0.0, 1e-9, 0.3, 7.9, 8.0, 8.1, 40.0, -3.0])
def test_bessel_functions_against_mpmath(x):
    mpmath = pytest.importorskip("mpmath")
    f = lambda x: np.i0(x)[()]  # noqa: E731
    slope, second = float(mpmath.besseli(1, x)), float(mpmath.besseli(0, x) + mpmath.besseli(2, x)) / 2
    assert grad(f)(np.float64(x)) == pytest.approx(slope, rel=2e-15)
    assert grad(grad(f))(np.float64(x)) == pytest.approx(second, rel=1e-13)
