"""`grad` and its like with `has_aux`, and with keywords, within what is differentiated."""

import pytest

from ctxdispatch import grad, jvp, value_and_grad, vjp
from tests.behaviours.number_checks import MODES, check

X = 1.1


def pair(x):
    return x**2, x**3


def keyed(x, k=1.0):
    return x**2 * k


PROGRAMS = {
    "vjp": lambda x: (lambda y, back, aux: y * back(x)[0] * aux)(*vjp(pair, x, has_aux=True)),
    "grad": lambda x: (lambda g, aux: g * aux)(*grad(pair, has_aux=True)(x)),
    "value_and_grad": lambda x: (lambda p, g: p[0] * g * p[1])(*value_and_grad(pair, has_aux=True)(x)),
    "jvp": lambda x: (lambda y, dy, aux: y * dy * aux)(*jvp(pair, (x,), (x,), has_aux=True)),
    "vjp, a keyword": lambda x: (lambda y, back: y * back(x)[0])(*vjp(keyed, x, k=3.0)),
    "vjp, both": lambda x: (lambda y, back, aux: y * back(x)[0] * aux)(
        *vjp(lambda a, k=1.0: (a**2 * k, a), x, has_aux=True, k=3.0)
    ),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("program", PROGRAMS)
def test_derivatives(program, mode):
    check(PROGRAMS[program], X, mode)
