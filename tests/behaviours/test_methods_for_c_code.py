"""Special methods that C code runs for its own ends (keys, order, text), and which store into what the
derivative reads: followed or refused, and never lost. Those that store nothing are as ever."""

import collections
import dataclasses
import functools
import io
import operator

import numpy as np
import pytest

from ctxdispatch import grad, jvp
from ctxdispatch_contexts.programs.errors import Refused
from tests.behaviours.mutation_checks import both_modes, central
from tests.behaviours.test_methods_nobody_calls import Held, _triples

X = np.array([0.7, 1.3, 0.45, 1.1])
Key, Index = _triples("__hash__", returns=1), _triples("__index__", returns=1)
Truth, Length = _triples("__bool__", returns=True), _triples("__len__", returns=1)
Text = _triples("__str__", "__repr__", "__format__", returns="text")
Less, Size = _triples("__lt__", returns=False), _triples("__abs__", returns=1)
Names, Sine = _triples("__dir__", returns=["v"]), _triples("sin", returns=1.0)


class Equal(_triples("__eq__", returns=True)):
    def __hash__(self):
        return 1


class Matched(Held):
    __match_args__ = ("w",)

    @property
    def w(self):
        self.v[1] *= 3.0
        return 1


def _match_name(c):
    match c:
        case Matched(w=1):
            return 1


def _match_place(c):
    match c:
        case Matched(1):
            return 1


KEYS = {
    "{c}": lambda c: {c}, "{c: 1}": lambda c: {c: 1}, "set.add": lambda c: set().add(c),
    "dict.get": lambda c: {}.get(c), "of a pair": lambda c: {1: 2}.get((c, 1)),
    "fromkeys": lambda c: dict.fromkeys([c]),
    "d[c] = 1": lambda c: operator.setitem({}, c, 1), "setdefault": lambda c: {}.setdefault(c, 1),
    "set": lambda c: set([c]), "of an iterator": lambda c: set(iter([c])), "dict": lambda c: dict([(c, 1)]),
    "hash of a tuple": lambda c: hash((c,)), "in a set": lambda c: c in {1},
    "{.. for ..}": lambda c: {k for k in [c]},
    "{..: .. for ..}": lambda c: {k: 1 for k in [c]}, "{*..}": lambda c: {*[c], *[1]},
    "Counter": lambda c: collections.Counter([c]), "frozenset": lambda c: frozenset((c,)),
}  # fmt: skip
EQUAL = {
    "in": lambda c: 1 in [c], "not in": lambda c: 1 not in (c,), "index": lambda c: [c].index(1),
    "count": lambda c: [c].count(1), "remove": lambda c: [c].remove(1), "==": lambda c: [c] == [1],
    "get(c)": lambda c: {1: 2}.get(c), "get(1)": lambda c: {c: 2}.get(1), "d[1]": lambda c: {c: 2}[1],
    "deque": lambda c: collections.deque([c]).count(1), "of an object": lambda c: c == 1,
}  # fmt: skip
INDICES = {
    "list": lambda c: [1, 2][c], "array": lambda c: X[c], "range": lambda c: range(c), "*": lambda c: [1] * c,
    "slice": lambda c: [1, 2][:c], "of an array": lambda c: X[:c], "two": lambda c: np.ones((2, 2))[c, :c],
    "chr": lambda c: chr(c), "pop": lambda c: [1, 2, 3].pop(c), "zeros": lambda c: np.zeros(c),
    "reshape": lambda c: X.reshape(c, 4), "list[c] = 1": lambda c: operator.setitem([1, 2], c, 1),
}  # fmt: skip
TRUTH = {
    "not": lambda c: not c, "any": lambda c: any([c]), "filter": lambda c: list(filter(None, [c])),
    "and": lambda c: c and 1,
}  # fmt: skip
TEXT = {
    "%r": lambda c: "%r" % c, "%s of two": lambda c: "%s %s" % (c, 1), "format": lambda c: "{}".format(c),  # noqa: UP031, UP032
    "str": lambda c: str([c]), "f-string": lambda c: f"{[c]}", "repr": lambda c: repr({1: c}),
    "print": lambda c: print(c, file=io.StringIO()), "format_map": lambda c: "{a}".format_map({"a": c}),
    "of an array": lambda c: str(np.array([c], object)),
}  # fmt: skip
ORDER = {
    "sorted": lambda c: sorted([c, c]), "sort": lambda c: [c, c].sort(), "min": lambda c: min(c, c),
    "of tuples": lambda c: (c, 1) < (Less(c.v), 2),
}  # fmt: skip
OTHERS = [
    (Size, lambda c: abs(*[c])), (Size, lambda c: np.abs(np.array([c], object))), (Names, lambda c: dir(c)),
    (Sine, lambda c: np.sin(np.array([c], object))), (Matched, _match_name), (Matched, _match_place),
    (Matched, lambda c: list(map(operator.attrgetter("w"), [c]))),
]  # fmt: skip
TABLE = (
    (Key, KEYS), (Equal, EQUAL), (Index, INDICES), (Truth, TRUTH), (Length, TRUTH), (Text, TEXT),
    (Less, ORDER),
)  # fmt: skip
CASES = [pytest.param(cls, use, id=f"{cls.__name__} {k}") for cls, uses in TABLE for k, use in uses.items()]
CASES += OTHERS


def _recorded(cls, use):
    """With a handler, such a program is recorded."""

    def f(x):
        a = x * 2.0
        try:
            use(cls(a))
        except ZeroDivisionError:
            return 0.0
        return (a * a).sum()

    return f


def _right_or_refused(f, x):
    expected, along = central(f, x.copy()), np.arange(1.0, x.size + 1)
    for run, wanted in (
        (lambda x: grad(f)(x), expected), (lambda x: jvp(f, (x,), (along,))[1], expected @ along),
    ):  # fmt: skip
        mine = x.copy()
        try:
            found = run(mine)
        except Refused as error:
            assert "derivative" in str(error) or "differentiated" in str(error)
        else:
            np.testing.assert_allclose(found, wanted, 1e-5)
        np.testing.assert_array_equal(mine, x)


@pytest.mark.every(4)
@pytest.mark.parametrize("cls, use", CASES)
def test_methods_that_store(cls, use):
    _right_or_refused(_recorded(cls, use), X)


class Made:
    """Its hash makes a number of what is differentiated, and keeps it."""

    def __init__(self, v):
        self.k, self.parts = v[0], [v[1]]

    def __hash__(self):
        self.k = self.k * 3.0
        return 1

    def __repr__(self):
        self.parts.append(self.k * 2.0)
        return "made"


class Other(Made):
    def __hash__(self):
        self.k, self.parts[0] = self.parts[0], self.k
        return 1


@pytest.mark.every(4)
@pytest.mark.parametrize("cls", [Made, Other])
@pytest.mark.parametrize("use", [lambda c: {c: 1}, lambda c: {}.get((c,)), lambda c: str([c])])
def test_numbers_that_methods_make(cls, use):
    def f(x):
        c = cls(x * 2.0)
        try:
            use(c)
        except ZeroDivisionError:
            return 0.0
        return c.k * c.k + 5.0 * c.parts[-1]

    _right_or_refused(f, X)


# -- nothing is stored ---------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, order=True)
class Place:
    at: int
    name: str = "a"


@functools.total_ordering
class Weighed:
    def __init__(self, w, unit="kg"):
        self.w, self.unit, self.seen = w, unit, 0

    def __lt__(self, other):
        return self.w < other.w

    def __eq__(self, other):
        self.seen += 1  # counts, which changes no derivative
        return isinstance(other, Weighed) and self.w == other.w

    def __hash__(self):
        return hash(self.unit)

    def __repr__(self):
        return f"{self.w:.2f} {self.unit}"


def _keys(x):
    table = {Place(i): x[i] for i in range(4)}
    table[Place(7)] = x[1] * x[2]
    return table[Place(2)] * table.get(Place(7)) + (3.0 if Place(0) in table else 0.0) * x[0]


def _order(x):
    items = sorted([Weighed(v * v) for v in x])
    items.sort(reverse=True)
    return items[0].w * items[1].w + min(items).w


def _search(x):
    items = [Weighed(v) for v in x]
    found = items.index(items[2]) + items.count(items[1]) + (items[3] in items)
    return found * items[2].w + len({*items}) * items[0].w * len(set(items))


def _text(x):
    items = [Weighed(v) for v in x]
    return len(f"{items[0]} {items}" + "%r" % items[1] + str(items)) * items[0].w * items[1].w  # noqa: UP031


def _changed_elsewhere(x):
    a = x * 2.0
    items = [Weighed(v) for v in a]
    a[1] *= 3.0
    sorted(items, key=lambda item: a.sort() or item)
    return (a * x).sum() + items[1].w


@pytest.mark.every(4)
@pytest.mark.parametrize("f", [_keys, _order, _search, _text, _changed_elsewhere])
def test_methods_that_store_nothing(f):
    def recorded(x):
        try:
            return f(x)
        except ZeroDivisionError:
            return 0.0

    both_modes(f, X)
    both_modes(recorded, X)
