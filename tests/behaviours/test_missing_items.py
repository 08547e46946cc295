"""Mappings that make an item when it is asked for, out of what is differentiated: whoever asks, Python or C
code, the item is followed, or asking is refused."""

import collections
import functools
import operator
import re
import string

import numpy as np
import pytest

from ctxdispatch import DerivativeError, SparsityError, grad, jacfwd, jacobian_sparsity

X = np.array([-0.8, 0.35, 0.55])
pytestmark = pytest.mark.every(4)


class Filled(dict):
    def __init__(self, x):
        self.x = x

    def __missing__(self, key):
        self[key] = self.x[1]
        return self[key]


class Asked:
    def __init__(self, x):
        self.x, self.items = x, {}

    def __getitem__(self, key):
        return self.items.setdefault(key, self.x[1])

    def get(self, key):
        return self.items.get(key)


def set_later(x):
    d = collections.defaultdict(float)
    d.default_factory = lambda: x[1]
    return d


MAPPINGS = {
    "closure": lambda x: collections.defaultdict(lambda: x[1]),
    "set later": set_later,
    "method": lambda x: collections.defaultdict(x[1:2].item),
    "partial": lambda x: collections.defaultdict(functools.partial(float, x[1])),
    "__missing__": Filled,
    "__getitem__": Asked,
}  # fmt: skip

ASKING = {
    "item": lambda d: d["a"],
    "method": lambda d: d.__getitem__("a"),
    "method of dict": lambda d: dict.__getitem__(d, "a"),
    "missing": lambda d: d.__missing__("a"),
    "missing of defaultdict": lambda d: collections.defaultdict.__missing__(d, "a"),
    "bound": lambda d: [*map(d.__getitem__, "a")],
    "methodcaller": lambda d: operator.methodcaller("__getitem__", "a")(d),
    "itemgetter": lambda d: operator.itemgetter("a")(d),
    "key": lambda d: sorted("ab", key=d.__getitem__),
    "vectorize": lambda d: np.vectorize(d.__getitem__, otypes=[float])(["a"]),
    "percent": lambda d: "%(a)f" % d,
    "format": lambda d: "{d[a]}".format(d=d),
    "format_map": lambda d: "{a}".format_map(d),
    "f-string": lambda d: f"{d['a']}",
    "template": lambda d: string.Template("$a").substitute(d),
    "eval": lambda d: eval("a", {}, d),
    "sub": lambda d: re.sub("a", lambda m: str(d[m[0]]), "a"),
    "translate": lambda d: "a".translate(collections.defaultdict(lambda: d["a"] and "b")),
}  # fmt: skip


def asked(mapping, asking):
    def f(x):
        d = MAPPINGS[mapping](x)
        ASKING[asking](d)
        return 0.45 * d.get("a")

    return f


def runs(f):
    try:
        return f(X) is not None
    except (AttributeError, TypeError):
        return False


PAIRS = {f"{m} {a}": asked(m, a) for m in MAPPINGS for a in ASKING}


@pytest.mark.parametrize("f", [pytest.param(f, id=name) for name, f in PAIRS.items() if runs(f)])
def test_what_is_made_is_followed(f):
    for derivative in (grad, jacfwd):
        try:
            found = derivative(f)(X.copy())
        except DerivativeError:
            continue
        np.testing.assert_allclose(found, [0.0, 0.45, 0.0], err_msg=derivative.__name__)
    try:
        pattern = jacobian_sparsity(lambda x: np.array([f(x)]), X.copy())
    except SparsityError:
        return
    assert pattern.toarray()[0, 1]


@pytest.mark.parametrize("asking", "item method missing bound itemgetter key template sub".split())
def test_what_python_asks_for_is_answered(asking):
    np.testing.assert_allclose(grad(asked("closure", asking))(X.copy()), [0.0, 0.45, 0.0])
