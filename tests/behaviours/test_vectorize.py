"""np.vectorize: element by element, in every tier, whatever its options are and wherever it is made."""

import math

import numpy as np
import pytest

from ctxdispatch import Refused, explain, grad, hessian, jacobian_sparsity, jvp
from tests.behaviours.mutation_checks import central


def choose(x, y=2.0):
    return x**y if x > 1 else math.sin(x) * y


def of_integers(x):
    return 1 if x > 0.5 else x * x


LGAMMA = np.vectorize(math.lgamma, otypes=[float])
CHOOSE = np.vectorize(choose)
EXCLUDING = np.vectorize(choose, excluded=["y"])
PAIRS = np.vectorize(lambda x: (x * x, math.exp(x)))
TYPED_PAIRS = np.vectorize(lambda x: (x * x, math.exp(x)), otypes="dd")
DOT = np.vectorize(lambda a, b: a @ b, signature="(n),(n)->()")
TRUNCATED = np.vectorize(of_integers, otypes=[int])
FIRST_IS_WHOLE = np.vectorize(of_integers)


@np.vectorize
def series(x, k):
    return sum(x**i / math.factorial(i) for i in range(int(k)))


class Scaled:
    def __init__(self, k):
        self.k = k
        self.all = np.vectorize(self.one)

    def one(self, x):
        return self.k * x if x < 1 else self.k


def made_here(p):
    h = np.vectorize(lambda t: t * p if t > 0.5 else p**2, otypes=[float])
    return h(np.linspace(0, 1, 6).reshape(2, 3)).sum()


def two_results(f):
    def of(p):
        a, b = f(np.linspace(0, 1, 5) * p)
        return (a * b).sum()

    return of


PROGRAMS = {
    "otypes": lambda p: LGAMMA(np.arange(1, 6) + p).sum() * LGAMMA(p),
    "integers too": lambda p: (LGAMMA(np.arange(1, 6)) * p).sum() + LGAMMA(3),
    "broadcast": lambda p: CHOOSE(np.linspace(0.2, 2, 3)[:, None] * p, np.array([1.5, p])).sum(),
    "by keyword": lambda p: CHOOSE(p, y=np.array([1.0, 2.0])).sum(),
    "excluded": lambda p: EXCLUDING(np.linspace(0.2, 2, 7), y=p).sum(),
    "two results": two_results(PAIRS),
    "two results typed": two_results(TYPED_PAIRS),
    "signature": lambda p: DOT(np.arange(6.0).reshape(2, 3) * p, np.ones(3)).sum(),
    "no kernel": lambda p: series(p, np.arange(1, 6)).sum(),
    "made here": made_here,
    "made in __init__": lambda p: Scaled(p).all(np.array([0.5, 0.7, 2.0])).sum(),
    "truncated": lambda p: TRUNCATED(np.array([0.3, 0.4, 2.0]) * p).sum() * p,
    "first is whole": lambda p: FIRST_IS_WHOLE(np.array([2.0, 0.3, 0.4]) * p).sum() * p,
    "empty": lambda p: LGAMMA(np.array([]) * p).sum() + p,
    "list": lambda p: LGAMMA([p, 2.0, p * p]).sum(),
}


@pytest.mark.parametrize("tier", ["first", "later"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_derivatives(name, tier):
    f, p = PROGRAMS[name], 1.3
    g = grad(f)
    for _ in range(4 if tier == "later" else 1):
        found = g(p)
    np.testing.assert_allclose(found, central(f, p), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(jvp(f, (p,), (1.0,)), (f(p), found), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["otypes", "broadcast", "made here", "no kernel"])
def test_second_derivatives(name):
    f, p = PROGRAMS[name], 1.3
    np.testing.assert_allclose(hessian(f)(p), central(grad(f), p), rtol=1e-6)


def test_pattern():
    f = lambda x: LGAMMA(x + 1.0) * np.array([1.0, 0.0, 2.0])  # noqa: E731
    assert (jacobian_sparsity(f, np.ones(3)).toarray() >= np.diag([True, False, True])).all()


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name != "signature"])
def test_none_stays_recorded(name):
    g = grad(PROGRAMS[name])
    for _ in range(4):
        g(1.3)
    assert explain(g)(1.3).regions[0].tier.startswith("compiled")


def test_without_otypes_of_nothing_it_raises_as_it_does():
    with pytest.raises(ValueError, match="size 0 inputs"):
        grad(lambda p: CHOOSE(np.array([]) * p).sum())(1.3)


# -- np.frompyfunc -------------------------------------------------------------------------------------------

SQUARE = np.frompyfunc(lambda t: t * t, 1, 1)


def made_outside(p):
    return SQUARE(np.array([p, 2 * p], dtype=object))


def made_within(p):
    return np.frompyfunc(lambda t: t * t, 1, 1)(np.array([p, 2 * p], dtype=object))


def made_by_an_earlier_run():
    kept = []  # which goes with the function: what runs leave behind has others recorded

    def make(p):
        kept.append(kept[0] if kept else np.frompyfunc(lambda t: t * t, 1, 1))
        return kept[0](np.array([p, 2 * p], dtype=object))

    return make


READINGS = {
    "float": lambda a: a.astype(float).sum(), "item": lambda a: a[0] + a[1], "sum": lambda a: a.sum(),
    "list": lambda a: sum(a.tolist()), "asarray": lambda a: np.asarray(a, dtype=float).sum(),
}  # fmt: skip


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("make", [made_outside, made_within, made_by_an_earlier_run])
@pytest.mark.parametrize("mode", ["grad", "jvp"])
def test_ufuncs_of_python_functions_are_right_or_refused(make, reading, mode):
    """What one calls that was made elsewhere is out of sight."""
    make = make() if make is made_by_an_earlier_run else make
    f, p = (lambda p: READINGS[reading](make(p))), 1.3
    for _ in range(2):
        try:
            found = grad(f)(p) if mode == "grad" else jvp(f, (p,), (1.0,))[1]
        except Refused:
            continue
        np.testing.assert_allclose(found, 10 * p)
    if make is made_within and reading in ("float", "item"):
        np.testing.assert_allclose(grad(f)(p), 10 * p)
