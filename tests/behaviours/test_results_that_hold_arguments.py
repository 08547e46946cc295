"""What a function changes and gives back: its entries have derivatives, those that it has not read too."""

import copy
from types import SimpleNamespace

import numpy as np
import pytest

from ctxdispatch import jvp, vjp


class Pair:
    def __init__(self, x, y):
        self.x, self.y = x, y


def keep(x):
    return x


def store(x):
    x[0] = x[0] * x[1]
    return x


def shift(x):
    x[0], x[1] = x[1], x[0]
    return x


def pop(x):
    x.pop()
    return x


def delete(x):
    del x[1]
    return x


def reverse(x):
    x.reverse()
    x[0] *= 2.0
    return x


def sort(x):
    x.sort()
    return x


def extend(x):
    x.extend([v * v for v in x])
    return x


def add(x):
    x += [x[0] * 3.0]
    return x


def append_in_try(x):
    try:
        x.append(x[0] * x[1])
    finally:
        pass
    return x


def in_a_dict(x):
    x[0] = x[0] * x[1]
    return {"all": x, "first": x[0]}


def twice_named(x):
    y = x
    y.append(y[0] * 2.0)
    return [x, y[1]]


def rename(d):
    d["c"] = d.pop("a") * d["b"]
    return d


def default(d):
    d.setdefault("c", d["a"] * 2.0)
    return d


def squares(d):
    for k, v in list(d.items()):
        d[k + k] = v * v
    return d


def attribute(p):
    p.x = p.x * p.y
    return p.x, p.y, p


def nested(t):
    t[0].append(t[0][0] * 2.0)
    return t[0], t[1]


LISTS = [keep, store, shift, pop, delete, reverse, sort, extend, add, append_in_try, in_a_dict, twice_named]
CASES = {
    **{f.__name__: (f, lambda: [3.1, 2.2, 1.3]) for f in LISTS},
    **{f.__name__: (f, lambda: {"a": 1.1, "b": 2.2}) for f in (rename, default, squares)},
    "attribute": (attribute, lambda: Pair(1.1, 2.2)),
    "nested": (nested, lambda: ([1.1, 2.2], [3.3])),
    "arrays": (store, lambda: [np.array([1.0, 2.0]), np.array([0.5, 3.0]), np.array([4.0])]),
}


def leaves(value):
    if isinstance(value, (Pair, SimpleNamespace)):
        value = vars(value)
    if isinstance(value, dict):
        value = [value[k] for k in sorted(value)]
    return [leaf for v in value for leaf in leaves(v)] if isinstance(value, (list, tuple)) else [value]


def flat(value):
    return np.concatenate([np.ravel(leaf) for leaf in leaves(value)])


def mapped(value, numbers, pair, leaf):
    """The containers of `value`, Pairs as `pair`; of each leaf `leaf(it, its part of the numbers)`."""
    parts = iter(numbers)

    def at(v):
        if isinstance(v, (list, tuple)):
            return type(v)(at(item) for item in v)
        if isinstance(v, dict):
            return {k: at(v[k]) for k in sorted(v)}
        if isinstance(v, Pair):
            return pair(x=at(v.x), y=at(v.y))
        part = np.array([next(parts) for _ in range(np.size(v))]).reshape(np.shape(v))
        return leaf(v, part if np.shape(v) else float(part))

    return at(value)


def moved(value, direction, step):
    """The argument, further along the direction."""
    return mapped(value, direction, Pair, lambda v, d: v + step * d)


def like(value, numbers):
    return mapped(value, numbers, SimpleNamespace, lambda v, d: d)


@pytest.mark.parametrize("name", CASES)
def test_what_is_given_back(name):
    f, make = CASES[name]
    rng = np.random.default_rng(1)
    n, step = len(flat(make())), 1e-6
    v = rng.uniform(0.5, 1.5, n)
    ahead = flat(f(moved(make(), v, step)))
    tangent = (ahead - flat(f(moved(make(), v, -step)))) / (2 * step)
    y = f(make())
    w = rng.uniform(0.5, 1.5, len(flat(y)))
    for _ in range(3):
        found = jvp(f, (make(),), (like(make(), v),))
        np.testing.assert_allclose(flat(found[1]), tangent, rtol=1e-6, atol=1e-8)
        np.testing.assert_array_equal(flat(found[0]), flat(y))
        _, pullback = vjp(f, make())
        bar = flat(pullback(like(y, w))[0])
        np.testing.assert_allclose(bar @ v, w @ tangent, rtol=1e-6)
        np.testing.assert_allclose(flat(pullback(like(y, w))[0]), bar)
    given = make()
    vjp(f, given)
    changed = copy.deepcopy(make())
    f(changed)
    np.testing.assert_array_equal(flat(given), flat(changed))
