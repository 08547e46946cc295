"""Derivatives of derivatives of functions that have no program."""

import re

import numpy as np
import pytest

from ctxdispatch import explain, grad, hessian, hvp, jacfwd, jacobian, jacrev, jvp, value_and_grad
from tests.behaviours.mutation_checks import central

X, V = np.array([0.3, -0.5, 0.7]), np.array([1.0, 2.0, -0.5])


def named(x):
    names = [m.group(1) for m in re.finditer(r"(\w)=", "a=1 b=2")]
    return {name: x * (i + 1.0) for i, name in enumerate(names)}


def plain(x):
    d = named(x)
    return np.sum(d["a"] ** 3) + np.sum(d["b"] * d["a"][::-1])


def branching(x):
    d = named(x)
    return np.sum(d["a"] ** 3) if d["b"][0] > 0 else np.sum(np.sin(d["b"]))


def with_data(x, scale=2.0, shift=None):
    d = named(x * scale)
    return np.sum(d["a"] ** 3) * (1.0 if shift is None else shift)


def captured(k):
    def f(x):
        return np.sum(named(x)["a"] ** 3) * k

    return f


FUNCTIONS = [plain, branching, with_data, lambda x: with_data(x, shift=3.0), captured(2.0), captured(-3.0)]


def hessian_by_rows(f, x):
    return np.array([central(lambda x: grad(f)(x)[i], x) for i in range(x.size)])


@pytest.mark.parametrize("f", FUNCTIONS)
@pytest.mark.parametrize("make", [hessian, lambda f: jacfwd(grad(f)), lambda f: jacrev(grad(f))])
def test_hessians(f, make):
    h = make(f)
    for sign in (1.0, 1.0, -1.0, 1.0, -1.0, 1.0):
        np.testing.assert_allclose(h(sign * X), hessian_by_rows(f, sign * X), rtol=1e-5, atol=1e-6)
    assert explain(h)(X).regions[0].tier == "compiled as a trace"


@pytest.mark.parametrize("f", FUNCTIONS)
def test_products(f):
    for _ in range(3):
        np.testing.assert_allclose(hvp(f, (X,), (V,)), hessian_by_rows(f, X) @ V, rtol=1e-5, atol=1e-6)


def test_of_values_and_gradients():
    f = lambda x: value_and_grad(plain)(x)[1] * 2.0  # noqa: E731
    for _ in range(3):
        np.testing.assert_allclose(jacobian(f)(X), 2.0 * hessian_by_rows(plain, X), rtol=1e-5, atol=1e-6)


def test_third():
    along = lambda x: jvp(hessian(plain), (x,), (V,))[1]  # noqa: E731
    expected = central(lambda t: hessian_by_rows(plain, X + t * V)[0, 0], 0.0, 1e-3)
    for _ in range(3):
        np.testing.assert_allclose(along(X)[0, 0], expected, rtol=1e-3)


@pytest.mark.parametrize("argnums", [0, 1, (0, 1)])
def test_of_some_arguments(argnums):
    def f(x, y):
        return np.sum(named(x)["a"] ** 2 * y**3)

    h = hessian(f, argnums)
    for _ in range(4):
        found = h(X, V)
    both = np.diag(2 * V**3), np.diag(6 * X * V**2), np.diag(6 * X**2 * V)
    if argnums == (0, 1):
        np.testing.assert_allclose([*found[0], *found[1]], [both[0], both[1], both[1], both[2]])
    else:
        np.testing.assert_allclose(found, both[2 * argnums])
