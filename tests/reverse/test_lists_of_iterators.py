"""Lists and tuples of what iterators give, of which some items are read."""

import numpy as np
import pytest

from ctxdispatch import explain, grad, hessian, jvp

X = np.array([0.3, -0.7, 1.1, 0.4])


def of_zip(v):
    found = list(zip(v, v[1:]))
    return found[0][0] * found[-1][1]


def of_enumerate(v):
    found = list(enumerate(v, 1))
    return found[1][0] * found[-1][1] ** 2


def of_enumerate_of_zip(v):
    found = tuple(enumerate(zip(v, v[1:]), 1))
    return found[2][1][1] * found[1][0] * found[0][1][0] ** 2


def of_reversed(v):
    found = list(reversed([t * 2.0 for t in v]))
    return found[0] * found[1] ** 2


def of_reversed_arrays(v):
    found = list(reversed(v))
    return found[0] * found[-1] ** 2


def of_zip_of_reversed(v):
    found = tuple(zip(v, reversed([t * t for t in v])))
    return found[0][1] * found[1][0] ** 2


def of_values(v):
    found = list({"a": v[0] * 2.0, "b": v[1], "c": v[2]}.values())
    return found[0] * found[1]


def of_items(v):
    found = list({"a": v[0] * 2.0, "b": v[1]}.items())
    return found[0][1] * found[-1][1]


def of_map(v):
    found = list(map(lambda a, b: (a * b, a), v, v[1:]))
    return found[1][0] * found[-1][1]


def of_rows(v):
    found = list(enumerate(np.outer(v, v)))
    return found[1][1][2] * found[-1][1][0]


PROGRAMS = [
    of_zip, of_enumerate, of_enumerate_of_zip, of_reversed, of_reversed_arrays, of_zip_of_reversed, of_values,
    of_items, of_map, of_rows,
]  # fmt: skip


def differences(f):
    return np.array([(f(X + e) - f(X - e)) / 2e-6 for e in np.eye(4) * 1e-6])


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_derivatives(f):
    np.testing.assert_allclose(grad(f)(X), differences(f), atol=1e-6)
    np.testing.assert_allclose(hessian(f)(X), differences(grad(f)), atol=1e-6)
    np.testing.assert_allclose(jvp(f, (X,), (np.ones(4),))[1], differences(f).sum(), atol=1e-6)
    assert {region.tier for region in explain(grad(f))(X).regions} == {"compiled whole"}
