"""Special methods that are something else than a function: None, a partial, an object that is called. What
they are decides who is asked and with what (The Python Language Reference, 3.3 and 3.3.12)."""

import functools
import operator

import pytest

from ctxdispatch import Refused
from tests.behaviours.number_checks import MODES, check

X = 1.3


class Callable:
    def __init__(self, f):
        self.f = f

    def __call__(self, *args):
        return self.f(*args)


class Bound:
    """A descriptor of the user's."""

    def __init__(self, f):
        self.f = f

    def __get__(self, obj, cls=None):
        return self if obj is None else functools.partial(self.f, obj)


def of(f):
    """The kinds of things that a class may have there; those that do not see the object give a constant."""
    return {
        "function": f,
        "none": None,
        "partialmethod": functools.partialmethod(f),
        "static": staticmethod(lambda *args: f(Held(0.5), *args)),
        "class": classmethod(lambda cls, *args: f(Held(0.25), *args)),
        "object": Callable(lambda *args: f(Held(0.75), *args)),
        "descriptor": Bound(f),
        "property": property(lambda self: functools.partial(f, self)),
        "cached": functools.lru_cache(f),
        "partial": functools.partial(f, Held(0.125)),
        "missing": f,
    }


class Held:
    def __init__(self, v):
        self.v = v


def two(k):
    return lambda a, b: k * a.v * a.v + getattr(b, "v", b)


SPELLINGS = {
    "a - b": {"__sub__": two(2.0), "__rsub__": two(3.0)},
    "a < b": {"__lt__": two(2.0), "__gt__": two(3.0)},
    "a == b": {"__eq__": two(2.0)},
    "a != b": {"__eq__": two(2.0), "__ne__": two(3.0)},
    "operator.isub(a, b)": {"__isub__": two(2.0), "__sub__": two(4.0), "__rsub__": two(3.0)},
    "-a": {"__neg__": lambda a: a.v**2},
    "abs(a)": {"__abs__": lambda a: a.v**2},
    "float(a)": {"__float__": lambda a: float(a.v**2)},
    "a[2]": {"__getitem__": lambda a, i: a.v**i},
    "a(x)": {"__call__": two(2.0)},
    "next(iter(a))": {"__iter__": lambda a: iter([a.v**2])},
    "[y for y in a][0]": {"__iter__": lambda a: iter([a.v**2])},
    "sum(a)": {"__iter__": lambda a: iter([a.v**2]), "__len__": lambda a: 1},
    "x * len(a)": {"__len__": lambda a: int(a.v * 2)},
    "x if a else 2 * x": {"__bool__": lambda a: bool(a.v < 2), "__len__": lambda a: int(a.v)},
    "x if 1.5 in a else 2 * x": {
        "__contains__": lambda a, y: bool(a.v < y),
        "__iter__": lambda a: iter([a.v]),
    },
    "round(a)": {"__round__": lambda a, n=None: a.v**2},
    "within(a)": {"__enter__": lambda a: a.v**2, "__exit__": lambda a, *error: None},
    "a.missing": {"__getattr__": lambda a, name: a.v**2},
}


def within(a):
    with a as y:
        return y


def classes(spelling, name, kind, related):
    """A has something else under that name; where they are related, it comes of B."""
    methods = SPELLINGS[spelling]
    space = {**methods, "__init__": Held.__init__, "__hash__": object.__hash__, "__module__": __name__}
    changed = {**space, name: of(methods[name])[kind]}
    if kind == "missing":
        del changed[name]
    B = type("B", (), space)
    return type("A", (B,) if related == "related" else (), changed), B


def number(y):
    return y.v if type(y) is Held else y * 1.0


@pytest.mark.every(20)
@pytest.mark.parametrize("mode", ["grad", "jvp"])
@pytest.mark.parametrize("order", ["AB", "BA", "AA", "BB"])
@pytest.mark.parametrize("related", ["alone", "related"])
@pytest.mark.parametrize("kind", of(two(1.0)))
@pytest.mark.parametrize("spelling, name", [(s, name) for s in SPELLINGS for name in SPELLINGS[s]])
def test_as_plain(spelling, name, kind, related, order, mode):
    A, B = classes(spelling, name, kind, related)
    space = {"A": A, "B": B, "within": within, "number": number, "operator": operator}
    exec(
        f"def f(x):\n    a, b = {order[0]}(x), {order[1]}(x * x)\n    return number({spelling})\n",
        space | {"__name__": __name__},
        out := {},
    )
    f = out["f"]
    try:
        f(X)
    except Exception as error:
        for _ in range(2):
            with pytest.raises((type(error), Refused)):
                MODES[mode](f, X)
        return
    check(f, X, mode, atol=1e-7)
