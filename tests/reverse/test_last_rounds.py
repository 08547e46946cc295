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
          "max(y[0], y[1])", "(np.outer(y, y).T @ y)[0]", "(np.outer(y, y) @ np.outer(y, 1 / y).T)[0, 1]",
          "np.outer(y, y).real.T[0, 1]", "(y * 1j).imag[0]", "np.outer(y, y).mT[0, 1]", "(y.T @ y.real)",
          "np.concatenate([y, y[1:]])[1]", "np.stack([y, y])[0, 1]", "np.block([[y, y], [y, y]])[0, 1]",
          "np.split(y, 2)[0][0]", "np.meshgrid(y, y)[0][0, 1]", "np.broadcast_arrays(y, y)[0][0]",
          "np.linalg.eigh(np.outer(y, y))[0][1]", "np.linalg.qr(np.outer(y, y) + np.eye(2))[1][0, 0]",
          "np.einsum('i,i', y, y)", "np.tensordot(y, y, 1)", "np.fft.fft(y).real[0]",
          "np.where(y > 0, y, 0)[0]",
          "np.polyval(y, 0.3)", "np.trapezoid(y)", "np.cross([*y, 1.0], [1.0, 2.0, *y[:1]])[0]", "sum(y)",
          "np.kron(y, y)[1]", "np.take(y, [0, 0])[1]", "np.repeat(y, 2)[1]", "np.tile(y, 2)[1]",
          "np.select([y > 0], [y])[0]", "np.linalg.inv(np.eye(2) + np.outer(y, y))[0, 0]"]  # fmt: skip
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
