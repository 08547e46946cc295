"""What SciPy solves, where that has no derivative."""

import ctypes
import heapq
import math
import operator

import numpy as np
import pytest

from tests.refusals.refusal_table import BOTH, refused

scipy = pytest.importorskip("scipy")

from scipy import integrate, interpolate, linalg, optimize, special, stats  # noqa: E402
from scipy.sparse import csc_array  # noqa: E402
from scipy.sparse.linalg import splu  # noqa: E402

ONE = 2.0

_SINE = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(math.sin)
LU = splu(csc_array(np.diag([2.0])))
SINE = scipy.LowLevelCallable(_SINE)


@refused(
    "the derivative of a complex root is not known; split it into real and imaginary part", "grad", x=ONE
)
def a_complex_root(p):
    return optimize.newton(lambda z: z * z + p, 1.0j).imag  # here


@refused(
    "a root has no derivative where that of the function is zero; keep it out of the derivative "
    "with `stop_gradient`",
    "grad",
    x=0.0,
)
def a_root_without_slope(p):
    return optimize.root_scalar(lambda z: z**3 - p, x0=0.0, x1=0.0, bracket=[-1.0, 1.0]).root  # here


@refused(
    "a solution has no derivative where the Jacobian (of a minimum: the Hessian) is singular; keep "
    "it out of the derivative with `stop_gradient`",
    "grad",
    x=ONE,
)
def a_singular_system(p):
    return optimize.fsolve(lambda z: np.array([z[0] + z[1] - p, z[0] + z[1] - p]), np.ones(2))[0]  # here


NOT_FOUND = (
    "the root was not found: the function is not zero where SciPy stopped, and so it has no derivative "
    "there; give more iterations, a smaller tolerance or another start"
)


@refused(NOT_FOUND, "grad", x=ONE)
def a_system_without_solution(p):
    return optimize.root(lambda z: z**2 + p, [1.0, 2.0]).x[0]  # here


@refused(NOT_FOUND, "grad", x=ONE)
def a_root_that_is_not_found(p):
    return optimize.newton(lambda z: z**3 - p, 30.0, maxiter=2, disp=False)  # here


def searched(name, remedy):
    return refused(
        f"scipy.optimize.{name} has no derivative rule: how it finds its result says nothing of the "
        f"derivative; {remedy}",
        "grad",
        x=ONE,
    )


@searched("fmin", "use `scipy.optimize.minimize(.., method='Nelder-Mead')`")
def a_search_by_simplex(p):
    return optimize.fmin(lambda z: ((z - p) ** 2).sum(), [0.0], disp=False)[0]  # here


@searched("golden", "use `scipy.optimize.minimize_scalar`")
def a_search_of_one_number(p):
    return optimize.golden(lambda z, at: (z - at) ** 2, (p,), brack=(0.0, 1.0))  # here


@searched("brute", "use `scipy.optimize.minimize` from what it finds with `stop_gradient` of the arguments")
def a_search_on_a_grid(p):
    return optimize.brute(lambda z: (z - p) ** 2, [(0.0, 3.0)], Ns=4, finish=None)  # here


@searched("least_squares", "use `scipy.optimize.minimize` of the sum of squares")
def squares_that_are_least_already(p):
    return optimize.least_squares(lambda z: z - p, [ONE]).x[0]  # here


@searched("curve_fit", "use `scipy.optimize.minimize` of the sum of squares")
def a_curve_that_is_fitted(p):
    return optimize.curve_fit(lambda t, a: a * t, [1.0, 2.0], [p, p])[0][0]  # here


@searched("linprog", "give it one with `custom_rule`")
def a_linear_program(p):
    return optimize.linprog([p, 1.0], A_ub=[[-1.0, -1.0]], b_ub=[-1.0]).fun  # here


@refused(
    "builtins.SuperLU.solve has no derivative rule for (LU: SuperLU, p * np.ones(1): ndarray); give it one "
    "with `custom_rule`, or keep its arguments out of the derivative with `stop_gradient`",
    "grad",
    x=ONE,
)
def a_factor_of_c_code(p):
    return LU.solve(p * np.ones(1))[0]  # here


class Fields(list):
    mass = property(operator.itemgetter(0), heapq.heappush)


@refused(
    "the attribute 'mass' of (tests.refusals.refused_by_scipy.Fields) is given a value that depends on what "
    "is differentiated, which C code makes something else of; keep it in an object of Python's, or give it "
    "`stop_gradient`",
    "grad",
    x=ONE,
)
def a_field_of_c_code(p):
    fields = Fields()
    fields.mass = p * 2.0  # here
    return fields.mass * p


@refused(
    "the derivative of scipy.optimize._minimize.minimize with respect to 'bounds' is not known; "
    "keep it out of the derivative with `stop_gradient`",
    "grad",
    x=ONE,
)
def a_bound_that_varies(p):
    return optimize.minimize(lambda z: z[0] ** 2, [3.0], bounds=[(p, 4.0)]).fun  # here


@refused(
    "the minimum was not found: the gradient is not zero where SciPy stopped, and so it has no "
    "derivative there; give more iterations or a smaller tolerance",
    "grad",
    x=ONE,
)
def a_minimum_that_is_not_found(p):
    found = optimize.minimize(lambda z: ((z - p) ** 4).sum(), [300.0], options={"maxiter": 1})  # here
    return found.x[0]


@refused(
    "the minimum was not found: the conditions of Karush, Kuhn and Tucker do not hold where SciPy "
    "stopped, and so it has no derivative there; give more iterations or a smaller tolerance",
    "grad",
    x=ONE,
)
def a_minimum_on_a_line_that_is_not_found(p):
    line = {"type": "eq", "fun": lambda z: z[0] + z[1] - 1.0}
    once = {"constraints": line, "options": {"maxiter": 1}}
    return optimize.minimize(lambda z: ((z - p) ** 4).sum(), [3.0, -2.0], **once).x[0]  # here


@refused(
    "a constraint is met with equality at the minimum and its multiplier is zero: on one side of it "
    "the minimum moves in another way, and it has no derivative; leave the constraint out, or make "
    "it an equality",
    "grad",
    x=1.0,
)
def a_multiplier_of_zero(p):
    below = {"type": "ineq", "fun": lambda z: 1.0 - z[0]}
    return optimize.minimize(lambda z: (z[0] - p) ** 2, [0.5], constraints=below).x[0]  # here


@refused(
    "quad with `weight` or `complex_func` has no derivative; write the weight into the integrand, "
    "or integrate real and imaginary part",
    "grad",
    x=ONE,
)
def a_weight(p):
    return integrate.quad(lambda t: t * p, 0.0, 1.0, weight="sin", wvar=2.0)[0]  # here


@refused(
    "the integrand is singular or not smooth: its derivative cannot be integrated on the intervals "
    "that quad chose for it; substitute the variable so that it is smooth, or give `points`",
    "grad",
    x=0.3,
)
def an_integrand_with_a_jump(p):
    return integrate.quad(lambda t: 1.0e3 * p * np.abs(t - p) ** -0.5, 0.0, 1.0)[0]  # here


@refused(
    "a solution that was not found has no derivative: Excess work done on this call (perhaps wrong Dfun "
    "type).",
    "grad",
    x=ONE,
)
def a_solution_that_is_not_found(p):
    return integrate.odeint(lambda y, t: -p * y, [1.0], [0.0, 3.0], mxstep=2)[1, 0]  # here


@refused(
    "the solution cannot be followed closely enough for its derivative: Excess work done on this call "
    "(perhaps wrong Dfun type).",
    "grad",
    x=ONE,
)
def a_solution_through_a_pole(p):
    pole = lambda y, t: p / (abs(t - 0.5) + 1e-30)  # noqa: E731
    return integrate.odeint(pole, [1.0], [0.0, 1.0], rtol=1e-2, atol=1e-2)[1, 0]  # here


@refused(
    "the derivative of the solution cannot be followed: the function is not smooth along it; give the "
    "times at which it jumps (`tcrit`), or solve from one to the next",
    "grad",
    x=ONE,
)
def a_solution_with_a_jump(p):
    return integrate.odeint(lambda y, t: p * (t > 0.3712), [1.0], [0.0, 3.0])[1, 0]  # here


@refused(
    "the derivative of a complex solution is not known; split it into real and imaginary part",
    "grad",
    x=ONE,
)
def a_complex_solution(p):
    circle = lambda t, y: 1j * p * y  # noqa: E731
    return abs(integrate.solve_ivp(circle, (0.0, 1.0), [1.0 + 1.0j], method="BDF").y[0, -1])  # here


@refused(
    "scipy.integrate.solve_ivp with the method 'BDF' has derivatives of values alone, not with 'events'; "
    "use the method 'RK45'",
    *BOTH,
    x=1.0,
)
def events_on_a_solution(p):
    stiff = {"method": "BDF", "events": lambda t, y: y[0] - 0.5}
    return integrate.solve_ivp(lambda t, y: -p * y, (0.0, 1.0), [1.0], **stiff).y[0, -1]  # here


@refused("make_interp_spline has derivatives along the first axis; move the axis there", "grad", x=ONE)
def a_spline_along_another_axis(p):
    return interpolate.make_interp_spline([0.0, 1.0], np.ones((2, 2)) * p, k=1, axis=1)(0.5)[0]  # here


@refused(
    "the integral of a piecewise polynomial has no derivative rule; use the difference of its "
    "antiderivative's values",
    "grad",
    x=ONE,
)
def the_integral_of_a_spline(p):
    return interpolate.CubicSpline([0.0, 1.0, 2.0], [0.0, p, 1.0]).integrate(0.0, 1.0)  # here


@refused(
    "the density of a singular covariance has no derivative with respect to it; give a positive definite "
    "one, or keep it out of the derivative with `stop_gradient`", "grad", x=ONE,
)  # fmt: skip
def a_singular_covariance(p):
    of = stats.multivariate_normal
    return of.logpdf([0.0, 0.0], [0.0, 0.0], np.ones((2, 2)) * p, allow_singular=True)  # here


@refused(
    "there is no derivative of a function that overwrites its arguments in `linalg.inv(a, True)`; "
    "leave overwrite_a, overwrite_b out",
    "grad",
    x=np.eye(2),
)
def overwrites(a):
    return linalg.inv(a, True).sum()  # here


@refused(
    "there is no derivative of scipy.special.jv with respect to its order in closed form in "
    "`special.jv(v, 1.0)`; keep that argument out of the derivative with `stop_gradient`, or give "
    "the function a rule with `custom_rule`",
    "grad",
    x=ONE,
)
def an_order(v):
    return special.jv(v, 1.0)  # here


@refused(
    "there is no derivative of scipy.special.zeta with respect to its exponent in closed form in "
    "`special.zeta(v)`; keep that argument out of the derivative with `stop_gradient`, or give the "
    "function a rule with `custom_rule`",
    "grad",
    x=ONE,
)
def zeta_of_one(v):
    return special.zeta(v)  # here


@refused(
    "there is no derivative of sqrtm of fewer than two dimensions, for which versions of SciPy give "
    "different results in `linalg.sqrtm(x)`; give it a matrix, `np.atleast_2d(a)`",
    "grad",
    x=np.array([0.5]),
)
def a_root_of_no_matrix(x):
    return linalg.sqrtm(x).sum()  # here


@refused(
    "there is no derivative of sqrtm of fewer than two dimensions, for which versions of SciPy give "
    "different results; give it a matrix, `np.atleast_2d(a)`",
    "jvp",
    x=np.array([0.5]),
)
def a_tangent_of_a_root_of_no_matrix(x):
    return linalg.sqrtm(x).sum()  # here


@refused("quad of a LowLevelCallable has no derivative; give it a function of Python's", *BOTH, x=ONE)
def an_integrand_of_machine_code(p):
    return integrate.quad(SINE, 0.0, p)[0]  # here


@refused(
    "B-splines of complex numbers, or along another axis than the first, are not ruled; split it, or move "
    "the axis there",
    *BOTH,
    x=ONE,
)
def a_basis_along_another_axis(p):
    return interpolate.BSpline([0.0, 0.0, 1.0, 1.0], np.ones((2, 2)) * p, 1, axis=1)(0.5)[0]  # here


@refused(
    "what scipy.optimize._zeros_py.brentq calls stores into an array that is differentiated; have it make an "
    "array of its own",
    "grad",
    x=np.array([1.0, 2.0]),
)
def a_function_that_stores(p):
    held = p * 1.0

    def f(z):
        held[0] = 3.0
        return z * z - held[0]

    return optimize.brentq(f, 0.0, 2.0) * held[1]  # here
