"""What is stored may have fewer axes than where it goes, or shorter ones: tangents go where values go, a
block of them along its own axis however many there are (here as many as elements along an axis)."""

import numpy as np
import pytest

from ctxdispatch import grad, jacfwd, jacrev, jvp
from tests.recording import recorded

X = np.array([0.4, -0.7, 1.3])
WEIGHTS = np.arange(1.0, 10.0).reshape(3, 3)

VALUES = {
    "number": lambda x: np.sum(x * x),
    "one": lambda x: x[1:2] * x[0],
    "row": lambda x: np.sin(x),
    "rows": lambda x: np.sin(x).reshape(1, 3),
    "column": lambda x: np.cos(x).reshape(3, 1),
    "square": lambda x: np.outer(x, x),
}  # fmt: skip


def set_(a, v):
    a[...] = v


def multiplied(a, v):
    np.multiply(v, 2.0, out=a)


def of_two(a, v):
    np.add(v, a, out=a)


def masked(a, v):
    np.sin(v, out=a, where=WEIGHTS.ravel()[: a.size].reshape(a.shape) > 1.0)


def split(a, v):
    np.modf(v, np.empty(a.shape), a)
    np.modf(v * 0.25, a, np.empty(a.shape))


def copied(a, v):
    np.copyto(a, v)


def added(a, v):
    a += v


def scaled(a, v):
    a *= v


def added_at(a, v):
    np.add.at(a, [*range(len(a))], v)


def flat(a, v):
    a.flat = np.broadcast_to(v, a.shape)


STORES = [set_, multiplied, of_two, masked, split, copied, added, scaled, added_at, flat]
TARGETS = {"row": (3,), "square": (3, 3), "rows": (1, 3), "column": (3, 1)}


def stored(store, value, shape):
    def f(x):
        a = np.ones(shape) * x[2]
        store(a, VALUES[value](x))
        return a * WEIGHTS.ravel()[: a.size].reshape(shape)

    return f


def fits(value, shape):
    try:
        return np.broadcast_shapes(np.shape(VALUES[value](X)), shape) == shape
    except ValueError:
        return False


CASES = [
    pytest.param(stored(store, value, shape), id=f"{store.__name__} {value} {target}")
    for store in STORES
    for value in VALUES
    for target, shape in TARGETS.items()
    if fits(value, shape)
]


@pytest.mark.parametrize("as_given", [lambda f: f, recorded], ids=["compiled", "recorded"])
@pytest.mark.parametrize("f", CASES)
def test_tangents_go_where_values_go(f, as_given):
    slopes = np.stack([(f(X + 1e-6 * e) - f(X - 1e-6 * e)) / 2e-6 for e in np.eye(3)], -1)
    g = as_given(f)
    for jacobian in (jacfwd, jacrev):
        np.testing.assert_allclose(jacobian(g)(X.copy()), slopes, rtol=1e-6, atol=1e-7)
    along = np.array([1.0, -2.0, 0.5])
    np.testing.assert_allclose(jvp(g, (X.copy(),), (along,))[1], slopes @ along, rtol=1e-6, atol=1e-7)
    sums = grad(lambda x: np.sum(g(x)))(X.copy())
    np.testing.assert_allclose(sums, slopes.reshape(-1, 3).sum(0), atol=1e-6)
