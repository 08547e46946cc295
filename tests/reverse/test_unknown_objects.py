"""Objects whose construction is out of sight: what is put into them is not lost silently."""

import numpy as np
import pytest

from ctxdispatch import custom_rule, grad, jacfwd, jacobian_sparsity
from ctxdispatch_contexts.reverse import ADContext, DerivativeError


class Bag:
    def __init__(self):
        self.items = []

    def add(self, value):
        self.items.append(value)


def bagged(x):
    bag = Bag()
    bag.add(x)
    return bag.items[0] * x


def test_what_an_object_is_given_is_differentiated():
    assert grad(bagged)(2.0) == 4.0


def doubled_slope(v):
    return v * 1.0


def test_symmetry_is_not_assumed_of_a_rule_that_is_met_at_run_time():
    """The rule is no derivative, so the gradient's derivative is not symmetric."""
    holder = Bag()
    holder.f = doubled_slope
    custom_rule(doubled_slope)(lambda v: (v * 1.0, lambda g: g * v * v))

    def by_attribute(x):
        s = 0.0
        for i in range(3):
            s = s + holder.f(x[i]) * x[i - 1]
        return s

    w = np.array([1.0, 10.0, 100.0])
    x = np.array([1.0, 2.0, 3.0])
    try:
        found = grad(lambda x: (grad(by_attribute)(x) * w).sum())(x)
    except DerivativeError:
        pass
    else:
        np.testing.assert_allclose(found, [146.0, 941.0, 1211.0])
    finally:
        ADContext.unrule(doubled_slope)


class WithoutHash:
    def __init__(self, factor):
        self.factor = factor

    def __hash__(self):
        raise RuntimeError("no hash")

    def __call__(self, x):
        return x * self.factor


MEMORY, SCALED = memoryview(np.array([2.0, 3.0])), WithoutHash(2.0)


@pytest.mark.parametrize("differentiate", [grad, jacfwd, jacobian_sparsity], ids=lambda d: d.__name__)
def test_what_has_no_hash_is_followed_like_the_rest(differentiate):
    held = memoryview(np.array([2.0, 3.0]))

    def program(x):
        return np.sum(np.asarray(held) * x) + MEMORY[0] * SCALED(x)[0]

    x = np.array([1.0, 2.0])
    if differentiate is jacobian_sparsity:
        np.testing.assert_array_equal(jacobian_sparsity(program, x).toarray(), [[1, 1]])
    else:
        np.testing.assert_allclose(differentiate(program)(x), [6.0, 3.0])
