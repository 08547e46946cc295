"""Behaviours 37 and 38: dictionaries and records as differentiated arguments.

A dictionary's gradient is a dictionary (a key that was not read may be absent: `.get` gives None); a named
tuple's is the same named tuple; any other object's a namespace of its attributes.
Julia's broadcasting over an array of structs is, in Python, a comprehension over a list of objects.
"""

import math
from collections import namedtuple
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ctxdispatch import grad, value_and_grad, vjp


def central(f, x, eps=1e-6):
    return (f(x + eps) - f(x - eps)) / (2 * eps)


# -- 37 dictionaries -----------------------------------------------------------------------------------------


def product_of_keys(d):
    return d["a"] * d["b"] * d["b"]


def test_037_dict_argument_has_a_dict_gradient():
    value, g = value_and_grad(product_of_keys)({"a": 2.0, "b": 3.0})
    assert value == 18.0
    assert type(g) is dict
    assert g == {"a": 9.0, "b": 12.0}


def test_037_dict_pullback_scales_with_its_seed():
    y, pullback = vjp(product_of_keys, {"a": 2.0, "b": 3.0})
    assert y == 18.0
    assert pullback(10.0) == ({"a": 90.0, "b": 120.0},)
    assert pullback(1.0) == ({"a": 9.0, "b": 12.0},)


def test_037_key_that_is_not_read_has_zero():
    g = grad(product_of_keys)({"a": 2.0, "b": 3.0, "c": 4.0, "name": "model"})
    assert g.get("a") == 9.0
    assert g["c"] == 0.0
    assert g["name"] is None


def nested_keys(d):
    return d["w"]["inner"][1] * d["scale"] + d["w"]["bias"]


def test_037_nested_dict_gradient_is_a_nested_dict():
    d = {"w": {"inner": [1.0, 2.0], "bias": 5.0}, "scale": 3.0, "unused": {"x": 1.0}}
    g = grad(nested_keys)(d)
    assert g["w"]["inner"] == [0.0, 3.0]
    assert g["w"]["bias"] == 1.0
    assert g["scale"] == 2.0
    assert g["unused"] == {"x": 0.0}


def params_of_arrays(params, x):
    return (np.tanh(params["W"] @ x + params["b"]) ** 2).sum()


def test_037_dict_of_arrays():
    rng = np.random.default_rng(0)
    params = {"W": rng.standard_normal((3, 4)), "b": rng.standard_normal(3)}
    x = rng.standard_normal(4)
    g = grad(params_of_arrays)(params, x)
    assert set(g) == {"W", "b"}
    assert g["W"].shape == (3, 4) and g["b"].shape == (3,)
    for name, index in (("W", (1, 2)), ("b", (2,))):

        def at(value, name=name, index=index):
            moved = {k: v.copy() for k, v in params.items()}
            moved[name][index] = value
            return params_of_arrays(moved, x)

        assert g[name][index] == pytest.approx(central(at, params[name][index]), rel=1e-6)


def sum_of_squares_of_values(d):
    total = 0.0
    for key, value in d.items():
        if key != "skip":
            total += value * value
    return total


def test_037_dict_iterated_by_items():
    g = grad(sum_of_squares_of_values)({"a": 1.0, "skip": 5.0, "b": -2.0})
    assert g.get("a") == 2.0 and g.get("b") == -4.0
    assert not g.get("skip")


def keys_of_other_types(d):
    return d[1] * d["one", 2] * d[None]


def test_037_keys_need_not_be_strings():
    g = grad(keys_of_other_types)({1: 2.0, ("one", 2): 3.0, None: 4.0})
    assert g == {1: 12.0, ("one", 2): 8.0, None: 6.0}


def with_default(d):
    return d.get("x", 1.0) * d.get("missing", 10.0)


def test_037_get_with_and_without_a_hit():
    assert grad(with_default)({"x": 3.0}) == {"x": 10.0}


def one_of_two(d, flag):
    return d["x"] * 2.0 if flag else d["y"] * 3.0


@pytest.mark.parametrize("flag, hit, value", [(True, "x", 2.0), (False, "y", 3.0)])
def test_037_keys_of_the_branch_taken(flag, hit, value):
    g = grad(one_of_two)({"x": 1.0, "y": 1.0}, flag)
    assert g == {"x": 0.0, "y": 0.0, hit: value}


# -- 38 named tuples -----------------------------------------------------------------------------------------

Point = namedtuple("Point", "x y name")


def by_fields(p):
    return p.x * p.x * p.y


def by_index(p):
    return p[0] * p[0] * p[1]


def by_unpacking(p):
    x, y, _ = p
    return x * x * y


@pytest.mark.parametrize("f", [by_fields, by_index, by_unpacking])
def test_038_namedtuple_gradient_is_that_namedtuple(f):
    p = Point(3.0, 5.0, "p")
    value, g = value_and_grad(f)(p)
    assert value == 45.0
    assert type(g) is Point
    assert (g.x, g.y, g.name) == (30.0, 9.0, None)
    assert vjp(f, p)[1](2.0) == (Point(60.0, 18.0, None),)


def made_inside(x):
    p = Point(x, 2.0 * x, "made")
    q = Point(name=p.name, y=p.y + p.x, x=p.x)
    return q.x * q[1]


def test_038_namedtuple_made_inside():
    assert grad(made_inside)(3.0) == pytest.approx(18.0)  # 3 x^2


def only_x(p):
    return math.sin(p.x)


def test_038_namedtuple_field_that_is_not_read_is_zero():
    g = grad(only_x)(Point(0.5, 1.0, "p"))
    assert g.x == pytest.approx(math.cos(0.5))
    assert g.y == 0.0 and g.name is None


# -- 38 dataclasses ------------------------------------------------------------------------------------------


@dataclass
class Layer:
    weight: Any
    bias: Any
    name: str = "layer"


@dataclass
class Model:
    first: Layer
    rest: list = field(default_factory=list)
    scale: float = 1.0


def affine(layer, x):
    return layer.weight * x + layer.bias


def test_038_dataclass_gradient_is_a_namespace_of_its_fields():
    layer = Layer(2.0, 3.0)
    value, g = value_and_grad(affine)(layer, 5.0)
    assert value == 13.0
    assert isinstance(g, SimpleNamespace)
    assert (g.weight, g.bias) == (5.0, 1.0)
    assert getattr(g, "name", None) is None
    assert layer == Layer(2.0, 3.0)


def test_038_gradient_for_object_and_number():
    g, dx = grad(affine, argnums=(0, 1))(Layer(2.0, 3.0), 5.0)
    assert g.weight == 5.0
    assert dx == 2.0
    _, pullback = vjp(affine, Layer(2.0, 3.0), 5.0)
    g, dx = pullback(2.0)
    assert (g.weight, g.bias, dx) == (10.0, 2.0, 4.0)


@dataclass(frozen=True)
class FrozenPair:
    a: float
    b: float


def of_frozen(p):
    return p.a / p.b


def test_038_frozen_dataclass():
    g = grad(of_frozen)(FrozenPair(3.0, 4.0))
    assert g.a == pytest.approx(0.25)
    assert g.b == pytest.approx(-3.0 / 16.0)


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self, a, b):
        self.a, self.b = a, b


def test_038_object_with_slots():
    g = grad(of_frozen)(Slotted(3.0, 4.0))
    assert (g.a, g.b) == (pytest.approx(0.25), pytest.approx(-3.0 / 16.0))


def nested(model, x):
    y = affine(model.first, x)
    for layer in model.rest:
        y = affine(layer, y)
    return y * model.scale


def test_038_nested_dataclass_with_a_list_of_dataclasses():
    model = Model(Layer(2.0, 1.0), [Layer(3.0, 0.5), Layer(-1.0, 4.0)], 10.0)
    g, dx = grad(nested, argnums=(0, 1))(model, 1.5)
    first = 2.0 * 1.5 + 1.0
    second = 3.0 * first + 0.5
    third = -second + 4.0
    assert (g.first.weight, g.first.bias) == pytest.approx((-45.0, -30.0))
    assert (g.rest[0].weight, g.rest[0].bias) == pytest.approx((-10.0 * first, -10.0))
    assert (g.rest[1].weight, g.rest[1].bias) == pytest.approx((10.0 * second, 10.0))
    assert g.scale == pytest.approx(third)
    assert dx == pytest.approx(-60.0)


def pick(layers):
    return layers[1].weight * 3.0


def test_038_object_inside_a_list_and_zeros_elsewhere():
    g = grad(pick)([Layer(1.0, 2.0), Layer(3.0, 4.0), Layer(5.0, 6.0)])
    assert [each.weight for each in g] == [0.0, 3.0, 0.0]
    assert [each.bias for each in g] == [0.0, 0.0, 0.0]


def mixed_container(box):
    return box["layers"][0].weight * box["pair"][1].a


def test_038_objects_inside_dict_list_and_tuple():
    box = {"layers": [Layer(2.0, 1.0)], "pair": (1.0, FrozenPair(5.0, 6.0))}
    g = grad(mixed_container)(box)
    assert g["layers"][0].weight == 5.0
    assert g["pair"][0] == 0.0
    assert g["pair"][1].a == 2.0


def over_objects(points, scale):
    return sum([scale * p.a * p.b for p in points])


def test_038_comprehension_over_a_list_of_objects():
    points = [FrozenPair(1.0, 2.0), FrozenPair(3.0, 4.0), FrozenPair(5.0, 6.0)]
    g, dscale = grad(over_objects, argnums=(0, 1))(points, 2.0)
    assert [(p.a, p.b) for p in g] == [(4.0, 2.0), (8.0, 6.0), (12.0, 10.0)]
    assert dscale == 2.0 + 12.0 + 30.0


def same_object_twice(pair):
    p, q = pair
    return p.a * q.a


def test_038_one_object_in_two_places_gets_the_sum():
    p = FrozenPair(3.0, 1.0)
    g = grad(same_object_twice)((p, p))
    total = sum(each.a for each in g if each is not None)
    assert total == 6.0


def built_inside(x):
    layer = Layer(weight=x * x, bias=x)
    return affine(layer, 2.0)


def test_038_dataclass_built_inside():
    assert grad(built_inside)(3.0) == pytest.approx(2.0 * 2.0 * 3.0 + 1.0)


def arrays_in_fields(layer, x):
    return (layer.weight @ x + layer.bias).sum()


def test_038_dataclass_of_arrays():
    layer = Layer(np.arange(6.0).reshape(2, 3), np.ones(2))
    x = np.array([1.0, -1.0, 2.0])
    g, dx = grad(arrays_in_fields, argnums=(0, 1))(layer, x)
    np.testing.assert_allclose(g.weight, np.tile(x, (2, 1)))
    np.testing.assert_allclose(g.bias, np.ones(2))
    np.testing.assert_allclose(dx, layer.weight.sum(axis=0))


def result_is_an_object(x, y):
    return Layer(x * y, x + y)


def test_038_object_as_result_takes_a_cotangent_of_its_fields():
    out, pullback = vjp(result_is_an_object, 2.0, 3.0)
    assert out == Layer(6.0, 5.0)
    dx, dy = pullback(SimpleNamespace(weight=10.0, bias=1.0))
    assert (dx, dy) == (31.0, 21.0)
