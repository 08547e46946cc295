"""Functions made anew by their maker, of a code that has no program: that there is none is found out once."""

import gc
import weakref

import numpy as np
import pytest

from ctxdispatch import grad, hessian

X = np.array([0.5, 2.0, -1.0])


class Bag:
    def __init__(self):
        self.items = {}


def made(scale, step):
    def changes(bag, x):
        bag.items["y"] = step(x) * scale
        return bag

    def f(x):
        bag = changes(Bag(), x)
        for key in bag.items:
            bag.items[key] *= 2.0
        return sum(sorted(bag.items["y"], key=lambda v: v * v))

    return f


def squared(x):
    return x * x


def cubed(x):
    return x * x * x


@pytest.mark.parametrize("differentiate", [grad, hessian], ids=lambda d: d.__name__)
def test_it_is_found_out_once(differentiate, tried):
    for scale in map(float, range(2, 14)):  # the first ones load rules, and try the program of the code
        differentiate(made(scale, squared))(X)
    assert tried
    tried.clear()
    found = differentiate(made(5.0, squared))(X)
    np.testing.assert_allclose(found, 20.0 * X if differentiate is grad else 20.0 * np.eye(3))
    assert not tried


def test_what_it_captured_tells_it_apart():
    grad(made(2.0, squared))(X)
    np.testing.assert_allclose(grad(made(2.0, cubed))(X), 12.0 * X**2)
    np.testing.assert_allclose(grad(made(np.array([1.0, 2.0, 3.0]), squared))(X), 4.0 * X * [1, 2, 3])


def test_what_was_captured_dies():
    scale = np.array([1.0, 2.0, 3.0])
    ref = weakref.ref(scale)
    f = made(scale, squared)
    np.testing.assert_allclose(grad(f)(X), 4.0 * X * scale)
    del f, scale
    gc.collect()
    assert ref() is None
