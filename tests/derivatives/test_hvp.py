"""Hessians times vectors: of what varies, the rest being data."""

import numpy as np
import pytest

from ctxdispatch import grad, hessian, hvp, linearize
from ctxdispatch_contexts.programs.errors import DerivativeError


def loss(p, x, q):
    return np.sum(np.tanh(x @ p) ** 2) + np.sum(p * q) * np.sum(q**2)


@pytest.fixture
def args():
    rng = np.random.default_rng(0)
    return rng.normal(size=3), rng.normal(size=(4, 3)), rng.normal(size=3)


def test_a_primal_without_a_tangent_is_data(args):
    p, x, q = args
    v = np.array([1.0, -2.0, 0.5])
    found = hvp(loss, (p, x, q), (v, None, None))
    np.testing.assert_allclose(found, hessian(loss)(p, x, q) @ v, rtol=1e-12)


def test_several_that_vary_give_a_tuple(args):
    p, x, q = args
    v, w = np.array([1.0, -2.0, 0.5]), np.array([0.3, 0.0, 1.0])
    found = hvp(loss, (p, x, q), (v, None, w))
    (pp, pq), (qp, qq) = hessian(loss, argnums=(0, 2))(p, x, q)
    assert isinstance(found, tuple) and len(found) == 2
    np.testing.assert_allclose(found[0], pp @ v + pq @ w, rtol=1e-12)
    np.testing.assert_allclose(found[1], qp @ v + qq @ w, rtol=1e-12)


def test_a_tangent_that_does_not_fit_is_refused(args):
    with pytest.raises(DerivativeError):
        hvp(loss, args, (np.ones(4), None, None))


def test_within_a_program_that_is_differentiated(args):
    p, x, q = args
    v = np.array([1.0, -2.0, 0.5])

    def first(p):
        return hvp(loss, (p, x, q), (v, None, None))[0]

    found, h = grad(first)(p), 1e-5
    expected = [(first(p + e) - first(p - e)) / (2 * h) for e in h * np.eye(3)]
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("f", [
    lambda x: np.sum((x**2)[1:]), lambda x: np.trapezoid(x**2), lambda x: np.sum((x**3)[1:]),
])  # fmt: skip
def test_third_derivatives_are_finite(f):
    """Zero cotangents of slices are zero."""
    x = np.array([0.3, 0.5, 0.9])
    h = 1e-4
    total = lambda x: np.sum(hessian(f)(x))  # noqa: E731
    expected = [(total(x + h * e) - total(x - h * e)) / (2 * h) for e in np.eye(3)]
    np.testing.assert_allclose(grad(total)(x), expected, atol=1e-6)


def test_linearize_within_a_differentiated_function():
    x = np.array([0.3, -0.5, 1.0])
    found = grad(lambda s: np.sum(linearize(lambda x: s * x**2, x)[1](x)))(2.0)
    np.testing.assert_allclose(found, 2.0 * np.sum(x**2))
