"""A `functools.partial` that is changed in place between two gradients: its keywords are a dict like any
other, and `__setstate__` gives it another function and other arguments."""

import functools
import types

import numpy as np
import pytest

from ctxdispatch import grad, jvp
from ctxdispatch_contexts.programs.errors import DerivativeError

X = 2.0


def powers(a, x, k=1.0, n=2, flag=False):
    return a * x**n * k + (x if flag else 0.0)


def others(a, x, k=1.0, n=2, flag=False):
    return a * x * k


USES = {
    "captured": "return p(x)",
    "with a keyword": "return p(x, flag=True)",
    "twice": "return p(x) + p(p(x))",
    "in a function": "return inner(x)",
    "of a list": "return listed[0](x)",
    "of a dict": "return entries['p'](x)",
    "of an object": "return held.p(x)",
    "map": "return sum(map(p, [x, x]))",
    "of a partial": "return functools.partial(p, n=3)(x)",
    "in a loop": "s = 0.0\nfor _ in range(2):\n    s = s + p(x)\nreturn s",
    "in try": "try:\n    return p(x)\nexcept ZeroDivisionError:\n    return x",
    "of a class": "return owner.go(x)",
    "spread": "return p(*[x])",
    "given to a function": "return (lambda g, y: g(y))(p, x)",
    "its keywords": "return x * p.keywords.get('k', 11.0)",
    "its keywords, by item": "return x * (p.keywords['k'] if 'k' in p.keywords else 13.0)",
    "its function": "return p.func(1.0, x)",
    "its arguments": "return x * p.args[0]",
}


def sets_number(p):
    p.keywords["k"] = 3.0


def sets_choice(p):
    p.keywords["n"] = 4


def adds_choice(p):
    p.keywords["flag"] = True


def sets_array(p):
    p.keywords["k"] = np.float64(5.0)


def takes_away(p):
    p.keywords.clear()


def other_state(p):
    p.__setstate__((others, (7.0,), {"k": 2.0}, {}))


def other_arguments(p):
    p.__setstate__((powers, (7.0,), p.keywords, {}))


CHANGES = [sets_number, sets_choice, adds_choice, sets_array, takes_away, other_state, other_arguments]
KEYWORDS = [{}, {"k": 2.0}, {"n": 3}, {"k": 2.0, "n": 3, "flag": True}]


def made(p, use):
    owner = type("Owner", (), {"go": staticmethod(p)})()
    space = dict(p=p, listed=[p], entries={"p": p}, held=types.SimpleNamespace(p=p), inner=lambda x: p(x))
    space |= dict(owner=owner, functools=functools)
    body = "\n".join("        " + line for line in USES[use].splitlines())
    exec(f"def make({', '.join(space)}):\n    def f(x):\n{body}\n    return f\n", found := dict(space))
    return found["make"](**space)


def check(f, mode):
    wanted = (f(X + 1e-6) - f(X - 1e-6)) / 2e-6
    found = grad(f)(X) if mode == "grad" else jvp(f, (X,), (1.0,))[1]
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


def check_around(f, p, change, mode):
    for _ in range(2):
        check(f, mode)
    change(p)
    for _ in range(2):
        try:
            check(f, mode)
        except DerivativeError as error:
            assert "p" in str(error)


@pytest.mark.every(6)
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("mode", ["grad", "jvp"])
@pytest.mark.parametrize("keywords", KEYWORDS)
@pytest.mark.parametrize("use", USES)
def test_what_a_partial_holds_now_counts(use, keywords, mode, change):
    p = functools.partial(powers, 1.0, **keywords)
    check_around(made(p, use), p, change, mode)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("mode", ["grad", "jvp"])
@pytest.mark.parametrize("keywords", KEYWORDS)
def test_of_the_partial_itself(keywords, mode, change):
    p = functools.partial(powers, 1.0, **keywords)
    check_around(p, p, change, mode)
