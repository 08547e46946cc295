"""What SciPy's solvers and integrals return is of the type that they return plainly: numbers of Python's
raise where NumPy's are infinite."""

import numpy as np
import pytest
from scipy import integrate, interpolate, optimize

from ctxdispatch import jvp, value_and_grad

RESULTS = {
    "brentq": lambda p: optimize.brentq(lambda z: z**3 - p, -3.0, 3.0),
    "bisect": lambda p: optimize.bisect(lambda z: z**3 - p, -3.0, 3.0),
    "newton": lambda p: optimize.newton(lambda z: z**3 - p, 1.0),
    "root": lambda p: optimize.root_scalar(lambda z: z**3 - p, bracket=(-3.0, 3.0)).root,
    "quad": lambda p: integrate.quad(lambda z: z * p, 0.0, 1.0)[0],
    "trapezoid": lambda p: integrate.trapezoid([p, 2.0 * p]),
    "minimum": lambda p: optimize.minimize_scalar(lambda z: (z - p) ** 2 + p).fun,
    "place": lambda p: optimize.minimize_scalar(lambda z: (z - p) ** 2 + p).x,
    "interpolation": lambda p: interpolate.interp1d([0.0, 1.0, 2.0], [0.0, p, 2.0])(0.5),
}


@pytest.mark.parametrize("number", [float, np.float64])
@pytest.mark.parametrize("name", [*RESULTS])
def test_types(name, number):
    seen = []

    def program(x):
        out = RESULTS[name](number(x[0]))
        seen.append(type(out))
        return out * x[1]

    x = np.array([1.5, 2.0])
    program(x)
    value_and_grad(program)(x)
    jvp(program, (x,), (x,))
    assert len({*seen}) == 1
