"""A function that `functools.wraps` a derivative is a function of its own: contexts run it, and not what it
wraps."""

import functools
import math

import numpy as np
import pytest

from ctxdispatch import Context, broadcast, grad, jacfwd, overdub, value_and_grad


class Doubles(Context):
    pass


@Doubles.rule(math.sqrt)
def _(ctx, x):
    return 2 * math.sqrt(x)


square = grad(lambda x: x**3 / 3)


@functools.wraps(square)
def logged(x):
    return 1000.0 + square(x) * x


def caller(x):
    return logged(x)


@functools.wraps(broadcast)
def shifted(f, x):
    return broadcast(f, x) + 1000.0


@pytest.mark.parametrize("f", [logged, caller])
def test_value_and_derivatives(f):
    assert overdub(Doubles(), f, 2.0) == f(2.0) == 1008.0
    assert value_and_grad(f)(2.0) == (1008.0, 12.0)
    assert grad(f)(2.0) == jacfwd(f)(2.0) == overdub(Doubles(), grad(f), 2.0) == 12.0
    assert grad(grad(f))(2.0) == 12.0


def test_several_layers():
    @functools.wraps(logged)
    def again(x):
        return 2 * logged(x)

    assert overdub(Doubles(), again, 2.0) == 2016.0
    assert grad(again)(2.0) == 24.0


def test_wrapped_broadcast():
    x = np.array([1.0, 2.0])
    assert overdub(Doubles(), lambda: shifted(math.sqrt, x))[0] > 1000.0
    assert shifted(np.square, x).tolist() == [1001.0, 1004.0]
    assert grad(lambda x: np.sum(shifted(lambda y: y * y, x)))(x).tolist() == [2.0, 4.0]
