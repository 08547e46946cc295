"""Sparse derivatives at other arguments than those that they were made for."""

import sys
import threading

import numpy as np
import pytest

from ctxdispatch import jacobian_sparsity, sparse_hessian, sparse_jacobian
from ctxdispatch_contexts.sparsity import SparsityError

X = np.arange(1.0, 5.0)


@pytest.mark.parametrize("f, first, second", [
    (lambda x, k: np.roll(x, k), 1, 2),
    (lambda x, i: x[i], np.arange(4), np.array([3, 2, 1, 0])),
    (lambda x, m: x * x if m == "a" else x[::-1], "a", "b"),
    (lambda x, m: np.where(m, x, x[::-1]), X > 2.0, X < 2.0),
])  # fmt: skip
def test_what_is_no_float_must_stay(f, first, second):
    jacobian = sparse_jacobian(f, X, first)
    jacobian(X, first)
    with pytest.raises(SparsityError, match="argument 1 .* now has another value"):
        jacobian(X, second)


def test_floats_may_vary():
    jacobian = sparse_jacobian(lambda x, k: np.roll(x, 1) * k, X, 1.0)
    np.testing.assert_array_equal(jacobian(X, 3.0).toarray(), 3.0 * np.roll(np.eye(4), 1, axis=0))


def test_array_defaults_may_change_in_place():
    scale = np.ones(4)

    def f(x, c=scale):
        return c * x

    def g(x, c=scale):
        return (c * x * x).sum()

    jacobian, hessian = sparse_jacobian(f, X), sparse_hessian(g, X)
    for value in (1.0, 5.0):
        scale[:] = value
        np.testing.assert_array_equal(jacobian(X).toarray(), value * np.eye(4))
        np.testing.assert_array_equal(hessian(X).toarray(), 2.0 * value * np.eye(4))


def test_threads_leave_the_recursion_limit_as_it_was():
    def f(x):
        y = x
        for _ in range(60):
            y = np.sin(y) * x
        return y

    before = sys.getrecursionlimit()
    threads = [threading.Thread(target=lambda: [jacobian_sparsity(f, X) for _ in range(4)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sys.getrecursionlimit() == before
