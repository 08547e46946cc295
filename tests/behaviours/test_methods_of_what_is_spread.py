"""Special methods of objects that are spread over a call of C code, `abs(*[c])`: they store into what the
derivative reads, and are followed or refused, in programs and in recorded runs."""

import operator

import numpy as np
import pytest

from ctxdispatch import grad, jvp
from ctxdispatch_contexts.programs.errors import Refused
from tests.behaviours.mutation_checks import central
from tests.behaviours.test_methods_nobody_calls import ByAttribute, ByItem, Held, _triples

X = np.array([0.7, 1.3, 0.45, 1.1])
ALONG = np.arange(1.0, 5.0)


class Property(Held):
    @property
    def w(self):
        self.v[1] *= 3.0
        return 1.0


ORDER = ("__lt__", "__gt__")
CALLS = {
    "abs": (_triples("__abs__", returns=1), lambda c: (abs, (c,))),
    "operator.neg": (_triples("__neg__", returns=1), lambda c: (operator.neg, (c,))),
    "operator.add": (_triples("__add__", returns=1), lambda c: (operator.add, (c, 1))),
    "operator.delitem": (ByItem, lambda c: (operator.delitem, (c, 1))),
    "operator.setitem": (ByItem, lambda c: (operator.setitem, (c, 1, 5.0))),
    "str": (_triples("__str__", returns="text"), lambda c: (str, (c,))),
    "str of a list": (_triples("__repr__", returns="text"), lambda c: (str, ([c],))),
    "str.format": (_triples("__format__", returns="text"), lambda c: ("{}".format, (c,))),
    "len": (_triples("__len__", returns=1), lambda c: (len, (c,))),
    "hash": (_triples("__hash__", returns=1), lambda c: (hash, (c,))),
    "set": (_triples("__hash__", returns=1), lambda c: (set, ([c],))),
    "dict": (_triples("__hash__", returns=1), lambda c: (dict, ([(c, 1)],))),
    "max": (_triples(*ORDER, returns=False), lambda c: (max, (c, c))),
    "sorted": (_triples(*ORDER, returns=False), lambda c: (sorted, ([c, c],))),
    "list": (_triples("__iter__", returns=iter(())), lambda c: (list, (c,))),
    "getattr": (Property, lambda c: (getattr, (c, "w"))),
    "hasattr": (Property, lambda c: (hasattr, (c, "w"))),
    "getattr of none": (ByAttribute, lambda c: (getattr, (c, "missing"))),
    "setattr": (ByAttribute, lambda c: (setattr, (c, "w", 5.0))),
    "attrgetter": (Property, lambda c: (operator.attrgetter("w"), (c,))),
}
SPREAD = {
    "list": lambda fn, args: fn(*list(args)),
    "tuple": lambda fn, args: fn(*args),
    "generator": lambda fn, args: fn(*(a for a in args)),
    "of two": lambda fn, args: fn(*args[:1], *args[1:]),
    "keywords": lambda fn, args: fn(*args, **{}),
}


def _in_program(cls, call, spread):
    def f(x):
        a = x * 2.0
        spread(*call(cls(a)))
        return (a * a).sum()

    return f


def _in_recorded_run(cls, call, spread):
    def f(x):
        a = x * 2.0
        try:
            spread(*call(cls(a)))
        except ZeroDivisionError:
            return 0.0
        return (a * a).sum()

    return f


@pytest.mark.every(3)
@pytest.mark.parametrize("where", [_in_program, _in_recorded_run])
@pytest.mark.parametrize("spread", SPREAD.values(), ids=SPREAD)
@pytest.mark.parametrize("cls, call", CALLS.values(), ids=CALLS)
def test_what_is_spread(cls, call, spread, where):
    f = where(cls, call, spread)
    expected = central(f, X.copy())
    for run, wanted in (
        (lambda x: grad(f)(x), expected),
        (lambda x: jvp(f, (x,), (ALONG,))[1], expected @ ALONG),
    ):
        try:
            found = run(X.copy())
        except Refused as error:
            assert "derivative" in str(error) or "differentiated" in str(error)
        else:
            np.testing.assert_allclose(found, wanted, 1e-5)
