"""Matrices made of eigenvalues that are equal, which they are in the result but for rounding.

What does not depend on the basis that is found for equal ones is right; what may depend on it is nan, in
every mode. Eigenvalues that are equal share their derivatives.
"""

import numpy as np
import pytest

from ctxdispatch import grad, hessian, jacfwd, jacrev

DIAGONALS = [[2.0, 2.0, 5.0], [-2.0, -2.0, 1.0, 1.0, 4.0], [0.0, 0.0, 0.0, 7.0], [1e6, 1.0, 1.0, 1.0]]
MODES = [grad, jacfwd]
each_matrix = pytest.mark.parametrize("diagonal", DIAGONALS, ids=str)
each_mode = pytest.mark.parametrize("mode", MODES)


def rotation(n, seed, kind="d"):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(n, n)) + (1j * rng.normal(size=(n, n)) if kind == "D" else 0.0)
    return np.linalg.qr(a)[0]


def made_of(diagonal, seed=3, kind="d"):
    q = rotation(len(diagonal), seed, kind)
    a = (q * np.array(diagonal)) @ q.conj().T
    return (a + a.conj().T) / 2, q


def of_triangle(full):
    """The cotangent of the lower triangle, from that of the symmetric matrix."""
    return np.tril(full) + np.tril(full, -1)


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6 * max(1.0, np.abs(expected).max()))


@pytest.mark.every(6)
@each_mode
@each_matrix
def test_sums_of_functions_of_eigenvalues(mode, diagonal):
    a, q = made_of(diagonal)
    size = max(diagonal)
    expected = of_triangle((q * np.cos(np.array(diagonal) / size) / size) @ q.T)
    close(mode(lambda a: np.sum(np.sin(np.linalg.eigvalsh(a) / size)))(a) * size, expected * size)
    close(mode(lambda a: np.sum(np.sin(np.linalg.eigh(a)[0] / size)))(a) * size, expected * size)
    full = (q * np.cos(np.array(diagonal) / size)) @ q.T
    found = mode(lambda a: np.sum(np.sin(np.linalg.eigvals(a) / size)).real)(a) * size
    np.testing.assert_allclose(found, full, rtol=1e-6, atol=1e-6)


@pytest.mark.every(6)
@each_mode
@each_matrix
def test_one_of_equal_eigenvalues_shares_with_the_others(mode, diagonal):
    a, q = made_of(diagonal)
    order = np.sort(diagonal)
    for i in range(len(order)):
        same = np.array(diagonal) == order[i]
        expected = of_triangle((q * same / np.count_nonzero(same)) @ q.T)
        close(mode(lambda a, i=i: np.linalg.eigvalsh(a)[i])(a), expected)


@pytest.mark.every(6)
@each_mode
@each_matrix
def test_vectors_of_equal_eigenvalues_have_no_derivative(mode, diagonal):
    a, _ = made_of(diagonal)
    order = np.sort(diagonal)
    for i in range(len(order)):
        equal = np.count_nonzero(order == order[i]) > 1
        found = mode(lambda a, i=i: np.linalg.eigh(a)[1][0, i] ** 2)(a)
        assert np.isnan(found).any() == equal
        if not equal:
            close(found, slopes(lambda a, i=i: np.linalg.eigh(a)[1][0, i] ** 2, a))


@pytest.mark.every(6)
@each_matrix
def test_functions_of_the_matrix_are_nan_where_their_derivative_is_not_told(diagonal):
    """(f_i - f_j) / (w_i - w_j) would be a ratio of rounding errors."""
    a, _ = made_of(diagonal)

    def root(a):
        w, v = np.linalg.eigh(a)
        return ((v * np.exp(w / np.max(np.abs(w)))) @ v.T)[0, 1]

    assert all(np.isnan(mode(root)(a)).any() for mode in MODES)


def slopes(f, a):
    """Of functions of the lower triangle."""
    h = 1e-6 * np.abs(a).max()
    found = np.zeros_like(a)
    for i, j in zip(*np.tril_indices(len(a))):
        d = np.zeros_like(a)
        d[i, j] = h
        found[i, j] = (f(a + d) - f(a - d)) / (2 * h)
    return found


SECOND = {
    "values": lambda a: np.sum(np.linalg.eigvalsh(a) ** 3),
    "vectors": lambda a: np.sum(np.linalg.eigh(a)[1][:, 0] ** 2 * np.arange(len(a))),
    "of any matrix": lambda a: np.sum(np.linalg.eigvals(a) ** 3).real,
}


@pytest.mark.every(6)
@pytest.mark.parametrize("name", SECOND)
def test_second_derivatives_are_not_numbers(name):
    """They ask for vectors. None of the modes says a number, which could be right by chance alone."""
    a, _ = made_of([1.0, 1.0, 4.0])
    f = SECOND[name]
    for second in (hessian, lambda f: jacrev(grad(f))):
        assert np.isnan(second(f)(a)).any()


def test_second_derivatives_of_the_largest():
    """Right, or nan."""
    a, _ = made_of([1.0, 1.0, 4.0])

    def f(a):
        return np.linalg.eigvalsh(a)[-1] ** 2

    first, h = grad(f), 1e-6
    found = jacrev(first)(a)
    for i, j in zip(*np.tril_indices(3)):
        d = np.zeros((3, 3))
        d[i, j] = h
        expected = (first(a + d) - first(a - d)) / (2 * h)
        np.testing.assert_allclose(
            found[:, :, i, j][np.tril_indices(3)], expected[np.tril_indices(3)], atol=1e-6
        )
    assert np.isnan(hessian(f)(a)).any()


SHAPES = [(3, 3), (5, 3)]


@pytest.mark.every(30)
@each_mode
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("diagonal", [[2.0, 2.0, 5.0], [4.0, 1e-3, 1e-3]], ids=str)
def test_singular_values(mode, shape, diagonal):
    k, (m, n) = min(shape), shape
    u, v = rotation(m, 1)[:, :k], rotation(n, 2)[:, :k]
    a = (u * np.array(diagonal)) @ v.T
    expected = (u * np.array(diagonal) * 2) @ v.T
    np.testing.assert_allclose(mode(lambda a: np.sum(np.linalg.svd(a)[1] ** 2))(a), expected, atol=1e-12)
    found = mode(lambda a: np.sum(np.linalg.svd(a, compute_uv=False) ** 2))(a)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    order = -np.sort(-np.array(diagonal))
    for i in range(k):
        equal = np.count_nonzero(order == order[i]) > 1
        for part in (lambda u, s, v, i=i: u[0, i] ** 2, lambda u, s, v, i=i: v[i, 0] ** 2):
            assert (
                np.isnan(mode(lambda a, p=part: p(*np.linalg.svd(a, full_matrices=False)))(a)).any() == equal
            )


@pytest.mark.every(6)
@each_mode
def test_vectors_of_a_singular_value_that_is_zero(mode):
    """A square matrix has one of each, a longer one a space of them."""
    u, v = rotation(4, 1), rotation(3, 2)
    tall, square = (u[:, :3] * [3.0, 2.0, 0.0]) @ v.T, (v * [3.0, 2.0, 0.0]) @ u[:3, :3].T
    square = (v * [3.0, 2.0, 0.0]) @ rotation(3, 5).T

    def left(a):
        return np.linalg.svd(a, full_matrices=False)[0][0, 2] ** 2

    def right(a):
        return np.linalg.svd(a, full_matrices=False)[2][2, 0] ** 2

    assert np.isnan(mode(left)(tall)).any() and np.isnan(mode(right)(tall.T)).any()
    for f, a in ((right, tall), (left, tall.T), (left, square), (right, square)):
        np.testing.assert_allclose(mode(f)(a), of_elements(f, a), atol=1e-6)


def of_elements(f, a, h=1e-6):
    found = np.zeros_like(a)
    for index in np.ndindex(a.shape):
        d = np.zeros_like(a)
        d[index] = h
        found[index] = (f(a + d) - f(a - d)) / (2 * h)
    return found


@pytest.mark.every(6)
@each_mode
def test_eigenvectors_of_any_matrix(mode):
    basis = np.random.default_rng(4).normal(size=(4, 4))
    a = basis @ np.diag([2.0, 2.0, 1.0, -1.0]) @ np.linalg.inv(basis)
    w = np.linalg.eigvals(a).real
    inverse = np.linalg.inv(basis)
    for i in range(4):
        found = mode(lambda a, i=i: np.abs(np.linalg.eig(a)[1][0, i]) ** 2)(a)
        assert np.isnan(found).any() == (abs(w[i] - 2.0) < 1e-3)
    expected = inverse.T @ np.diag([12.0, 12.0, 3.0, 3.0]) @ basis.T
    np.testing.assert_allclose(mode(lambda a: np.sum(np.linalg.eigvals(a) ** 3).real)(a), expected, rtol=1e-8)


@pytest.mark.every(6)
@each_mode
def test_stacks_and_float32(mode):
    """Matrices are judged one by one, each by its own largest eigenvalue and its precision."""
    first, second = made_of([1.0, 1.0, 2.0])[0], made_of([1.0, 1.0 + 1e-9, 2.0])[0]
    stack = np.array([first, second])
    found = mode(lambda a: np.sum(np.linalg.eigh(a)[1][..., 0, 0] ** 2))(stack)
    assert np.isnan(found).any((1, 2)).tolist() == [True, mode is jacfwd]  # 0 times nan
    small = mode(lambda a: np.linalg.eigh(a)[1][0, 0] ** 2)(second.astype(np.float32))
    assert np.isnan(small).any() and small.dtype == np.float32
    value = mode(lambda a: np.sum(np.linalg.eigvalsh(a) ** 2))(second.astype(np.float32))
    assert value.dtype == np.float32 and not np.isnan(value).any()


def test_complex_matrices():
    a, q = made_of([2.0, 2.0, 5.0], kind="D")
    found = grad(lambda a: np.sum(np.linalg.eigvalsh(a) ** 2))(a)
    full = np.conj((q * np.array([4.0, 4.0, 10.0])) @ q.conj().T)
    np.testing.assert_allclose(found, of_triangle(full), atol=1e-12)
    assert np.isnan(grad(lambda a: np.abs(np.linalg.eigh(a)[1][0, 0]) ** 2)(a)).any()
    assert not np.isnan(grad(lambda a: np.abs(np.linalg.eigh(a)[1][0, 2]) ** 2)(a)).any()
