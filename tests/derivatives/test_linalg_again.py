"""Second derivatives of functions of matrices, where a formula that divides would lose them."""

import numpy as np
import pytest

from ctxdispatch import grad, hessian, jacfwd, jvp

RNG = np.random.default_rng(3)


def singular(kind):
    a = RNG.normal(size=(3, 3))
    if kind == "zero row":
        a[2] = 0.0
    elif kind == "rank 2":
        a[2] = a[0] - a[1]
    elif kind == "rank 1":
        a[1], a[2] = 2 * a[0], -a[0]
    elif kind == "nearly":
        a[2] = a[0] - a[1] + 1e-9
    return a


@pytest.mark.parametrize("kind", ["regular", "nearly", "rank 2", "zero row", "rank 1"])
def test_det_twice(kind):
    a, d = singular(kind), RNG.normal(size=(3, 3))
    t = np.linspace(-1.5, 1.5, 7)
    cubic = np.polynomial.Polynomial.fit(t, [np.linalg.det(a + x * d) for x in t], 3).convert()
    _, slope, half_bend, _ = cubic.coef

    def along(x):
        return np.sum(grad(np.linalg.det)(x) * d)

    assert along(a) == pytest.approx(slope, rel=1e-9, abs=1e-9)
    assert jvp(along, (a,), (d,))[1] == pytest.approx(2 * half_bend, rel=1e-7, abs=1e-9)
    assert np.sum(grad(along)(a) * d) == pytest.approx(2 * half_bend, rel=1e-7, abs=1e-9)
    second = hessian(np.linalg.det)(a)
    assert np.einsum("ijkl,ij,kl", second, d, d) == pytest.approx(2 * half_bend, rel=1e-7, abs=1e-9)


def test_det_of_complex_matrices_and_stacks():
    a, d = RNG.normal(size=(2, 3, 3)) + 1j * RNG.normal(size=(2, 3, 3)), RNG.normal(size=(2, 3, 3))
    a[1, 2] = a[1, 0]

    def f(t):
        return np.sum(np.real(np.linalg.det(a + t * d)) * np.array([1.0, 2.0]))

    t = np.linspace(-1.5, 1.5, 7)
    _, slope, half_bend, _ = np.polynomial.Polynomial.fit(t, list(map(f, t)), 3).convert().coef
    assert grad(f)(0.0) == pytest.approx(slope)
    assert grad(grad(f))(0.0) == pytest.approx(2 * half_bend)


def test_unique_twice():
    x = np.array([0.3, -1.0, 0.3, 2.0])

    def f(x):
        return np.sum(np.unique(x) ** 3)

    np.testing.assert_allclose(np.diag(hessian(f)(x)), [1.8, -6.0, 0.0, 12.0])


def test_vectors_that_are_chosen_freely_have_no_tangents():
    a, d = RNG.normal(size=(2, 3, 2))
    _, (du, ds, dvh) = jvp(lambda a: tuple(np.linalg.svd(a)), (a,), (d,))
    values = [np.linalg.svd(a + h * d, compute_uv=False) for h in (1e-6, -1e-6)]
    np.testing.assert_allclose(ds, (values[0] - values[1]) / 2e-6, rtol=1e-6)
    assert np.isnan(du).tolist() == [[False, False, True]] * 3 and not np.isnan(dvh).any()


@pytest.mark.night
def test_vectors_that_are_chosen_freely_have_no_jacobian():
    tall, wide = RNG.normal(size=(3, 2)), RNG.normal(size=(2, 3))
    u = jacfwd(lambda a: np.linalg.svd(a)[0])(tall)
    assert np.isnan(u[:, 2:]).all() and not np.isnan(u[:, :2]).any()
    vh = jacfwd(lambda a: np.linalg.svd(a)[2])(wide)
    assert np.isnan(vh[2:]).all() and not np.isnan(vh[:2]).any()
    q = jacfwd(lambda a: np.linalg.qr(a, "complete")[0])(tall)
    assert np.isnan(q[:, 2:]).all() and not np.isnan(q[:, :2]).any()
    projector = jacfwd(lambda a: np.linalg.svd(a)[0][:, 2:] @ np.linalg.svd(a)[0][:, 2:].T)(tall)
    assert np.isnan(projector).all()
