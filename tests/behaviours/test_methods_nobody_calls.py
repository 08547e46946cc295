"""Special methods that change what the derivative reads, run by syntax and builtins without being called."""

import functools
import itertools

import numpy as np
import pytest

from ctxdispatch import MissingRuleError, grad, jvp
from tests.behaviours.mutation_checks import both_modes

X = np.array([0.7, 1.3, 0.45, 1.1])


class Held:
    def __init__(self, v):
        self.v = v


class ByItem(Held):
    def __setitem__(self, i, w):
        self.v[i] = w

    def __delitem__(self, i):
        self.v[i] = 0.0


class ByAttribute(Held):
    def __setattr__(self, name, w):
        if name == "v":
            object.__setattr__(self, name, w)
        else:
            self.v[1] = w

    def __getattr__(self, name):
        self.v[1] *= 3.0
        return 1.0


def _triples(*names, returns=None):
    def method(self, *args):
        self.v[1] *= 3.0
        return returns

    return type("Tripling", (Held,), dict.fromkeys(names, method))


Truth, Length = _triples("__bool__", returns=True), _triples("__len__", returns=1)
Text = _triples("__str__", "__format__", "__repr__", returns="text")
Items, Hashed = _triples("__iter__", returns=iter(())), _triples("__hash__", returns=1)
Order = _triples("__lt__", "__gt__", returns=False)


class Cached(Held):
    @functools.cached_property
    def w(self):
        self.v[1] *= 3.0


def _store(c, x):
    c[1] = x[3]


def _delete(c, x):
    del c[1]


def _set(c, x):
    c.w = x[3]


def _if(c, x):
    return 1 if c else 2


CASES = [
    (ByItem, _store), (ByItem, _delete), (ByAttribute, _set), (ByAttribute, lambda c, x: c.q), (Truth, _if),
    (Truth, lambda c, x: bool(c)), (Length, lambda c, x: len(c)), (Length, _if), (Text, lambda c, x: str(c)),
    (Text, lambda c, x: f"{c}"), (Text, lambda c, x: f"{c!r}"), (Items, lambda c, x: list(c)),
    (Items, lambda c, x: [*c]), (Hashed, lambda c, x: hash(c)), (Cached, lambda c, x: c.w),
    (Order, lambda c, x: sorted([c, c])), (Order, lambda c, x: [c, c].sort()),
    (Order, lambda c, x: max([c, c])),
    (Order, lambda c, x: min(c, c)),
    (Order, lambda c, x: sorted([(1, c), (1, c)])), (Truth, lambda c, x: any([c])),
    (Truth, lambda c, x: not c),
]  # fmt: skip


def squares_after(cls, use):
    """x -> the sum of squares of an array, which `use` of an object that holds it may have changed."""

    def f(x):
        a = x * 2.0
        use(cls(a), x)
        return (a * a).sum()

    return anew(f)


def anew(f):
    """What is known of its code by earlier cases is not known of this one."""
    f.__code__ = f.__code__.replace(co_name=f"f{next(NUMBERS)}")
    return f


NUMBERS = itertools.count()


@pytest.mark.every(40)
@pytest.mark.parametrize("cls, use", CASES)
def test_what_changes_out_of_sight(cls, use):
    def of_constants(x):
        a = np.ones(4)
        y = a * x
        use(cls(a), x)
        return (a * x * x + y).sum()

    both_modes(squares_after(cls, use), X)
    both_modes(anew(of_constants), X)


BY_C = [
    (Hashed, lambda c, x: {c}), (Hashed, lambda c, x: len({c})), (Hashed, lambda c, x: {c: 1}),
    (Hashed, lambda c, x: {(c, 1)}), (Hashed, lambda c, x: hash((1, c))),
    (Hashed, lambda c, x: frozenset([c])), (Hashed, lambda c, x: {1: 2}.get(c)),
    (Hashed, lambda c, x: {}.setdefault((c,), 1)), (Text, lambda c, x: str([c])),
    (Text, lambda c, x: f"{(c, 1)}"),
]  # fmt: skip


@pytest.mark.every(12)
@pytest.mark.parametrize("cls, use", BY_C)
def test_what_c_code_runs_is_refused(cls, use):
    f = squares_after(cls, use)
    for differentiate in (lambda: grad(f)(X), lambda: jvp(f, (X,), (X,))):
        with pytest.raises(MissingRuleError, match="runs a special method of the class Tripling"):
            differentiate()
