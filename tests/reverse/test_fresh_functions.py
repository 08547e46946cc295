"""Functions made anew at each step share one program from the second one on, and the answer never depends on
which of them it is, nor on what an earlier one captured."""

import functools
import itertools

import numpy as np
import pytest

from ctxdispatch import (
    ADContext,
    broadcast,
    checkpoint,
    grad,
    hessian,
    jvp,
    stop_gradient,
    value_and_grad,
    vjp,
)
from tests.behaviours.mutation_checks import central

X = np.array([0.5, 2.0, -1.0])
STEPS = 12


def _square(a):
    return a * a


def _cube(a):
    return a * a * a


def _lambda(k, data, inner):
    return lambda p: np.sum(inner(p) * data) * k


def _nested(k, data, inner):
    def scaled(p):
        return inner(p) * k

    def objective(p):
        return np.sum(scaled(p) * data)

    return objective


def _default(k, data, inner):
    def objective(p, k=k, data=data):
        return np.sum(inner(p) * data) * k

    return objective


def _keyword(k, data, inner):
    def objective(p, *, scale=k):
        return np.sum(inner(p) * data) * scale

    return objective


def _literal_keyword(k, data, inner):
    def objective(p, *, scale=2.0):
        return np.sum(inner(p) * data) * k * scale

    return objective


def _default_of_inner(k, data, inner):
    def scaled(p, power=2.0, by=k):
        return inner(p) * by**power

    return lambda p: np.sum(scaled(p) * data)


def _two_deep(k, data, inner):
    def outer(p):
        def innermost(q):
            return inner(q) * k

        return np.sum(innermost(p) * data)

    return lambda p: outer(p) + outer(2.0 * p)


def _captures_itself(k, data, inner):
    def power(p, n):
        return p * k if n == 0 else power(p, n - 1) * k

    return lambda p: np.sum(power(inner(p), 2) * data)


def _gradient_within(k, data, inner):
    def energy(p):
        return np.sum(inner(p) * data)

    return lambda p: k * np.sum(grad(energy)(p) ** 2)


def _captured_gradient(k, data, inner):
    force = grad(lambda p: np.sum(inner(p) * data))
    return lambda p: k * np.sum(force(p) ** 2)


def _broadcasts(k, data, inner):
    def cell(a, b):
        return a * b * k if a > 0.0 else b / (1.0 + a * a)

    return lambda p: np.sum(broadcast(cell, inner(p), data))


def _checkpoints(k, data, inner):
    def part(p):
        return inner(p) * k

    return lambda p: np.sum(checkpoint(part)(p) * data)


def _stops(k, data, inner):
    return lambda p: np.sum(inner(p) * data * stop_gradient(k + 0.0 * p))


def _holds_functions(k, data, inner):
    steps = [inner, lambda p: p * k]
    return lambda p: np.sum(steps[1](steps[0](p)) * data)


def _method(k, data, inner):
    class Model:
        def __init__(self):
            self.k, self.data = k, data

        def loss(self, p):
            return np.sum(inner(p) * self.data) * self.k

    return Model().loss


MAKERS = [
    _lambda, _nested, _default, _keyword, _literal_keyword, _default_of_inner, _two_deep, _captures_itself,
    _gradient_within, _captured_gradient, _broadcasts, _checkpoints, _stops, _holds_functions, _method,
]  # fmt: skip
MODES = {
    "grad": lambda f: grad(f)(X), "value_and_grad": lambda f: value_and_grad(f)(X)[1],
    "vjp": lambda f: vjp(f, X)[1](1.0)[0],
    "jvp": lambda f: np.array([jvp(f, (X,), (e,))[1] for e in np.eye(3)]),
}  # fmt: skip


@pytest.mark.parametrize("mode", MODES.values(), ids=MODES)
@pytest.mark.parametrize("maker", MAKERS, ids=lambda m: m.__name__.strip("_"))
def test_each_has_its_own_answer(maker, mode):
    """Whatever is captured: numbers, arrays, other functions, in turns."""
    inners = itertools.cycle([_square, lambda a: a * a, lambda a: a * 3.0, _cube, _square])
    for step in range(STEPS):
        f = maker(1.0 + step, np.arange(step, step + 3.0), next(inners))
        expected = central(f, X.copy())
        if maker is _stops:
            np.testing.assert_allclose(mode(f), expected, 1e-5, 1e-5)
        np.testing.assert_allclose(mode(f), expected, 1e-5, 1e-5)


ANEW = [_lambda, _nested, _keyword, _literal_keyword, _two_deep, _gradient_within, _broadcasts, _checkpoints]


@pytest.mark.parametrize("mode", ["grad", "vjp"])
@pytest.mark.parametrize("maker", ANEW, ids=lambda m: m.__name__.strip("_"))
def test_they_share_from_the_second_on(maker, mode, tried):
    def run(step):
        def inner(a):
            return a * a + step

        return MODES[mode](maker(1.0 + step, X + step, inner))

    for step in range(3):  # the first one loads rules
        run(step)
    tried.clear()
    for step in range(5):
        run(step)
    assert not tried


def test_captured_functions_that_change_meanwhile():
    def made(inner):
        def objective(p):
            return np.sum(inner(p) * X)

        def change(to):
            nonlocal inner
            inner = to

        return objective, change

    kept = [made(lambda a: a * a) for _ in range(3)]
    gradients = [grad(f) for f, _ in kept]
    for gradient in gradients:
        np.testing.assert_allclose(gradient(X), 2.0 * X * X)
    for (_, change), gradient, times in zip(kept, gradients, (3.0, 4.0, 5.0), strict=True):
        change(lambda a, times=times: a * times)
        np.testing.assert_allclose(gradient(X), times * X)


def test_a_rule_for_what_was_captured():
    def made():
        def inner(a):
            return a * a

        return inner, lambda p: np.sum(inner(p) * X)

    for _ in range(3):
        _, f = made()
        np.testing.assert_allclose(grad(f)(X), 2.0 * X * X)
    inner, f = made()
    gradient = grad(f)
    np.testing.assert_allclose(gradient(X), 2.0 * X * X)

    @ADContext.rule(inner)
    def _(ctx, a):
        return a * a, lambda g: (7.0 * g,)

    try:
        np.testing.assert_allclose(gradient(X), 7.0 * X)
        np.testing.assert_allclose(grad(f)(X), 7.0 * X)
        np.testing.assert_allclose(grad(made()[1])(X), 2.0 * X * X)
    finally:
        ADContext.unrule(inner)
    np.testing.assert_allclose(grad(f)(X), 2.0 * X * X)


def test_attributes_of_what_was_captured():
    def made(scale):
        def inner(a):
            return a * inner.scale

        inner.scale = scale
        return lambda p: np.sum(inner(p) * inner.scale)

    for scale in range(1, 6):
        np.testing.assert_allclose(grad(made(float(scale)))(X), np.full(3, scale**2.0))


def test_second_derivatives():
    for step in range(4):

        def loss(p, step=step):
            return np.sum(p**3) * (1.0 + step)

        f = lambda p, loss=loss: loss(p)  # noqa: E731
        np.testing.assert_allclose(hessian(f)(X), np.diag(6.0 * X * (1.0 + step)))
        np.testing.assert_allclose(hessian(lambda p: loss(p))(X), np.diag(6.0 * X * (1.0 + step)))


def test_second_derivatives_with_keywords_only():
    for step in range(4):

        def objective(p, *, power=step + 2):
            return np.sum(p**power)

        n = step + 2
        np.testing.assert_allclose(grad(objective)(X), n * X ** (n - 1))
        np.testing.assert_allclose(hessian(objective)(X), np.diag(n * (n - 1) * X ** (n - 2)))


def test_keyword_arguments_that_are_given():
    for step in range(4):

        def objective(p, q=1.0, *, scale=2.0, shift=step):
            return np.sum(p * p) * scale * q + shift * np.sum(p)

        gradient = grad(objective)
        np.testing.assert_allclose(gradient(X), 4.0 * X + step)
        np.testing.assert_allclose(gradient(X, scale=3.0), 6.0 * X + step)
        np.testing.assert_allclose(gradient(X, 2.0, shift=0.0, scale=1.0), 4.0 * X)
        np.testing.assert_allclose(gradient(X, q=5.0), 20.0 * X + step)
        np.testing.assert_allclose(grad(objective, 1)(X, 2.0), 2.0 * np.sum(X * X))
        with pytest.raises(TypeError, match="nothing"):
            gradient(X, nothing=1.0)


# -- what captured functions say of themselves ---------------------------------------------------------------

SAID = {
    "name": "len(h.__name__)",
    "qualified name": "len(h.__qualname__)",
    "attribute": "h.c",
    "attribute, by getattr": "getattr(h, 'c', 3.0)",
    "attribute, by dict": "h.__dict__.get('c', 3.0)",
    "in a function": "(lambda: len(h.__name__) + getattr(h, 'c', 3.0))()",
    "name of a partial's": "len(q.func.__name__)",
}


def renamed(h):
    h.__name__ = "four"


def renamed_whole(h):
    h.__qualname__ = "four"


def given(h):
    h.c = 5.0


@pytest.mark.parametrize("change", [renamed, renamed_whole, given])
@pytest.mark.parametrize("mode", ["grad", "jvp", "both"])
@pytest.mark.parametrize("said", SAID)
def test_what_a_captured_function_says_of_itself_counts(said, mode, change):
    """Each time functions made anew, the same code; `h` is changed between two derivatives."""
    space = {"partial": functools.partial}
    attribute = "h.c = 2.0" if said == "attribute" else "pass"
    exec(
        f"def make():\n    def h(y): return y * y\n    q = partial(h)\n    {attribute}\n"
        f"    return h, lambda x: h(x) * {SAID[said]} + 0.0 * q(x)\n",
        space,
    )
    modes = {"grad": lambda f, x: grad(f)(x), "jvp": lambda f, x: jvp(f, (x,), (1.0,))[1]}
    x = 3.0
    for _ in range(3):
        h, f = space["make"]()
        for _ in range(2):
            for each in modes if mode == "both" else [mode]:
                assert modes[each](f, x) == pytest.approx(2 * f(x) / x)
            change(h)
