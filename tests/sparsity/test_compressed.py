"""Sparse Jacobians and Hessians: against dense ones, and in SciPy's solvers.

Each runs with forward mode and with finite differences in its place, which test compression alone.
"""

import dataclasses

import numpy as np
import pytest
from sparsity_checks import brusselator, hessian_by_differences, jacobian_by_differences

from ctxdispatch import color, grad, sparse_hessian, sparse_jacobian
from ctxdispatch_contexts.sparsity import SparsityError, SparsityPattern, compressed

sparse = pytest.importorskip("scipy.sparse")


def differences(f, argnum, seeds, unpack):
    def block(args):
        x, h = args[argnum], 1e-6

        def at(step):
            return np.asarray(f(*args[:argnum], x + step, *args[argnum + 1 :]))

        return unpack(np.stack([(at(h * s) - at(-h * s)) / (2 * h) for s in seeds]))

    return block


def gradient_differences(f, argnum, seeds, unpack):
    return differences(grad(f, argnums=argnum), argnum, seeds, unpack)


@pytest.fixture(params=["differences", "forward"], autouse=True)
def blocks(request, monkeypatch):
    if request.param == "forward":
        pytest.importorskip("ctxdispatch_contexts.forward")
    else:
        monkeypatch.setitem(compressed.ENTRIES, "column", differences)
        monkeypatch.setitem(compressed.ENTRIES, "symmetric", gradient_differences)


def chain(x):
    return x[1:] * x[:-1] + np.sin(x[:-1])


def energy(x):
    return np.sum((x[1:] - x[:-1] ** 2) ** 2) + np.cos(x[0])


X = np.linspace(0.3, 1.7, 12)


@pytest.mark.parametrize("mode", ["auto", "forward", "reverse"])
def test_jacobian(mode):
    jac = sparse_jacobian(chain, X, mode=mode)
    for x in X, X[::-1] + 0.1:
        found = jac(x)
        assert isinstance(found, sparse.csr_array) and found.shape == (11, 12) and found.nnz == 22
        np.testing.assert_allclose(found.toarray(), jacobian_by_differences(chain, x), rtol=1e-5, atol=1e-6)
    assert jac.coloring.number == 2


def test_auto_takes_the_fewer_passes():
    assert sparse_jacobian(lambda x: np.sum(x**2) + np.zeros(1), X).coloring.mode == "row"
    assert sparse_jacobian(chain, X).coloring.mode == "column"


def test_hessian():
    hess = sparse_hessian(energy, X)
    assert hess.coloring.number == 3
    found = hess(X + 0.1)
    assert isinstance(found, sparse.csr_array)
    np.testing.assert_allclose(found.toarray(), hessian_by_differences(energy, X + 0.1), rtol=1e-5, atol=1e-5)


def test_other_arguments_and_shapes():
    def f(t, u, scale):
        return t * u[:, 1:] * u[:, :-1] * scale

    u = np.linspace(1.0, 2.0, 12).reshape(3, 4)
    jac = sparse_jacobian(f, 1.0, u, 2.0, argnums=1)
    found = jac(0.5, u + 1.0, 3.0)
    expected = jacobian_by_differences(lambda v: f(0.5, v.reshape(3, 4), 3.0), (u + 1.0).ravel())
    np.testing.assert_allclose(found.toarray(), expected, rtol=1e-5)


def test_a_given_pattern_and_coloring():
    wide = SparsityPattern.from_dense(np.ones((11, 12)))
    found = sparse_jacobian(chain, X, pattern=wide)(X)
    np.testing.assert_allclose(found.toarray(), jacobian_by_differences(chain, X), rtol=1e-5, atol=1e-6)
    band = SparsityPattern.from_dense(np.tri(11, 12, 1) - np.tri(11, 12, -1))
    jac = sparse_jacobian(chain, X, pattern=band.scipy(), coloring=color(band))
    np.testing.assert_allclose(jac(X).toarray(), jacobian_by_differences(chain, X), rtol=1e-5, atol=1e-6)


def test_results_are_their_own():
    jac = sparse_jacobian(chain, X)
    first, second = jac(X), jac(2.0 * X)
    kept = first.toarray()
    second.data[:] = 0.0
    assert np.array_equal(first.toarray(), kept) and jac(2.0 * X).data.any()
    with pytest.raises(ValueError, match="read-only"):
        first.indices[0] = 3


def test_a_function_that_does_not_vary():
    assert sparse_jacobian(lambda x: np.ones(3), X)(X).nnz == 0


def test_bad_input():
    jac = sparse_jacobian(chain, X)
    with pytest.raises(SparsityError, match=r"shape \(3,\), where .* floats of shape \(12,\)"):
        jac(X[:3])
    with pytest.raises(SparsityError, match="int64"):
        jac(np.arange(12))
    with pytest.raises(SparsityError, match="must be an array of floats, not a float"):
        sparse_jacobian(chain, 1.0)
    with pytest.raises(SparsityError, match="must have as many columns"):
        sparse_jacobian(chain, X, pattern=SparsityPattern.from_dense(np.eye(5)))
    with pytest.raises(SparsityError, match=r"pattern of shape \(5, 5\) for the Hessian"):
        sparse_hessian(energy, X, pattern=SparsityPattern.from_dense(np.eye(5)))
    with pytest.raises(SparsityError, match="a pattern is a SparsityPattern or .*, not a str"):
        sparse_jacobian(chain, X, pattern="dense")
    with pytest.raises(SparsityError, match="a coloring of 5"):
        sparse_jacobian(chain, X, coloring=color(SparsityPattern.from_dense(np.eye(5))))
    with pytest.raises(SparsityError, match="one index"):
        sparse_jacobian(chain, X, argnums=(0,))
    with pytest.raises(ValueError, match="mode"):
        sparse_jacobian(chain, X, mode="sideways")
    tall = sparse_jacobian(chain, X, pattern=SparsityPattern.from_dense(np.ones((4, 12))))
    with pytest.raises(SparsityError, match="gave a derivative of shape|returns 11 numbers"):
        tall(X)
    identity = SparsityPattern.from_dense(np.eye(11, 12))
    with pytest.raises(SparsityError, match="no column coloring of this pattern"):
        sparse_jacobian(chain, X, coloring=color(identity))


# -- SciPy's solvers -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["BDF", "Radau"])
def test_solve_ivp(method):
    from scipy.integrate import solve_ivp

    f, y0 = brusselator(4), np.linspace(1.0, 2.0, 32)
    jac = sparse_jacobian(f, 0.0, y0, argnums=1)
    plain = solve_ivp(f, (0.0, 0.3), y0, method=method, rtol=1e-8, atol=1e-8)
    for options in {"jac": jac}, {"jac_sparsity": jac.pattern.scipy()}:
        found = solve_ivp(f, (0.0, 0.3), y0, method=method, rtol=1e-8, atol=1e-8, **options)
        np.testing.assert_allclose(found.y[:, -1], plain.y[:, -1], rtol=1e-6)
        assert found.success


def test_least_squares():
    from scipy.optimize import least_squares

    def residuals(x):
        return np.concatenate([10.0 * (x[1:] - x[:-1] ** 2), 1.0 - x])

    x0 = np.full(8, 0.5)
    jac = sparse_jacobian(residuals, x0)
    for options in {"jac": jac}, {"jac_sparsity": jac.pattern.scipy()}:
        found = least_squares(residuals, x0, **options)
        np.testing.assert_allclose(found.x, 1.0, rtol=1e-6)


def test_minimize_with_a_constraint():
    from scipy.optimize import NonlinearConstraint, minimize

    def constraint(x):
        return x[1:] + x[:-1] ** 2

    x0 = np.full(6, 0.5)
    hess, jac = sparse_hessian(energy, x0), sparse_jacobian(constraint, x0)
    found = minimize(
        energy, x0, jac=grad(energy), hess=hess, method="trust-constr",
        constraints=[NonlinearConstraint(constraint, 0.5, 1.5, jac=jac)],
    )  # fmt: skip
    plain = minimize(energy, x0, method="SLSQP", constraints=[
        {"type": "ineq", "fun": lambda x: constraint(x) - 0.5}, {"type": "ineq",
        "fun": lambda x: 1.5 - constraint(x)},
    ])  # fmt: skip
    assert found.fun == pytest.approx(plain.fun, abs=1e-4)


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_a_pattern_that_lacks_entries_is_refused(mode):
    full = SparsityPattern.from_dense(np.ones((11, 12)))
    assert (sparse_jacobian(chain, X, pattern=full, mode=mode)(X).toarray() != 0).sum() == 22
    lacking = SparsityPattern.from_dense(np.eye(11, 12))
    with pytest.raises(SparsityError, match="lacks entries"):
        sparse_jacobian(chain, X, pattern=lacking, mode=mode)(X)


def test_a_hessian_pattern_that_lacks_entries_is_refused():
    with pytest.raises(SparsityError, match="lacks entries"):
        sparse_hessian(energy, X, pattern=SparsityPattern.from_dense(np.eye(12)))(X)


shift, matrix = 0, np.diag([1.0, 2.0, 3.0])


class Settings:
    shift = 0


def test_what_the_function_reads_changes(monkeypatch, request):
    """The pattern is one of other values: refused, not summed up in the wrong places."""
    if "differences" in request.node.name:
        pytest.skip("differences do not know what is read")
    x = np.array([0.3, 0.7, 1.1])

    def rolled(x):
        return np.roll(x, shift) * x

    def multiplied(x):
        return matrix @ x

    def by_attribute(x):
        return np.roll(x, Settings.shift) * x

    def energy(x):
        return (np.roll(x, shift) * x).sum()

    made = [sparse_jacobian(f, x) for f in (rolled, multiplied, by_attribute)] + [sparse_hessian(energy, x)]
    for derivative in made:
        derivative(x)
    monkeypatch.setitem(globals(), "shift", 1)
    monkeypatch.setitem(globals(), "matrix", np.ones((3, 3)))
    monkeypatch.setattr(Settings, "shift", 1)
    for derivative in made:
        with pytest.raises(SparsityError, match="make a new sparse derivative"):
            derivative(x)


def test_a_coloring_that_is_none():
    with pytest.raises(
        SparsityError, match=r"`coloring` is a Coloring, not a int; make one with color\(pattern\)"
    ):
        sparse_jacobian(chain, X, coloring=3)


@dataclasses.dataclass
class Model:
    weights: np.ndarray
    power: int = 2


def test_an_argument_that_holds_arrays_is_compared_by_what_it_holds():
    def f(x, model):
        return (x * model.weights) ** model.power

    x, weights = np.arange(1.0, 4.0), np.array([1.0, 0.0, 2.0])
    jacobian = sparse_jacobian(f, x, Model(weights))
    expected = np.diag(2 * x * weights**2)
    np.testing.assert_allclose(jacobian(x, Model(weights.copy())).toarray(), expected)
    for other in (Model(np.ones(3)), Model(weights, 3), Model(weights[:2])):
        with pytest.raises(SparsityError, match="now has another value"):
            jacobian(x, other)
