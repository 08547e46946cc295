"""True and False where NumPy takes integers: they are 1 and 0, and no masks."""

import numpy as np
import pytest

from ctxdispatch import grad, jacfwd

X = np.array([-0.8, 0.35, 0.55])
FLAGS = {"True": True, "NumPy's": np.True_, "an array": np.array(True)}
LISTS = {"a list": [True, False], "an array": np.array([True, False]), "three": [True, True, False]}
OF_ONE = {
    "take": lambda x, i: x.take(i) * 2.0,
    "np.take": lambda x, i: np.take(x * x, i),
    "an axis": lambda x, i: np.take(np.outer(x, x), i, axis=1).sum(),
    "clipped": lambda x, i: np.take(x * x, i, mode="clip"),
    "wrapped": lambda x, i: np.take(x * x, i, mode="wrap"),
}
OF_MANY = {name: (lambda f: lambda x, i: np.sum(f(x, i) * np.arange(1.0, len(i) + 1.0)))(f) for name, f in {
    "take": lambda x, i: (x * x).take(i),
    "np.take": lambda x, i: np.take(x * x, i),
    "an axis": lambda x, i: np.take(np.outer(x, x), i, axis=0)[:, 1],
}.items()}  # fmt: skip
BOTH = ((OF_ONE, FLAGS), (OF_MANY, LISTS))
CASES = [(f, i) for functions, values in BOTH for f in functions.items() for i in values.items()]


@pytest.mark.parametrize("f, index", CASES, ids=[f"{f[0]}-{i[0]}" for f, i in CASES])
def test_derivatives(f, index):
    def g(x):
        return f[1](x, index[1])

    wanted = [(g(X + 1e-6 * e) - g(X - 1e-6 * e)) / 2e-6 for e in np.eye(3)]
    for mode in (grad, jacfwd):
        np.testing.assert_allclose(mode(g)(X), wanted, rtol=1e-6, atol=1e-8)
