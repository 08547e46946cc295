"""Arrays that loops carry and read parts of: their cotangents are collected in arrays of the sweep's own, and
leave these where they are passed on."""

import numpy as np
import pytest

from ctxdispatch import grad, hessian, jvp


def rotation(y):
    return np.array([y[1] * y[1], -y[0] * 0.5])


def euler(y):
    for _ in range(4):
        y = y + 0.1 * rotation(y)
    return (y * y).sum()


def heun(y):
    for _ in range(3):
        slope = rotation(y)
        y = y + 0.05 * (slope + rotation(y + 0.1 * slope))
    return y[0] * y[1]


def while_large(y):
    while y[0] < 3.0:
        y = y * np.array([2.0, y[1]])
    return y.sum() * y[1]


def replaced(y):
    for i in range(3):
        y = np.array([y[1], y[0] * y[i % 2]])
    return y[0] * y[0] + y[1]


def replaced_if(y):
    for i in range(4):
        if y[0] > y[1]:
            y = y[::-1] * 1.5
        else:
            y = y + np.stack([y[i % 2], y[0]])
    return y @ y


def nested(y):
    for _ in range(2):
        for i in range(2):
            y = y + np.sin(y) * y[i]
        y = y / (1.0 + y[0] * y[0])
    return (y**3).sum()


def two_carried(y):
    z = y * 2.0
    for i in range(3):
        y, z = z + np.array([y[1], z[0]]), y * z[i % 2]
    return (y * z).sum()


def of_columns(y):
    matrix = np.outer(y, y)
    for i in range(2):
        matrix = matrix @ np.stack([matrix[i], matrix[:, 1 - i]])
    return np.log(matrix.sum() ** 2)


MATRIX = np.array([[0.5, -1.0], [0.3, 0.8]])


def handed_on(n, y):
    """Each variable is what the one before it was: after n steps the cotangent of the last is zero."""
    a, b, c = MATRIX @ y, MATRIX.T @ y, (MATRIX * 2.0) @ y
    for _ in range(n):
        a, b, c = MATRIX @ a, a, b
    return a @ y + b.sum() + c[0] * y[1]


def by_unknown_function(y):
    for step in [rotation, lambda v: np.array([v[0], v[0] * v[1]])]:
        y = y + step(y)
    return (y * y).sum()


FUNCTIONS = (
    euler, heun, while_large, replaced, replaced_if, nested, two_carried, of_columns, by_unknown_function,
)  # fmt: skip


@pytest.mark.parametrize("y", [np.array([0.7, 1.3]), np.array([1.9, 0.4])], ids=["rising", "falling"])
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_reverse_is_forward(f, y):
    units = np.eye(2)
    expected = [(f(y + 1e-6 * e) - f(y - 1e-6 * e)) / 2e-6 for e in units]
    found = grad(f)(y)
    assert found.dtype == y.dtype and found.shape == y.shape
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-8)
    assert found == pytest.approx([jvp(f, (y,), (e,))[1] for e in units], rel=1e-12)


@pytest.mark.every(3)
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_second_derivatives(f):
    y = np.array([0.7, 1.3])
    expected = [(grad(f)(y + 1e-6 * e) - grad(f)(y - 1e-6 * e)) / 2e-6 for e in np.eye(2)]
    assert hessian(f)(y) == pytest.approx(np.array(expected), rel=1e-5, abs=1e-7)


def test_rows_read_within_rows():
    def total(m):
        s = 0.0
        for i in range(2):
            row = m[i]
            for j in range(2):
                s = s + row[j] ** 2 * row[1 - j]
        return s

    m = np.array([[1.0, 2.0], [3.0, 4.0]])
    units = np.eye(4).reshape(4, 2, 2)
    expected = [(total(m + 1e-6 * e) - total(m - 1e-6 * e)) / 2e-6 for e in units]
    assert grad(total)(m).ravel() == pytest.approx(expected, rel=1e-7)
    second = [(grad(total)(m + 1e-6 * e) - grad(total)(m - 1e-6 * e)).ravel() / 2e-6 for e in units]
    assert hessian(total)(m).reshape(4, 4) == pytest.approx(np.array(second), rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("n", range(5))
def test_what_is_handed_on(n):
    y = np.array([0.7, -1.2])
    wanted = [jvp(lambda y: handed_on(n, y), (y,), (e,))[1] for e in np.eye(2)]
    np.testing.assert_allclose(grad(handed_on, 1)(n, y), wanted)
