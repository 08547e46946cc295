"""Operators called by the names of their methods: `x.__add__(2.0)`, `np.float64.__rsub__(x, (1, 0))`."""

import numpy as np
import pytest

from ctxdispatch_contexts.forward import jvp
from ctxdispatch_contexts.reverse import grad

_NAMES = "add radd sub rsub mul rmul truediv rtruediv pow rpow mod floordiv".split()
_OTHERS = (2.0, 3, True, np.float64(2.5), np.float32(2.5), (1.5, 2.0), np.array([1.0, 2.0]))
_X = np.array([1.3, 2.1])


def _program(cls, name, other, bound):
    method = getattr(cls, f"__{name}__")

    def by_class(x):
        out = method(cls(x[0]), other)
        return np.sum(out) if out is not NotImplemented else x[0] * 7.0

    def by_number(x):
        out = getattr(cls(x[0]), f"__{name}__")(other)
        return np.sum(out) if out is not NotImplemented else x[0] * 7.0

    return by_number if bound else by_class


@pytest.mark.every(60)
@pytest.mark.parametrize("bound", [False, True])
@pytest.mark.parametrize("other", _OTHERS, ids=lambda other: f"{type(other).__name__}{np.shape(other)}")
@pytest.mark.parametrize("name", _NAMES)
@pytest.mark.parametrize("cls", [float, np.float64, np.float32])
def test_an_operator_called_by_name_is_that_operator(cls, name, other, bound):
    f = _program(cls, name, other, bound)
    step = np.array([1e-2, 0.0])
    expected = (f(_X + step) - f(_X - step)) / 2e-2
    for _ in range(2):
        assert np.allclose(grad(f)(_X), [expected, 0.0], rtol=1e-3, atol=2e-3)
        assert np.allclose(jvp(f, (_X,), (np.array([1.0, 0.0]),))[1], expected, rtol=1e-3, atol=2e-3)


@pytest.mark.parametrize("name", _NAMES)
def test_of_arrays_as_well(name):
    method = getattr(np.ndarray, f"__{name}__")

    def f(x):
        return np.sum(method(x, (1.5, 2.0)) * np.array([1.0, 3.0]))

    expected = [(f(_X + e) - f(_X - e)) / 2e-6 for e in np.eye(2) * 1e-6]
    assert np.allclose(grad(f)(_X), expected, rtol=1e-5)
    assert np.allclose(grad(f)(_X), expected, rtol=1e-5)
