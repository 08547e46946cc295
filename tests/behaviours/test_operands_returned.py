"""What goes through an iterator and returns one of its operands, or of the items: that itself, which is
stored into later, too."""

import functools

import numpy as np
import pytest

from ctxdispatch import grad, jvp
from tests.behaviours.mutation_checks import central
from tests.recording import recorded as on_tape

X = np.array([0.45, 0.65, 1.2])
EMPTY = []


def several(*items):
    yield from items


def storing(a, b, x):
    yield a
    b[0] = 7.0 * x[2]
    yield b


RETURNED = {
    "sum of nothing": lambda a, b, x: sum((v for v in EMPTY), a),
    "sum of a generator of nothing": lambda a, b, x: sum(several(), a),
    "sum of a list of nothing": lambda a, b, x: sum(EMPTY, a),
    "sum of some": lambda a, b, x: sum(several(b), a),
    "reduce": lambda a, b, x: functools.reduce(lambda p, q: p + q, several(), a),
    "max": lambda a, b, x: max(several(a, b)),
    "min": lambda a, b, x: min(v for v in (a, b)),
    "min of what stores": lambda a, b, x: min(storing(a, b, x)),
    "max by a key": lambda a, b, x: max(several(a, b), key=lambda v: -v[0]),
    "default": lambda a, b, x: max(several(), default=a),
    "sorted": lambda a, b, x: sorted(several(a, b))[0],
    "next": lambda a, b, x: next(several(a, b)),
    "next of nothing": lambda a, b, x: next(several(), a),
}


@pytest.mark.every(1)
@pytest.mark.parametrize("mode", ["grad", "jvp"])
@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize("name", RETURNED)
def test_stores_are_seen_in_it(name, recorded, mode):
    def f(x):
        a, b = x[:1] * 1.0, x[1:2] * 2.0
        kept = RETURNED[name](a, b, x)
        a[0] = x.sum() * x[0]
        b[0] = b[0] * 3.0 * x[1]
        return 1.0 * kept[0]

    run = on_tape(f) if recorded else f
    for _ in range(2):
        if mode == "grad":
            np.testing.assert_allclose(grad(run)(X), central(f, X), rtol=1e-6, atol=1e-9)
        else:
            y, dy = jvp(run, (X,), (np.ones(3),))
            np.testing.assert_allclose([y, dy], [f(X), central(f, X).sum()], rtol=1e-6)
