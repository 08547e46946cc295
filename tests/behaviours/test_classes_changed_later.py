"""What an object or a class gets after a first gradient, and before the next: it counts from then on,
wherever the object is read from, or is refused."""

import functools
import types

import numpy as np
import pytest

from ctxdispatch import grad, hessian, jvp
from ctxdispatch_contexts.programs.errors import DerivativeError

X = 2.0


class Bare:
    def go(self, x):
        return x * x


class Full:
    def __init__(self):
        self.k = 1.0

    def go(self, x):
        return x * x * self.k


class Below(Bare):
    pass


class Slots:
    __slots__ = ("__dict__",)
    go = Bare.go


def copies(cls):
    """A class of its own for each test, which is changed."""
    made = object
    for each in reversed(cls.__mro__[:-1]):
        space = {k: v for k, v in vars(each).items() if k not in ("__dict__", "__weakref__")}
        made = type(each.__name__, (made,), space)
    return made


READS = {
    "captured": "o.go(x)",
    "of another": "held.c.go(x)",
    "of a list": "listed[0].go(x)",
    "of a dict": "entries['o'].go(x)",
    "by getattr": "getattr(o, 'go')(x)",
    "in a function": "inner(x)",
    "twice": "o.go(o.go(x)) / o.go(x)",
}


def hides(o, cls):
    o.go = lambda x: 10.0 * x


def becomes_static(o, cls):
    cls.go = staticmethod(lambda *args: args[-1] * 3.0 * len(args))


def becomes_plain(o, cls):
    cls.go = lambda *args: args[-1] * 3.0 * len(args)


def swapped(o, cls):
    """The same function, as a method again."""
    home = next(c for c in cls.__mro__ if "go" in vars(c))
    found = vars(home)["go"]
    home.go = staticmethod(found) if isinstance(found, types.FunctionType) else found.__func__


def shadowed(o, cls):
    cls.go = lambda self, x: x * 7.0


def property_of_it(o, cls):
    cls.go = property(lambda self: lambda x: x * 5.0)


def partial_of_it(o, cls):
    cls.go = functools.partial(lambda x: x * 11.0)


CHANGES = [hides, becomes_static, becomes_plain, shadowed, property_of_it, partial_of_it]


def made(o, source):
    held, listed, entries = types.SimpleNamespace(c=o), [o], {"o": o}
    space = dict(o=o, held=held, listed=listed, entries=entries, inner=lambda x: o.go(x))
    names = ", ".join(space)
    exec(f"def make({names}):\n    def f(x):\n        return {source}\n    return f\n", space)
    return space["make"](o, held, listed, entries, space["inner"])


def derivative(f, mode):
    return grad(f)(X) if mode == "grad" else jvp(f, (X,), (1.0,))[1]


def check(f, mode):
    wanted = (f(X + 1e-6) - f(X - 1e-6)) / 2e-6
    np.testing.assert_allclose(derivative(f, mode), wanted, rtol=1e-5)


def check_around(change, cls, read, mode):
    """Before the change, and after it."""
    cls = copies(cls)
    o = cls()
    f = made(o, READS[read])
    for _ in range(3):
        check(f, mode)
    change(o, cls)
    for _ in range(3):
        try:
            check(f, mode)
        except DerivativeError as error:
            assert change is hides and "hides the method of its class" in str(error)


@pytest.mark.every(3)
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("mode", ["grad", "jvp"])
@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("cls", [Bare, Full, Below, Slots])
def test_what_changes_later_counts(cls, read, mode, change):
    check_around(change, cls, read, mode)


class Static:
    @staticmethod
    def go(*args):
        return args[-1] * len(args)


class Method:
    def go(*args):
        return args[-1] * len(args)


@pytest.mark.parametrize("mode", ["grad", "jvp"])
@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("cls", [Static, Method])
def test_static_methods_and_methods_are_told_apart(cls, read, mode):
    check_around(swapped, cls, read, mode)


@pytest.mark.every(3)
@pytest.mark.parametrize("mode", ["grad", "jvp", "hessian"])
@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("cls", [Bare, Full, Below, Slots])
def test_hidden_for_a_while(cls, read, mode):
    cls = copies(cls)
    o = cls()
    f = made(o, READS[read])
    for power in (None, 4, None, 5, 4, None):
        if power is not None:
            o.go = lambda x, power=power: x**power
        elif "go" in vars(o):
            del o.go
        for _ in range(2):
            wanted = (f(X + 1e-3) - 2 * f(X) + f(X - 1e-3)) / 1e-6
            try:
                if mode == "hessian":
                    np.testing.assert_allclose(hessian(f)(X), wanted, rtol=1e-4)
                else:
                    check(f, mode)
            except DerivativeError as error:
                assert "hides the method of its class" in str(error)
