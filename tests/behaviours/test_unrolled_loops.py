"""Loops over functions and keys that the program writes out: value, state and gradient are plain Python's."""

import copy

import numpy as np
import pytest

from ctxdispatch import grad, jvp

rng = np.random.RandomState(0)
X = rng.randn(5, 4)


class Scale:
    def __init__(self, k):
        self.k = k

    def __call__(self, h):
        return self.k * np.tanh(h)


def layers(n):
    rs = np.random.RandomState(n)
    return [(rs.randn(4, 4), rs.randn(4)) for _ in range(n)]


def zipped(p):
    h = X
    for (w, b), act in zip(p, [np.tanh, lambda z: z * z, Scale(0.5)]):
        h = act(h @ w + b)
    return h.sum()


def swapped(p):
    h, n = X, 0
    for n, (act, (w, b)) in enumerate(zip((np.tanh, np.sin, np.cos), p)):
        h = act(h @ w + b) * (n + 1)
    return h.sum() * (n + 2)


def nested(p):
    s = 0.0
    for w, b in p:
        for k, f in [(1.0, np.sin), (2.0, np.cos)]:
            for g in reversed((np.tanh, np.exp)):
                s = s + k * np.sum(f(g(w) + b))
    return s


def grows(p):
    h = X
    for (w, b), act in zip(p, [np.tanh, np.sin, np.cos, np.tanh]):
        h = act(h @ w + b)
        if len(p) < 4:
            p.append((w * 2.0, b))
    return h.sum()


def shrinks(p):
    h, q = X, p
    for (w, b), act in zip(p, [np.tanh, np.sin, np.cos]):
        h = act(h @ w + b)
        q.pop()
    return h.sum()


def alias_of_acts(p):
    acts = [np.tanh, np.sin, np.cos]
    other, h = acts, X
    for (w, b), act in zip(p, acts):
        other[-1] = np.exp
        h = act(h @ w + b)
    return h.sum()


def continues(p):
    h = X
    for (w, b), key in zip(p, ("a", "b", "a")):
        if key == "b":
            continue
        h = {"a": np.tanh, "b": np.sin}[key](h @ w + b)
    return h.sum()


def breaks(p):
    h = X
    for (w, b), act in zip(p, [np.tanh, np.sin, np.cos]):
        h = act(h @ w + b)
        if act is np.sin:
            break
    else:
        h = h * 3.0
    return h.sum() + w.sum()


def takes_ahead(p):
    h = X
    pairs = zip(p, [np.tanh, np.sin, np.cos])
    for (w, b), act in pairs:
        h = act(h @ w + b)
        next(pairs, None)
    return h.sum()


def none_written(p):
    h = X
    for (w, b), act in zip(p, []):
        h = act(h @ w + b)
    return h.sum() * p[0][0].sum()


def twice(p):
    h = X
    for (w, _), (_, b), act in zip(p, p, [np.tanh, np.sin, np.cos]):
        h = act(h @ w + b)
    return h.sum()


ALL = [twice, zipped, swapped, nested, grows, shrinks, alias_of_acts, continues, breaks, takes_ahead]
ALL.append(none_written)


@pytest.mark.parametrize("f", ALL, ids=lambda f: f.__name__)
def test_as_plain(f):
    gradient = grad(f)
    for n in (3, 2, 4, 1, 3):
        plain, ours, moved = layers(n), layers(n), layers(n)
        value = f(plain)
        tangent = [(rng.standard_normal((4, 4)), rng.standard_normal(4)) for _ in range(n)]
        found = gradient(ours)
        assert len(ours) == len(plain)
        want = _differences(f, moved, tangent)
        got = sum(np.sum(g * t) for gs, ts in zip(found, tangent) for g, t in zip(gs, ts))
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
        forward = jvp(f, (layers(n),), (tangent,))
        np.testing.assert_allclose(forward, (value, want), rtol=1e-5, atol=1e-6)


def _differences(f, p, tangent):
    ends = []
    for step in (1e-6, -1e-6):
        at = [tuple(a + step * t for a, t in zip(pair, ts)) for pair, ts in zip(copy.deepcopy(p), tangent)]
        ends.append(f(at))
    return (ends[0] - ends[1]) / 2e-6


FUNCTIONS = {"f": np.sin}


def looked_up(v):
    s = 0.0
    for key, k in zip(["f", "f"], (1.0, 2.0)):
        s = s + k * np.sum(FUNCTIONS[key](v))
    return s


def test_functions_that_are_replaced_between_calls(monkeypatch):
    v, gradient = rng.randn(3), grad(looked_up)
    np.testing.assert_allclose(gradient(v), 3.0 * np.cos(v))
    monkeypatch.setitem(FUNCTIONS, "f", np.exp)
    np.testing.assert_allclose(gradient(v), 3.0 * np.exp(v))


def test_items_of_other_types():
    gradient = grad(zipped)
    gradient(layers(3))
    p = tuple(layers(3))
    for ours, same in zip(gradient(p), gradient(list(p))):
        np.testing.assert_allclose(ours[0], same[0])
