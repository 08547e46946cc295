"""Arguments that a rule gives no cotangent for are refused by name where they vary, in both modes."""

import numpy as np
import pytest

from ctxdispatch import grad, hessian, jacfwd, jacrev, jvp, vjp
from ctxdispatch_contexts.reverse import DerivativeError

CASES = {
    "rcond": lambda a: np.sum(np.linalg.pinv(np.eye(2) * a, rcond=a / 10)),
    "tol": lambda a: np.sum(np.real_if_close(np.ones(2) * a, tol=a)),
}


@pytest.mark.parametrize("name", CASES)
def test_refused_by_name(name):
    message = rf"{__name__}.py:\d+ in <lambda>: .* with respect to its argument '{name}'"
    with pytest.raises(DerivativeError, match=message):
        grad(CASES[name])(0.6)
    with pytest.raises(DerivativeError, match=message):
        jvp(CASES[name], (0.6,), (1.0,))


def test_constants_there_are_no_matter():
    f = lambda a: np.sum(np.linalg.pinv(np.eye(2) / a, rcond=0.1))  # noqa: E731
    assert grad(f)(0.6) == jvp(f, (0.6,), (1.0,))[1] == pytest.approx(2.0)


WHOLE = np.array([1, 2, 5])


def padded(x):
    return np.pad(WHOLE, 1, constant_values=x[0])


def padded_by_a_ramp(x):
    return np.pad(WHOLE, 1, mode="linear_ramp", end_values=x[0])


def inserted(x):
    return np.insert(WHOLE, [0, 1], x[:2])


@pytest.mark.parametrize("f", [padded, padded_by_a_ramp, inserted])
def test_what_is_put_into_whole_numbers_is_rounded(f):
    x = np.array([0.7, 1.3])
    y, pullback = vjp(f, x)
    assert y.dtype == WHOLE.dtype
    assert np.array_equal(pullback(np.ones(y.shape))[0], [0.0, 0.0])
    assert np.array_equal(jvp(lambda x: f(x) * 0.5, (x,), (x,))[1], np.zeros(y.shape))
    assert np.array_equal(jacfwd(lambda x: f(x) * 0.5)(x), np.zeros((*y.shape, 2)))
    assert np.array_equal(jacrev(lambda x: f(x) * x[1])(x)[:, 1], y)
    assert np.array_equal(hessian(lambda x: (f(x) * x[1] ** 2).sum())(x), [[0.0, 0.0], [0.0, 2.0 * y.sum()]])


def test_a_step_between_whole_numbers():
    x, slopes = np.array([0.7]), np.array([1.0, 2.0, 3.0])
    assert np.allclose(jacrev(lambda x: np.gradient(WHOLE, x[0]))(x)[:, 0], -slopes / 0.49)
    assert np.allclose(jacfwd(lambda x: np.gradient(WHOLE, x[0]))(x)[:, 0], -slopes / 0.49)
