"""`a[i]` where the class of `a`, written in Python, says what an item is: known from the start or only at run
time, of objects made here or captured."""

from collections import ChainMap, OrderedDict, UserDict, UserList, defaultdict

import pytest

from tests.behaviours.number_checks import check

X = 1.5


class Squares:
    def __getitem__(self, i):
        return i * i


class Holding:
    def __init__(self, v):
        self.v = v

    def __getitem__(self, name):
        return self.v * len(name)


class OfClass:
    def __class_getitem__(cls, v):
        return v * v


class Meta(type):
    def __getitem__(cls, v):
        return v * 3.0 * v


class OfMeta(metaclass=Meta):
    pass


CHAIN = ChainMap({}, {"a": 2.0})
LISTED = [Squares()]
HELD = {"s": Squares()}


def filled(d, x):
    d["a"] = x * x
    return d["a"] * d.get("b", x)


PROGRAMS = {
    "captured ChainMap": lambda x: (lambda d: x * CHAIN["a"] * d["b"])(CHAIN.new_child({"b": x})),
    "ChainMap": lambda x: ChainMap({"b": x}, {"a": x * x})["a"] * x,
    "UserDict": lambda x: filled(UserDict(), x),
    "OrderedDict": lambda x: filled(OrderedDict(), x),
    "defaultdict": lambda x: filled(defaultdict(float), x),
    "UserList": lambda x: UserList([x, x * x])[1] * x,
    "class": lambda x: OfClass[x] * x,
    "metaclass": lambda x: OfMeta[x] * x,
    "of a list": lambda x: LISTED[0][x] * x,
    "of a dict": lambda x: HELD["s"][x] * x,
    "made here": lambda x: Holding(x)["abc"] * x,
    "one of two": lambda x: (Holding(x) if x > 1.0 else {"abc": x})["abc"] * x,
    "given": lambda x: (lambda a, i: a[i])(Squares(), x) * x,
    "by getitem": lambda x: Holding(x).__getitem__("ab") * x,
}


@pytest.mark.every(2)
@pytest.mark.parametrize("mode", ["grad", "jvp", "hessian"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_derivatives(program, mode):
    check(PROGRAMS[program], X, mode, times=3)
