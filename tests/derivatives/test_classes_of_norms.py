"""Norms of vectors, matrices and stacks have the classes and shapes of plain ones, compiled and recorded."""

import math

import numpy as np
import pytest

from ctxdispatch import jvp, value_and_grad
from tests.recording import recorded

STACK = np.array([[[1.0, 0.2], [0.5, 2.0]], [[0.3, -1.0], [2.5, 0.7]]])
GIVEN = {
    "vector": (STACK[0, 0], (None, 0)), "matrix": (STACK[0], (None, (0, 1), (1, 0), (-1, -2), 0)),
    "stack": (STACK, ((1, 2), (0, 2), (-1, 0), 1)),
}  # fmt: skip


@pytest.mark.parametrize("around", [lambda f: f, recorded], ids=["", "recorded"])
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("ord", [1, -1, 2, -2, math.inf, -math.inf, "nuc", "fro", None])
@pytest.mark.parametrize("given", GIVEN)
def test_values_are_as_plain(given, ord, keepdims, around):
    x, axes = GIVEN[given]
    for axis in axes:
        def norm(x, axis=axis):
            return np.linalg.norm(x, ord, axis, keepdims)

        try:
            plain = norm(x)
        except ValueError:
            with pytest.raises(ValueError):
                jvp(around(norm), (x,), (x,))
            continue
        found, slope = jvp(around(norm), (x,), (x,))
        assert type(found) is type(plain) and np.shape(found) == np.shape(plain)
        np.testing.assert_allclose(found, plain)
        np.testing.assert_allclose(slope, plain)  # of degree one
        value, gradient = value_and_grad(around(lambda x, norm=norm: np.sum(norm(x).sum())))(x)
        np.testing.assert_allclose([value, np.sum(gradient * x)], plain.sum())
