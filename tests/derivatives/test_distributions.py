"""SciPy's distributions are read as their formulas: values of SciPy's bits, derivatives by differences."""

import warnings

import numpy as np
import pytest
from solution_checks import check

from ctxdispatch import code_adjoint, grad, hessian, jacfwd, jacrev, jvp, vjp

pytest.importorskip("scipy")

import scipy.stats as stats
from scipy.stats import multivariate_normal, norm

from ctxdispatch_contexts.programs.errors import DerivativeError

SHAPES = {
    "norm": (), "expon": (), "uniform": (), "laplace": (), "logistic": (), "cauchy": (), "gumbel_r": (),
    "halfnorm": (), "rayleigh": (), "gamma": (2.3,), "chi2": (3.5,), "t": (4.5,), "lognorm": (0.7,),
    "weibull_min": (1.7,), "pareto": (2.5,), "genpareto": (0.3,), "invgamma": (3.2,), "beta": (2.2, 3.1),
    "f": (3.2, 5.1), "truncnorm": (-1.2, 2.1), "loguniform": (0.4, 2.2), "burr": (2.1, 1.3),
}  # fmt: skip
METHODS = "pdf logpdf cdf logcdf sf logsf ppf isf".split()


def is_compiled(f, *args):
    return "pull(" not in str(code_adjoint(f)(*args))


@pytest.mark.every(40)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", SHAPES)
def test_formulas(name, method):
    distribution, shapes = getattr(stats, name), SHAPES[name]
    f = getattr(distribution, method)
    q = np.array([0.15, 0.4, 0.83])
    x = q if method in ("ppf", "isf") else distribution.ppf(q, *shapes) * 1.3 + 0.2
    check(f, x, *shapes, 0.2, 1.3, tol=1e-4, step=1e-6)
    value, _ = vjp(f, x, *shapes, 0.2, 1.3)
    assert np.array_equal(value, f(x, *shapes, 0.2, 1.3))


def test_what_is_compiled():
    x = np.array([0.3, 0.6, 0.8])
    assert is_compiled(lambda x, s: np.sum(norm.logpdf(x, scale=s)), x, 2.0)
    assert is_compiled(lambda x, a: np.sum(stats.gamma.logcdf(x, a)), x, 2.0)
    assert is_compiled(lambda x: np.sum(stats.t.ppf(x, 3.0, loc=x[0])), x)


FAR = np.array([-1.0, 0.0, 0.5, 1.0, 2.0, np.inf, -np.inf, np.nan])
POINTS = {
    "far": FAR, "number": 0.4, "below": -1.0, "single": np.float32(0.4), "column": np.array([[0.3], [0.7]]),
    "none": np.array([]), "rank0": np.array(0.3), "list": [0.2, 0.4],
}  # fmt: skip


@pytest.mark.every(32)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("points", POINTS)
def test_values_are_those_of_scipy(points, method):
    """Out of the support, with parameters that are not valid, of numbers, lists and empty arrays: without any
    warning."""
    x, n = POINTS[points], np.size(POINTS[points])
    gammas = (stats.gamma, (np.linspace(-1.0, 2.0, n),))
    for f, shapes in ((stats.norm, ()), (stats.beta, (2.0, 3.0)), gammas):
        for loc, scale in ((0, 2), (0.1, -1.0)):
            of = getattr(f, method)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                want = of(x, *shapes, loc, scale)
                got, _ = vjp(lambda x, of=of, a=(*shapes, loc, scale): of(x, *a), x)
            assert type(got) is type(want) and got.dtype == want.dtype
            np.testing.assert_array_equal(got, want)


def test_infinite_and_missing_points_have_no_slope():
    for f in (norm.logpdf, norm.cdf, stats.gamma(2.0).dist.pdf):
        shapes = () if f.__self__.numargs == 0 else (2.0,)
        slopes = grad(lambda x, f=f, s=shapes: np.sum(np.nan_to_num(f(x, *s))))(FAR)
        assert np.all(slopes[5:] == 0.0)


def test_errors_are_those_of_scipy():
    wrong = (lambda x: norm.pdf(x, 0.0, 1.0, 2.0), lambda x: norm.pdf(x, a=2.0), lambda x: stats.gamma.pdf(x))
    for f in wrong:
        with pytest.raises(TypeError, match="_parse_args"):
            grad(f)(0.5)


def test_second_derivatives():
    x = np.array([0.3, 0.6])
    np.testing.assert_allclose(hessian(lambda x: np.sum(norm.logpdf(x, 0.0, 2.0)))(x), -np.eye(2) / 4.0)
    np.testing.assert_allclose(hessian(lambda s: norm.logpdf(0.5, 0.0, s))(2.0), 0.25 - 6.0 * 0.25 / 32.0)
    for jacobian in (jacfwd, jacrev):
        slopes = jacobian(lambda x: grad(lambda x: np.sum(stats.gamma.logpdf(x, 3.0)))(x))(x)
        np.testing.assert_allclose(slopes, np.diag(-2.0 / x**2), atol=1e-12)


def test_tangents_have_the_shape_of_what_broadcasts():
    column = np.array([[0.3], [0.7]])
    value, tangent = jvp(lambda loc: stats.cauchy.ppf(column, loc), (np.zeros(3),), (np.ones(3),))
    assert value.shape == tangent.shape == (2, 3)
    assert np.all(tangent == 1.0)


# -- whose code it is ----------------------------------------------------------------------------------------

X = np.array([0.3, 0.6])


def of_norm(x):
    return np.sum(norm.logpdf(x, 0.0, 2.0))


def quartic(*args):
    return -(args[-1] ** 4)


QUARTIC = -4.0 * (X / 2.0) ** 3 / 2.0


def test_who_replaces_a_formula_is_heard(monkeypatch):
    gradient = grad(of_norm)
    np.testing.assert_allclose(gradient(X), -X / 4.0)
    for place in (type(norm), norm):
        with monkeypatch.context() as patch:
            patch.setattr(place, "_logpdf", quartic, raising=False)
            np.testing.assert_allclose(gradient(X), QUARTIC)
            np.testing.assert_allclose(grad(lambda x: of_norm(x) + 0.0)(X), QUARTIC)
        if place is norm:
            vars(norm).pop("_logpdf", None)
        np.testing.assert_allclose(gradient(X), -X / 4.0)


def test_who_replaces_a_formula_meanwhile_is_refused():
    def replacing(x):
        before = of_norm(x)
        norm._logpdf = quartic
        return before + of_norm(x)

    try:
        with pytest.raises(DerivativeError, match="hides the method"):
            grad(replacing)(X)
    finally:
        vars(norm).pop("_logpdf", None)


class Quartic(type(norm)):
    _logpdf = quartic


class Whole(type(norm)):
    def logpdf(self, x, *args):
        return quartic(x)


class Ramp(stats.rv_continuous):
    def _pdf(self, x):
        return 2.0 * x


def test_classes_of_the_users():
    quartic, whole, ramp = Quartic(), Whole(), Ramp(a=0.0, b=1.0)
    np.testing.assert_allclose(grad(lambda x: np.sum(quartic.logpdf(x, 0.0, 2.0)))(X), QUARTIC)
    np.testing.assert_allclose(grad(lambda x: np.sum(whole.logpdf(x)))(X), -4.0 * X**3)
    np.testing.assert_allclose(grad(lambda x: np.sum(ramp.logpdf(x, 0.0, 2.0)))(X), 1.0 / X)


def test_another_object_of_the_class(monkeypatch):
    narrow = type(norm)(a=-1.0, b=0.2, name="narrow")
    np.testing.assert_allclose(grad(lambda x: np.sum(narrow.pdf(x, 0.0, 2.0)))(X)[1], 0.0)
    gradient = grad(lambda x, d: np.sum(d.logpdf(x, scale=2.0)))
    np.testing.assert_allclose(gradient(X, norm), -X / 4.0)
    np.testing.assert_allclose(gradient(X, Quartic()), QUARTIC)
    np.testing.assert_allclose(gradient(X, stats.expon), [-0.5, -0.5])
    monkeypatch.setattr(norm, "a", 0.2)
    np.testing.assert_allclose(grad(of_norm)(X), [0.0, -0.15])


# -- of several variables ------------------------------------------------------------------------------------

MEAN = np.array([0.1, 0.2, 0.5])
POINT = np.array([0.3, 0.6, 0.8])
COVARIANCE = np.array([[2.0, 0.3, 0.1], [0.3, 1.0, 0.2], [0.1, 0.2, 1.5]])


@pytest.mark.parametrize("points", [POINT, np.stack([POINT, MEAN, -POINT]), POINT[None]])
@pytest.mark.parametrize("cov", [COVARIANCE, np.array([1.0, 1.0, 2.0]), 1.3])
def test_the_normal_distribution_of_several_variables(points, cov):
    def whole(s):
        return 0.5 * (s + s.T) if np.ndim(s) == 2 else s

    check(lambda x, m, s: multivariate_normal.logpdf(x, m, whole(s)), points, MEAN, cov)
    check(lambda x, s: multivariate_normal.pdf(x, MEAN, cov=whole(s)), points, cov)
    value, _ = vjp(lambda x: multivariate_normal.logpdf(x, MEAN, cov), points)
    assert np.array_equal(value, multivariate_normal.logpdf(points, MEAN, cov))


def test_the_normal_distribution_again():
    slopes = hessian(lambda x: multivariate_normal.logpdf(x, MEAN, COVARIANCE))(POINT)
    np.testing.assert_allclose(slopes, -np.linalg.inv(COVARIANCE), rtol=1e-9)
    gradient = grad(lambda x: multivariate_normal.logpdf(x, MEAN, COVARIANCE, allow_singular=True))(POINT)
    np.testing.assert_allclose(gradient, -np.linalg.solve(COVARIANCE, POINT - MEAN))
    assert grad(multivariate_normal.logpdf)(0.5) == -0.5
    with pytest.raises(np.linalg.LinAlgError):
        grad(lambda x: multivariate_normal.logpdf(x, MEAN, np.zeros((3, 3))))(POINT)


def test_who_replaces_the_density_is_heard(monkeypatch):
    gradient = grad(lambda x: multivariate_normal.logpdf(x, MEAN, COVARIANCE))
    np.testing.assert_allclose(gradient(POINT), -np.linalg.solve(COVARIANCE, POINT - MEAN))
    squares = lambda self, x, mean, cov: np.sum(x**2, axis=-1)  # noqa: E731
    monkeypatch.setattr(type(multivariate_normal), "_logpdf", squares)
    np.testing.assert_allclose(gradient(POINT), 2.0 * POINT)
