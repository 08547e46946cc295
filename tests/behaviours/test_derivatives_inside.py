"""Derivatives taken inside a function that is differentiated itself: of closures, methods and partial
knowledge, by every function that makes one. They agree with differences of the function in both modes.
"""

import numpy as np
import pytest

from ctxdispatch import grad, hessian, hvp, jacfwd, jacobian, jacrev, jvp, value_and_grad, vjp
from ctxdispatch_contexts.reverse import DerivativeError


def jacfwd_of_a_closure(x):
    return (jacfwd(lambda y: y * y * x)(x) ** 2).sum()


def jacrev_of_a_closure(x):
    return (jacrev(lambda y: y * y * x)(x) ** 2).sum()


def jacrev_of_a_number(x):
    return (jacrev(lambda y: (y * y * x).sum())(x) ** 2).sum()


def jacobian_of_a_closure(x):
    return (jacobian(lambda y: y**3 * x)(x) ** 2).sum()


def jacobian_of_a_number(x):
    return (jacobian(lambda y: (y**3 * x).sum())(x) ** 2).sum()


def jacobian_by_two_arguments(x):
    by_a, by_b = jacobian(lambda a, b: a * b * x, argnums=(0, 1))(x, x * x)
    return (by_a**2 + by_b).sum()


def jacfwd_with_aux(x):
    found, aux = jacfwd(lambda y: (y**3, y * x), has_aux=True)(x)
    return (found * aux).sum()


def hessian_of_a_closure(x):
    return (hessian(lambda y: (y**3 * x).sum())(x) * x).sum()


def hvp_of_a_closure(x):
    return (hvp(lambda y: (y**3 * x).sum(), (x,), (x,)) ** 2).sum()


def jvp_of_a_closure(x):
    return jvp(lambda y: (y**3 * x).sum(), (x,), (x * x,))[1]


def vjp_of_a_closure(x):
    value, pullback = vjp(lambda y: (y**3 * x).sum(), x)
    (cotangent,) = pullback(value)
    return cotangent.sum()


def value_and_grad_of_a_closure(x):
    value, gradient = value_and_grad(lambda y: (y**3 * x).sum())(x)
    return value * gradient.sum()


def defaults(x):
    def f(y, scale=2.0, shift=1.0):
        return (y**3 * x).sum() * scale + shift

    value, pullback = vjp(f, x)
    (cotangent,) = pullback(value)
    along = hvp(f, (x,), (x,)).sum() + jvp(f, (x,), (x,))[1]
    return (grad(f)(x, 3.0) + jacfwd(f)(x) + cotangent).sum() + along


def newton(x):
    y = x * 0.5
    for _ in range(3):
        f = lambda z: z**3 + z - x  # noqa: E731
        y = y - np.linalg.solve(jacfwd(f)(y), f(y))
    return y.sum()


def of_unknown_functions(x):
    total = 0.0
    for g in [np.sin, lambda t: t * t]:
        total = total + (jacobian(g)(x) ** 2).sum() + jacfwd(lambda t: t * t * x)(g(x)).sum()
    return total


def out_of_a_dict(x):
    parts = {"x": x}
    return (jacrev(lambda t: t**3)(parts["x"]) ** 2).sum()


class Energy:
    def __init__(self, weights):
        self.weights = weights

    def of(self, y):
        return np.sin(self.weights * y).sum()


class Model(Energy):
    def loss(self, y, scale=2.0):
        return (self.weights * y**3).sum() * scale

    def field(self, y):
        return np.tanh(self.weights * y)

    @staticmethod
    def cube(y):
        return (y**3).sum()

    def step(self, y):
        return y - 0.1 * grad(self.loss)(y) - 0.1 * grad(self.loss)(y, 3.0)

    def jacobians(self, y):
        return jacfwd(self.field)(y) @ jacrev(self.field)(y) + jacobian(self.field)(y)

    def second(self, y):
        return hvp(self.loss, (y,), (y * y,))
    def products(self, y):
        value, pullback = vjp(self.loss, y)
        (cotangent,) = pullback(value)
        return cotangent * jvp(self.loss, (y,), (y * y,))[1]

    def static(self, y):
        return grad(self.cube)(y)

    def inherited(self, y):
        return grad(super().of)(y)


def stepping(x):
    return (Model(x).step(1.1 * x) ** 2).sum()


def jacobians(x):
    return (Model(x).jacobians(1.1 * x) ** 2).sum()


def second(x):
    return (MODEL.second(x * x) ** 2).sum()


def products(x):
    return (Model(x).products(1.1 * x) ** 2).sum()


def static(x):
    return (Model(x).static(1.1 * x) ** 2).sum()


def inherited(x):
    return (Model(x).inherited(1.1 * x) ** 2).sum()


FUNCTIONS = (
    jacfwd_of_a_closure, jacrev_of_a_closure, jacrev_of_a_number, jacobian_of_a_closure,
    jacobian_of_a_number, jacobian_by_two_arguments, jacfwd_with_aux, hessian_of_a_closure, hvp_of_a_closure,
    jvp_of_a_closure, vjp_of_a_closure, value_and_grad_of_a_closure, defaults, newton, of_unknown_functions,
    out_of_a_dict, stepping, jacobians, second, products, static, inherited,
)  # fmt: skip

X = np.array([0.6, 1.1, 0.8])
MODEL = Model(np.array([0.5, -0.3, 0.2]))


def differences(f):
    return np.array([(f(X + 1e-5 * e) - f(X - 1e-5 * e)) / 2e-5 for e in np.eye(3)])


@pytest.mark.every(6)
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_in_both_modes(f):
    expected = differences(f)
    assert grad(f)(X) == pytest.approx(expected, rel=1e-6, abs=1e-8)
    assert [jvp(f, (X,), (e,))[1] for e in np.eye(3)] == pytest.approx(expected, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("f", FUNCTIONS[:13], ids=lambda f: f.__name__)
def test_once_more(f):
    expected = differences(lambda x: grad(f)(x) @ np.array([1.0, -2.0, 0.5]))
    assert hessian(f)(X) @ np.array([1.0, -2.0, 0.5]) == pytest.approx(expected, rel=1e-5, abs=1e-6)


def keyword_default(x):
    def g(t, *, k=x):
        return (k * t**3).sum()

    return grad(g)(x).sum()


def pushed_keyword_default(x):
    def g(t, *, k=x):
        return (k * t**3).sum()

    return jvp(g, (x,), (x,))[1] + hvp(g, (x,), (x,)).sum()


def default_in_a_dict(x):
    def g(t, k=x):
        return (k * t**3).sum()

    return {"a": grad(g)}["a"](x).sum()


def new_defaults(x):
    def g(t, k=x):
        return (k * t**3).sum()

    g.__defaults__ = (x * x,)
    return grad(g)(x).sum() + g(x)


def only_new_defaults(x):
    def g(t, k=x):
        return (k * t**3).sum()

    g.__defaults__ = (x * x,)
    return g(x)


@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize(
    "f",
    [keyword_default, pushed_keyword_default, default_in_a_dict, new_defaults, only_new_defaults],
    ids=lambda f: f.__name__,
)
def test_defaults_that_vary_are_right_or_refused(f, mode):
    expected = differences(f)
    try:
        found = grad(f)(X) if mode == "reverse" else [jvp(f, (X,), (e,))[1] for e in np.eye(3)]
    except DerivativeError as refusal:
        assert f"{__file__}:" in str(refusal)
    else:
        assert found == pytest.approx(expected, rel=1e-6)


def test_captured_by_functions_made_within_functions():
    def main():
        k = 3.0

        def u(p):
            return sum(k * p * s for s in (1.0, 2.0))

        def loss(p):
            return u(p) ** 2

        return grad(loss)(0.7), jvp(loss, (0.7,), (1.0,))[1], hessian(loss)(0.7)

    assert main() == pytest.approx((2 * 81 * 0.7, 2 * 81 * 0.7, 2 * 81))


def test_floats_by_two_arguments():
    def f(x):
        by_u, by_v = jacfwd(lambda u, v: u * u * v * x, (0, 1))(x, x)
        return by_u * by_v

    assert grad(f)(1.3) == pytest.approx(12 * 1.3**5) == jvp(f, (1.3,), (1.0,))[1]


class Spring:
    stiffness = 1.2


SPRING = Spring()
SPRING.stiffness = 1.2


def test_jacrev_of_a_gradient_that_reads_an_attribute():
    def energy(spring, q):
        return np.sum(spring.stiffness * q**4)

    q = np.array([1.0, 2.0])
    expected = np.diag(12 * 1.2 * q**2)
    for jac in (jacrev, jacfwd, jacobian):
        assert jac(lambda q: grad(energy, argnums=1)(SPRING, q))(q) == pytest.approx(expected)
