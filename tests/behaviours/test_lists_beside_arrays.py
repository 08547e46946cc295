"""Lists and tuples that operators take beside arrays: NumPy makes arrays of them, in compiled programs, in
recorded runs and in derivatives of derivatives."""

import numpy as np
import pytest

from ctxdispatch import grad, jvp

X = np.array([0.3, 1.6])
LIST, TUPLE, ROWS = [1.0, 2.0], (3.0, 4.0), [[1.0, 2.0], [3.0, 4.0]]


def from_the_left(x):
    return (LIST * x).sum()


def added(x):
    return ((LIST + x) * x).sum()


def a_tuple(x):
    return (TUPLE * x * x).sum()


def rows(x):
    return (ROWS * x).sum()


def repeated_before(x):
    items = [1.0]
    items *= 2
    return (items * x).sum()


def in_place(x):
    a = x * 1.0
    a *= LIST
    a += TUPLE
    return (a * a).sum()


def of_numbers_that_vary(x):
    return ([x[0], x[1] * 2] * x).sum()


def of_numbers_that_vary_from_the_right(x):
    return (x * [x[0], x[1] * 2]).sum()


PROGRAMS = [
    from_the_left,
    added,
    a_tuple,
    rows,
    repeated_before,
    in_place,
    of_numbers_that_vary,
    of_numbers_that_vary_from_the_right,
]


@pytest.mark.parametrize("f", PROGRAMS)
def test_derivatives_are_those_of_differences(f):
    slopes = np.array([(f(X + 1e-6 * e) - f(X - 1e-6 * e)) / 2e-6 for e in np.eye(2)])
    np.testing.assert_allclose(grad(f)(X.copy()), slopes, rtol=1e-6, atol=1e-8)
    tangents = [jvp(f, (X.copy(),), (e,))[1] for e in np.eye(2)]
    np.testing.assert_allclose(tangents, slopes, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("f", PROGRAMS)
def test_second_derivatives_too(f):
    bends = np.array([(grad(f)(X + 1e-6 * e) - grad(f)(X - 1e-6 * e)) / 2e-6 for e in np.eye(2)])
    found = [jvp(grad(f), (X.copy(),), (e,))[1] for e in np.eye(2)]
    np.testing.assert_allclose(found, bends, rtol=1e-5, atol=1e-6)
    swept = grad(lambda x: (grad(f)(x) * np.array([1.0, 2.0])).sum())(X.copy())
    np.testing.assert_allclose(swept, bends @ [1.0, 2.0], rtol=1e-5, atol=1e-6)
