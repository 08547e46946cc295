"""Functions of NumPy's that leave the work to a method of their operand: `np.sum(a)` is `a.sum()` where `a`
is no array, or one of a subclass."""

import numpy as np
import pytest

from ctxdispatch import grad, jvp, value_and_grad
from ctxdispatch_contexts.programs.errors import Refused
from ctxdispatch_contexts.sparsity import jacobian_sparsity
from tests.recording import recorded as on_tape

X = np.array([0.5, 1.0, -2.0])
NAMES = """sum mean max min prod std var clip reshape round cumsum cumprod ptp any argmax sort take repeat
    transpose squeeze trace diagonal ravel copy swapaxes argsort nonzero searchsorted compress
    choose""".split()
GIVEN = {
    "clip": (-1.0, 0.7), "reshape": ((3, 1),), "take": ([0, 2],), "repeat": (2,), "swapaxes": (0, 0),
    "searchsorted": (0.3,), "compress": ([True, False, True],), "choose": ([0.0, 1.0, 2.0],),
}  # fmt: skip


def method(name):
    def of(self, *args, **kwargs):
        return np.sum(self.numbers() ** 2) * 7.0

    of.__name__ = name
    return of


METHODS = {name: method(name) for name in NAMES}


class Plain:
    def __init__(self, a):
        self.a = a

    def numbers(self):
        return self.a


class Sequence(Plain):
    def __len__(self):
        return len(self.a)

    def __getitem__(self, i):
        return self.a[i]


class Converted(Plain):
    def __array__(self, dtype=None, copy=None):
        return self.a


class Items(list):
    def numbers(self):
        return np.array([*self])


class Array(np.ndarray):
    def numbers(self):
        return self.view(np.ndarray)


KINDS = {
    cls.__name__: type(cls.__name__, (cls,), {**METHODS, "make": staticmethod(make)})
    for cls, make in [
        (Plain, lambda c, x: c(x)), (Sequence, lambda c, x: c(x)), (Converted, lambda c, x: c(x)),
        (Items, lambda c, x: c([*x])), (Array, lambda c, x: (x * 1.0).view(c)),
    ]
}  # fmt: skip


@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize("kind", [*KINDS])
@pytest.mark.parametrize("name", NAMES)
def test_it_is_called(name, kind, recorded):
    function, cls = getattr(np, name), KINDS[kind]

    def program(x):
        return np.sum(function(cls.make(cls, x), *GIVEN.get(name, ()))) + x[1]

    f = on_tape(program) if recorded else program
    try:
        want = f(X)
    except (TypeError, AttributeError, ValueError) as error:
        with pytest.raises((type(error), Refused)):
            grad(f)(X)
        return
    try:
        y, gradient = value_and_grad(f)(X)
    except Refused:
        return
    differences = np.array([(f(X + e) - f(X - e)) / 2e-5 for e in 1e-5 * np.eye(3)])
    assert y == pytest.approx(want)
    np.testing.assert_allclose(gradient, differences, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(jvp(f, (X,), (np.ones(3),))[1], sum(differences), rtol=1e-6, atol=1e-8)
    try:
        pattern = jacobian_sparsity(f, X).toarray().ravel()
    except Refused:
        return
    assert not np.any((np.abs(differences) > 1e-6) & (pattern == 0))
