"""Values with tags of a context, within what is differentiated: their derivatives are those of the values.

Programs x modes, against central differences of the plain call.
"""

import copy
import functools
import itertools
import math
import operator
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

from ctxdispatch import (
    Context,
    broadcast,
    grad,
    hessian,
    hvp,
    jacfwd,
    jacobian_sparsity,
    jacrev,
    jvp,
    metadata,
    overdub,
    untag,
    value_and_grad,
    vjp,
)
from ctxdispatch_contexts.programs.errors import Refused


class Tags(Context):
    pass


ctx, other = Tags(), Tags()
T = functools.partial(ctx.tag, metadata="tag")
V = np.array([1.0, 2.0])


class Adds(Context):
    """One whose rules tag what they return."""


@Adds.rule(operator.add)
def _(ctx, a, b):
    return ctx.tag(ctx.untag(a) + ctx.untag(b), "sum")


@dataclass
class Point:
    a: float

    def __add__(self, other):
        return Point(self.a * other.a)

    def times(self, k):
        return self.a * k

    @property
    def cube(self):
        return self.a**3


def in_place(x):
    y = T(2 * x)
    z = y
    y += x
    y *= y
    return y + z


def array_in_place(x):
    y = T(2 * x)
    z = y
    y += x
    y[0] = 3 * x[1]
    return (y * z).sum()


def stored(x):
    a = np.zeros(2)
    a[0], a[1] = T(x), x
    a[1] += T(x * x)
    return (a * a).sum()


def of_object(x):
    o = T(SimpleNamespace(a=x, b=T(x * x)))
    o.c = o.a * 2
    return o.b * o.c


def doubled(x):
    x = x + x
    x += x
    return x * x


def loop(x):
    total = T(0.0)
    for each in T([x, T(x * x), 2.0]):
        total += each * each
    return total


NUMBERS = {
    "operand": lambda x: math.exp(T(x * x)),
    "result": lambda x: T(x * x),
    "argument": lambda x: T(x) * T(x),
    "twice": lambda x: other.tag(T(other.tag(x))) * x,
    "in place": in_place,
    "stored": stored,
    "object": of_object,
    "loop": loop,
    "condition": lambda x: T(x) * 2 if 0 < T(x) <= T(1.0) else x,
    "operators": lambda x: -T(x) ** 2 + 2 ** T(x) + T(x) / T(3.0) - T(1.0) / x + T(x) % 0.3,
    "builtins": lambda x: abs(T(-x)) + max(T(x), T(0.1)) + pow(T(x), 3) + sum([T(x), x], T(x)) + float(T(x)),
    "math": lambda x: math.hypot(T(x), T(2.0)) + math.fsum([T(x), T(x * x)]),
    "numpy": lambda x: np.float64(T(x)) * x + np.max([T(x), x * x]) + np.array([T(x), x * x]).sum(),
    "class": lambda x: (T(Point(x)) + T(Point(x * x))).a,
    "method": lambda x: T(Point(x)).times(T(x)) + T(Point(x)).cube,
    "list": lambda x: T([x, T(x * x)])[1] + list(T([x, T(x)]))[1],
    "dict": lambda x: T({"a": T(x * x)})["a"] + sum(v for _, v in T({"a": x}).items()) + T({"b": x}).get("b"),
    "unpacked": lambda x: (lambda a, b: a * b)(*T((x, T(x * x)))),
    "zip": lambda x: sum(a * b for a, b in zip(T([x, x]), T((T(x), 2.0)))),
    "map": lambda x: sum(map(operator.mul, [T(x), T(x * x)], T([2.0, x]))),
    "reduce": lambda x: functools.reduce(operator.iadd, [T(x), T(x * x), 1.0]),
    "accumulate": lambda x: list(itertools.accumulate([T(x), T(x * x)]))[-1],
    "sorted": lambda x: sorted([T(x), T(0.9)], key=lambda v: -v)[1] * 2,
    "closure": lambda x: (lambda t: lambda: t * t)(T(x))(),
    "partial": lambda x: functools.partial(operator.mul, T(x))(x),
    "getters": lambda x: operator.attrgetter("a")(T(Point(x * x))) * operator.itemgetter(0)(T([x])),
    "untag": lambda x: untag(ctx, T(x * x)) * x + ctx.untag(T(x)),
    "metadata": lambda x: metadata(ctx, ctx.tag(1.0, x * x)) * x + ctx.metadata(ctx.tag(x, [x]))[0],
    "overdub": lambda x: overdub(Adds(), doubled, x) * x,
    "tagged by a rule": lambda x: overdub(Adds(), operator.add, x, x) * x,
    "copy": lambda x: copy.copy(T([x]))[0] * copy.deepcopy(T([x, T(x)]))[1],
}
ARRAYS = {
    "in place": array_in_place,
    "method": lambda x: T(x * x).sum() + T(x).T.dot(T(x)),
    "function": lambda x: np.sum(T(x * x)) + np.sum(a=T(x)),
    "operators": lambda x: (T(x) * x - T(x) / 2.0).sum() + T(x) @ T(x),
    "parts": lambda x: (T(x)[1:] * T(x)[:1]).sum() + T(x)[0],
    "items": lambda x: sum(v * v for v in T(x)),
    "stack": lambda x: (np.stack([T(x), x]) * V).sum() + np.concatenate([T(x), T(x * x)]).sum(),
    "where": lambda x: np.where(T(x) > 1.5, T(x), x * x).sum(),
    "linalg": lambda x: np.linalg.norm(T(x)) + np.einsum("i,i", T(x), T(x)) + np.dot(T(x), x),
    "sort": lambda x: (np.sort(T(x)) * V).sum(),
    "copies": lambda x: (copy.copy(T(x)) * copy.deepcopy(T(x)) * T(x).copy() * np.asarray(T(x))).sum(),
    "copies of containers": lambda x: (copy.copy(T([x]))[0] * copy.deepcopy(T([x, T(x)]))[1]).sum(),
    "sum of a list": lambda x: sum([T(x), T(x * x)]).sum(),
    "reduce": lambda x: functools.reduce(operator.iadd, [T(x * 1.0), T(x * x), 1.0]).sum(),
}  # fmt: skip
PROGRAMS = {
    **{f"number, {name}": (f, 0.5) for name, f in NUMBERS.items()},
    **{f"array, {name}": (f, V) for name, f in ARRAYS.items()},
}


def differences(f, x, h=1e-6):
    if isinstance(x, float):
        return (float(f(x + h)) - float(f(x - h))) / (2 * h)
    return np.array([(float(f(x + h * e)) - float(f(x - h * e))) / (2 * h) for e in np.eye(len(x))])


@pytest.mark.parametrize("name", PROGRAMS)
def test_first_derivatives(name):
    f, x = PROGRAMS[name]
    expected, along = differences(f, x), np.ones_like(x) if isinstance(x, np.ndarray) else 1.0
    found, slope = value_and_grad(f)(x)
    np.testing.assert_allclose(float(found), float(f(x)))
    np.testing.assert_allclose(slope, expected, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(vjp(f, x)[1](1.0)[0], expected, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(jvp(f, (x,), (along,))[1], np.sum(expected), rtol=1e-5, atol=1e-7)


SMOOTH = ("number, operand", "number, in place", "number, class", "array, items")


@pytest.mark.parametrize("name", SMOOTH)
def test_second_derivatives(name):
    f, x = PROGRAMS[name]
    along = np.ones_like(x) if isinstance(x, np.ndarray) else 1.0
    h = 1e-6
    expected = (grad(f)(x + h * along) - grad(f)(x - h * along)) / (2 * h)
    np.testing.assert_allclose(hvp(f, (x,), (along,)), expected, rtol=1e-5, atol=1e-7)
    if name == "number, operand":
        np.testing.assert_allclose(hessian(f)(x), expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("take", [jacfwd, jacrev])
def test_jacobians(take):
    np.testing.assert_allclose(take(lambda x: T(x * x))(V), np.diag(2 * V))
    np.testing.assert_allclose(take(lambda x: T(x) * x[0])(V), [[2.0, 0.0], [2.0, 1.0]])


@pytest.mark.parametrize("make, f, expected", [
    (lambda: T(2.0), lambda x: x * x, 4.0),
    (lambda: T(V), lambda x: (x * x).sum(), 2 * V),
    (lambda: T({"a": 2.0, "b": 1.0}), lambda p: p["a"] ** 2, {"a": 4.0, "b": 0.0}),
    (lambda: {"a": T(2.0), "b": 1.0, "n": T(3)}, lambda p: p["a"] ** 2, {"a": 4.0, "b": 0.0, "n": None}),
    (lambda: Point(T(2.0)), lambda p: p.a * p.a, SimpleNamespace(a=4.0)),
    (lambda: T(Point(T(2.0))), lambda p: p.cube, SimpleNamespace(a=12.0)),
])  # fmt: skip
def test_arguments_with_tags(make, f, expected):
    for found in (grad(f)(make()), vjp(f, make())[1](1.0)[0]):
        if isinstance(expected, np.ndarray):
            np.testing.assert_array_equal(found, expected)
        else:
            assert found == expected and type(found) is type(expected)


def test_tags_of_arguments_and_results_are_there():
    seen = []

    def f(x):
        seen.append(ctx.metadata(x))
        return T(x * x)

    y, pullback = vjp(f, ctx.tag(2.0, "of x"))
    assert seen == ["of x"] and ctx.metadata(y) == "tag" and pullback(1.0) == (4.0,)
    y, dy = jvp(lambda x: {"a": T(x * x), "b": T(3.0)}, (2.0,), (1.0,))
    assert ctx.metadata(y["a"]) == "tag" and dy == {"a": 4.0, "b": 0.0}


def test_derivatives_of_tagged_values_within():
    assert grad(lambda y: grad(lambda x: x**3)(T(y)))(2.0) == 12.0
    assert grad(lambda y: T(grad(lambda x: x**3)(y)) * 2)(2.0) == 24.0
    assert grad(lambda y: jvp(lambda x: T(x) ** 3, (y,), (1.0,))[1])(2.0) == 12.0


def test_patterns_and_kernels_are_right_or_refused():
    for found in (
        lambda: jacobian_sparsity(lambda x: T(x * x), V).todense(),
        lambda: broadcast(lambda x: T(x * x) * 2.0, V),
        lambda: grad(lambda x: broadcast(lambda v: T(v * v), x).sum())(V),
    ):
        with pytest.raises(Refused):
            found()
