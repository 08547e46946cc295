"""`ir(f)(*args)`."""

import functools

import numpy as np
import pytest

import ctxdispatch
from ctxdispatch.dispatch.show import ir


def power(x, n):
    r = 1.0
    while n > 0:
        n -= 1
        r *= x
    return r


class Model:
    def __init__(self, w):
        self.w = w

    def __call__(self, x):
        return self.w @ x

    def method(self, x, scale=2.0):
        return x * scale


def test_the_ir_prints_with_the_types_of_the_arguments():
    plain, typed = str(ir(power)()), str(ir(power)(2.0, 3))
    assert plain.startswith("power(%x, %n):") and "branch" in plain and "float" not in plain
    assert "float" in typed and "int" in typed
    assert repr(ir(power)(2.0, n=3)) == typed
    assert ctxdispatch.ir is ir


def test_methods_partials_and_objects():
    model = Model(np.eye(2))
    assert "matmul" in str(ir(model)(np.ones(2)))
    assert "mul" in str(ir(model.method)(1.0))
    assert "mul" in str(ir(functools.partial(model.method, scale=3))(1.0))
    with pytest.raises(TypeError, match="no Python code"):
        ir(abs)
    with pytest.raises(TypeError, match="missing a required argument: 'n'"):
        ir(power)(1.0)


def test_a_function_without_arguments_has_types_at_once():
    assert "float" in str(ir(lambda: 1.0 + 2.0)()) or "3.0" in str(ir(lambda: 1.0 + 2.0)())
