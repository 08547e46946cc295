"""Whatever C code does that has no row, a run that is left, since types were others than those that were
noted, does not do again: nothing is drawn, taken or counted twice."""

import itertools
import random
from collections import deque
from unittest.mock import patch

import numpy as np
import pytest

from ctxdispatch import jvp, value_and_grad
from ctxdispatch_contexts.programs.observed import Rounds
from tests.recording import recorded

X = np.array([0.7, -0.4, 1.3])

TEXTS = {
    "set around": """\
def f(x):
    v = None
    def part(p):
        nonlocal v
        v = draw()
    min([0], key=part)
    return np.sum(v * x)
""",
    "then read": """\
def f(x):
    a = draw()
    b = other()
    return np.sum(a * b * x)
""",
    "read before": """\
def f(x):
    b = other()
    a = draw()
    return np.sum(a * b * x)
""",
    "in a loop": """\
def f(x):
    s = 0.0
    for i in range(3):
        s = s + draw() * x[i]
    return np.sum(s)
""",
    "in a function": """\
def f(x):
    def g():
        return draw()
    return np.sum(g() * x * other())
""",
    "in a list": """\
def f(x):
    found = [draw() for p in x]
    return np.sum(found[0] * x * other() + found[2])
""",
}
DRAWS = {
    "random": lambda generator: generator.random,
    "bits": lambda generator: lambda: generator.getrandbits(5),
    "gauss": lambda generator: lambda: generator.gauss(0.0, 1.0),
    "bits of C": lambda generator: itertools.starmap(generator.getrandbits, itertools.repeat((5,))).__next__,
    "item": lambda generator: map(float, itertools.count(1)).__next__,
    "pop": lambda generator: deque([1.5, 2.5, 3.5, 4.5, 5.5]).popleft,
}
OTHERS = [lambda: 1.5, lambda: 2, lambda: np.ones(3), lambda: np.float32(1.5)]
PATHS = {
    "reverse": lambda f, x: value_and_grad(f)(x),
    "recorded": lambda f, x: value_and_grad(recorded(f))(x),
    "forward": lambda f, x: jvp(f, (x,), (x,)),
}


def made(text, draw, other):
    """In a module of its own, at the same lines."""
    names = {"np": np, "draw": draw, "other": itertools.repeat(other()).__next__}
    exec(compile(TEXTS[text], f"<drawn {text}>", "exec"), names)
    return names["f"]


@pytest.mark.every(100)
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.parametrize("before", ["of others", "of the same"])
def test_nothing_is_done_twice(before, name, text, path):
    draws = DRAWS[name]
    with patch.object(Rounds, "times", 1):
        for other in OTHERS:
            if before == "of others":  # whose results have other types
                noted = made(text, itertools.repeat(other()).__next__, OTHERS[0])
                PATHS[path](noted, X), PATHS[path](noted, X)
            for _ in range(2):
                plain, mine = draws(random.Random(0)), draws(random.Random(0))
                want = made(text, plain, other)(X)
                found = PATHS[path](made(text, mine, other), X)[0]
                np.testing.assert_allclose(found, want)
                assert mine() == plain()
