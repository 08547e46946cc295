"""Calls that nobody reads, in a `try`: that they raise is what is read."""

import math

import numpy as np
import pytest

from ctxdispatch import jvp, value_and_grad
from ctxdispatch_contexts.programs.errors import Refused
from tests.recording import recorded as on_tape

X = np.array([0.7, 0.3, 1.1])
CALLS = {
    "out is a number": lambda x: np.sin(x, 1), "out is a text": lambda x: np.sin(x, "a"),
    "out is too short": lambda x: np.sin(x, x[:1]), "of two": lambda x: np.add(x, x, 1),
    "out by name": lambda x: np.exp(x, out=3), "bytes": lambda x: np.positive(x, b"a", 1),
    "an array for a number": math.sin, "of two numbers": lambda x: math.hypot(x, 1.0),
    "too few": lambda x: np.maximum(x), "a text": lambda x: np.sin("a"),
    "text beside": lambda x: np.add(x, "a"), "shapes": lambda x: x + np.ones(2),
    "a shape": lambda x: np.reshape(x, 5), "an axis": lambda x: np.sum(x, axis=7),
    "an index": lambda x: x[9], "a logarithm": lambda x: math.log(-x[0]),
    "a division": lambda x: float(x[0]) / 0.0, "a matrix": lambda x: np.linalg.inv(np.zeros((2, 2))),
    "a product": lambda x: np.dot(x, np.ones(2)), "parts": lambda x: np.concatenate([x, np.eye(2)]),
    "an unknown name": lambda x: np.sin(x, foo=1), "whole out": lambda x: np.sqrt(x, np.zeros(3, int)),
}  # fmt: skip


@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize("name", [*CALLS])
def test_it_is_seen(name, recorded):
    def program(x):
        scale = 2.0
        try:
            CALLS[name](x)
        except Exception:
            scale = 1.0
        return scale * x[0]

    f = on_tape(program) if recorded else program
    assert f(X) == 0.7
    for run in (lambda: value_and_grad(f)(X), lambda: jvp(f, (X,), (X,))):
        try:
            assert run()[0] == 0.7
        except Refused:
            return
