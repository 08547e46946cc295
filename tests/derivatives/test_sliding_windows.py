"""`sliding_window_view`: its derivative in every mode, and that its result is a view."""

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

from ctxdispatch import grad, hessian, jacfwd, jacobian, jacobian_sparsity, jvp

X = np.linspace(0.3, 2.1, 7)
M = np.linspace(-1.0, 1.0, 20).reshape(4, 5)


def along(x):
    return np.sum(sliding_window_view(x, 3).max(axis=1) ** 2)


def both(m):
    return np.sum(np.tanh(sliding_window_view(m, (2, 3)) * np.arange(6.0).reshape(2, 3)))


def one_axis(m):
    return np.sum(sliding_window_view(m, 2, axis=1) ** 2)


def same_axis_twice(m):
    return np.sum(sliding_window_view(m, (2, 2), axis=(0, 0)) ** 3)


def then_stored(x):
    b = x * 1.0
    w = sliding_window_view(b, 3)
    b[0] = b[1] ** 2
    return np.sum(w * w * np.arange(1.0, 4.0))


def stored_through(x):
    b = x * 1.0
    w = sliding_window_view(b, 3, writeable=True)
    w[1, 0] = b[4] * b[5]
    return np.sum(b**3)


def stored_slices(x):
    b = np.zeros(9)
    for i in range(7):
        b[i + 1] = x[i]
    w = sliding_window_view(b, 3)
    b[2:4] *= x[0]
    return np.sum(w.sum(axis=-1) ** 2)


def in_try(x):
    try:
        return np.sum(sliding_window_view(x, 4).mean(axis=-1) ** 2)
    finally:
        eval("None", {})


def of_complex(x):
    return np.sum(np.abs(sliding_window_view(x * (1 + 2j), 2).sum(axis=1)) ** 2)


CASES = [
    (along, X), (both, M), (one_axis, M), (same_axis_twice, M), (then_stored, X), (stored_through, X),
    (stored_slices, X), (in_try, X), (of_complex, X),
]  # fmt: skip


def differences(f, x):
    steps = np.eye(x.size).reshape(x.size, *x.shape) * 1e-6
    return np.array([(f(x + s) - f(x - s)) / 2e-6 for s in steps]).reshape(x.shape)


@pytest.mark.parametrize(("f", "x"), CASES, ids=lambda each: getattr(each, "__name__", ""))
def test_in_every_mode(f, x):
    expected = differences(f, x)
    for _ in range(3):
        np.testing.assert_allclose(grad(f)(x), expected, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(jacfwd(f)(x), expected, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(jvp(f, (x,), (np.ones_like(x),))[1], expected.sum(), rtol=1e-5, atol=1e-9)
    assert not np.any(expected.reshape(-1)[jacobian_sparsity(f, x).toarray()[0] == 0])


@pytest.mark.parametrize(("f", "x"), CASES[:6], ids=lambda each: getattr(each, "__name__", ""))
def test_second(f, x):
    expected = [differences(lambda v, i=i: grad(f)(v).reshape(-1)[i], x) for i in range(x.size)]
    found = np.asarray(hessian(f)(x)).reshape(x.size, -1)
    np.testing.assert_allclose(found, np.reshape(expected, (x.size, -1)), rtol=1e-4, atol=1e-5)


def test_pattern_is_that_of_the_windows():
    def f(x):
        return sliding_window_view(x, 3).sum(axis=1)

    np.testing.assert_array_equal(jacobian_sparsity(f, X).toarray(), jacobian(f)(X) != 0.0)
