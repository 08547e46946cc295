"""Containers as arguments: the gradient has their structure."""

from collections import OrderedDict, defaultdict, namedtuple
from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np
import pytest

from ctxdispatch import grad, value_and_grad, vjp

Point = namedtuple("Point", "a b")


@dataclass
class Layer:
    w: np.ndarray
    b: np.ndarray
    name: str = "dense"


@dataclass
class Network:
    layers: list
    scale: float = 1.0
    shape: tuple = field(default=(2, 2))


def forward(network, x):
    for layer in network.layers:
        x = np.tanh(layer.w @ x + layer.b)
    return np.sum(x) * network.scale


def network():
    rng = np.random.default_rng(0)
    return Network([Layer(rng.normal(size=(2, 2)), rng.normal(size=2)) for _ in range(2)], 0.5)


def numeric(f, array, eps=1e-6):
    """Central differences of f() in the entries of `array`, which it reads."""
    out = np.zeros_like(array)
    for at in np.ndindex(array.shape):
        kept = array[at]
        array[at] = kept + eps
        above = f()
        array[at] = kept - eps
        out[at] = (above - f()) / (2 * eps)
        array[at] = kept
    return out


@pytest.mark.parametrize(
    "f, argument, expected",
    [
        (lambda t: t[0] * t[1][0], (2.0, (3.0, 4.0)), (3.0, (2.0, 0.0))),
        (lambda t: t[0] * t[1], [2.0, 3.0], [3.0, 2.0]),
        (lambda p: p.a * p.b, Point(2.0, 3.0), Point(3.0, 2.0)),
        (lambda d: d["a"] * d["b"]["c"] ** 2, {"a": 2.0, "b": {"c": 3.0}}, {"a": 9.0, "b": {"c": 12.0}}),
        (lambda d: d[1] * d[(2, 3)], {1: 2.0, (2, 3): 3.0}, {1: 3.0, (2, 3): 2.0}),
        (lambda ps: sum([a * b for a, b in ps]), [(1.0, 2.0), (3.0, 4.0)], [(2.0, 1.0), (4.0, 3.0)]),
        (lambda d: sum([v * v for v in d.values()]), {"a": 1.0, "b": 2.0}, {"a": 2.0, "b": 4.0}),
        (lambda d: d["x"] * 2.0, OrderedDict(x=1.0), {"x": 2.0}),
        (lambda d: d["x"] * d["x"], defaultdict(float, x=3.0), {"x": 6.0}),
        (lambda n: n.a * n.b, SimpleNamespace(a=2.0, b=3.0), SimpleNamespace(a=3.0, b=2.0)),
    ],
)
def test_numbers_in_containers(f, argument, expected):
    found = grad(f)(argument)
    assert found == expected and type(found) is type(expected)
    assert vjp(f, argument)[1](1.0) == (expected,)


def test_what_has_no_derivative_has_none():
    assert grad(lambda t: t[0] * t[1])((2.0, 3)) == (3.0, None)
    found = grad(lambda d: d["w"] @ d["x"])({"w": np.ones(2), "x": np.arange(2.0), "n": 3})
    assert found.get("n") is None
    np.testing.assert_array_equal(found["w"], [0.0, 1.0])
    np.testing.assert_array_equal(found["x"], [1.0, 1.0])


def test_arrays_of_several_shapes_and_dtypes():
    arrays = [np.ones(2), np.ones((1, 2), np.float32), np.array(3.0)]
    found = grad(lambda xs: sum([np.sum(x * x) for x in xs]))(arrays)
    assert [(g.shape, g.dtype) for g in found] == [(a.shape, a.dtype) for a in arrays]
    for g, a in zip(found, arrays):
        np.testing.assert_allclose(g, 2 * a)


def test_nested_dataclasses():
    net, x = network(), np.array([0.3, -0.2])
    value, found = value_and_grad(forward)(net, x)
    assert value == forward(net, x)
    assert set(vars(found)) >= {"layers", "scale"} and len(found.layers) == 2
    assert found.scale == pytest.approx(value / 0.5)
    for layer, g in zip(net.layers, found.layers):
        np.testing.assert_allclose(g.w, numeric(lambda: forward(net, x), layer.w), atol=1e-7)
        np.testing.assert_allclose(g.b, numeric(lambda: forward(net, x), layer.b), atol=1e-7)
        assert getattr(g, "name", None) is None


def test_one_step_of_descent_with_a_gradient_of_the_models_own_structure():
    net, x = network(), np.array([0.3, -0.2])
    before = forward(net, x)
    g = grad(forward)(net, x)
    for layer, slope in zip(net.layers, g.layers):
        layer.w = layer.w - 0.01 * slope.w
        layer.b = layer.b - 0.01 * slope.b
    assert forward(net, x) < before


def test_arguments_are_left_as_they_are():
    argument = {"xs": [1.0, 2.0], "w": np.ones(2)}
    grad(lambda d: d["xs"][0] * d["w"][1])(argument)
    assert argument["xs"] == [1.0, 2.0]
    np.testing.assert_array_equal(argument["w"], np.ones(2))


def test_gradients_share_no_memory_with_arguments():
    w, x = np.ones(2), np.arange(2.0)
    gw, gx = grad(lambda w, x: w @ x, argnums=(0, 1))(w, x)
    assert not np.shares_memory(gw, x) and not np.shares_memory(gx, w)
    d = {"w": w, "x": x}
    g = grad(lambda d: d["w"] @ d["x"])(d)
    assert not any(np.shares_memory(a, b) for a in g.values() for b in d.values())


def test_structure_may_change_from_call_to_call():
    f = grad(lambda xs: sum([x * x for x in xs]))
    assert f([1.0]) == [2.0]
    assert f([1.0, 2.0, 3.0]) == [2.0, 4.0, 6.0]
    assert f((1.0, 2.0)) == (2.0, 4.0)
    assert f([]) == []
    np.testing.assert_array_equal(f([1.0, np.float64(2.0)]), [2.0, 4.0])


def test_one_object_at_two_places():
    shared = [2.0]
    found = grad(lambda a, b: a[0] * b[0], argnums=(0, 1))(shared, shared)
    assert found == ([2.0], [2.0])
