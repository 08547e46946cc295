"""Stores of data into objects and dicts that arguments hold, where what they hold goes on having its type."""

import copy
import sys

import numpy as np
import pytest

from ctxdispatch import grad, hessian, jvp
from ctxdispatch_contexts.recording import api

X = np.linspace(0.1, 1.0, 4)


class Model:
    start = 3

    def __init__(self):
        self.calls, self.t, self.notes = 0, 0.5, {"seen": 0}
        self.scale, self.last, self.inner = np.array([1.0, 2.0, 3.0, 4.0]), None, self

    def count(self, x):
        self.calls += 1
        return np.sum(x * x) * self.calls

    def step(self, x):
        self.t = self.t + 0.25 * self.calls
        self.calls = self.calls + 1
        return np.sum(np.sin(x) * self.t)

    def note(self, x):
        self.notes["seen"] += 2
        return np.sum(x**3) * self.notes["seen"]

    def rescale(self, x):
        y = np.sum(x * x * self.scale)
        self.scale = self.scale * 2.0
        return y

    def alias(self, x):
        self.inner.calls += 1
        return np.sum(x * x) * self.calls

    def other_type(self, x):
        self.t = 2 if self.calls else 1.5
        self.calls += 1
        return np.sum(x * self.t * x)

    def remember(self, x):
        self.last = 1.0 if self.last is None else self.last + 1.0
        return np.sum(x * x) * self.last

    def of_class(self, x):
        self.start += 1
        return np.sum(x * x) * self.start


NAMES = "count step note rescale alias other_type remember of_class".split()


def once(name):
    return eval(f"lambda m, x: m.{name}(x) + m.{name}(2.0 * x)")


def looped(name):
    return eval(f"lambda m, x: sum(m.{name}(x * i) for i in range(4))")


def state(m):
    return {k: copy.deepcopy(v) for k, v in vars(m).items() if k != "inner"}


def same(a, b):
    assert a.keys() == b.keys()
    for k in a:
        assert type(a[k]) is type(b[k]) and np.all(a[k] == b[k]), k


@pytest.mark.every(3)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", [once, looped])
def test_state_and_derivative_are_those_of_plain_python(name, kind):
    f, plain, m = kind(name), Model(), Model()
    g = grad(f, argnums=1)
    for x in (X, X + 1.0, X):
        before = copy.deepcopy(plain)
        f(plain, x)
        found = g(m, x)
        same(state(plain), state(m))
        steps = [f(copy.deepcopy(before), x + h) - f(copy.deepcopy(before), x - h) for h in 1e-6 * np.eye(4)]
        assert np.allclose(found, np.array(steps) / 2e-6, rtol=1e-6)
        _, tangent = jvp(lambda y, b=before: f(copy.deepcopy(b), y), (x,), (np.ones(4),))
        assert np.isclose(tangent, found.sum())


@pytest.mark.every(3)
@pytest.mark.parametrize("name", "count step note rescale alias".split())
@pytest.mark.parametrize("kind", [once, looped])
def test_compiled(name, kind, monkeypatch):
    monkeypatch.setattr(api, "joint", lambda *args: pytest.fail("recorded"))
    g = grad(kind(name), argnums=1)
    m = Model()
    g(m, X)
    g(m, X)


def test_at_second_order():
    m = Model()
    assert np.allclose(hessian(lambda x: m.count(x) + m.count(x))(X), np.eye(4) * 6.0)
    assert m.calls == 2


def test_what_is_replaced_may_have_another_type_by_then():
    """Its finalizer is the user's code."""

    class Noisy:
        def __del__(self):
            m.t += 1.0

    m = Model()
    g = grad(lambda m, x: [setattr(m, "calls", 1), np.sum(x * m.t)][1], argnums=1)
    assert np.allclose(g(m, X), 0.5)
    m.calls = Noisy()
    assert np.allclose(g(m, X), 1.5)
    assert sys.getrefcount(m) < 10


def test_a_class_that_takes_over_stores_later():
    class Late(Model):
        pass

    m = Late()
    g = grad(lambda m, x: m.count(x) + m.count(x), argnums=1)
    assert np.allclose(g(m, X), 6 * X)
    Late.__setattr__ = lambda self, name, value: object.__setattr__(self, name, value + 10)
    assert np.allclose(g(m, X), (13 + 24) * 2 * X)
    assert m.calls == 24
