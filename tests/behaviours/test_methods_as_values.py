"""Bound methods that are values: asked whether they can be called, put into containers, taken apart."""

import numpy as np
import pytest

from ctxdispatch import grad, hessian, jvp


class A:
    def __init__(self, v):
        self.v = v

    def g(self):
        return self.v * self.v

    @staticmethod
    def static():
        return 3.0

    @classmethod
    def of_class(cls):
        return 4.0

    @property
    def p(self):
        return self.v * 2

    def __call__(self):
        return self.v


PROGRAMS = {
    "callable": lambda x: (lambda m: m() if callable(m) else m)(A(x).g),
    "callable, a property": lambda x: (lambda m: m() if callable(m) else m)(A(x).p),
    "callable, static": lambda x: (lambda m: m() * x if callable(m) else m)(A(x).static),
    "callable, of the class": lambda x: (lambda m: m() * x if callable(m) else m)(A(x).of_class),
    "callable, an object": lambda x: (lambda m: m() if callable(m) else m)(A(x)),
    "hasattr": lambda x: (lambda m: m() if hasattr(m, "__call__") else m)(A(x).g),  # noqa: B004
    "its function": lambda x: (lambda m: m.__func__(A(x * x)) if callable(m) else m)(A(x).g),
    "its object": lambda x: (lambda m: m.__self__.v * x)(A(x).g),
    "in a list": lambda x: sum(m() for m in [A(x).g, A(x * x).g]),
    "the greatest": lambda x: max([A(x).g, A(2 * x).g], key=lambda m: m())(),
    "twice": lambda x: (lambda m: [m, m][0]() * m())(A(x).g),
    "none": lambda x: (lambda m: m() if m is not None else x)(A(x).g),
    "in a dict": lambda x: {"m": A(x).g}["m"](),
    "truth": lambda x: (lambda m: m() if m else x)(A(x).g),
    "isinstance": lambda x: A(x).g() if isinstance(A(x).g, type(A(x).g)) else x,
}
MODES = {
    "grad": lambda f: grad(f)(2.0),
    "jvp": lambda f: jvp(f, (2.0,), (1.0,))[1],
    "hessian": lambda f: hessian(f)(2.0),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("program", PROGRAMS)
def test_derivatives(program, mode):
    f = PROGRAMS[program]
    wanted = (f(2 + 1e-6) - f(2 - 1e-6)) / 2e-6
    if mode == "hessian":
        wanted = (f(2 + 1e-3) - 2 * f(2.0) + f(2 - 1e-3)) / 1e-6
    for _ in range(2):
        np.testing.assert_allclose(MODES[mode](f), wanted, rtol=1e-5, atol=1e-6)
