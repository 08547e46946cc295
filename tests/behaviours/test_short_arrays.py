"""Objects, tuples and arguments that are made of the elements of a short array: there is a program for just
that length, and none of another length runs it."""

import dataclasses
import math

import numpy as np
import pytest

from ctxdispatch import explain, grad, hessian, jvp, vjp


@dataclasses.dataclass
class Bump:
    at: float
    width: float = 1.0

    def __call__(self, x):
        return np.exp(-(((x - self.at) / self.width) ** 2))


GRID = np.linspace(-1.0, 2.0, 7)


def objects(p):
    parts = [Bump(at, 1.0 + 0.1 * i) for i, at in enumerate(p)]
    return np.sum(sum(part(GRID) for part in parts) ** 2)


def tuples(p):
    points = [(math.cos(a), math.sin(a) * a) for a in p]
    xs, ys = zip(*points)
    return sum(xs) * sum(ys) / len(points) ** 2


def keyword_arguments(p):
    class Bag:
        def __init__(self, **given):
            self.__dict__.update(given)

    bag = Bag(**{f"w{i}": w for i, w in enumerate(p)})
    return bag.w0 * bag.w1 + sum(v * v for v in bag.__dict__.values())


def stars(p):
    def weigh(*ws):
        first, *rest = ws
        return first * sum(w * w for w in rest) + len(ws) * first

    return weigh(*p)


def named(p):
    bag = Bump(0.0)
    for name, value in zip(("at", "width"), p):
        setattr(bag, name, value)
    return np.sum(bag(GRID)) * np.sum(p)


def rest_of(p):
    first, *rest = p
    return first * np.sum(np.array(rest) ** 2) + len(rest)


def of_parts(p):
    head, tail = p[:2], np.exp(p[2:] * 0.5)
    return sum(Bump(a).at * b for a, b in zip(head, tail)) + sum(Bump(t).width * t for t in tail)


def of_shape(p):
    return sum(Bump(p[i]).at ** 2 * (i + 1) for i in range(p.shape[0])) / p.size


PROGRAMS = [objects, tuples, keyword_arguments, stars, named, rest_of, of_parts, of_shape]


def numeric(f, p, step=1e-6):
    return np.array([(f(p + step * e) - f(p - step * e)) / (2 * step) for e in np.eye(len(p))])


def point(n, seed=0):
    return np.random.default_rng(seed).uniform(0.3, 1.7, n)


@pytest.mark.parametrize("lengths", [(5, 3, 5, 4), (3, 3, 20, 3), (4, 5, 6, 7, 8, 9, 4), (17, 4, 17)])
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_each_length_has_its_own(f, lengths):
    g = grad(f)
    for i, n in enumerate(lengths):
        p = point(n, i)
        for _ in range(2):
            np.testing.assert_allclose(g(p), numeric(f, p), rtol=1e-5, atol=1e-7)
            value, slope = jvp(f, (p,), (np.ones(n),))
            np.testing.assert_allclose(slope, np.sum(numeric(f, p)), rtol=1e-5, atol=1e-6)
            assert value == pytest.approx(f(p), rel=1e-14)


@pytest.mark.parametrize("f", [tuples, stars, named, rest_of, of_parts, of_shape], ids=lambda f: f.__name__)
def test_it_is_compiled(f):
    """(What needs noted types as well depends on what other tests have noted.)"""
    g, p = grad(f), point(4)
    for _ in range(3):
        g(p)
    tiers = [region.tier for region in explain(g)(p).regions]
    assert tiers == ["compiled whole"], tiers


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_second_derivatives_and_pullbacks(f):
    for n in (4, 5):
        p = point(n)
        want = np.array([numeric(grad(f), p, 1e-5)])
        np.testing.assert_allclose(hessian(f)(p), want[0], rtol=1e-4, atol=1e-5)
        _, pullback = vjp(f, p)
        np.testing.assert_allclose(pullback(2.0)[0], 2.0 * numeric(f, p), rtol=1e-5, atol=1e-7)


def test_views_and_lists_of_that_length():
    g = grad(objects)
    for p in (point(4), point(8)[::2], np.asfortranarray(point(4)), point(4)):
        np.testing.assert_allclose(g(p), numeric(objects, p), rtol=1e-5)


def test_two_arrays():
    def f(p, q):
        return sum(Bump(a).at * b for a, b in zip(p, q)) + np.sum(q**2)

    g = grad(f, argnums=(0, 1))
    for n, m in ((3, 3), (3, 5), (5, 3), (3, 3)):
        p, q = point(n, 1), point(m, 2)
        found = g(p, q)
        np.testing.assert_allclose(found[0], numeric(lambda p: f(p, q), p), rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(found[1], numeric(lambda q: f(p, q), q), rtol=1e-6, atol=1e-7)
