"""Subclasses of np.ndarray within functions of arrays: their operators are their own, their derivatives are
those of what they compute."""

import contextlib

import numpy as np
import pytest
from mutation_checks import both_modes

from ctxdispatch import grad, hessian, jacfwd, jvp

pytestmark = pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
M = np.matrix([[1.0, 2.0], [3.0, 4.0]])
AT = np.array([[0.5, 0.2], [0.1, 0.7]])
ALONG = np.array([[0.3, -0.2], [0.4, 0.1]])


class Adding(np.ndarray):
    """`*` adds."""

    def __mul__(self, other):
        return np.add(self, other)

    __rmul__ = __mul__


def stored_to(x):
    b = np.asmatrix(x) * 1.0
    column = b[:, 1]
    column[0] = b[1, 0] * 3
    b[1] *= 2
    return (b * column).sum()


def by_rows(x):
    total = 0.0
    for row in np.asmatrix(x):
        total = total + float((row * row.T)[0, 0])
    return total


PROGRAMS = {
    "multiply": lambda x: np.asarray(np.multiply(x, M)).sum(),
    "multiply, one": lambda x: np.asarray(np.multiply(x, M) ** 1)[0, 1],
    "product": lambda x: np.asarray(x * M)[0, 1],
    "divide": lambda x: np.asarray(np.divide(x, M)).sum(),
    "under": lambda x: np.asarray(M / x).sum(),
    "minus": lambda x: np.asarray(M - x * x)[0, 1],
    "sin": lambda x: np.asarray(np.sin(np.asmatrix(x)) * M)[0, 1],
    "exp": lambda x: np.exp(np.asmatrix(x)).sum(),
    "power": lambda x: np.asarray(np.power(np.asmatrix(x), 2)).sum(),
    "squared": lambda x: np.asarray(np.asmatrix(x) ** 2).sum(),
    "quadratic": lambda x: float((np.asmatrix(x) * M * np.asmatrix(x).T).sum()),
    "inverse": lambda x: np.asarray(np.asmatrix(x).I)[0, 1],
    "as arrays": lambda x: np.sum(np.multiply(np.asmatrix(x), M).A * 3.0) * np.asmatrix(x).A1[2],
    "sums": lambda x: np.asmatrix(x).sum(axis=0)[0, 1] * np.asmatrix(x).mean(1)[1, 0],
    "parts": lambda x: float((np.asmatrix(x)[0] * np.asmatrix(x)[:, 1]).sum()),
    "joined": lambda x: np.concatenate([np.asmatrix(x), M]).T[0, 1] * np.dot(M, x)[0, 1] * (M @ x)[1, 1],
    "stored to": stored_to,
    "by rows": by_rows,
    "own operators": lambda x: np.asarray(np.exp(x.view(Adding))).sum(),
    "own operators, used": lambda x: np.asarray(np.multiply(x.view(Adding) * 2.0 * x, x)).sum(),
}


def differences(f, x, e=1e-5):
    moved = np.eye(4).reshape(4, 2, 2)
    return np.stack([(f(x + e * d) - f(x - e * d)) / (2 * e) for d in moved]).reshape(2, 2, *np.shape(f(x)))


@pytest.mark.parametrize("name", PROGRAMS)
def test_derivatives_are_those_of_what_is_computed(name):
    f = PROGRAMS[name]
    want = differences(f, AT)
    value, tangent = jvp(f, (AT,), (ALONG,))
    assert value == f(AT)
    np.testing.assert_allclose(tangent, np.sum(want * ALONG), rtol=1e-6)
    np.testing.assert_allclose(grad(f)(AT), want, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(jacfwd(f)(AT), want, rtol=1e-6, atol=1e-9)


@pytest.mark.night("quadratic")
@pytest.mark.parametrize("name", ["quadratic", "own operators, used"])
def test_second_derivatives(name):
    f = PROGRAMS[name]
    np.testing.assert_allclose(hessian(f)(AT), differences(grad(f), AT), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("call", [np.dot, np.inner, np.outer, np.multiply.outer, np.kron])
def test_products_with_a_number_in_blocks_of_tangents(call):
    np.testing.assert_allclose(jacfwd(lambda x: np.sum(call(x, 2.0)))(AT), np.full((2, 2), 2.0))
    np.testing.assert_allclose(jacfwd(lambda x: np.sum(call(2.0, x)))(AT), np.full((2, 2), 2.0))


class Own(np.ndarray):
    """Its operations in Python code end with those of np.ndarray."""

    def __getitem__(self, index):
        return 2.0 * super().__getitem__(index)

    def __setitem__(self, index, value):
        super().__setitem__(index, 3.0 * value)

    def __iadd__(self, other):
        return super().__iadd__(2.0 * other)


HELD = np.array([1.0, 2.0, 3.0]).view(Own)


def items_of_a_constant(x):
    with contextlib.nullcontext():
        return (HELD[0] + HELD[1:].sum()) * x[0] * x[1]


def stores_into_what_is_constant(x):
    with contextlib.nullcontext():
        held = np.zeros(2).view(Own)
        held[0] = 1.0
        held += np.ones(2)
        return np.asarray(held).sum() * x[0] * x[1]


def gone_through(x):
    with contextlib.nullcontext():
        own = (x * 1.0).view(Own)
        products = sum(a * b for a, b in zip(own, x, strict=True))
        return sum(own) * sum(HELD) + next(reversed(own)) * x[0] + products


@pytest.mark.parametrize("f", [items_of_a_constant, stores_into_what_is_constant, gone_through])
def test_methods_of_the_class_run_once(f):
    both_modes(f, np.array([0.7, 1.3]))
