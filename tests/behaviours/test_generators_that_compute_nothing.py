"""Generators whose code has nothing to differentiate in it give what they have captured, to whatever takes
it, in runs that note types and in those that do not."""

import functools
import itertools
import operator
from collections import deque

import numpy as np
import pytest

from ctxdispatch import jvp, value_and_grad
from tests.recording import recorded

X = np.array([0.7, -0.4, 1.3])
SHELF = {"a": 0.5, "b": 1.5}


def given(x):
    for _ in range(2):
        yield x


def given_before(x, items=(1.0, 2.0)):
    for each in items:
        if each:
            yield x


GENERATORS = {
    "captured": lambda x, y: (y for p in [1.0, 2.0]),
    "of an argument": lambda x, y: (x for p in x),
    "over a global": lambda x, y: (y for p in SHELF),
    "items": lambda x, y: (p for p in [x, y]),
    "nested": lambda x, y: (p for p in (y for q in (1, 2))),
    "of a pair": lambda x, y: ((x, y)[0] for p in SHELF),
    "function": lambda x, y: given(y),
    "with a condition": lambda x, y: given_before(y),
    "computing": lambda x, y: (y * 2.0 for p in SHELF),
}
TAKERS = {
    "reduce": lambda items: functools.reduce(operator.add, items),
    "partial": lambda items: functools.partial(functools.reduce, operator.add)(items),
    "map": lambda items: sum(map(np.sin, items)),
    "partial of map": lambda items: sum(functools.partial(map, np.sin)(items)),
    "accumulate": lambda items: [*itertools.accumulate(items)][-1],
    "zip": lambda items: sum(p * q for p, q in zip(items, [1.0, 2.0])),
    "chain": lambda items: sum(itertools.chain(items, [1.0])),
    "stack": lambda items: np.stack([*items]).sum(0),
    "deque": lambda items: deque(items)[0],
    "dropped": lambda items: [functools.partial(map, abs)(items), 1.0][1],
    "max": lambda items: max(items, key=lambda p: p[0]),
    "next": lambda items: next(items),
    "tuple": lambda items: tuple(items)[1],
    "unpacked": lambda items: (lambda *p: p[0] * p[1])(*items),
}


@pytest.mark.parametrize("around", [lambda f: f, recorded], ids=["", "recorded"])
@pytest.mark.parametrize("taker", TAKERS)
@pytest.mark.parametrize("generator", GENERATORS)
def test_what_they_give(generator, taker, around):
    def f(x):
        return np.sum(TAKERS[taker](GENERATORS[generator](x, x * 3.0)) * x[1])

    g, step = around(f), 1e-6
    want = [(f(X + e) - f(X - e)) / (2 * step) for e in step * np.eye(3)]
    for _ in range(4):  # the first ones note types
        value, gradient = value_and_grad(g)(X)
        np.testing.assert_allclose(value, f(X))
        np.testing.assert_allclose(gradient, want, atol=1e-6)
    np.testing.assert_allclose(jvp(g, (X,), (np.ones(3),))[1], np.sum(want), atol=1e-6)
