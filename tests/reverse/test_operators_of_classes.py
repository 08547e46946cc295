"""Every operator on objects of classes, in every form (reflected, in place, by the other method that
Python falls back to): right in both modes, and compiled."""

import linecache
import re

import numpy as np
import pytest

from ctxdispatch import explain, grad, jvp
from tests.behaviours.mutation_checks import central

X = np.array([0.3, 0.4, 0.5])
ALONG = np.array([1.0, -2.0, 0.5])
BINARY = dict(zip(
    "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift".split(),
    "+ - * / // % ** @ & | ^ << >>".split(), strict=True,
))  # fmt: skip


class Plain:
    def __init__(self, a):
        self.a = a


def _joined(self, other):
    return Both(self.a * 2.0 + (other.a * self.a if isinstance(other, Plain) else other))


def _tripled(self):
    return Both(self.a * 3.0)


def _updated(self, other):
    self.a = self.a * other
    return self


def _declined(self, other):
    return NotImplemented


class Both(Plain):
    """All methods but those in place."""

    def __getitem__(self, i):
        return self.a * i

    def __setitem__(self, i, v):
        self.a = self.a * v + i

    def __delitem__(self, i):
        self.a = self.a * i

    def __contains__(self, i):
        return i > 0

    def __eq__(self, other):
        return isinstance(other, Both) and self.a[0] == other.a[0]

    __hash__ = None

    def __bool__(self):
        return bool(self.a[0] > 0.0)

    def __int__(self):
        return 2

    def __float__(self):
        return float(np.sum(self.a))

    def __call__(self, y):
        return Both(self.a * y)


class Sized(Plain):
    def __len__(self):
        return 2


class InPlace(Both):
    pass


class Declining(Both):
    """What it has in place leaves it to the operator."""


class Below(Both):
    def __init__(self, a):
        super().__init__(a * 2.0)

    def __call__(self, y):
        return super().__call__(y + 1.0)


for name in BINARY:
    setattr(Both, f"__{name}__", _joined)
    setattr(Both, f"__r{name}__", _joined)
    setattr(InPlace, f"__i{name}__", _updated)
    setattr(Declining, f"__i{name}__", _declined)
for name in ("neg", "pos", "invert", "abs"):
    setattr(Both, f"__{name}__", _tripled)

LOOP = "v = InPlace(x)\n    for k in range(3): v SIGN= 2.0 + k\n    return v.a.sum()"
SOURCES = {}
for name, sign in BINARY.items():
    SOURCES |= {
        f"{name} of two": f"return (Both(x) {sign} Both(x * 2.0)).a.sum()",
        f"{name} of a number": f"return (Both(x) {sign} 2.0).a.sum()",
        f"{name} reflected": f"return (2.0 {sign} Both(x)).a.sum()",
        f"{name} in place": f"v = InPlace(x); w = v; v {sign}= 2.0; return (v.a * w.a).sum()",
        f"{name} in place, of the operator": f"v = Both(x); w = v; v {sign}= 2.0; return (v.a * w.a).sum()",
        f"{name} in place, declined": f"v = Declining(x); w = v; v {sign}= 2.0; return (v.a * w.a).sum()",
        f"{name} in place, in a loop": LOOP.replace("SIGN", sign),
    }
SOURCES |= {
    "neg": "return (-Both(x)).a.sum()",
    "pos": "return (+Both(x)).a.sum()",
    "invert": "return (~Both(x)).a.sum()",
    "abs": "return abs(Both(x)).a.sum()",
    "item": "return Both(x)[2].sum()",
    "set item": "v = Both(x); v[2] = 3.0; return v.a.sum()",
    "delete item": "v = Both(x); del v[3]; return v.a.sum()",
    "augmented item": "v = Both(x); v[2] *= 3.0; return v.a.sum()",
    "contains": "return x.sum() * (2 if 3 in Both(x) else 1)",
    "not in": "return x.sum() * (2 if -3 not in Both(x) else 1)",
    "equal": "return x.sum() * (2 if Both(x) == Both(x) else 1)",
    "unequal": "return x.sum() * (2 if Both(x) != Both(x * 2.0) else 1)",
    "not unequal": "return x.sum() * (2 if Both(x) != Both(x) else 1)",
    "if": "return x.sum() * (2 if Both(x) else 1)",
    "if not": "return x.sum() * (2 if not Both(x) else 1)",
    "and": "return (Both(x) and Both(x * 2.0)).a.sum()",
    "or": "return (Both(x) or Both(x * 2.0)).a.sum()",
    "bool": "return x.sum() * (2 if bool(Both(x)) else 1)",
    "if of a length": "return x.sum() * (2 if Sized(x) else 1)",
    "not of a length": "return x.sum() * (2 if not Sized(x) else 1)",
    "int": "return x.sum() * int(Both(x))",
    "float": "return float(Both(x)) * 2.0",
    "call": "return Both(x)(2.0).a.sum()",
    "super": "return Below(x)(2.0).a.sum()",
}


def _function(body):
    text = f"def f(x):\n    {body}\n"
    file = f"<{body}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    space = dict(globals())
    exec(compile(text, file, "exec"), space)
    return space["f"]


@pytest.mark.every(4)
@pytest.mark.parametrize("name", SOURCES)
def test_operators(name):
    f = _function(SOURCES[name])
    expected = central(f, X.copy())
    gradient = grad(f)
    for _ in range(3):
        np.testing.assert_allclose(gradient(X), expected, 1e-5)
    np.testing.assert_allclose(jvp(f, (X,), (ALONG,))[1], expected @ ALONG, 1e-5)
    assert explain(gradient)(X).regions[0].tier in ("compiled whole", "compiled as a trace")


def test_a_truth_that_is_none():
    class Odd(Plain):
        def __bool__(self):
            return self.a[0]

    def f(x):
        return x.sum() if Odd(x) else 0.0 * x.sum()

    with pytest.raises(TypeError, match="__bool__ should return bool, returned"):
        grad(f)(X)


def test_methods_that_come_later():
    class Late(Plain):
        def __add__(self, other):
            return Late(self.a + other)

    def f(x):
        v = Late(x)
        v += 2.0
        return (v.a * x).sum()

    gradient = grad(f)
    np.testing.assert_allclose(gradient(X), 2.0 * X + 2.0)
    Late.__iadd__ = lambda self, other: Late(self.a * other)
    np.testing.assert_allclose(gradient(X), 4.0 * X)
    del Late.__iadd__
    np.testing.assert_allclose(gradient(X), 2.0 * X + 2.0)


class Choosy(Plain):
    """Its methods decline what is not of its own kind, and all comparisons."""

    def __add__(self, other):
        return Choosy(self.a + other.a) if isinstance(other, Choosy) else NotImplemented

    def __eq__(self, other):
        return NotImplemented

    def __contains__(self, item):
        return 2 * (item > 0)

    __hash__ = None


class Willing(Plain):
    def __radd__(self, other):
        return Choosy(self.a * 3.0 + other.a)


DECLINED = {
    "its own": "return (Choosy(x) + Choosy(x * x)).a.sum()",
    "the other one": "return (Choosy(x) + Willing(x * x)).a.sum()",
    "nobody": "return (Choosy(x) + 2.0).a.sum()",
    "nobody, of two": "return (Choosy(x) + Plain(x)).a.sum()",
    "equal": "return x.sum() * (2 if Choosy(x) == Choosy(x) else 3)",
    "unequal": "return x.sum() * (2 if Choosy(x) != Choosy(x) else 3)",
    "equal to itself": "v = Choosy(x); return x.sum() * (2 if v == v else 3)",
    "unequal to itself": "v = Choosy(x); return x.sum() * (2 if v != v else 3)",
    "contains": "return x.sum() * (3 in Choosy(x))",
    "not contains": "return x.sum() * (1 + (3 not in Choosy(x)))",
}


@pytest.mark.parametrize("name", DECLINED)
def test_methods_that_decline(name):
    f = _function(DECLINED[name])
    try:
        expected = central(f, X.copy())
    except TypeError as error:
        for run in (grad(f), lambda x: jvp(f, (x,), (ALONG,))):
            with pytest.raises(TypeError, match=re.escape(str(error))):
                run(X)
        return
    np.testing.assert_allclose(grad(f)(X), expected, 1e-5)
    np.testing.assert_allclose(jvp(f, (X,), (ALONG,))[1], expected @ ALONG, 1e-5)
