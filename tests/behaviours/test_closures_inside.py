"""Functions made within a differentiated function that call, and differentiate, others made beside them: how
residuals of differential equations are written."""

import math

import numpy as np
import pytest

from ctxdispatch import grad, hessian, jacfwd, jacrev, jvp, value_and_grad, vjp
from ctxdispatch_contexts.reverse.program import ReverseMode

P = np.random.default_rng(0).normal(size=12)
POINTS = np.linspace(0.1, 0.9, 3)


def net(p, x):
    return np.sum(np.tanh(x * p[:4] + p[4:8]) * p[8:12])


def lambda_and_its_derivatives(p):
    u = lambda x: net(p, x)
    u_x = grad(u)
    u_xx = grad(u_x)
    return (u_xx(0.3) + u_x(0.2) * u(0.3)) ** 2


def generator_expression(p):
    u = lambda x: net(p, x)
    u_xx = grad(grad(u))
    return sum((u_xx(x) + u(x)) ** 2 for x in (0.1, 0.2))


def list_comprehension(p):
    u = lambda x: net(p, x)
    u_xx = grad(grad(u))
    return sum([(u_xx(x) + u(x)) ** 2 for x in POINTS])


def function_that_calls_another(p):
    def u(x):
        return net(p, x)

    def r(x):
        return u(x) * 2.0

    return r(0.2) + grad(r)(0.2)


def derivative_of_one_that_takes_a_derivative(p):
    def u(x):
        return net(p, x)

    def r(x):
        return grad(u)(x) * 2.0 + math.sin(x) * u(x)

    return grad(r)(0.2) + r(0.4)


def local_network(p):
    def local(q, x):
        return np.sum(np.tanh(x * q[:4] + q[4:8]) * q[8:12])

    def u(x):
        return local(p, x)

    return grad(u)(0.2)


def lambdas_of_derivatives(p):
    u = lambda x: net(p, x)
    u_x = lambda x: grad(u)(x)
    u_xx = lambda x: grad(u_x)(x)
    return u_xx(0.3)


def two_arguments(p):
    def u(x, t):
        return net(p, x * t)

    u_x, u_t = grad(u, 0), grad(u, 1)
    u_xx = grad(u_x, argnums=0)

    def f(x, t):
        return u_t(x, t) + u(x, t) * u_x(x, t) - 0.1 * u_xx(x, t)

    total = 0.0
    for i in range(1, 3):
        total = total + f(0.1 * i, 0.2) ** 2
    return total


def made_in_a_loop(p):
    total = 0.0
    for i in range(3):

        def u(x):
            return net(p, x) * i

        def r(x):
            return grad(u)(x) + u(x)

        total = total + grad(r)(0.1)
    return total


def along_a_direction(p):
    f = lambda s: jvp(lambda z: net(p, z), (s,), (1.0,))[1]
    return jvp(f, (0.3,), (1.0,))[1]


def a_pullback(p):
    def u(x):
        return net(p, x)

    def r(x):
        y, pull = vjp(u, x)
        return y + pull(x)[0]

    return grad(r)(0.3)


def shared_by_value_and_grad(p):
    scale = lambda x: x * p[0]

    def u(x):
        return net(p, scale(x))

    value, slope = value_and_grad(u)(0.3)
    return value * slope


def with_a_default(p):
    u = lambda x, k=2.0: net(p, x * k)
    v = lambda x: u(x) * x
    return grad(v)(0.3)


def made_by_a_function(p):
    def scaled(k):
        def u(x):
            return net(p, k * x)

        return u

    u, v = scaled(p[0]), scaled(2.0)
    return grad(lambda x: u(x) + v(x))(0.3)


def late_binding(p):
    total = 0.0
    for k in range(3):
        u = lambda x: net(p, x) * k
        total = total + grad(u)(0.3)
    return total


def set_in_either_branch(p):
    if p[0] > 0:
        k = p[1]
    else:
        k = 2.0 * p[1]

    def u(x):
        return net(p, x) * k

    return grad(u)(0.3)


CASES = [
    lambda_and_its_derivatives, generator_expression, list_comprehension, function_that_calls_another,
    derivative_of_one_that_takes_a_derivative, local_network, lambdas_of_derivatives, two_arguments,
    with_a_default, made_by_a_function, late_binding, set_in_either_branch, made_in_a_loop,
    along_a_direction, a_pullback, shared_by_value_and_grad,
]  # fmt: skip


def differences(f, p, h=1e-5):
    return np.array([(f(p + h * e) - f(p - h * e)) / (2 * h) for e in np.eye(len(p))])


@pytest.mark.every(6)
@pytest.mark.parametrize("f", CASES, ids=lambda f: f.__name__)
def test_gradients_and_tangents(f):
    slope = grad(f)(P)
    assert slope == pytest.approx(differences(f, P), rel=1e-6, abs=1e-8)
    assert jvp(f, (P,), (P,))[1] == pytest.approx(slope @ P, rel=1e-9)
    assert jacfwd(f)(P) == pytest.approx(slope, rel=1e-9)


@pytest.mark.every(6)
@pytest.mark.parametrize("f", CASES, ids=lambda f: f.__name__)
def test_second_derivatives(f):
    found = hessian(f)(P)
    assert found == pytest.approx(differences(grad(f), P), rel=1e-5, abs=1e-7)
    assert found == pytest.approx(found.T, rel=1e-9, abs=1e-12)


NETS = [
    lambda p, x: np.sum(np.tanh(x * p)),
    lambda p, x: np.sum(np.tanh(x * p.reshape(1, -1))),
    lambda p, x: np.sum(np.tanh(np.multiply(x, p[1:]))),
    lambda p, x: np.sum(np.tanh(x * p[p > 0.1])),
    lambda p, x: np.sum(np.tanh(x * np.broadcast_to(p, (3, 2)))),
    lambda p, x: np.max(np.tanh(x * p)),
    lambda p, x: np.dot(np.tanh(x * p), p),
    lambda p, x: np.mean(np.tanh(np.float32(x) * p) ** 2),
]


@pytest.mark.night
def test_second_derivatives_of_recorded_runs():
    """Programs of the functions within run under two recordings, which rewrite them, their cells in variables
    included."""

    def recorded(p):
        try:
            return two_arguments(p)
        finally:
            pass

    assert hessian(recorded)(P) == pytest.approx(differences(grad(two_arguments), P), rel=1e-5, abs=1e-7)


@pytest.mark.every(3)
@pytest.mark.parametrize("which", range(len(NETS)))
@pytest.mark.parametrize("outer", [jacfwd, jacrev])
def test_a_number_that_arrays_are_scaled_with(which, outer):
    """Fourth derivatives, two of them with respect to a number that is broadcast."""
    net, p = NETS[which], np.array([0.3, 0.5])

    def bend(p):
        return grad(grad(lambda x: net(p, x)))(0.2)

    assert outer(grad(bend))(p) == pytest.approx(differences(grad(bend), p), rel=1e-4, abs=1e-5)


@pytest.mark.every(3)
@pytest.mark.parametrize("scale", [0.2, np.float64(0.2), np.float32(0.2), 0.2 + 0.1j])
@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 3), (0,)])
def test_cotangents_of_numbers_have_their_type(scale, shape):
    x = np.linspace(0.1, 0.9, math.prod(shape)).reshape(shape)
    slope = grad(lambda s: np.sum(np.abs(s * x) ** 2))(scale)
    assert type(slope) is type(scale)
    assert slope == pytest.approx(np.sum(2 * x * x) * np.conj(scale), rel=1e-5)


def test_a_local_function_that_calls_itself():
    """Its cell holds itself."""

    def f(p):
        def power(x, n):
            return p[0] if n == 0 else power(x, n - 1) * x

        return grad(lambda x: power(x, 3))(0.5) * 2.0

    np.testing.assert_allclose(grad(f)(np.array([2.0])), [1.5])  # f(p) = 6 p x^2 at 0.5


def test_one_local_function_or_another():
    """Which, only run time knows."""

    def f(p):
        def u(x):
            return net(p, x)

        v = (lambda x: u(x) * x) if p[0] > 0 else (lambda x: u(x) - x)
        return grad(u)(0.3) * v(0.2)

    assert grad(f)(P) == pytest.approx(differences(f, P), rel=1e-5, abs=1e-6)


@pytest.mark.every(3)
@pytest.mark.parametrize("mode", [grad, jacfwd])
def test_functions_that_the_differentiated_function_captured(mode):
    """Made before it, with variables of their own, that may be others at the next call."""
    scale = 2.0
    cubic = lambda q, x: np.sum(x**3 * q)

    local = lambda q, x: np.sum(np.tanh(x * q) * scale)

    def bend(p):
        return grad(grad(lambda x: local(p, x)))(0.2)

    p = np.array([0.3, 0.5])
    before = mode(bend)(p)
    assert before == pytest.approx(differences(bend, p), rel=1e-5)
    scale = 6.0
    assert mode(bend)(p) == pytest.approx(3 * before)
    local = cubic
    assert mode(bend)(p) == pytest.approx([1.2, 1.2])


def test_a_captured_function_of_other_code():
    def local(q, x):
        return q * x * x

    def bend(p):
        return grad(lambda x: local(p, x))(0.3)

    assert grad(bend)(2.0) == pytest.approx(0.6)
    local.__code__ = (lambda q, x: q * q * x).__code__
    assert grad(bend)(2.0) == pytest.approx(4.0)
    local.__code__ = (lambda q, x, k=2.0: q * x * k).__code__
    local.__defaults__ = (2.0,)
    assert grad(bend)(2.0) == pytest.approx(2.0)
    local.__defaults__ = (5.0,)
    assert grad(bend)(2.0) == pytest.approx(5.0)


def test_each_program_in_between_is_made_once(monkeypatch):
    """Compile time grows with the number of levels, not exponentially."""
    made = []
    differentiate = ReverseMode.differentiate
    monkeypatch.setattr(
        ReverseMode, "differentiate", lambda self, *args: made.append(self) or differentiate(self, *args)
    )

    def f(x):
        return np.sum(np.sin(x) * x)

    def bend(x):
        return np.sum(grad(lambda y: np.sum(grad(lambda z: np.sum(grad(f)(z) * z))(y) * y))(x))

    assert grad(bend)(np.array([0.3, 0.4])).shape == (2,)
    assert len(made) <= 16  # four levels, for vectors of one length and of another
