"""Functions that store their result into an argument: f(du, u)."""

import numpy as np
import pytest

from ctxdispatch import jacobian_sparsity, sparse_hessian, sparse_jacobian
from ctxdispatch_contexts.programs.errors import DerivativeError
from ctxdispatch_contexts.sparsity import SparsityError

U = np.array([0.3, 0.7, 1.1, 0.2, 0.9, 1.3])
POINTS = [U, U[::-1].copy(), 2.0 * U, np.linspace(-1.0, 1.0, 6)]
CONTENTS = [np.zeros(6), np.full(6, 3.0), np.arange(6.0)]
rates = np.linspace(1.0, 2.0, 6)


def diffused(du, u):
    du[1:-1] = u[2:] - 2 * u[1:-1] + u[:-2]
    du[0] = u[1] - u[0] ** 2
    du[-1] = u[-2] * u[-1]
    return du


def accumulated(du, u):
    """What was in du before counts, and a second run would show."""
    du += u * u
    du[1:] *= u[:-1]
    return du


def by_loop(du, u):
    for i in range(1, len(u)):
        du[i] = u[i] * u[i - 1] + du[i] * u[0]
    du[0] = 1.0
    return 2.0 * du


def filled(du, u):
    np.multiply(u, rates, out=du)
    if du[0] > 0.5:
        du[2:4] = np.sin(u[:2])
    return du


def read_at_last(du, u):
    diffused(du, u)
    return np.concatenate([du[1:] * u[:-1], du[:1]])


class Diffusion:
    rate = 0.5

    def __call__(self, du, u):
        du[:] = self.rate * u**3
        du[1:] += u[:-1]
        return du


FUNCTIONS = [diffused, accumulated, by_loop, filled, read_at_last, Diffusion()]
names = pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: getattr(f, "__name__", "object"))


def dense(f, du, u, h=1e-6):
    steps = h * np.eye(u.size)
    return np.stack([(f(du.copy(), u + e) - f(du.copy(), u - e)) / (2.0 * h) for e in steps], axis=-1)


@pytest.mark.every(3)
@pytest.mark.night("forward-object", "reverse-object")
@names
@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_at_other_points_and_contents(f, mode):
    jac = sparse_jacobian(f, np.ones(6), U, argnums=1, mode=mode)
    for du in CONTENTS:
        for u in POINTS:
            given, expected = du.copy(), du.copy()
            found = jac(given, u)
            f(expected, u)
            np.testing.assert_allclose(found.toarray(), dense(f, du, u), rtol=1e-6, atol=1e-8)
            np.testing.assert_array_equal(given, expected)


@pytest.mark.night("object")
@names
def test_the_argument_is_used_again(f):
    """As an integrator does: what it holds is what the last call left."""
    jac, du = sparse_jacobian(f, np.ones(6), U, argnums=1, mode="forward"), np.ones(6)
    for u in POINTS:
        expected = dense(f, du, u)
        np.testing.assert_allclose(jac(du, u).toarray(), expected, rtol=1e-6, atol=1e-8)


def test_detection_changes_nothing():
    du = np.full(6, 3.0)
    sparse_jacobian(accumulated, du, U, argnums=1)
    np.testing.assert_array_equal(du, np.full(6, 3.0))


def test_with_respect_to_what_is_stored_to():
    jac = sparse_jacobian(accumulated, np.ones(6), U, argnums=0, mode="forward")
    expected = np.diag(np.concatenate([[1.0], U[:-1]]))
    np.testing.assert_allclose(jac(np.ones(6), U).toarray(), expected)


def shared():
    long = np.linspace(0.1, 0.7, 7)
    return {
        "the same": (long[:6],) * 2,
        "shifted": (long[1:], long[:-1]),
        "reversed": (long[5::-1], long[:6]),
    }


@pytest.mark.every(3)
@names
@pytest.mark.parametrize("how", shared())
@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_shared_memory_is_refused_or_right(f, how, mode):
    jac, (du, u) = sparse_jacobian(f, np.ones(6), U, argnums=1, mode=mode), shared()[how]
    with pytest.raises(DerivativeError, match="share memory"):
        jac(du, u)
    np.testing.assert_allclose(jac(np.ones(6), U).toarray(), dense(f, np.ones(6), U), rtol=1e-6, atol=1e-8)


def test_halves_of_one_array_lie_apart():
    both = np.zeros(12)
    both[1::2] = U
    jac = sparse_jacobian(diffused, both[::2], both[1::2], argnums=1, mode="forward")
    found = jac(both[::2], both[1::2]).toarray()
    np.testing.assert_allclose(found, dense(diffused, np.zeros(6), U), rtol=1e-6, atol=1e-8)


def weighted(du, u):
    du[:] = u * u
    return du * rates


def test_an_array_that_the_function_reads_is_stored_to(monkeypatch):
    jac = sparse_jacobian(weighted, np.ones(6), U, argnums=1, mode="forward")
    np.testing.assert_allclose(jac(np.ones(6), U).toarray(), np.diag(2.0 * U * rates))
    monkeypatch.setitem(globals(), "rates", np.full(6, 3.0))
    np.testing.assert_allclose(jac(np.ones(6), U).toarray(), np.diag(6.0 * U))
    np.testing.assert_allclose(jac(rates, U).toarray(), np.diag(4.0 * U**3))
    np.testing.assert_array_equal(rates, U * U)


@pytest.mark.every(3)
@names
@pytest.mark.parametrize("how", shared())
def test_a_pattern_of_arguments_that_share_memory(f, how):
    with pytest.raises(SparsityError, match="share memory"):
        jacobian_sparsity(f, *shared()[how], argnums=1)


def test_known_arrays_that_share_memory():
    def picked(places, same, u):
        places[0] = 5
        return u[same]

    places = np.arange(6)
    assert jacobian_sparsity(picked, places, places.copy(), U, argnums=2).nnz == 6
    with pytest.raises(ValueError, match="read-only"):
        jacobian_sparsity(picked, places, places, U, argnums=2)


def test_arguments_that_share_memory_and_are_read_alone():
    assert jacobian_sparsity(lambda a, b: a * b, U, U, argnums=1).nnz == 6


def energy(du, u):
    diffused(du, u)
    return (du * du * u).sum()


def test_hessian():
    hess = sparse_hessian(energy, np.ones(6), U, argnums=1)
    for u in POINTS:
        du, expected = np.full(6, 3.0), np.full(6, 3.0)
        found = hess(du, u).toarray()
        energy(expected, u)
        np.testing.assert_allclose(found, second_differences(u), rtol=1e-4, atol=1e-4)
        np.testing.assert_array_equal(du, expected)
    with pytest.raises(DerivativeError, match="share memory"):
        hess(U, U)


def second_differences(u, h=1e-4):
    def at(step):
        return energy(np.zeros(6), u + step)

    pairs = [[(a, b) for b in h * np.eye(6)] for a in h * np.eye(6)]
    return np.array([
        [(at(a + b) - at(a - b) - at(b - a) + at(-a - b)) / (4 * h * h) for a, b in row] for row in pairs
    ])  # fmt: skip


def test_what_returns_nothing_is_refused():
    def silent(du, u):
        diffused(du, u)

    with pytest.raises(SparsityError, match="returns None"):
        sparse_jacobian(silent, np.zeros(6), U, argnums=1)
