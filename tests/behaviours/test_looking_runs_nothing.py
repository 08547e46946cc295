"""To make a program is to look at classes and modules: code of the user's that computes attributes is not run
for it, however often they are looked at."""

import types

import pytest

from ctxdispatch import grad, hessian, jvp, value_and_grad


class Counter:
    def __init__(self):
        self.n = 0

    def next(self):
        self.n += 1
        return 2.0 * self.n


COUNTER = Counter()


class Descriptor:
    def __get__(self, obj, cls):
        return COUNTER.next()


class A:
    d = Descriptor()

    def __getattr__(self, name):
        return COUNTER.next()


class B(A):
    pass


class Meta(type):
    def __getattr__(cls, name):
        return COUNTER.next()


class OfMeta(metaclass=Meta):
    pass


MODULE = types.ModuleType("computes")
MODULE.__getattr__ = lambda name: COUNTER.next()
OBJECT = A()

PROGRAMS = {
    "of a class": lambda x: A.d * x * x,
    "of a class below": lambda x: B.d * x * x,
    "of a type": lambda x: type(OBJECT).d * x * x,
    "by getattr": lambda x: getattr(A, "d") * x * x,  # noqa: B009
    "of an object": lambda x: OBJECT.d * x * x,
    "of an object made here": lambda x: A().d * x * x,
    "super": lambda x: super(B, B()).d * x * x,
    "hasattr": lambda x: OBJECT.d * x * x if hasattr(OBJECT, "d") else x,
    "default": lambda x: getattr(OBJECT, "d", 1.0) * x * x,
    "computed": lambda x: OBJECT.other * x * x,
    "computed, made here": lambda x: A().other * x * x,
    "of a metaclass": lambda x: OfMeta.other * x * x,
    "of a module": lambda x: MODULE.other * x * x,
    "of a module, by getattr": lambda x: getattr(MODULE, "other", 1.0) * x * x,
    "twice": lambda x: A.d * x * A.d * x,
}
KEPT = types.SimpleNamespace(v=1.0)


def leaves(x):
    try:
        KEPT.v = x * x
        return KEPT.v * x
    finally:
        pass


MODES = {
    "value_and_grad": lambda f: value_and_grad(f)(1.0)[0],
    "jvp": lambda f: jvp(f, (1.0,), (1.0,))[0],
    "grad": lambda f: grad(f)(1.0) / 2,
    "hessian": lambda f: hessian(f)(1.0) / 2,
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("program", PROGRAMS)
def test_run_as_often_as_plainly(program, mode):
    """Also while something is left by an earlier run, which programs may read."""
    grad(leaves)(1.5)
    f = PROGRAMS[program]
    COUNTER.n = 0
    wanted, often = f(1.0), COUNTER.n
    for _ in range(3):
        COUNTER.n = 0
        found = MODES[mode](f)
        assert COUNTER.n == often
        assert found == wanted
