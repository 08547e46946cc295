"""Derivatives of programs that use SciPy: distributions, solvers and splines, by central differences."""

import numpy as np
import pytest
from solution_checks import check, differences

from ctxdispatch import grad, hessian, jacfwd, jvp
from ctxdispatch_contexts.programs.errors import DerivativeError

pytest.importorskip("scipy")

import scipy.integrate as integrate
import scipy.interpolate as interpolate
import scipy.optimize as optimize
import scipy.stats as stats

pytestmark = pytest.mark.every(2)

X = np.array([0.3, 0.6, 0.8])
KNOTS = np.array([0.0, 1.0, 2.5, 3.0, 4.0])
POINTS = np.array([0.3, 1.7, 2.7, 3.9])


# -- distributions -------------------------------------------------------------------------------------------

SHAPES = {"beta": (2.0, 3.0), "chi2": (3.0,), "gamma": (2.5,), "norm": (), "t": (4.0,)}
METHODS = ["pdf", "logpdf", "cdf", "logcdf", "sf", "logsf"]


@pytest.mark.every(6)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", SHAPES)
def test_continuous_distributions(name, method):
    f = getattr(getattr(stats, name), method)
    check(lambda *args: np.sum(f(*args)), X, *SHAPES[name], -0.1, 1.3)
    check(lambda x, scale: f(x, *SHAPES[name], 0.1, scale), 0.4, 1.2)


@pytest.mark.parametrize("method", ["pmf", "logpmf", "cdf", "sf"])
def test_poisson(method):
    counts = np.array([0, 1, 3])
    check(lambda mu: np.sum(getattr(stats.poisson, method)(counts, mu)), np.array([2.5, 1.0, 3.0]))
    check(lambda mu: getattr(stats.poisson, method)(3, mu), 2.5)


def test_outside_of_the_support_and_broadcast():
    check(lambda x, a, loc: np.sum(stats.gamma.pdf(x, a, loc=loc)), np.array([-1.0, 0.5, 2.0]), 2.3, 0.1)
    check(lambda x, a: np.sum(stats.gamma.logpdf(x[:, None], a)), X, np.array([2.3, 1.2]))


def test_frozen_distributions():
    check(lambda loc, scale: np.sum(stats.norm(loc, scale).logpdf(X)), 0.3, 1.2)
    check(lambda a, scale: np.sum(stats.gamma(a, scale=scale).logcdf(X)), 2.3, 1.2)
    check(lambda x: np.sum(stats.gamma(2.3, scale=1.2).sf(x)), X)


def test_entropies_which_go_through_vectorize():
    check(lambda a, scale: stats.gamma.entropy(a, scale=scale), 2.1, 1.2)


def test_several_dimensions():
    normal, covariance = stats.multivariate_normal, COVARIANCE
    check(lambda x, mean: normal.logpdf(x, mean, covariance), X, np.array([0.1, 0.2, 0.5]))
    check(lambda x: normal(np.zeros(3), covariance).pdf(x), X)
    check(lambda x, a: stats.dirichlet.logpdf(x / np.sum(x), a), X, np.array([1.5, 2.0, 3.0]))


COVARIANCE = np.array([[2.0, 0.3, 0.1], [0.3, 1.0, 0.2], [0.1, 0.2, 1.5]])


@pytest.mark.every(4)
@pytest.mark.parametrize("covariance", [COVARIANCE, np.eye(3), np.array([1.0, 1.0, 2.0]), 1.3])
def test_covariances(covariance):
    """Of the identity all eigenvalues coincide."""
    normal, mean = stats.multivariate_normal, np.array([0.1, 0.2, 0.5])

    def whole(s):
        return 0.5 * (s + s.T) if np.ndim(s) == 2 else s

    check(lambda m, s: normal.logpdf(X, m, whole(s)), mean, covariance)
    check(lambda s: np.sum(normal.pdf(np.stack([X, mean]), mean, whole(s))), covariance)
    check(lambda s: normal(mean, whole(s)).logpdf(X) + normal.entropy(mean, whole(s)), covariance)


@pytest.mark.night
def test_probabilities_of_two_variables():
    """With respect to the covariance where bounds are infinite too; of second order."""
    normal, spread = stats.multivariate_normal, np.array([[2.0, 0.3], [0.3, 1.0]])
    x, mean, low = np.array([0.3, 0.6]), np.array([0.1, -0.2]), np.array([-1.0, -2.0])

    def whole(s):
        return 0.5 * (s + s.T)

    check(lambda x, m, s: normal.cdf(x, m, whole(s)), x, mean, spread)
    check(lambda x, s, low: normal.logcdf(x, mean, whole(s), lower_limit=low), x, spread, low)

    def of_scale(t):
        return normal.cdf(x, mean, t * spread)

    np.testing.assert_allclose(
        hessian(of_scale)(1.3), differences(grad(of_scale), (1.3,), 0, 1e-5), rtol=1e-5
    )


@pytest.mark.night
def test_second_derivatives_of_densities():
    def f(s):
        return stats.multivariate_normal.logpdf(X[:2], np.zeros(2), s * np.array([[1.0, 0.2], [0.2, 1.0]]))

    np.testing.assert_allclose(hessian(f)(1.3), differences(grad(f), (1.3,), 0, 1e-5), rtol=1e-5)


def test_singular_covariances_are_refused():
    def f(s):
        singular = s * np.diag([1.0, 1.0, 0.0])
        return stats.multivariate_normal.logpdf(X * singular[0, 0], np.zeros(3), singular, True)

    with pytest.raises(DerivativeError, match="singular covariance"):
        grad(f)(1.3)


# -- differential equations ----------------------------------------------------------------------------------


def prey(t, y, a, b):
    return np.array([a * y[0] - b * y[0] * y[1], -y[1] + 0.5 * y[0] * y[1]])


@pytest.mark.every(3)
@pytest.mark.parametrize("options", [{}, {"rtol": 1e-8, "atol": 1e-8}, {"t_eval": np.linspace(0.0, 1.0, 5)}])
def test_solve_ivp(options):
    def end(y0, a):
        return np.sum(integrate.solve_ivp(prey, (0.0, 1.0), y0, args=(a, 0.4), **options).y[:, -1] ** 2)

    check(end, np.array([1.0, 2.0]), 0.8, tol=1e-3)

    def captured(a):
        return np.sum(integrate.solve_ivp(lambda t, y: -a * y, (0.0, 1.0), [1.0, 2.0], **options).y[:, -1])

    check(captured, 0.8, tol=1e-3)


# -- integrals -----------------------------------------------------------------------------------------------


def test_integrals():
    check(lambda p, b: integrate.quad(lambda x: np.exp(-p * x) * np.sin(x), 0.0, b)[0], 2.0, 1.5)
    check(lambda p, a: integrate.quad(lambda x, q: np.exp(-q * x), a, 0.0, args=(p,))[0], 2.0, 1.5)
    check(lambda p, a: integrate.quad(lambda x: np.exp(-p * x * x), a, np.inf)[0], 2.0, 0.3)
    check(lambda p: integrate.quad(lambda x: np.exp(-p * (x - 0.3) ** 2), -np.inf, np.inf)[0], 2.0)
    check(lambda p: integrate.quad(lambda x: np.sum(np.exp(-p * x)), 0.0, 1.0)[0], np.array([1.0, 2.0]))


@pytest.mark.night
def test_second_derivatives_of_integrals_and_roots():
    def area(p):
        return integrate.quad(lambda x: np.exp(-p * x) * np.sin(x), 0.0, p)[0]

    def root(p):
        return optimize.brentq(lambda x: x**3 - p * x - 1.0, 0.0, 5.0)

    for f in (area, root):
        np.testing.assert_allclose(hessian(f)(2.0), differences(grad(f), (2.0,), 0, 1e-5), rtol=1e-5)


def test_singular_integrands_are_refused():
    with pytest.raises(DerivativeError, match="singular"):
        grad(lambda p: integrate.quad(lambda x: x**p, 0.0, 1.0)[0])(-0.5)


# -- roots and minima ----------------------------------------------------------------------------------------


def cubic(x, p):
    return x**3 - p * x - 1.0


@pytest.mark.parametrize(
    "solve",
    [
        lambda p: optimize.brentq(lambda x: cubic(x, p), 0.0, 5.0),
        lambda p: optimize.brentq(cubic, 0.0, 5.0, args=(p,), full_output=True)[0],
        lambda p: optimize.newton(lambda x: cubic(x, p), 2.0),
        lambda p: optimize.newton(cubic, 2.0, fprime=lambda x, p: 3.0 * x * x - p, args=(p,)),
        lambda p: optimize.root_scalar(cubic, bracket=(0.0, 5.0), args=(p,)).root,
    ],
)
def test_roots(solve):
    check(solve, 2.0)


@pytest.mark.parametrize(
    "solve",
    [
        lambda p: optimize.bisect(lambda x: cubic(x, p), 0.0, 5.0),
        lambda p: optimize.fsolve(lambda x: cubic(x, p), [2.0])[0],
        lambda p: optimize.minimize_scalar(lambda x: (x - p) ** 2 + 0.1 * x**4).x,
        lambda p: integrate.quad(lambda x: np.exp(-p * x), 0.0, 1.0)[0],
        lambda p: integrate.odeint(lambda y, t: -p * y, [1.0], [0.0, 1.0])[-1, 0],
    ],
)
def test_what_a_function_captured_varies_in_forward_mode_alone(solve):
    y, tangent = jvp(solve, (2.0,), (1.0,))
    assert y == pytest.approx(solve(2.0))
    assert tangent == pytest.approx(grad(solve)(2.0), rel=1e-7) == pytest.approx(jacfwd(solve)(2.0), rel=1e-7)


def test_searches_of_what_does_not_vary_run_as_they_are():
    def f(p):
        fitted = optimize.curve_fit(lambda t, a: a * t, [1.0, 2.0], [2.0, 4.0])[0][0]
        found = optimize.fmin(lambda z: ((z - 3.0) ** 2).sum(), [0.0], disp=False)[0]
        return p * fitted * round(found, 3)

    assert grad(f)(2.0) == pytest.approx(6.0) == pytest.approx(jacfwd(f)(2.0))


def test_roots_of_systems():
    def system(x, p):
        return np.array([x[0] ** 2 + x[1] - p, x[0] - x[1] ** 2 * p])

    check(lambda p: np.sum(optimize.root(system, [1.0, 1.0], args=(p,), tol=1e-12).x ** 2), 2.0)


def test_minima():
    def valley(x, p):
        return (1.0 - x[0]) ** 2 + p * (x[1] - x[0] ** 2) ** 2 + 0.1 * p * x[1]

    check(lambda p: optimize.minimize(valley, [0.5, 0.5], args=(p,), tol=1e-9).x[1], 2.0, tol=1e-3, step=1e-2)
    check(lambda p: optimize.minimize(lambda x: valley(x, p), [0.5, 0.5]).fun, 2.0, tol=1e-3, step=1e-2)
    check(lambda p: optimize.minimize_scalar(lambda x: (x - p) ** 2 + 0.1 * x**4).x, 2.0, tol=1e-4)


def test_minima_at_bounds_do_not_move():
    def nearest(p):
        found = optimize.minimize(lambda x: np.sum((x - p) ** 2), [0.2, 0.2], bounds=[(0, 0.5), (0, 1)])
        return np.sum(found.x)

    np.testing.assert_allclose(grad(nearest)(np.array([0.7, 0.8])), [0.0, 1.0], atol=1e-4)


def on_a_curve(p):
    return {"constraints": {"type": "eq", "fun": lambda x: x[0] ** 2 + x[1] - p}}


def in_a_disc(p):
    disc = {"type": "ineq", "fun": lambda x, q: q - x[0] ** 2 - x[1] ** 2, "args": (p,)}
    return {"constraints": [disc, {"type": "ineq", "fun": lambda x: x + 5.0}]}


def below_a_line(p):
    return {"constraints": optimize.LinearConstraint(np.array([[1.0, 2.0]]), -np.inf, 0.5 * p)}


def in_an_ellipse(p):
    return {"constraints": optimize.NonlinearConstraint(lambda x: p * x[0] ** 2 + x[1] ** 2, -np.inf, 0.7)}


def on_a_curve_at_a_bound(p):
    return {**on_a_curve(p), "bounds": [(0.0, 0.45), (None, None)]}


def minimum_with(sides, method="SLSQP", tol=1e-12):
    def minimum(p):
        found = optimize.minimize(
            lambda x: np.sum((x - p) ** 2) + 0.3 * p * x[0] * x[1],
            [0.5, 0.4],
            method=method,
            tol=tol,
            **sides(p),
        )
        return found.x @ np.array([1.0, 2.0]) + found.fun

    return minimum


@pytest.mark.parametrize(
    "sides",
    [on_a_curve, in_a_disc, below_a_line, in_an_ellipse, on_a_curve_at_a_bound],
    ids=lambda f: f.__name__,
)
def test_minima_with_constraints(sides):
    check(minimum_with(sides), 0.8, tol=1e-4, step=1e-3)


@pytest.mark.parametrize("method", ["trust-constr", "COBYLA"])
def test_other_methods_with_constraints(method):
    expected = grad(minimum_with(in_a_disc))(0.8)
    np.testing.assert_allclose(grad(minimum_with(in_a_disc, method, 1e-9))(0.8), expected, rtol=1e-3)


@pytest.mark.night
def test_second_derivatives_of_minima_with_constraints():
    f = minimum_with(in_a_disc)
    np.testing.assert_allclose(hessian(f)(0.8), differences(grad(f), (0.8,), 0, 1e-3), rtol=1e-3)


def test_a_multiplier_of_zero_is_refused():
    def touching(p):
        sides = {"type": "ineq", "fun": lambda x: 1.0 - x[0]}
        return optimize.minimize(lambda x: (x[0] - p) ** 2, [0.5], constraints=sides, method="SLSQP").x[0]

    with pytest.raises(DerivativeError, match="multiplier is zero.*; leave the constraint out"):
        grad(touching)(1.0)


def of_minimum(p):
    return optimize.minimize(lambda x: np.sum((x - p**2) ** 2 * p + p * x**4), [0.5, 0.5], tol=1e-11).x[0]


def of_minimum_with_gradient(p):
    def f(x, q):
        return (x[0] - q) ** 2 + q * x[0] ** 4, np.array([2.0 * (x[0] - q) + 4.0 * q * x[0] ** 3])

    return optimize.minimize(f, [0.5], args=(p,), jac=True, tol=1e-11).x[0]


def of_scalar_minimum(p):
    return optimize.minimize_scalar(lambda x: (x - p) ** 2 + p * x**4, options={"xtol": 1e-12}).x


def of_system(p):
    def system(x, q):
        return np.array([x[0] ** 2 + x[1] - q, x[0] - x[1] ** 2 * q])

    return np.sum(optimize.root(system, [1.0, 1.0], args=(p,), tol=1e-13).x ** 2)


@pytest.mark.night
@pytest.mark.parametrize("f", [of_minimum, of_minimum_with_gradient, of_scalar_minimum, of_system])
def test_second_derivatives_of_minima_and_systems(f):
    expected = differences(grad(f), (0.7,), 0, 1e-3)
    np.testing.assert_allclose(hessian(f)(0.7), expected, rtol=1e-4)
    np.testing.assert_allclose(grad(grad(f))(0.7), hessian(f)(0.7), rtol=1e-6)


# -- splines -------------------------------------------------------------------------------------------------


@pytest.mark.night
@pytest.mark.parametrize("end", ["not-a-knot", "natural"])
def test_cubic_splines(end):
    def f(x, y, at):
        return np.sum(interpolate.CubicSpline(x, y, bc_type=end)(at) ** 2)

    check(f, KNOTS, np.sin(KNOTS), POINTS)


@pytest.mark.night
def test_slopes_of_cubic_splines():
    check(lambda y, at: np.sum(interpolate.CubicSpline(KNOTS, y)(at, 1)), np.sin(KNOTS), POINTS)


def test_interpolating_splines():
    check(lambda y, at: np.sum(interpolate.make_interp_spline(KNOTS, y)(at) ** 2), np.sin(KNOTS), POINTS)
    check(lambda y: np.sum(interpolate.make_interp_spline(KNOTS, y, bc_type="natural")(POINTS)), KNOTS**2)
    with pytest.raises(DerivativeError, match="'x'"):
        grad(lambda x: np.sum(interpolate.make_interp_spline(x, KNOTS)(POINTS)))(KNOTS)
