"""Derivatives of solutions of differential equations that SciPy finds in C, or with implicit methods: by
central differences of tight solutions, forward against reverse mode."""

import functools

import numpy as np
import pytest
import solution_checks

from ctxdispatch import grad, hessian, jvp, vjp
from ctxdispatch_contexts.programs.errors import DerivativeError

pytest.importorskip("scipy")

from scipy.integrate import odeint, solve_ivp

TIMES = np.linspace(0.0, 3.0, 7)
TIGHT = {"rtol": 1e-11, "atol": 1e-12}


def prey(y, t, a, b):
    return [a * y[0] - b * y[0] * y[1], -y[1] + 0.5 * y[0] * y[1]]


check = functools.partial(solution_checks.check, tol=1e-6, step=1e-4)


def test_values_arguments_times_and_what_is_captured():
    def solved(y0, a, t):
        return odeint(lambda y, s: prey(y, s, a * a, 0.4 * a), y0, t, **TIGHT)

    check(solved, np.array([1.0, 2.0]), 0.8, TIMES)
    check(lambda y0, a, b: odeint(prey, y0, TIMES, args=(a, b), **TIGHT), np.array([1.0, 2.0]), 0.8, 0.4)


def test_arrays_that_are_captured_and_objects():
    class Model:
        def __init__(self, matrix):
            self.matrix = matrix

        def __call__(self, y, t):
            return self.matrix @ y + np.array([np.sin(t), 0.0])

    matrix = np.array([[-0.5, 1.0], [-1.0, -0.3]])
    check(lambda m: odeint(Model(m), [1.0, 0.0], TIMES, **TIGHT), matrix)


@pytest.mark.parametrize(
    "options",
    [
        {"tfirst": True},
        {"full_output": True},
        {"Dfun": lambda y, t, a: [[-2.0 * a * y[0]]]},
        {"hmax": 0.1, "mxstep": 5000, "h0": 1e-4, "hmin": 1e-12, "mxordn": 5, "mxords": 4},
        {"ml": 0, "mu": 0},
    ],
    ids=lambda options: "-".join(options),
)
def test_options_of_odeint(options):
    def decay(y, t, a):
        return -a * y**2 * (1.0 + 0.2 * np.cos(t))

    def of_time_first(t, y, a):
        return decay(y, t, a)

    f = of_time_first if options.get("tfirst") else decay

    def solved(y0, a):
        found = odeint(f, y0, TIMES, args=(a,), **options, **TIGHT)
        return found[0] if options.get("full_output") else found

    check(solved, 1.5, 0.7)
    check(solved, np.array([1.5]), 0.7)


def test_backward_in_time_and_times_that_repeat():
    def solved(y0, a, t):
        return odeint(prey, y0, t, args=(a, 0.4), **TIGHT)

    check(solved, np.array([1.0, 2.0]), 0.8, TIMES[::-1].copy())
    gradient = grad(lambda a: odeint(prey, [1.0, 2.0], [0.0, 1.0, 1.0], args=(a, 0.4), **TIGHT)[2, 0])(0.8)
    expected = grad(lambda a: odeint(prey, [1.0, 2.0], [0.0, 1.0], args=(a, 0.4), **TIGHT)[1, 0])(0.8)
    np.testing.assert_allclose(gradient, expected, rtol=1e-12)


def test_a_jump_at_a_given_time():
    def solved(p):
        def f(y, t):
            return -p * y + (p * 3.0 if t > 1.3 else 0.0)

        return odeint(f, [1.0], [0.0, 1.0, 2.0], tcrit=[1.3], **TIGHT)

    check(solved, 0.8, tol=1e-5, step=1e-4)


def test_what_follows_from_no_derivative_is_constant():
    def f(x):
        y = odeint(lambda y, t: -y, [1.0], [0.0, 1.0])
        return x * y[1, 0]

    np.testing.assert_allclose(grad(f)(2.0), np.exp(-1.0), rtol=1e-6)


def robertson(t, y, k):
    rates = k * np.array([y[0], y[1] * y[2], y[1] ** 2])
    return np.array([-rates[0] + rates[1], rates[0] - rates[1] - rates[2], rates[2]])


def test_a_stiff_system():
    """Rates from 4e-2 to 3e7, over ten orders of time."""
    times = np.array([0.0, 0.4, 40.0, 4e5])

    def solved(logs):
        options = {"tfirst": True, "rtol": 1e-11, "atol": 1e-14, "mxstep": 5000}
        y = odeint(robertson, [1.0, 0.0, 0.0], times, args=(np.exp(logs),), **options)
        return y * np.array([1.0, 1e4, 1.0])

    check(solved, np.log([0.04, 1e4, 3e7]), tol=1e-5, step=1e-3)


@pytest.mark.parametrize("method", ["LSODA", "Radau", "BDF"])
def test_implicit_methods_of_solve_ivp(method):
    def solved(y0, a, end):
        f = lambda t, y: prey(y, t, a, 0.4)  # noqa: E731
        return solve_ivp(f, (0.0, end), y0, t_eval=[0.0, 1.0, 2.0], method=method, rtol=1e-9, atol=1e-10).y

    check(solved, np.array([1.0, 2.0]), 0.8, 3.0, tol=1e-5, step=1e-3)

    def at_the_end(y0, a, end):
        found = solve_ivp(
            lambda t, y: prey(y, t, a, 0.4), (0.0, end), y0, method=method, rtol=1e-9, atol=1e-10
        )
        return found.y[:, -1]

    check(at_the_end, np.array([1.0, 2.0]), 0.8, 3.0, tol=1e-5, step=1e-3)


def test_states_side_by_side():
    def solved(a):
        f = lambda t, y: np.stack([-a * y[0] + y[1], -y[1]])  # noqa: E731
        return solve_ivp(f, (0.0, 1.0), [1.0, 2.0], method="BDF", vectorized=True, t_eval=[1.0], **TIGHT).y

    check(solved, 0.8, tol=1e-5, step=1e-3)


@pytest.mark.night
def test_second_derivatives():
    def end(p):
        return odeint(lambda y, t: -p * y * y, [1.0], [0.0, 1.0], **TIGHT)[1, 0]

    # y = 1 / (1 + p)
    expected = 2.0 / 1.7**3
    np.testing.assert_allclose(hessian(end)(0.7), expected, rtol=1e-7)
    np.testing.assert_allclose(grad(grad(end))(0.7), expected, rtol=1e-7)


@pytest.mark.night
def test_second_derivatives_with_respect_to_an_array_that_it_starts_from():
    def end(y0):
        return odeint(lambda y, t: -y * y, y0, [0.0, 1.0], **TIGHT)[1].sum()

    # y = y0 / (1 + y0)
    y0, d = np.array([0.5, 2.0]), np.array([0.3, -0.8])
    expected = -2.0 * d / (1 + y0) ** 3
    np.testing.assert_allclose(hessian(end)(y0) @ d, expected, rtol=1e-6)
    np.testing.assert_allclose(jvp(grad(end), (y0,), (d,))[1], expected, rtol=1e-6)


def test_a_pullback_may_be_called_again():
    y, pullback = vjp(lambda a: odeint(prey, [1.0, 2.0], TIMES, args=(a, 0.4), **TIGHT), 0.8)
    seed = np.cos(np.arange(y.size)).reshape(y.shape)
    assert pullback(seed) == pullback(seed)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"dense_output": True}, "dense_output"),
        ({"events": lambda t, y: y[0] - 0.5}, "events"),
    ],
)
def test_what_is_more_than_values_is_refused(options, named):
    def f(a):
        return solve_ivp(lambda t, y: -a * y, (0.0, 1.0), [1.0], method="BDF", **options).y[0, -1]

    for derivative in (lambda: grad(f)(1.0), lambda: jvp(f, (1.0,), (1.0,))):
        with pytest.raises(DerivativeError, match=rf"test_trajectories.py:\d+ in .*{named}.*; use"):
            derivative()


def test_complex_solutions_are_refused():
    def f(a):
        y0 = np.array([1.0 + 1.0j])
        return abs(solve_ivp(lambda t, y: 1j * a * y, (0.0, 1.0), y0, method="BDF").y[0, -1])

    with pytest.raises(DerivativeError, match="complex solution.*; split"):
        grad(f)(1.0)


def test_solutions_that_cannot_be_followed_are_refused():
    def blows_up(a):
        return odeint(lambda y, t: a * y * y, [1.0], [0.0, 3.0])[1, 0]

    with pytest.raises(DerivativeError, match="cannot be followed|not found"), np.errstate(all="ignore"):
        grad(blows_up)(1.0)
