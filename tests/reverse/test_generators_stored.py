"""A generator expression whose items are stored into while it is gone through: each item counts as it was."""

import numpy as np
import pytest

from ctxdispatch import grad, jvp

V = np.array([0.5, 1.0, -2.0])


def by_a_function(v):
    buffer = np.zeros(3)

    def fill(i):
        buffer[:] = v * (i + 1)
        return buffer

    return np.sum(sum(fill(i) for i in range(3)) ** 2)


def by_out(v):
    buffer = np.zeros(3)
    return np.sum(sum(np.multiply(v, i, out=buffer) for i in (1.0, 2.0)) ** 2)


def in_place(v):
    w = v.copy()

    def double():
        w.__imul__(2.0)
        return w

    return np.sum(sum((double() for _ in range(3)), v) ** 2)


def a_part(v):
    rows = np.zeros((2, 3))

    def row(i):
        rows[i % 2] = v * i
        return rows[i % 2]

    return np.sum(sum(row(i) for i in range(4)) ** 2)


def a_list_keeps_them(v):
    buffer = np.zeros(3)

    def fill(i):
        buffer[:] = v * (i + 1)
        return buffer

    return np.sum(sum([fill(i) for i in range(3)]) ** 2)


def numbers(v):
    w = v.copy()
    w[0] = v[1]
    return sum(np.sum(w * i) for i in range(3))


@pytest.mark.parametrize("f", [by_a_function, by_out, in_place, a_part, a_list_keeps_them, numbers])
def test_derivatives(f):
    want = np.array([(f(V + e) - f(V - e)) / 2e-5 for e in 1e-5 * np.eye(3)])
    np.testing.assert_allclose(grad(f)(V), want, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(jvp(f, (V,), (V,))[1], want @ V, rtol=1e-6, atol=1e-8)
    assert f(V.copy()) == jvp(f, (V,), (V,))[0]
