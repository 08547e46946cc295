"""Tangents of factorisations are made of their rules' types: nothing in them is left to be found out at run
time, which took seconds."""

import numpy as np
import pytest

from ctxdispatch import jacfwd

TALL = np.random.default_rng(0).standard_normal((4, 3))
SYMMETRIC = TALL.T @ TALL + np.diag([1.0, 2.0, 3.0])
B = np.arange(4.0)


def of_symmetric(f):
    """Functions that read one triangle, of whole symmetric matrices."""
    return lambda a: f(0.5 * (a + a.T))


CASES = {
    "cholesky": (of_symmetric(np.linalg.cholesky), SYMMETRIC),
    "eigh": (of_symmetric(lambda a: np.abs(np.linalg.eigh(a)[1])), SYMMETRIC),
    "eigenvalues": (of_symmetric(lambda a: np.linalg.eigh(a)[0]), SYMMETRIC),
    "q": (lambda a: np.linalg.qr(a)[0], TALL),
    "r, wide": (lambda a: np.linalg.qr(a).R, TALL.T.copy()),
    "svd": (lambda a: np.linalg.svd(a, full_matrices=False).S, TALL),
    "lstsq": (lambda a: np.linalg.lstsq(a, B, rcond=None)[0], TALL),
    "residuals": (lambda a: np.linalg.lstsq(a, B, rcond=None)[1], TALL),
    "eye": (lambda a: a @ np.eye(a.shape[1], 2, dtype=a.dtype) + np.identity(a.shape[0])[:, :2], TALL),
    "pad": (lambda a: np.pad(a, 1, mode="reflect") ** 2, TALL),
}


@pytest.mark.parametrize("name", CASES)
def test_jacobians_are_those_of_central_differences(name):
    f, x = CASES[name]
    found, h = jacfwd(f)(x), 1e-6
    for at in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[at] = h
        central = (f(x + step) - f(x - step)) / (2 * h)
        np.testing.assert_allclose(found[(..., *at)], central, rtol=1e-5, atol=1e-7)


def test_residuals_that_are_missing_have_no_tangent_either():
    singular = np.ones((4, 2))
    found = jacfwd(lambda a: np.linalg.lstsq(a, B, rcond=None)[1])(singular)
    assert found.shape == (0, 4, 2)
