"""Lists and tuples that operators take beside arrays: NumPy makes arrays of them, in compiled programs, in
recorded runs and in derivatives of derivatives."""

import collections
import itertools
import operator

import numpy as np
import pytest
from behaviour_checks import recorded
from mutation_checks import central

from ctxdispatch import DerivativeError, grad, jacfwd, jvp

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


# -- beside numbers of NumPy's, which compute with lists as arrays do ----------------------------------------

ARITHMETIC = "add sub truediv iadd"
CONTAINERS = {
    "list": lambda v: [v, 2.0], "tuple": lambda v: (v, 2.0), "constants": lambda v: [1.5, 2.0],
    "deque": lambda v: collections.deque([v, 2.0]),
}  # fmt: skip
NUMBERS = {
    "varying": lambda v: v * v, "integer": lambda v: np.int64(2), "constant": lambda v: np.float64(1.5),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ARITHMETIC.split())
@pytest.mark.parametrize("container, number", [*itertools.product(CONTAINERS, NUMBERS)])
@pytest.mark.parametrize("way", [lambda f: f, recorded], ids=["compiled", "recorded"])
def test_lists_beside_numbers_of_numpys(name, container, number, way):
    """Right, or refused, where the plain call returns; with the varying number on either side."""
    function, items, value = getattr(operator, name), CONTAINERS[container], NUMBERS[number]

    def left(x):
        return np.sum(np.asarray(function(items(x[0]), value(x[1]))) * x[0])

    def right(x):
        return np.sum(np.asarray(function(value(x[1]), items(x[0]))) * x[0])

    for f in map(way, (left, right)):
        try:
            slopes = central(f, X)
        except (TypeError, ValueError):
            continue
        for mode in (grad, jacfwd):
            try:
                np.testing.assert_allclose(mode(f)(X.copy()), slopes, rtol=1e-5, atol=1e-6)
            except DerivativeError as error:
                assert container == "deque" or not isinstance(value(1.0), np.inexact), error


def of_objects(x):
    a = np.array([x[0], 0.5], object)
    return a[0] * a[1]


def of_objects_by_number(x):
    a = np.array([x[0], float(x[1])], object)
    return a[0] * a[1]


def rows_of_objects(x):
    a = np.array([[float(x[0]), x[1]], [1, 2.0]], object)
    return a[0, 0] * a[0, 1] * a[1, 1]


@pytest.mark.parametrize("mode", [grad, jacfwd])
@pytest.mark.parametrize("f", [of_objects, of_objects_by_number, rows_of_objects])
def test_arrays_of_objects_made_of_lists(f, mode):
    np.testing.assert_allclose(mode(f)(X.copy()), central(f, X), rtol=1e-6)
