"""Shapes that do not go together are an error also where nobody wants the result."""

import numpy as np
import pytest

from ctxdispatch import code_adjoint, grad, vjp

A, B, C = np.linspace(0.5, 1.5, 3), np.linspace(1.0, 2.0, 3), np.ones(3)


def only_sum(x):
    return np.sum(x * C)


def difference(x, y):
    return np.mean(x - y)


def chain(x, y):
    return np.sum(np.exp(x) * 2.0 + y)


def noticed_later(x, y):
    """The sweep has exp(x) - y."""
    return np.sum(np.exp(x)) - np.sum(x * y)


def one_arm(x, y, flag):
    if flag:
        return np.sum(x + y)
    return np.sum(x * y)


def in_a_loop(x, y):
    total = 0.0
    for _ in range(3):
        total = total + np.sum(x - y)
    return total


def transitive(x, y):
    z = x + y
    return np.sum(z) + np.sum(z + np.exp(y))


def with_itself(x):
    return np.sum(x * 2.0 + x)


PROGRAMS = [difference, chain, noticed_later, in_a_loop, transitive]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_it_raises_what_the_plain_call_raises(f):
    for x, y in [(A, B[:2]), (A[:2], B)]:
        for run in (f, grad(f), grad(f, 1), lambda x, y: vjp(f, x, y)):
            with pytest.raises(ValueError, match="broadcast"):
                run(x, y)
    grad(f)(A, B)
    vjp(f, A, B)


def test_each_arm_has_its_own():
    for flag in (True, False):
        with pytest.raises(ValueError, match="broadcast"):
            grad(one_arm)(A, B[:2], flag)
        assert grad(one_arm)(A, B, flag).shape == (3,)


def test_against_a_constant():
    with pytest.raises(ValueError, match="broadcast"):
        grad(only_sum)(np.ones(2))


def test_no_test_where_another_op_notices():
    assert "conform(" not in code_adjoint(noticed_later)(A, B)
    assert "conform(" not in code_adjoint(transitive)(A, B)
    assert "conform(" not in code_adjoint(with_itself)(A)
    assert "conform(" in code_adjoint(difference)(A, B)


def test_what_is_broadcast_is_not_compared():
    row, column = np.ones((1, 3)), np.ones((2, 1))
    np.testing.assert_array_equal(grad(difference)(row, column), np.full((1, 3), 1 / 3))


class Scale:
    def __init__(self, w):
        self.w = w

    def total(self, x):
        unused = x * self.w
        return x.sum() + 0.0 * len(unused)


def exp_and_ones(x):
    return np.sum(np.exp(x) * 2.0 + np.ones(3))


def test_operands_that_are_had_for_next_to_nothing():
    with pytest.raises(ValueError, match="broadcast"):
        grad(exp_and_ones)(np.ones(2))
    with pytest.raises(ValueError, match="broadcast"):
        grad(Scale(np.ones(4)).total)(np.ones(3))
    np.testing.assert_array_equal(grad(Scale(np.ones(3)).total)(np.ones(3)), np.ones(3))
