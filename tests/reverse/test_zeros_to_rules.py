"""A rule that goes through its cotangent (`np.array` of a list) gets none where nothing arrives on a path."""

import numpy as np
import pytest

from ctxdispatch import grad

MAKERS = [
    "np.array([y[1], x * (1 - y[0] ** 2) * y[1] - y[0]])", "np.stack([x * y[1], y[0]])",
    "np.concatenate([y[:1] * x, y[1:] * y[0]])", "np.array((x * y[0], x * x))", "np.hstack([y[0] * x, y[1]])",
]  # fmt: skip


def program(make):
    space = {"np": np}
    text = f"""
def f(x, n):
    def g(y):
        return {make}
    y = np.asarray((1.2, 0.3), dtype=float)
    kept, t = g(y), 0.0
    while t < n:
        new = y + 0.1 * kept
        late = g(new)
        if np.sum(new**2) < 100.0:
            t, y, kept = t + 1.0, new, late
        else:
            t += 0.5
    return y[0] + y[1] ** 2
"""
    exec(text, space)
    return space["f"]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("x", [0.7, -0.4])
@pytest.mark.parametrize("n", [0, 1, 4])
def test_arrives_nothing(make, x, n):
    f = program(make)
    for _ in range(3):
        np.testing.assert_allclose(grad(f)(x, n), (f(x + 1e-6, n) - f(x - 1e-6, n)) / 2e-6, rtol=1e-6)
