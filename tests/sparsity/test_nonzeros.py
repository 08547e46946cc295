"""Compressed derivatives at their nonzeros alone: which programs have that form, and that they agree with
dense derivatives, at other points and after changes of what they read."""

import random

import numpy as np
import pytest
from sparsity_checks import brusselator

from ctxdispatch import hessian, jacfwd, sparse_hessian, sparse_jacobian
from ctxdispatch_contexts.sparsity import SparsityError, nonzeros

pytest.importorskip("scipy.sparse")

N = 12
X = np.linspace(0.3, 1.7, N)
OTHER = np.cos(3.0 * np.arange(N)) + 0.1
weights = np.linspace(1.0, 2.0, N)
steps = 2
offsets = np.ones((2, N))


@pytest.fixture
def forms(monkeypatch):
    """What `at_nonzeros` returned, each time."""
    found = []
    real = nonzeros.at_nonzeros

    def spied(*args):
        found.append(real(*args))
        return found[-1]

    monkeypatch.setattr(nonzeros, "at_nonzeros", spied)
    return found


def chain(x):
    return x[1:] * x[:-1] - np.sin(x[:-1]) / x[1:]


def laplacian(x):
    return np.roll(x, 1) + np.roll(x, -1) - 2.0 * x + x**3


def grid(x):
    u = x.reshape(3, 4)
    return (u * np.exp(-u) + 0.5 * np.roll(u, 1, 1) - np.flip(u, 0)).ravel()


def halves(x):
    u, v = x[: N // 2], x[N // 2 :]
    return np.concatenate([u * u * v, -(u + v), np.stack([u, v]).T.ravel() * 2.0])


def broadcast(x):
    u = x.reshape(3, 4)
    return u * u[:1] + u[:, 1:2]


def masked(x):
    return np.where(x > 0.8, x * x, 2.0 * x) * (np.arange(N) % 2)


def whole_factors(x):
    return x * np.arange(N) - x * (x > 0.8)


def one_factor(x):
    return x * weights * steps


def transposed(x):
    return x.reshape(3, 4).T * x.reshape(4, 3)


def repeated(x):
    return np.repeat(x[:3], 4) * x + np.tile(x[:4], 3)


SPARSE = [masked, chain, laplacian, grid, halves, broadcast, whole_factors, one_factor, transposed, repeated]


def product_of_matrices(x):
    u = x.reshape(3, 4)
    return u.T @ u


def sums(x):
    return np.cumsum(x) * x


def branching(x):
    return x * x if x[0] > 0 else x[::-1] * x


DENSE = [product_of_matrices, sums, branching]


def agrees(jac, f, x):
    dense = np.asarray(jacfwd(f)(x)).reshape(-1, x.size)
    found = jac(x)
    assert found.dtype == dense.dtype
    np.testing.assert_allclose(found.toarray(), dense, rtol=1e-12, atol=1e-14)
    return True


@pytest.mark.parametrize("f", [*SPARSE, *DENSE], ids=lambda f: f.__name__)
def test_agrees_with_dense_jacobians(f, forms):
    jac = sparse_jacobian(f, X)
    assert all(agrees(jac, f, x) for x in (X, OTHER, X[::-1], np.zeros(N) + 0.5))
    if f in SPARSE:
        assert forms and None not in forms


def test_large_stencils_have_the_form(forms):
    rhs = brusselator(9)

    def f(y):
        return rhs(0.0, y)

    x = np.random.default_rng(0).random(2 * 81)
    assert agrees(sparse_jacobian(f, x), f, x) and None not in forms


@pytest.mark.parametrize("f", [chain, laplacian, grid, one_factor], ids=lambda f: f.__name__)
def test_single_precision(f, forms):
    x, jac = OTHER.astype(np.float32), sparse_jacobian(f, X.astype(np.float32))
    np.testing.assert_allclose(jac(x).toarray(), np.reshape(jacfwd(f)(x), (-1, N)), rtol=1e-5, atol=1e-5)
    assert jac(x).dtype == jacfwd(f)(x).dtype and None not in forms


def test_hessians():
    def energy(x):
        return (100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2).sum()

    hess = sparse_hessian(energy, X)
    for x in (X, OTHER):
        np.testing.assert_allclose(hess(x).toarray(), hessian(energy)(x), rtol=1e-11, atol=1e-9)


def test_numbers_and_arrays_that_change(monkeypatch, forms):
    jac = sparse_jacobian(one_factor, X)
    assert agrees(jac, one_factor, X)
    monkeypatch.setitem(globals(), "steps", 5)
    assert agrees(jac, one_factor, X)
    monkeypatch.setitem(globals(), "weights", weights[::-1].copy())
    assert agrees(jac, one_factor, X)
    weights[3] = 7.0
    assert agrees(jac, one_factor, X)
    monkeypatch.setitem(globals(), "weights", np.array([3.0]))  # the places of the old ones would not do
    assert agrees(jac, one_factor, X)


def test_other_arguments_of_other_shapes():
    def f(x, a):
        return x * a + np.roll(x, 1)

    jac = sparse_jacobian(f, X, 2.0 * X)
    for a in (X, np.array([3.0]), X[:1], np.float64(2.0), 1.5):
        np.testing.assert_allclose(jac(X, a).toarray(), jacfwd(f)(X, a), rtol=1e-12)
    with pytest.raises(ValueError, match="broadcast"):
        jac(X, X[:5])


def test_an_argument_for_which_the_function_raises():
    def f(x, a):
        return x * x + a

    jac = sparse_jacobian(f, X, 2.0 * X)
    np.testing.assert_allclose(jac(X, X).toarray(), np.diag(2.0 * X))
    with pytest.raises(ValueError, match="broadcast"):
        jac(X, X[:5])


def test_effects_happen_once(forms):
    seen = []

    def f(x):
        seen.append(len(seen))
        return x * x

    jac = sparse_jacobian(f, X)
    seen.clear()
    for n in (1, 2, 3):
        jac(X)
        assert len(seen) == n
    assert forms == [None]


def stored_into(x):
    w = np.zeros(N)
    w[1:] = 3.0
    return x * w


def filled(x):
    a = np.zeros(N)
    a.fill(3.0)
    return x * a * x


def copied_to(x):
    a = np.arange(1.0 * N)
    np.copyto(a, 2.0)
    return x * a


def multiplied_in_place(x):
    a = np.array([1.0, 2.0, 3.0, 4.0] * 3)
    a *= 2.0
    return x * a


def resized(x):
    y = weights.copy()
    y.resize((3, 4))
    return x.reshape(3, 4) * y


@pytest.mark.parametrize(
    "f", [stored_into, filled, copied_to, multiplied_in_place, resized], ids=lambda f: f.__name__
)
def test_arrays_that_are_filled_in_place(f):
    jac = sparse_jacobian(f, X)
    assert all(agrees(jac, f, x) for x in (X, OTHER, X))


def test_out():
    def f(x, a):
        y = np.zeros_like(a)
        np.multiply(a, 3.0, out=y)
        z = a.copy()
        np.multiply(z, a, z)
        return x * y + x * z

    jac = sparse_jacobian(f, X, X)
    for a in (np.zeros(N), np.ones(N), OTHER):
        np.testing.assert_allclose(jac(X, a).toarray(), jacfwd(f)(X, a), rtol=1e-12)


class Weights:
    values = np.linspace(1.0, 2.0, N)


def test_arrays_of_classes_and_defaults_may_change(monkeypatch):
    own = np.ones(N)

    def by_class(x):
        return x * (2.0 * Weights.values)

    def by_default(x, w=own):
        return x * (2.0 * w)

    jacs = [(sparse_jacobian(f, X), f) for f in (by_class, by_default)]
    assert all(agrees(jac, f, X) for jac, f in jacs)
    own[:] = 5.0
    monkeypatch.setattr(Weights, "values", np.full(N, 7.0))
    assert all(agrees(jac, f, X) for jac, f in jacs)
    Weights.values[:] = 2.0
    assert all(agrees(jac, f, X) for jac, f in jacs)


def test_a_global_of_another_shape(monkeypatch):
    def f(x):
        return (x * x).reshape(1, N) + offsets

    monkeypatch.setitem(globals(), "offsets", np.ones((2, N)))
    jac = sparse_jacobian(f, X)
    assert jac(X).shape == (2 * N, N)
    monkeypatch.setitem(globals(), "offsets", np.ones((5, N)))
    with pytest.raises(SparsityError, match="must have the size"):
        jac(X)


def test_zeros_stay_zeros_where_factors_are_infinite():
    def f(x):
        return np.sqrt(x) * 3.0 + np.roll(x, 1)

    x = X.copy()
    x[2] = 0.0
    with np.errstate(divide="ignore"):
        found = sparse_jacobian(f, X)(x).toarray()
    assert np.isinf(found[2, 2]) and np.isfinite(np.delete(found.ravel(), 2 * N + 2)).all()


EXPRESSIONS = (
    "np.roll({a}, 1)", "{a}[::-1]", "{a} * {b}", "{a} + {b}", "{a} - {b}", "{a} / (2.0 + {b} * {b})", "-{a}",
    "np.sin({a})", "{a} * 3.0", "np.concatenate([{a}[:3], {b}[3:]])", "np.where({b} > 0.4, {a}, 0.0)",
    "np.where(W > 1.0, {a}, {b})", "{a} * {b}[:1]", "{a}.reshape(2, 3).T.ravel()", "np.repeat({a}[:3], 2)",
    "({a}.reshape(2, 3) * {b}.reshape(2, 3)[:, :1]).ravel()", "np.stack([{a}[:3], {b}[:3]], 1).ravel()",
    "np.pad({a}[1:], (0, 1))", "np.take({a}, [0, 0, 1, 2, 3, 4])", "{a} * W", "{a} ** 2", "np.flip({a})",
    "{a}[[0, 0, 1, 5, 4, 3]]", "np.abs({a}) * {b}", "{a} * ({b} > 0.2)", "np.tile({a}[:2], 3)",
    "np.outer({a}[:2], {b}[:3]).ravel()", "np.broadcast_to({a}[:1], (6,)) * {b}", "np.minimum({a}, {b})",
    "np.swapaxes({a}.reshape(3, 2), 0, 1).ravel()", "np.hstack([{a}[3:], {b}[:3]])",
    "np.clip({a}, -0.3, 0.6)",
)  # fmt: skip


def expression(pick, depth):
    if depth == 0:
        start = pick(range(7))
        return f"x[{start}:{start + 6}]"
    a, b = expression(pick, depth - 1), expression(pick, depth - 1)
    return f"({pick(EXPRESSIONS).format(a=a, b=b)})"


@pytest.mark.parametrize("seed", range(40))
def test_random_programs(seed):
    source = expression(random.Random(seed).choice, 3)
    f = eval(f"lambda x: {source}", {"np": np, "W": np.linspace(0.5, 2.0, 6)})
    points = [np.random.default_rng(7 * seed + k).normal(size=N) for k in range(3)]
    jac = sparse_jacobian(f, points[0], mode="forward")
    assert all(agrees(jac, f, x) for x in points), source
