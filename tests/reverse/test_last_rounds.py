"""What the last round of a loop computes in vain."""

import numpy as np
import pytest

from ctxdispatch import grad

SHAPES = ["np.max(np.abs(y))", "np.prod(y)", "np.std(y)", "np.var(y)", "np.logaddexp.reduce(y)", "np.min(y)",
          "np.linalg.norm(y)", "np.median(y)", "np.cumsum(y)[1]", "np.sort(y)[0]", "(y @ y)", "np.ptp(y)",
          "np.linalg.solve(np.eye(2) + np.outer(y, y), y)[0]",
          "np.linalg.det(np.outer(y, y) + np.eye(2))",
          "np.interp(y[0], [0.0, 5.0], [0.0, 2.0])", "np.clip(y, 0.1, 9.0)[1]",
          "np.pad(y, 1)[1]", "np.roll(y, 1)[0]", "np.diff(y)[0]", "math.hypot(*y)",
          "max(y[0], y[1])"]  # fmt: skip
LOOP = """
import math
import numpy as np
def f(y):
    h, t = 0.1, 0.0
    while t < 0.55:
        t += 0.1
        y = y + h * y
        h = h * (1.0 + 0.01 * %s)
    return y.sum()
"""


@pytest.mark.parametrize("expression", SHAPES)
def test_what_the_last_round_does_not_need(expression):
    """The cotangent of what the last round of a loop computes in vain is zero, whatever computes it."""
    space = {}
    exec(LOOP % expression, space)
    f, y, step = space["f"], np.array([1.0, 2.0]), 1e-6
    want = [(f(y + step * e) - f(y - step * e)) / (2 * step) for e in np.eye(2)]
    assert grad(f)(y) == pytest.approx(np.array(want), rel=1e-6)
