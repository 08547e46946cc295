"""Special methods that a class gets, or loses, between two derivatives: from then on they are run, under the
context."""

import numpy as np
import pytest

from ctxdispatch import grad, hessian, jvp

X = 1.5


class Number:
    def __init__(self, v):
        self.v = v


def classes():
    """A class of numbers, one below it, and a float, of their own for each test."""
    base = type("V", (Number,), {"go": lambda self: self.v * self.v})
    return {"V": base, "W": type("W", (base,), {}), "F": type("F", (float,), {})}


def two(name):
    return lambda space: setattr(space["V"], name, lambda a, b: b.v * a.v * a.v)


USES = {
    "reflected difference": ("return (V(x) - W(x * x)).v", "__sub__", "__rsub__", "W"),
    "reflected sum": ("return (V(x) + W(x * x)).v", "__add__", "__radd__", "W"),
    "reflected product": ("return (V(x) * W(x)).v", "__mul__", "__rmul__", "W"),
    "of the base": ("return (V(x) - W(x * x)).v", "__sub__", "__sub__", "V"),
    "of the right one's base": ("return (V(x) - W(x * x)).v", "__sub__", "__rsub__", "V"),
    "in place": ("a = V(x)\n    a -= W(x)\n    return a.v", "__sub__", "__isub__", "V"),
    "float times": ("return F(2.0) * x * x", None, "__mul__", "F"),
    "times float": ("return x * F(2.0) * x", None, "__rmul__", "F"),
    "float plus": ("return (F(2.0) + x) * x", None, "__add__", "F"),
    "float power": ("return F(2.0) ** x", None, "__pow__", "F"),
}
ASKS = {
    "less": ("return x * x if V(x) < V(2.0) else x", "__lt__", "__lt__"),
    "greater": ("return x * x if V(x) > V(2.0) else x", "__lt__", "__gt__"),
    "equal": ("return x * x if V(x) == V(2.0) else x", None, "__eq__"),
    "not equal": ("return x * x if V(x) != V(2.0) else x", "__eq__", "__ne__"),
    "truth": ("return x * x if V(x) else x", None, "__bool__"),
    "length": ("return x * x if V(x) else x", None, "__len__"),
    "contains": ("return x * x if 1.0 in V(x) else x", "__contains__", "__contains__"),
}
COMPUTED = {
    "hasattr": "return V(x).w * x if hasattr(V(x), 'w') else x ** 3",
    "default": "return getattr(V(x), 'w', 1.0) * x",
    "try": "try:\n        return V(x).w * x\n    except AttributeError:\n        return x ** 3",
    "of a known one": "o = V(x)\n    return o.v * getattr(o, 'w', o.v)",
    "method or none": "m = getattr(V(x), 'w', None)\n    return x ** 3 if m is None else m * x",
}


def check(f):
    wanted = (f(X + 1e-6) - f(X - 1e-6)) / 2e-6
    second = (f(X + 1e-3) - 2 * f(X) + f(X - 1e-3)) / 1e-6
    for _ in range(2):
        np.testing.assert_allclose(grad(f)(X), wanted, rtol=1e-5)
        np.testing.assert_allclose(jvp(f, (X,), (1.0,))[1], wanted, rtol=1e-5)
        np.testing.assert_allclose(hessian(f)(X), second, rtol=1e-3, atol=1e-4)


def made(source):
    space = {**classes(), "__name__": __name__}
    exec(f"def f(x):\n    {source}\n", space)
    return space


def product(a, b):
    a, b = (getattr(each, "v", each) for each in (a, b))
    return Number(3.0 * a * a * b)


def numbers(a, b):
    return 5.0 * float.__mul__(float(a), 1.0) * b * b


@pytest.mark.every(60)
@pytest.mark.parametrize("use", USES)
def test_operators(use):
    source, before, later, name = USES[use]
    space = made(source)
    if before is not None:
        setattr(space["V"], before, lambda a, b: Number(a.v * a.v - b.v))
    check(space["f"])
    setattr(space[name], later, numbers if name == "F" else product)
    check(space["f"])
    delattr(space[name], later)
    if before != later:
        check(space["f"])


@pytest.mark.parametrize("use", ASKS)
def test_questions(use):
    source, before, later = ASKS[use]
    space = made(source)
    if before is not None:
        setattr(space["V"], before, lambda a, b: True)
    check(space["f"])
    setattr(space["V"], later, lambda a, *b: 0 if later == "__len__" else False)
    check(space["f"])


@pytest.mark.every(60)
@pytest.mark.parametrize("place", ["V", "Number"])
@pytest.mark.parametrize("use", COMPUTED)
def test_computed_attributes(use, place):
    space = made(COMPUTED[use])
    base = type("Base", (), {"__init__": Number.__init__})
    space["V"].__bases__ = (base,)
    owner = space["V"] if place == "V" else base
    check(space["f"])
    owner.__getattr__ = lambda self, name: 7.0 * self.v
    check(space["f"])
    del owner.__getattr__
    check(space["f"])
    owner.w = 5.0
    check(space["f"])
    owner.w = property(lambda self: self.v * self.v)
    check(space["f"])
