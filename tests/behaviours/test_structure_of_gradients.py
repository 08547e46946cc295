"""Derivatives have the structure of the argument: zeros where it was not read, None for leaves that can have
no derivative. Kinds of arguments x which leaves are read x modes, compiled and recorded, against `expected`,
which goes through the argument itself."""

import collections
import itertools
import logging
import threading
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest

from ctxdispatch import (
    checkpoint,
    custom_rule,
    grad,
    hessian,
    hvp,
    jacfwd,
    jacobian,
    jacrev,
    jvp,
    linearize,
    value_and_grad,
    vjp,
)


class Doubling(collections.namedtuple("Base", "a b")):
    """What it is given is not what it holds."""

    _make = classmethod(lambda cls, items: tuple.__new__(cls, (2 * next(it := iter(items)), *it)))


class Pair(NamedTuple):
    a: float
    rest: object


@dataclass
class Layer:
    weight: float
    size: int = 3
    bias: np.ndarray = field(default_factory=lambda: np.ones(2))


class Slotted:
    __slots__ = ("a", "hidden", "n")

    def __init__(self):
        self.a, self.n = 2.0, 7


class Model:
    def __init__(self):
        self.first, self.layers = 2.0, [Layer(1.0), Layer(2.0)]
        self.name, self.log, self.lock = "model", logging.getLogger("model"), threading.Lock()
        self.itself = self


class Keyed(dict):
    pass


def shared():
    both = [1.0, 2.0]
    return {"x": both, "y": both, "n": 1}


def cyclic():
    found = [1.0, 2.0]
    found.append(found)
    return found


ARGUMENTS = {
    "dict": lambda: {"w": 3.0, "b": 1.0, "v": np.ones(2), "n": 3, "s": "x", "none": None},
    "dtypes": lambda: [
        np.ones(2, np.float32), np.float32(2), np.ones((), complex), 1j, np.complex64(2), np.arange(3),
        np.ones(2, bool), np.int64(3), np.zeros((0, 2)), np.array(["a"]), np.bool_(True), 2.0,
    ],
    "nested": lambda: {
        "a": [1.0, (2.0, {"c": np.ones((2, 1))})], "dims": (2, 3), "empty": [], "deep": ((3.0,),),
    },
    "tuple": lambda: (1.0, 2.0, 3),
    "made otherwise": lambda: tuple.__new__(Doubling, (1.0, 2.0)),
    "named": lambda: Pair(1.0, Pair(2.0, [3.0, "x"])),
    "dataclass": lambda: Layer(2.0),
    "objects": lambda: [Layer(2.0), SimpleNamespace(x=1.0, n=2), Slotted(), Model()],
    "keyed": lambda: Keyed(
        a=1.0, b=collections.OrderedDict(x=2.0, y=np.ones(1)), c=collections.defaultdict(int, z=3.0)
    ),
    "deque": lambda: {"q": collections.deque([1.0, 2.0, 3]), "x": 2.0},
    "long": lambda: [float(i) for i in range(200)],
    "shared": shared,
    "cyclic": cyclic,
    "functions": lambda: {"f": np.sin, "g": len, "c": float, "w": 2.0, "h": lambda x: x},
}  # fmt: skip


def parts(value):
    """(key, how it is read, part) of a container or object."""
    if isinstance(value, (list, tuple, collections.deque)):
        return list(enumerate(value))
    if isinstance(value, dict):
        return list(value.items())
    if isinstance(value, (Layer, SimpleNamespace, Model, Slotted)):
        names = ("a", "n") if isinstance(value, Slotted) else vars(value)
        return [(name, getattr(value, name)) for name in names]
    return []


def is_leaf(value):
    inexact = isinstance(value, np.ndarray) and value.dtype.kind in "fc"
    return inexact or isinstance(value, (float, complex, np.inexact))


def paths(value, path=(), seen=()):
    """Those of all numbers and arrays that have derivatives."""
    if is_leaf(value):
        yield path
    elif id(value) not in seen:
        for key, part in parts(value):
            yield from paths(part, (*path, key), (*seen, id(value)))


def read(value, path):
    for key in path:
        value = getattr(value, key) if isinstance(key, str) and not isinstance(value, dict) else value[key]
    return value


def check(found, value, hit, seen=()):
    """`found` is the derivative of `value` of which the leaves `hit` (by path: derivative) were read."""
    if () in hit:
        assert type(found) is type(value)
        np.testing.assert_allclose(found, hit[()], atol=1e-12)
    elif is_leaf(value):
        assert type(found) is type(value) and np.shape(found) == np.shape(value)
        assert np.result_type(found) == np.result_type(value) and not np.any(found)
    elif not parts(value) and not isinstance(value, (list, tuple, dict)) or id(value) in seen:
        assert found is None
    else:
        _check_container(found, value, hit, (*seen, id(value)))


def _check_container(found, value, hit, seen):
    is_object = not isinstance(value, (list, tuple, dict, collections.deque))
    wanted = SimpleNamespace if is_object else dict if isinstance(value, dict) else type(value)
    assert type(found) is wanted
    assert len(parts(found)) == len(parts(value)) or (is_object and not isinstance(value, Layer))
    for key, part in parts(value):
        below = {path[1:]: each for path, each in hit.items() if path[:1] == (key,)}
        if is_object and not isinstance(value, Layer):
            check(getattr(found, key, None), part, below, seen)
        else:
            check(read(found, (key,)), part, below, seen)


def reading(chosen, *, recorded):
    """A real function that reads these leaves of its argument."""

    def compiled(p):
        total = 0.0
        for path in chosen:
            total = total + np.sum(np.real(read(p, path)) * 2.0)
        return total * 1.0

    def in_try(p):
        try:
            return compiled(p)
        finally:
            pass

    return in_try if recorded else compiled


def choices(value):
    every = list(paths(value))
    return [[], every[1::2], every]


CASES = [(name, i) for name in ARGUMENTS for i in range(3)]


@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize("name, i", CASES)
def test_gradients(name, i, recorded):
    value = ARGUMENTS[name]()
    chosen = choices(value)[i]
    f = reading(chosen, recorded=recorded)
    hit = {path: 2.0 * np.ones(np.shape(read(value, path))) for path in chosen}
    for found in (grad(f)(value), vjp(f, value)[1](1.0)[0]):
        if name != "shared":
            check(found, value, hit)
        else:  # what is met twice has what arrives at the one place or the other
            assert set(found) == set(value) and found["n"] is None
            sums = np.add(found["x"], found["y"])
            np.testing.assert_allclose(sums, [2.0 * sum(p[-1] == k for p in chosen) for k in (0, 1)])


WRITTEN = {
    "dict": (lambda p: p["w"] ** 2, lambda: {"w": 3.0, "b": 1.0, "v": np.ones(2), "n": 1}, {("w",): 6.0}),
    "key chosen": (lambda p: p["w"] if p["n"] else p["b"], ARGUMENTS["dict"], {("w",): 1.0}),
    "list": (lambda xs: xs[0] * xs[2], lambda: [2.0, 3.0, 4.0], {(0,): 4.0, (2,): 2.0}),
    "tuple": (lambda t: t[1][0] ** 2, lambda: (1.0, (3.0, 4.0), [5.0]), {(1, 0): 6.0}),
    "object": (lambda o: o.weight * 2.0, lambda: Layer(2.0), {("weight",): 2.0}),
    "in a list": (lambda ls: ls[1].weight * 2.0, lambda: [Layer(2.0), Layer(3.0)], {(1, "weight"): 2.0}),
    "constant": (lambda p: 1.0, ARGUMENTS["nested"], {}),
    "an int": (lambda p: p["n"], ARGUMENTS["dict"], {}),
    "loop": (lambda xs: sum(x * x for x in xs["v"]), ARGUMENTS["dict"], {("v",): [2.0, 2.0]}),
    "slots": (lambda o: o.a * 3.0, Slotted, {("a",): 3.0}),
    "item of long": (lambda xs: xs[7] * 2.0, ARGUMENTS["long"], {(7,): 2.0}),
    "checkpoint": (checkpoint(lambda p: p["w"] ** 2), ARGUMENTS["dict"], {("w",): 6.0}),
    "partial": (lambda p: dict(p)["w"] * 1.0, ARGUMENTS["dict"], {("w",): 1.0}),
    "changed": (lambda p: p.pop("w") * 2.0, lambda: {"w": 3.0, "b": [1.0, 2]}, {("w",): 2.0}),
    "grown": (lambda xs: (xs.append(xs[0] * 2.0), xs[-1])[1], lambda: [1.0, 2.0], {(0,): 2.0}),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_programs_as_they_are_written(name):
    f, make, hit = WRITTEN[name]
    check(grad(f)(make()), make(), hit)
    check(vjp(f, make())[1](1.0)[0], make(), hit)
    check(value_and_grad(f)(make())[1], make(), hit)


def test_arguments_that_are_not_read():
    assert grad(lambda a, b: a * a, argnums=(0, 1))(3.0, 4.0) == (6.0, 0.0)
    assert grad(lambda x: 1.0)(2.0) == 0.0
    found = grad(lambda a, b, c: a, argnums=(0, 1, 2))(2.0, np.float32(3), np.ones(2, complex))
    assert found[:2] == (1.0, 0.0) and type(found[1]) is np.float32
    assert found[2].dtype == complex and not found[2].any()


def in_try(f):
    """The same, recorded."""

    def g(*args):
        try:
            return f(*args)
        finally:
            pass

    return g


def closure():
    a, b = 2.0, [3.0]
    return lambda x: a * x + (b[0] if x < 0 else 0.0)


@pytest.mark.parametrize("around", [lambda f: f, in_try])
def test_what_functions_captured_is_there_where_they_are_called(around):
    found = grad(around(lambda f, x: f(x)))(closure(), 3.0)
    assert found == SimpleNamespace(a=3.0, b=[0.0])
    assert grad(around(lambda o: o[0](2.0) * o[1].first))([closure(), Model()])[0].a == 4.0
    assert vjp(around(lambda f, x, shape: x), closure(), 3.0, (2, 3))[1](1.0) == (None, 1.0, None)


def scaled(x, p):
    return x * p["w"]


@custom_rule(scaled)
def _(x, p):
    return x * p["w"], lambda g: (g * p["w"], None)


def test_none_of_a_rule_is_zero():
    assert grad(scaled, argnums=(0, 1))(2.0, {"w": 3.0, "n": 1}) == (3.0, {"w": 0.0, "n": None})
    assert vjp(lambda x, p: scaled(x, p), 2.0, {"w": 3.0})[1](1.0) == (3.0, {"w": 0.0})


def same(found, expected):
    """Of results that are containers of the same kinds, with None in the same places."""
    if isinstance(expected, (list, tuple)):
        assert type(found) is type(expected) and len(found) == len(expected)
        for a, b in zip(found, expected):
            same(a, b)
    elif isinstance(expected, (dict, SimpleNamespace)):
        a, b = (x if isinstance(x, dict) else vars(x) for x in (found, expected))
        assert type(found) is type(expected) and a.keys() == b.keys()
        for key in b:
            same(a[key], b[key])
    elif expected is None:
        assert found is None
    else:
        assert np.shape(found) == np.shape(expected) and np.allclose(found, expected)


RESULTS = {
    "number": (lambda x: 1.0, 0.0),
    "array": (lambda x: np.ones(2), np.zeros(2)),
    "list": (lambda x: [x, 1.0, 2, np.ones(2), "s"], [1.0, 0.0, None, np.zeros(2), None]),
    "constant": (lambda x: {"a": 1.0, "t": (2.0, np.arange(2))}, {"a": 0.0, "t": (0.0, None)}),
    "object": (lambda x: SimpleNamespace(a=x, b=1.0, n=2), SimpleNamespace(a=1.0, b=0.0)),
    "object of constants": (lambda x: SimpleNamespace(b=1.0, n=2), SimpleNamespace(b=0.0)),
    "nested": (lambda x: [{"o": Layer(x)}, Layer(1.0)], [
        {"o": SimpleNamespace(weight=1.0, size=None, bias=np.zeros(2))},
        SimpleNamespace(weight=0.0, size=None, bias=np.zeros(2)),
    ]),
}  # fmt: skip


@pytest.mark.parametrize("around", [lambda f: f, in_try])
@pytest.mark.parametrize("name", RESULTS)
def test_tangents_of_results(name, around):
    f, expected = RESULTS[name]
    same(jvp(around(f), (2.0,), (1.0,))[1], expected)
    same(linearize(around(f), 2.0)[1](1.0), expected)


@pytest.mark.parametrize("around", [lambda f: f, in_try])
@pytest.mark.parametrize("take", [jacfwd, jacrev, jacobian])
def test_jacobians_have_zero_blocks(take, around):
    def f(x):
        return {"x": 2.0 * x, "c": np.ones(3), "s": 1.0, "n": 1, "l": [SimpleNamespace(y=x[0], z=1.0)]}

    eye, one = np.eye(2), np.array([1.0, 0.0])
    inner = SimpleNamespace(y=one, z=np.zeros(2))
    expected = {"x": 2.0 * eye, "c": np.zeros((3, 2)), "s": np.zeros(2), "n": None, "l": [inner]}
    same(take(around(f))(np.ones(2)), expected)


@pytest.mark.parametrize("take", [jacfwd, jacrev, jacobian])
def test_jacobians_of_arguments_that_are_not_read(take):
    a, b = take(lambda a, b: 2.0 * a, argnums=(0, 1))(np.ones(2), np.ones((3, 1)))
    np.testing.assert_array_equal(a, 2.0 * np.eye(2))
    assert b.shape == (2, 3, 1) and not b.any()


def test_second_derivatives():
    (aa, ab), (ba, bb) = hessian(lambda a, b: (a * a).sum(), argnums=(0, 1))(np.ones(2), np.ones(3))
    np.testing.assert_array_equal(aa, 2.0 * np.eye(2))
    assert [x.shape for x in (ab, ba, bb)] == [(3, 2), (2, 3), (3, 3)] and not np.any(bb)
    p = {"w": 3.0, "b": 1.0, "v": np.ones(2), "n": 1}
    found = hvp(lambda p: p["w"] ** 2, (p,), ({"w": 1.0, "b": 1.0, "v": np.ones(2), "n": None},))
    same(found, {"w": 2.0, "b": 0.0, "v": np.zeros(2), "n": None})


def inner(p, q):
    return p["w"] ** 2 * q


@pytest.mark.parametrize("taken", [
    lambda p, q: grad(inner)(p, q),
    lambda p, q: vjp(inner, p, q)[1](1.0)[0],
    lambda p, q: value_and_grad(inner)(p, q)[1],
    lambda p, q: jvp(lambda t: {"w": 2.0 * t * q, "b": 1.0}, (1.0,), (3.0,))[1],
])  # fmt: skip
@pytest.mark.parametrize("around", [lambda f: f, in_try])
def test_programs_see_them_within_what_is_differentiated(taken, around):
    def f(q):
        found = taken({"w": 3.0, "b": 1.0}, q)
        return found["b"] + found["w"]

    assert f(2.0) == 12.0
    assert grad(around(f))(2.0) == 6.0
    assert jvp(around(f), (2.0,), (1.0,)) == (12.0, 6.0)


def test_what_is_read_of_a_chain_costs_the_chain():
    class Node:
        def __init__(self, value, after):
            self.value, self.after = value, after

    chain = None
    for i in range(5000):
        chain = Node(float(i), chain)
    found = grad(lambda n: n.value * n.after.value)(chain)
    assert (found.value, found.after.value, found.after.after.value) == (4998.0, 4999.0, 0.0)


def test_a_mesh_of_objects_is_gone_through_once():
    class Point:
        def __init__(self):
            self.height, self.around = 1.0, []

    points = {f"{i}{j}": Point() for i, j in itertools.product(range(9), repeat=2)}
    for i, j in itertools.product(range(9), repeat=2):
        names = (f"{i + a}{j + b}" for a, b in ((1, 0), (0, 1), (-1, 0), (0, -1)))
        points[f"{i}{j}"].around = [points[name] for name in names if name in points]
    found = grad(lambda p: p["34"].height * 2.0)(points)
    assert found.keys() == points.keys() and all(type(each.height) is float for each in found.values())


def test_gradients_share_no_arrays_with_the_argument_or_each_other():
    v = np.ones(2)
    found = grad(lambda p: p["w"] * 2.0)({"w": 1.0, "a": v, "b": v})
    found["a"][:] = 5.0
    assert not found["b"].any() and v.tolist() == [1.0, 1.0]
    _, pullback = vjp(in_try(lambda p: p[0] * 2.0), [1.0, [v], [v]])
    pullback(1.0)[0][1][0][:] = 5.0
    assert not pullback(1.0)[0][1][0].any()
