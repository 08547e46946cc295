"""The gradient of a container is the caller's: of the argument's structure, no array of it anyone else's."""

import itertools
from collections import namedtuple
from types import SimpleNamespace

import numpy as np
import pytest

from ctxdispatch import explain, grad

Pair = namedtuple("Pair", "w b")


class Layer:
    def __init__(self, w, b, **more):
        self.w, self.b = w, b
        self.__dict__.update(more)


class Slotted:
    __slots__ = ("w", "b")

    def __init__(self, w, b):
        self.w, self.b = w, b


def arrays(n=2):
    rng = np.random.default_rng(3)
    return [rng.standard_normal((2, 3)) for _ in range(n)] + [rng.standard_normal(3)]


A, B, V = arrays()


def ring():
    """A list whose objects know it."""
    whole = [Layer(A.copy(), V.copy()), Layer(B.copy(), V.copy())]
    whole[0].all = whole[1].all = whole
    return whole


def shared():
    inner = [A.copy(), V.copy()]
    return [inner, inner, [B.copy(), V.copy()]]


def of_tuples(p):
    (w, b), (u, c) = p
    return np.sum(np.tanh(w + b) * u) + np.sum(c * c)


def of_objects(p):
    return np.sum(np.tanh(p[0].w + p[0].b)) + np.sum(p[1].w ** 2)


def of_lists(p):
    return np.sum(p[0][0] * p[1][0]) + np.sum(p[2][1] ** 2)


def equally(p):
    """Both have one cotangent."""
    return np.sum((p[0] + p[1]) ** 2)


def twice(p):
    return np.sum(p["w"] * 2.0) + np.sum(p["w"] * p["b"])


def of_rows(p):
    return np.sum(p[0][1:] * 3.0) + p[1][0]


def looped(p):
    total = 0.0
    for w, b in p:
        total = total + np.sum(w * w) * np.sum(b)
    return total


def stored(p):
    p[0] = p[1] * 2.0
    return np.sum(p[0] ** 2)


def branching(p):
    return np.sum(p[0] ** 2) if np.sum(p[1]) > 1e9 else np.sum(p[1] ** 2)


def nested(p):
    return np.sum(p["a"]["b"][0].w * p["a"]["n"]) + p["x"] ** 2


CASES = {
    "tuples": (of_tuples, lambda: [(A, V), (B, V + 1.0)]),
    "named tuples": (of_tuples, lambda: (Pair(A, V), Pair(B, V + 1.0))),
    "objects": (of_objects, lambda: [Layer(A, V, name="x", n=3), Layer(B, V + 1.0, c=2.0)]),
    "slots": (of_objects, lambda: [Slotted(A, V), Slotted(B, V + 1.0)]),
    "objects that know each other": (of_objects, ring),
    "one array twice": (of_tuples, lambda: [(A, V), (A, V)]),
    "one list twice": (of_lists, shared),
    "one cotangent twice": (equally, lambda: [A, B]),
    "read twice": (twice, lambda: {"w": A, "b": B, "unread": V, "n": 3, "s": "x", "t": [V, (1.0, 2)]}),
    "views": (of_rows, lambda: [A, V]),
    "loop": (looped, lambda: [(A, V), (B, V), (A, V)]),
    "stored": (stored, lambda: [A.copy(), B.copy()]),
    "branch": (branching, lambda: [A, B]),
    "nested": (nested, lambda: {"a": {"b": [Layer(A, V)], "n": 2.0, "k": 1}, "x": 3.0, "y": (V, None)}),
    "single precision": (equally, lambda: [A.astype(np.float32), B]),
    "of other shapes": (equally, lambda: [A, V]),
}


def leaves(tree, seen=()):
    """(path, leaf) of all numbers and arrays."""
    if any(tree is each for each in seen):
        return
    seen = (*seen, tree)
    if isinstance(tree, dict):
        parts = tree.items()
    elif isinstance(tree, (list, tuple)):
        parts = enumerate(tree)
    elif isinstance(tree, Slotted):
        parts = (("w", tree.w), ("b", tree.b))
    elif isinstance(tree, (Layer, SimpleNamespace)):
        parts = vars(tree).items()
    else:
        yield (), tree
        return
    for key, part in parts:
        for path, leaf in leaves(part, seen):
            yield (key, *path), leaf


def floating(tree):
    return {path: leaf for path, leaf in leaves(tree) if isinstance(leaf, (float, np.ndarray))}


@pytest.mark.parametrize("name", CASES)
def test_of_the_structure_of_the_argument_and_right(name):
    f, make = CASES[name]
    found, given = floating(grad(f)(make())), floating(make())
    assert found.keys() == given.keys()
    rng = np.random.default_rng(0)
    for path, leaf in given.items():
        assert (
            np.shape(found[path]) == np.shape(leaf)
            and np.asarray(found[path]).dtype == np.asarray(leaf).dtype
        )
        if isinstance(leaf, np.ndarray) and name not in ("one array twice", "one list twice", "loop"):
            step = 1e-3 if leaf.dtype == np.float32 else 1e-6
            way = rng.standard_normal(leaf.shape).astype(leaf.dtype)
            sides = []
            for sign in (step, -step):
                p = make()
                moved = dict(leaves(p))[path]
                np.add(moved, sign * way, out=moved)
                sides.append(f(p))
                np.subtract(moved, sign * way, out=moved)
            np.testing.assert_allclose(
                np.sum(found[path] * way), (sides[0] - sides[1]) / (2 * step), rtol=2e-3, atol=1e-7
            )


@pytest.mark.parametrize("name", CASES)
def test_no_array_is_anyone_else_s(name):
    f, make = CASES[name]
    p = make()
    gradient = grad(f)
    first, second = gradient(p), gradient(p if name != "stored" else make())
    made = [
        leaf for tree in (first, second) for leaf in floating(tree).values() if isinstance(leaf, np.ndarray)
    ]
    owned = [leaf for leaf in floating(p).values() if isinstance(leaf, np.ndarray)]
    if name not in ("one list twice",):
        assert not any(np.shares_memory(a, b) for a, b in itertools.combinations(made, 2))
    assert not any(np.shares_memory(a, b) for a in made for b in owned)


@pytest.mark.parametrize("name", ["tuples", "objects", "read twice", "nested"])
def test_zeros_as_from_a_recorded_run(name):
    f, make = CASES[name]

    def recorded(p):
        try:
            return f(p)
        finally:
            eval("None", {})

    one, two = floating(grad(f)(make())), floating(grad(recorded)(make()))
    assert one.keys() == two.keys()
    for path, leaf in one.items():
        np.testing.assert_allclose(leaf, two[path], rtol=1e-12)


def test_what_is_within_itself_is_none_there():
    gradient = grad(of_objects)(ring())
    assert [sorted(vars(each)) for each in gradient] == [["b", "w"], ["b", "w"]]
    assert "compiled" in str(explain(grad(of_objects))(ring()))
