"""Functions of symmetric matrices read one triangle, and the real part of the diagonal: each element of an
unsymmetric matrix, by itself, is perturbed; every mode says the same."""

import numpy as np
import pytest

from ctxdispatch import grad, hvp, jacfwd, jacobian_sparsity, jvp, linearize, vjp

N = 3
WEIGHTS = np.array([[0.5, -1.2, 0.7], [1.1, 0.4, -0.3], [-0.8, 0.9, 1.3]])
DIRECTION = np.array([[0.3, 1.1, -0.6], [-0.9, 0.2, 0.8], [1.2, -0.4, -0.7]])
PROGRAMS = {
    "eigvalsh": lambda a: np.linalg.eigvalsh(a) @ WEIGHTS[0],
    "eigvalsh, U": lambda a: np.linalg.eigvalsh(a, UPLO="U") @ WEIGHTS[0],
    "eigvalsh, u": lambda a: np.linalg.eigvalsh(a, "u") @ WEIGHTS[0],
    "eigh, l": lambda a: np.sum(np.abs(np.linalg.eigh(a, UPLO="l")[1]) ** 2 * WEIGHTS),
    "eigh, U": lambda a: np.sum(np.abs(np.linalg.eigh(a, "U").eigenvectors) ** 2 * WEIGHTS),
    "cholesky": lambda a: np.sum(np.abs(np.linalg.cholesky(a)) ** 2 * WEIGHTS),
    "cholesky, upper": lambda a: np.sum(np.abs(np.linalg.cholesky(a, upper=True)) ** 2 * WEIGHTS),
    "svd": lambda a: np.sum(np.abs(np.linalg.svd(a, hermitian=True)[0]) ** 2 * WEIGHTS),
    "svd, on the right": lambda a: np.sum(np.abs(np.linalg.svd(a, hermitian=True).Vh) ** 2 * WEIGHTS),
    "svd, together": lambda a: np.sum(
        np.abs((lambda u, s, v: (u * s * WEIGHTS[0]) @ v)(*np.linalg.svd(a, hermitian=True))) ** 2
    ),
    "svd, values": lambda a: np.linalg.svd(a, compute_uv=False, hermitian=True) @ WEIGHTS[0],
    "pinv": lambda a: np.sum(np.abs(np.linalg.pinv(a, hermitian=True)) ** 2 * WEIGHTS),
    "rank": lambda a: np.linalg.matrix_rank(a, hermitian=True) * np.real(np.sum(a**2)),
}  # fmt: skip
DEFINITE = ("cholesky", "cholesky, upper")


def matrix(name, kind):
    rng = np.random.default_rng(5)
    a = rng.uniform(-1.0, 1.0, (N, N)) + np.diag([9.0, 14.0, 4.0] if name in DEFINITE else [9.0, 4.0, -6.0])
    return a + 1j * rng.uniform(-1.0, 1.0, (N, N)) if kind == "complex" else a


def named(names, *kinds):
    return pytest.mark.parametrize("name, kind", [(name, kind) for name in names for kind in kinds])


def slope(f, a, d, h=1e-3):
    near, far = f(a + h * d) - f(a - h * d), f(a + 2 * h * d) - f(a - 2 * h * d)
    return (8 * near - far) / (12 * h)


def units(a):
    for index in np.ndindex(a.shape):
        unit = np.zeros_like(a)
        unit[index] = 1.0
        yield unit


def by_elements(f, a):
    """df/dx - i df/dy"""
    found = [slope(f, a, d) - (1j * slope(f, a, 1j * d) if a.dtype.kind == "c" else 0.0) for d in units(a)]
    return np.reshape(found, a.shape)


@named(PROGRAMS, "real", "complex")
def test_each_element_by_itself(name, kind):
    f, a = PROGRAMS[name], matrix(name, kind)
    expected = by_elements(f, a)
    np.testing.assert_allclose(grad(f)(a), expected, atol=1e-8)
    np.testing.assert_allclose(vjp(f, a)[1](1.0)[0], expected, atol=1e-8)
    d = DIRECTION * (1 + 0.5j if kind == "complex" else 1.0)
    along = np.sum(expected * d).real
    assert jvp(f, (a,), (d,))[1] == pytest.approx(along, abs=1e-8)
    assert linearize(f, a)[1](d) == pytest.approx(along, abs=1e-8)


@pytest.mark.every(8)
@named(["eigvalsh, U", "cholesky, upper", "svd, values", "pinv"], "real")
def test_blocks_and_second_order(name, kind):
    f, a, d = PROGRAMS[name], matrix(name, kind), DIRECTION
    np.testing.assert_allclose(jacfwd(f)(a), by_elements(f, a), atol=1e-8)
    np.testing.assert_allclose(hvp(f, (a,), (d,)), slope(grad(f), a, d), atol=1e-7)


@named(PROGRAMS, "real")
def test_patterns_have_all_that_is_read(name, kind):
    f, a = PROGRAMS[name], matrix(name, kind)
    pattern = jacobian_sparsity(f, a)
    assert np.all(pattern.toarray().reshape(N, N) >= (np.abs(by_elements(f, a)) > 1e-6))
