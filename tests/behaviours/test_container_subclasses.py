"""Classes derived from lists, tuples and dicts, given to C code: which of their methods that calls, and which
it does not, is its own affair."""

import contextlib
import math

import numpy as np
import pytest

from ctxdispatch import Context, grad, jvp, overdub, value_and_grad
from ctxdispatch_contexts.programs.errors import Refused
from tests.recording import recorded as on_tape

X = np.array([0.5, 0.7, 1.1])


class ByItem(dict):
    def __getitem__(self, key):
        return dict.__getitem__(self, key) * 2.0


class GoneThrough(ByItem):
    def __iter__(self):
        return iter(["a"])


class ByKeys(ByItem):
    def keys(self):
        return ["a"]


class ByItems(dict):
    def items(self):
        return [("a", 7.0)]

    def values(self):
        return [7.0]


class Indexed(list):
    def __getitem__(self, i):
        return 5.0

    def __len__(self):
        return 1


class OfTuples(tuple):
    def __getitem__(self, i):
        return 5.0


class Doubling(list):
    def __iter__(self):
        return (v * 2.0 for v in list.__iter__(self))


def called(*args, **kwargs):
    return sum(args) + sum(kwargs.values())


def changed(container, name, given):
    getattr(container, name)(given)
    return sum(container.values() if isinstance(container, dict) else container)


def sliced(given):
    kept = [1.0]
    kept[:] = given
    return sum(kept)


def unpacked(given):
    a, b = given
    return a + 2.0 * b


def matched(given):
    match given:
        case {"a": a, **rest}:
            return a + sum(rest.values())
        case [a, *rest]:
            return a + sum(rest)
    return 0.0


OF_DICTS = {
    "call": lambda d: called(**d), "beside others": lambda d: called(**{"c": 2.0}, **d),
    "display": lambda d: sum({**d}.values()), "dict": lambda d: sum(dict(d).values()),
    "update": lambda d: changed({}, "update", d), "|=": lambda d: changed({}, "__ior__", d),
    "|": lambda d: sum(({} | d).values()), "left": lambda d: sum((d | {}).values()), "match": matched,
    "copy": lambda d: sum(d.copy().values()), "values": lambda d: sum(d.values()),
    "list": lambda d: len(list(d)), "dict.copy": lambda d: sum(dict.copy(d).values()),
    "equal": lambda d: d == {"a": 1.0}, "get": lambda d: d.get("a"),
}  # fmt: skip
OF_LISTS = {
    "call": lambda s: called(*s), "display": lambda s: sum([*s]), "sum": sum, "list": lambda s: sum(list(s)),
    "tuple": lambda s: sum(tuple(s)), "extend": lambda s: changed([], "extend", s), "sliced": sliced,
    "+=": lambda s: changed([], "__iadd__", s), "unpacked": unpacked, "max": max,
    "sorted": lambda s: sorted(s)[0],
    "zip": lambda s: sum(a * b for a, b in zip(s, [1.0, 2.0])), "array": lambda s: np.array(s).sum(),
    "times": lambda s: (np.ones(2) * s).sum(), "numpy": np.sum, "+": lambda s: sum(s + type(s)([2.0])),
    "*": lambda s: sum(s * 2), "reversed": lambda s: unpacked(reversed(s)), "fsum": math.fsum,
    "match": matched, "in": lambda s: 0.7 in s,
    "of pairs": lambda s: sum(dict([type(s)(["a", s[0]])]).values()),
    "multiply": lambda s: np.multiply(s, [2.0, 3.0]).sum(), "stack": lambda s: np.stack(s).sum(),
    "stored": lambda s: np.copyto(np.ones(2), s), "dot": lambda s: np.dot(s, [1.0, 2.0]), "len": len,
}  # fmt: skip
CASES = [
    *[(cls, name) for cls in (ByItem, GoneThrough, ByKeys, ByItems) for name in OF_DICTS],
    *[(cls, name) for cls in (Indexed, OfTuples, Doubling) for name in OF_LISTS],
]


@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize(("cls", "name"), CASES)
def test_as_plainly(cls, name, recorded):
    def program(x):
        given = cls(a=x[0], b=x[1]) if issubclass(cls, dict) else cls([x[0], x[1]])
        out = (OF_DICTS if issubclass(cls, dict) else OF_LISTS)[name](given)
        return x[2] * (1.0 if out is None else out)

    f = on_tape(program) if recorded else program
    try:
        want = f(X)
    except (TypeError, ValueError) as error:
        with pytest.raises((type(error), Refused)):
            grad(f)(X)
        return
    assert overdub(Context(), f, X) == want
    differences = np.array([(f(X + e) - f(X - e)) / 2e-6 for e in 1e-6 * np.eye(3)])
    with contextlib.suppress(Refused):
        y, gradient = value_and_grad(f)(X)
        assert y == want
        np.testing.assert_allclose(gradient, differences, rtol=1e-6, atol=1e-8)
    with contextlib.suppress(Refused):
        y, along = jvp(f, (X,), (np.ones(3),))
        assert y == want
        np.testing.assert_allclose(along, sum(differences), rtol=1e-6, atol=1e-8)
