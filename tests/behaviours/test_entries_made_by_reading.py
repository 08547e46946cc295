"""A dict of a class with `__missing__` gets an entry where it is read: what is read is in the dict from then
on, so what is stored into that is found there again, by whoever goes through the dict."""

import collections
import copy

import numpy as np
import pytest

from ctxdispatch import check_grads, grad, jvp, vjp

POINT = np.array([0.4, 0.9, -0.2, 0.6, 1.3])


class Box:
    def __init__(self):
        self.total = 0.0
        self.items = []


class Own(dict):
    def __missing__(self, key):
        self[key] = made = []
        return made


def add_to_list(entry, v):
    entry.append(v * v)


def add_to_first(entry, v):
    entry[0] = entry[0] + v * v


def add_in_place(entry, v):
    entry += v * v


def set_key(entry, v):
    entry["k"] = entry.get("k", 0.0) + v * v


def set_attribute(entry, v):
    entry.total = entry.total + v * v


def append_to_attribute(entry, v):
    entry.items.append(v * v)


def add_deeper(entry, v):
    entry["inner"].append(v * v)


def of_list(entry):
    return sum(entry)


KINDS = {
    "list": (lambda: collections.defaultdict(list), add_to_list, of_list),
    "a list of a number": (lambda: collections.defaultdict(lambda: [0.0]), add_to_first, of_list),
    "array": (lambda: collections.defaultdict(lambda: np.zeros(2)), add_to_first, lambda a: a[0] + a[1]),
    "array in place": (lambda: collections.defaultdict(lambda: np.zeros(2)), add_in_place, np.sum),
    "dict": (lambda: collections.defaultdict(dict), set_key, lambda d: d["k"]),
    "object": (lambda: collections.defaultdict(Box), set_attribute, lambda o: o.total),
    "list of an object": (lambda: collections.defaultdict(Box), append_to_attribute, lambda o: sum(o.items)),
    "dict of dicts": (
        lambda: collections.defaultdict(lambda: collections.defaultdict(list)), add_deeper,
        lambda d: sum(d["inner"]),
    ),
    "a copy": (lambda: collections.defaultdict(list).copy(), add_to_list, of_list),
    "copied": (lambda: copy.copy(collections.defaultdict(list)), add_to_list, of_list),
    "own": (Own, add_to_list, of_list),
}  # fmt: skip


def by_items(made, of):
    return {k: of(entry) for k, entry in made.items()}


def by_values(made, of):
    return dict(enumerate(map(of, made.values())))


def by_keys(made, of):
    return {k: of(made[k]) for k in made}


def by_sorted_keys(made, of):
    return {k: of(made.get(k)) for k in sorted(made)}


def as_dict(made, of):
    return {k: of(entry) for k, entry in dict(made).items()}


READS = [by_items, by_values, by_keys, by_sorted_keys, as_dict]
KEYS = {
    "one of two": lambda i: "even" if i % 2 == 0 else "odd",
    "numbers": lambda i: i % 2,
    "the same": lambda i: "all",
    "tuples": lambda i: ("third", i // 3),
}


def program(kind, read, key):
    make, add, of = KINDS[kind]
    read, key = read, KEYS[key]

    def f(p):
        made = make()
        for i, v in enumerate(p):
            add(made[key(i)], v)
        found = read(made, of)
        first, *rest = found.values()
        return first * 2.0 + sum(np.sin(r) for r in rest)

    return f


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("read", READS, ids=lambda r: r.__name__)
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_stored_into_entries_is_found(kind, read, key):
    f = program(kind, read, key)
    step, v = 1e-6, np.array([1.0, -0.5, 0.25, 2.0, 0.7])
    numeric = [(f(POINT + step * e) - f(POINT - step * e)) / (2 * step) for e in np.eye(5)]
    g, wanted = grad(f), float(v @ numeric)
    for _ in range(3):  # recorded, with the types noted, and what was built
        np.testing.assert_allclose(g(POINT), numeric, rtol=1e-5)
        np.testing.assert_allclose(jvp(f, (POINT,), (v,))[1], wanted, rtol=1e-5)
    y, pullback = vjp(f, POINT)
    np.testing.assert_allclose(pullback(1.0)[0], numeric, rtol=1e-5)
    assert y == f(POINT)
    check_grads(f, (POINT,), order=1)


@pytest.mark.parametrize("made", [lambda: np.zeros(1), lambda: [0.0], lambda: {0: 0.0}])
def test_entries_that_somebody_else_has(made):
    def f(x):
        shared = made()
        d = collections.defaultdict(lambda: shared)
        d["a"][0] += x[0] * x[1]
        d["b"][0] *= x[2]
        return shared[0] ** 2

    want = [(f(POINT + e) - f(POINT - e)) / 2e-6 for e in 1e-6 * np.eye(5)]
    for _ in range(3):
        np.testing.assert_allclose(grad(f)(POINT), want, rtol=1e-6, atol=1e-9)
