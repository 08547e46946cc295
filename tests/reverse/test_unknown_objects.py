"""Objects whose construction is out of sight: what is put into them is not lost silently."""

import numpy as np

from ctxdispatch import custom_rule, grad
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
