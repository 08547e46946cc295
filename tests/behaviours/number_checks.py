"""Derivatives of a program of one number, in several modes, against differences of it."""

import numpy as np

from ctxdispatch import grad, hessian, jvp, vjp
from tests.behaviours.mutation_checks import central

MODES = {
    "grad": lambda f, x: grad(f)(x),
    "jvp": lambda f, x: jvp(f, (x,), (1.0,))[1],
    "vjp": lambda f, x: vjp(f, x)[1](1.0)[0],
    "hessian": lambda f, x: hessian(f)(x),
}


def check(f, x, mode, times=2, rtol=1e-4, atol=0.0):
    """So many times one after the other: the first call may be run in another way than the next."""
    wanted = central(f, x) if mode != "hessian" else (f(x + 1e-3) - 2 * f(x) + f(x - 1e-3)) / 1e-6
    for _ in range(times):
        np.testing.assert_allclose(MODES[mode](f, x), wanted, rtol=rtol, atol=atol)
