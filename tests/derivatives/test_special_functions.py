"""Derivatives of scipy.special: what is refused, edges, further derivatives, and when SciPy is imported."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest

special = pytest.importorskip("scipy.special")

from ctxdispatch import check_grads, grad, jvp, vjp  # noqa: E402
from ctxdispatch_contexts.derivatives import table  # noqa: E402

# -- when it is imported -------------------------------------------------------------------------------------

LAZY = """
import sys
import numpy as np
import ctxdispatch
from ctxdispatch_contexts.derivatives import table

def f(x):
    return np.sum(np.sin(x))

def g(x):
    import scipy.special
    return scipy.special.jv(2, x)

before = len(list(table.names()))
ctxdispatch.grad(f)(np.ones(2))
assert not [name for name in sys.modules if name.partition(".")[0] == "scipy"]
import scipy.special
assert table.elementwise(scipy.special.jv).name == "jv"
assert table.lowering(scipy.special.zeta) and table.vjp_rule(scipy.special.softmax)
assert len(list(table.names())) > before
def h(x):
    return scipy.special.jv(2, x)
assert abs(ctxdispatch.grad(h)(0.5) - 0.119852363) < 1e-8
"""


def test_rules_are_found_once_a_program_has_imported_the_library():
    done = subprocess.run([sys.executable, "-c", LAZY], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_one_function_of_several_names_has_one_row():
    assert table.elementwise(special.psi) is table.elementwise(special.digamma)
    assert table.elementwise(special.jn) is table.elementwise(special.jv)


# -- refused -------------------------------------------------------------------------------------------------

REFUSED = {
    "jv": ((1.5, 0.7), 0, "order"), "yv": ((1.5, 0.7), 0, "order"), "iv": ((1.5, 0.7), 0, "order"),
    "ive": ((1.5, 0.7), 0, "order"), "kv": ((1.5, 0.7), 0, "order"),
    "zeta": ((2.5, 0.7), 0, "exponent"),
    "polygamma": ((1.0, 0.7), 0, "order"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_where_no_derivative_is_known_it_is_refused_and_not_zero(name):
    args, i, what = REFUSED[name]
    callee = getattr(special, name)

    def f(*args):
        return callee(*args)

    message = rf"special\.{name} with respect to its {what} .* `stop_gradient`"
    with pytest.raises(NotImplementedError, match=message):
        grad(f, argnums=i)(*args)
    with pytest.raises(NotImplementedError, match=message):
        jvp(f, args, [1.0 if k == i else None for k in range(len(args))])


@pytest.mark.parametrize("name", REFUSED)
def test_orders_and_parameters_that_do_not_vary_may_be_any_numbers(name):
    args = REFUSED[name][0]
    callee, last, h = getattr(special, name), len(args) - 1, 1e-5

    def f(*args):
        return callee(*args)

    def along(t):
        return callee(*args[:-1], args[-1] + t)

    expected = (8 * (along(h) - along(-h)) - (along(2 * h) - along(-2 * h))) / (12 * h)
    assert grad(f, argnums=last)(*args) == pytest.approx(expected, rel=1e-8)


SETTINGS = {"order": 1.5, "dtype": "d", "exponent": 2.5}


def test_nor_need_their_types_be_known():
    """What is read from settings may be anything, until it runs; it does not vary."""

    def f(x):
        scaled = special.iv(SETTINGS["order"], x) + special.jv(2, x, dtype=SETTINGS["dtype"])
        return np.sum(scaled * special.zeta(SETTINGS["exponent"], x))

    def known(x):
        return np.sum((special.iv(1.5, x) + special.jv(2, x)) * special.zeta(2.5, x))

    x = np.array([0.7, 1.2])
    np.testing.assert_allclose(grad(f)(x), grad(known)(x), rtol=1e-14)
    np.testing.assert_allclose(grad(f)(x), [jvp(f, (x,), (e,))[1] for e in np.eye(2)], rtol=1e-13)


def test_the_zeta_function_of_riemann_is_refused():
    with pytest.raises(NotImplementedError, match="exponent"):
        grad(lambda x: special.zeta(x))(2.5)


COMPLEX = np.array([0.3 + 0.2j, -0.5 + 1j, 2 - 1j, -3.3 - 0.1j])


@pytest.mark.parametrize("name", ["psi", "gamma", "loggamma", "rgamma"])
def test_complex_gamma_functions_twice(name):
    f = getattr(special, name)
    check_grads(lambda z: f(z), (COMPLEX,))
    g = grad(lambda z: np.sum(np.abs(f(z)) ** 2))
    d, h = np.array([1 - 0.5j, 0.3j, 0.2, 1]), 1e-5
    expected = (g(COMPLEX + h * d) - g(COMPLEX - h * d)) / (2 * h)
    np.testing.assert_allclose(jvp(g, (COMPLEX,), (d,))[1], expected, rtol=1e-7)


@pytest.mark.parametrize("x", [1e-6, 0.3, 7.0, 1e6, -0.4, -50.3])
def test_the_derivative_of_psi_by_the_integral_of_cauchy(x):
    from ctxdispatch_contexts.derivatives.special_functions import derivative_of_psi

    found = derivative_of_psi(np.array(x + 0j), 1)
    assert found == pytest.approx(special.polygamma(1, x), rel=1e-12)


ORDERED = {"casting": "same_kind", "order": "C", "dtype": "d"}


@pytest.mark.parametrize("name", ORDERED)
def test_keywords_of_three_operands(name):
    keywords = {name: ORDERED[name]}
    check_grads(lambda a, b, x: special.betainc(a, b, x, **keywords), (1.2, 2.5, np.array([0.3, 0.7])))


@pytest.mark.parametrize("order", [2, 1.5, np.arange(2.0)[:, None]], ids=str)
def test_a_complex_function_that_is_not_analytic(order):
    z = COMPLEX[:3]
    check_grads(lambda z: special.ive(order, z), (z,))
    g = grad(lambda z: np.sum(np.abs(special.ive(order, z)) ** 2))
    d, h = np.array([1 - 0.5j, 0.3j, 0.2]), 1e-5
    expected = (g(z + h * d) - g(z - h * d)) / (2 * h)
    np.testing.assert_allclose(jvp(g, (z,), (d,))[1], expected, rtol=1e-8)


def test_the_order_of_a_complex_function_is_refused():
    f = lambda v: special.ive(v, 0.3 + 0.2j).real  # noqa: E731
    message = r"special\.ive with respect to its order .* in `special\.ive\(v, 0\.3 \+ 0\.2j\)`"
    with pytest.raises(NotImplementedError, match=message):
        grad(f)(1.5)
    with pytest.raises(NotImplementedError, match=message):
        jvp(f, (1.5,), (1.0,))


# -- edges ---------------------------------------------------------------------------------------------------


def test_sums_of_nothing_have_no_slope():
    a = np.array([[-np.inf, -np.inf], [0.0, -np.inf]])
    found = grad(lambda a: special.logsumexp(a, axis=1)[1] + 0.0 * special.logsumexp(a[1]))(a)
    assert found.tolist() == [[0.0, 0.0], [1.0, 0.0]]
    _, pullback = vjp(lambda a: special.logsumexp(a, axis=1), a)
    assert pullback(np.ones(2))[0].tolist() == [[0.0, 0.0], [1.0, 0.0]]


def test_weights_of_zero_hide_what_they_weigh():
    a, b = np.array([np.inf, 1.0]), np.array([0.0, 2.0])
    assert grad(lambda a: special.logsumexp(a, b=b))(a).tolist() == [0.0, pytest.approx(1.0)]


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_the_reciprocal_of_gamma_at_its_zeros(n):
    expected = (-1) ** n * math.factorial(n)
    assert grad(lambda x: special.rgamma(x))(-float(n)) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("f, g", [(special.kl_div, 0.0), (special.rel_entr, -0.0), (special.xlogy, 0.0)])
def test_nothing_of_nothing(f, g):
    assert grad(lambda a, b: f(a, b), argnums=1)(0.0, 2.0) == (1.0 if f is special.kl_div else 0.0)
    assert math.isfinite(grad(lambda a, b: f(a, b), argnums=1)(0.0, 0.0))


@pytest.mark.parametrize("x", [-1e4, -40.0, -3.0, 0.0, 5.0, 60.0])
def test_slopes_of_log_ndtr_far_out(x):
    mpmath = pytest.importorskip("mpmath")
    with mpmath.workdps(60):
        expected = float(mpmath.npdf(x) / (mpmath.erfc(-mpmath.mpf(x) / mpmath.sqrt(2)) / 2))
    assert grad(lambda x: special.log_ndtr(x))(x) == pytest.approx(expected, rel=1e-13)


def test_tails_of_the_logistic_function_do_not_cancel():
    assert grad(lambda x: special.expit(x))(50.0) == pytest.approx(math.exp(-50.0), rel=1e-15)


def test_erfcx_where_its_formula_cancels():
    mpmath = pytest.importorskip("mpmath")
    with mpmath.workdps(60):
        for x in (-2.0, 0.0, 3.0, 39.0, 41.0, 1e3, 1e6):
            t = mpmath.mpf(x)
            y = mpmath.exp(t * t) * mpmath.erfc(t)
            expected = float(2 * t * y - 2 / mpmath.sqrt(mpmath.pi))
            assert grad(lambda x: special.erfcx(x))(x) == pytest.approx(expected, rel=1e-11), x


def test_lists_of_numbers():
    x = np.array([0.5, 1.5])
    expected = special.softmax(x)
    assert np.allclose(grad(lambda x: special.logsumexp([x[0], x[1]]))(x), expected)
    assert np.allclose(grad(lambda x: special.logsumexp((x[0], x[1])))(x), expected)
    assert np.allclose(jvp(lambda x: special.logsumexp([x[0], x[1]]), (x,), (np.ones(2),))[1], 1.0)


# -- further derivatives -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name, args", [
    ("gamma", (1.5,)), ("psi", (1.5,)), ("rgamma", (1.5,)), ("erfinv", (0.3,)), ("ndtri", (0.3,)),
    ("log_ndtr", (-1.5,)), ("j0", (1.5,)), ("j1", (1.5,)), ("jv", (2, 1.5)), ("y1", (1.5,)), ("iv", (2, 1.5)),
    ("ive", (2, 1.5)), ("kv", (1, 1.5)), ("i1e", (1.5,)), ("expit", (0.5,)), ("entr", (0.5,)),
    ("xlogy", (0.5, 0.4)), ("kl_div", (0.5, 0.4)), ("betaln", (1.5, 0.7)), ("gammainc", (2, 1.5)),
    ("betainc", (2, 3, 0.3)), ("zeta", (3, 1.5)), ("polygamma", (1, 1.5)), ("erfcx", (1.5,)),
])  # fmt: skip
def test_second_derivatives(name, args):
    callee, last, h = getattr(special, name), len(args) - 1, 1e-4

    def f(*args):
        return callee(*args)

    first = grad(f, argnums=last)
    a, b, c, d = (first(*args[:-1], args[-1] + t) for t in (h, -h, 2 * h, -2 * h))
    found = grad(first, argnums=last)(*args)
    assert found == pytest.approx((8 * (a - b) - (c - d)) / (12 * h), rel=1e-8)


def test_second_derivatives_of_sums():
    a = np.array([0.3, -1.0, 0.5])
    for f in (special.logsumexp, lambda a: special.softmax(a)[0], lambda a: special.log_softmax(a)[1]):
        _, found = jvp(grad(lambda a: f(a)), (a,), (np.ones(3),))
        assert np.allclose(found, 0.0, atol=1e-15)
