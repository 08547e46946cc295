"""Methods, and attributes of the class, that programs read off what their arguments hold: found beforehand,
where the object has nothing of its own under the name (`T.Unset`), which is asked at the entry."""

import numpy as np
import pytest

from ctxdispatch import grad, hessian, jacrev, jvp
from ctxdispatch.passes import types as T
from ctxdispatch.passes.held import held_type, only_used, unset_in, with_unset
from ctxdispatch_contexts.recording import api
from tests.reverse.test_guards import emitted

X = np.linspace(0.1, 1.0, 4)


class Layer:
    scale = 2.0
    bend = staticmethod(np.tanh)

    def __init__(self, w):
        self.w = w

    def forward(self, x):
        return self.bend(x * self.w) * self.scale

    def twice(self, x):
        return self.forward(self.forward(x))


class Chain:
    def __init__(self, *layers):
        self.layers = list(layers)

    def forward(self, x):
        for layer in self.layers:
            x = layer.forward(x)
        return x


class Lazy:
    """Finds its method only where nothing else has it."""

    def __init__(self, w):
        self.w = w

    def __getattr__(self, name):
        if name == "forward":
            return lambda x: x * self.w**2
        raise AttributeError(name)


class Slotted:
    __slots__ = ("w",)

    def __init__(self, w):
        self.w = w

    def forward(self, x):
        return np.sin(x * self.w)


class Computed(Layer):
    @property
    def forward(self):
        return lambda x: x * self.w * self.scale


def once(o, x):
    return np.sum(o.forward(x))


def of_a_list(os, x):
    for o in os:
        x = o.forward(x)
    return np.sum(x)


def read_first(o, x):
    f = o.forward
    return np.sum(f(x) + f(2.0 * x))


def in_an_inner_gradient(o, x):
    return np.sum(grad(lambda p, y: np.sum(p.forward(y)), 1)(o, x) * x)


def differences(f, o, x):
    found = np.zeros_like(x)
    for i in range(x.size):
        step = np.zeros_like(x)
        step[i] = 1e-6
        found[i] = (f(o, x + step) - f(o, x - step)) / 2e-6
    return found


def agrees(g, f, o, x=X):
    np.testing.assert_allclose(g(o, x), differences(f, o, x), rtol=1e-6, atol=1e-8)


@pytest.fixture
def compiled(monkeypatch):
    """No program may be recorded instead."""

    def refuse(function, *args):
        raise AssertionError(f"{function} was recorded")

    monkeypatch.setattr(api, "joint", refuse)


CASES = {
    "a method": (once, lambda: Layer(0.7)),
    "a method that is read before": (read_first, lambda: Layer(0.7)),
    "methods of methods": (lambda o, x: np.sum(o.twice(x)), lambda: Layer(0.7)),
    "objects in an object": (once, lambda: Chain(Layer(0.7), Layer(1.2))),
    "objects in a list": (of_a_list, lambda: [Layer(0.7), Layer(1.2)]),
    "slots": (once, lambda: Slotted(0.7)),
    "a property": (once, lambda: Computed(0.7)),
}


@pytest.mark.parametrize(("f", "make"), CASES.values(), ids=CASES)
def test_compiled(f, make, compiled):
    agrees(grad(f, 1), f, make())


@pytest.mark.parametrize(("f", "make"), CASES.values(), ids=CASES)
def test_what_the_objects_hold(f, make):
    o = make()
    (part,) = [o] if not isinstance(o, list) and not isinstance(o, Chain) else [getattr(o, "layers", o)[0]]
    found = grad(f)(o, X)
    found = found[0] if isinstance(found, list) else getattr(found, "layers", [found])[0]
    part.w += 1e-6
    more = f(o, X)
    part.w -= 2e-6
    assert found.w == pytest.approx((more - f(o, X)) / 2e-6, rel=1e-6)


def hide(monkeypatch, o):
    monkeypatch.setattr(o, "forward", lambda x: x**3, raising=False)


CHANGES = {
    "the object has its own": hide,
    "its attributes have": lambda m, o: m.setitem(vars(o), "forward", lambda x: x**3),
    "the object has its own attribute": lambda m, o: m.setattr(o, "scale", 5.0, raising=False),
    "the class has another": lambda m, o: m.setattr(Layer, "forward", lambda self, x: x**2 * self.w),
    "the class has another attribute": lambda m, o: m.setattr(Layer, "scale", 5.0),
    "the class has an array": lambda m, o: m.setattr(Layer, "scale", np.array([1.0, 2.0, 3.0, 4.0])),
    "the class has another function": lambda m, o: m.setattr(Layer, "bend", staticmethod(np.sin)),
    "the class has a property": lambda m, o: m.setattr(Layer, "forward", property(lambda self: np.square)),
    "the class has a descriptor": lambda m, o: m.setattr(Layer, "scale", property(lambda self: self.w)),
    "the class looks itself": lambda m, o: m.setattr(
        Layer,
        "__getattribute__",
        lambda self, name: 3.0 if name == "scale" else object.__getattribute__(self, name),
        raising=False,
    ),
    "the class has none, but finds it": lambda m, o: (
        m.setattr(Layer, "__getattr__", lambda self, name: 7.0, raising=False),
        m.delattr(Layer, "scale"),
    ),
    "the object is of another class": lambda m, o: m.setattr(o, "__class__", Lazy),
}


@pytest.mark.parametrize("f", [once, read_first, in_an_inner_gradient], ids=lambda f: f.__name__)
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_changes_between_calls(f, change, monkeypatch):
    o, g = Layer(0.7), grad(f, 1)
    agrees(g, f, o)
    with monkeypatch.context() as m:
        change(m, o)
        agrees(g, f, o)
    agrees(g, f, o)


def test_one_object_of_several(monkeypatch):
    os, g = [Layer(0.7), Layer(1.2)], grad(of_a_list, 1)
    agrees(g, of_a_list, os)
    hide(monkeypatch, os[1])
    agrees(g, of_a_list, os)
    agrees(g, of_a_list, [Layer(0.7), Layer(1.2)])


@pytest.mark.parametrize("way", ["jvp", "jacrev", "hessian"])
def test_other_modes(way, monkeypatch):
    o = Layer(0.7)
    along = {
        "jvp": lambda: jvp(lambda x, o: o.forward(x), (X, o), (np.ones(4), None))[1],
        "jacrev": lambda: jacrev(lambda x, o: o.forward(x))(X, o).sum(axis=1),
        "hessian": lambda: hessian(once, 1)(o, X).sum(axis=1),
    }[way]
    first = along()
    hide(monkeypatch, o)
    np.testing.assert_allclose(along(), 6.0 * X if way == "hessian" else 3.0 * X**2, rtol=1e-12)
    monkeypatch.undo()
    np.testing.assert_allclose(along(), first, rtol=1e-14)


# -- what changes while the program runs ---------------------------------------------------------------------


def hides_it_meanwhile(o, x):
    y = o.forward(x)
    o.forward = lambda x: x**3
    z = o.forward(x)
    del o.forward
    return np.sum(y + z)


def hides_it_by_another_name(o, x):
    same = [o][0]
    y = o.forward(x)
    vars(same)["forward"] = lambda x: x**3
    z = o.forward(x)
    del same.forward
    return np.sum(y + z)


def stores_what_the_class_has(o, x):
    y = o.forward(x)
    o.scale = x[0] * 1.0
    z = o.forward(x)
    del o.scale
    return np.sum(y + z)


def changes_the_class(o, x):
    y = o.forward(x)
    type(o).scale = 5.0
    z = o.forward(x)
    type(o).scale = 2.0
    return np.sum(y + z)


def out_of_sight(o, x):
    y = o.forward(x)
    exec("o.forward = lambda x: x**3", {"o": o})
    z = o.forward(x)
    del o.forward
    return np.sum(y + z)


MEANWHILE = [
    hides_it_meanwhile,
    hides_it_by_another_name,
    stores_what_the_class_has,
    changes_the_class,
    out_of_sight,
]


@pytest.mark.parametrize("f", MEANWHILE, ids=lambda f: f.__name__)
def test_what_changes_meanwhile(f):
    g = grad(f, 1)
    agrees(g, f, Layer(0.7))
    agrees(g, f, Layer(1.2))


# -- the test at the entry -----------------------------------------------------------------------------------


def test_the_guard():
    o = Layer(0.7)
    type_ = with_unset(held_type([(o,)]), {(Layer, "forward"), (Chain, "forward")})
    assert list(unset_in(type_)) == [(Layer, "forward")]
    kept = only_used(type_, set())
    assert list(unset_in(kept)) == [(Layer, "forward")] and emitted(kept)([(o,)])
    o.forward = None
    assert not emitted(kept)([(o,)])


def test_an_attribute_that_is_not_there_has_no_type():
    held = with_unset(held_type(Layer(0.7)), {(Layer, "forward")})
    assert held.field("forward") is None and held.field("w") == T.Exact(float)
