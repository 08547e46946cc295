"""Bound methods that are values: asked whether they can be called, put into containers, taken apart."""

import pytest

from tests.behaviours.number_checks import check


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


@pytest.mark.parametrize("mode", ["grad", "jvp", "hessian"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_derivatives(program, mode):
    check(PROGRAMS[program], 2.0, mode, rtol=1e-5, atol=1e-6)
