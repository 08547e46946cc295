"""Methods, functions of modules and defaults that a program itself replaces, and puts back before it ends."""

import functools
import types

import numpy as np
import pytest

from ctxdispatch import jvp, value_and_grad
from ctxdispatch_contexts.programs.errors import Refused
from tests.recording import recorded as on_tape

X = np.array([1.5, 2.0, 0.7])


def tripled(*args):
    return args[-1] * 3.0


class Model:
    def value(self, v):
        return v * v

    @staticmethod
    def fixed(v):
        return v * v

    @classmethod
    def of_class(cls, v):
        return v * v

    @property
    def power(self):
        return 2.0

    def __mul__(self, v):
        return v * v

    def __call__(self, v):
        return v * v


class Cubing:
    def __call__(self, v):
        return v * v * v

    value = __call__


Model.part, Model.scale, Model.parts, Model.table = Model(), 2.0, [Model()], {"a": Model()}


class Derived(Model):
    pass


MODULE = types.ModuleType("module_of_models")
MODULE.value = lambda v: v * v
MODULE.model, MODULE.scale, MODULE.parts = Model(), 2.0, [Model()]
MODULE.inner = types.SimpleNamespace(value=lambda v: v * v)


def scaled(v, by=2.0, *, plus=0.0):
    return v * by + plus


KINDS = {
    "method": (Model, "value", tripled, lambda v: Model().value(v)),
    "inherited": (Model, "value", tripled, lambda v: Derived().value(v)),
    "hidden": (Derived, "value", tripled, lambda v: Derived().value(v)),
    "static": (Model, "fixed", staticmethod(tripled), lambda v: Model.fixed(v)),
    "of class": (Model, "of_class", classmethod(tripled), lambda v: Model.of_class(v)),
    "property": (Model, "power", property(lambda self: 3.0), lambda v: v * Model().power),
    "operator": (Model, "__mul__", tripled, lambda v: Model() * v),
    "call": (Model, "__call__", tripled, lambda v: Model()(v)),
    "function": (MODULE, "value", tripled, lambda v: MODULE.value(v)),
    "object": (MODULE, "model", tripled, lambda v: MODULE.model(v)),
    "number": (MODULE, "scale", 3.0, lambda v: v * MODULE.scale),
    "another": (MODULE, "model", Cubing(), lambda v: MODULE.model(v)),
    "class's number": (Model, "scale", 3.0, lambda v: v * Model.scale),
    "inherited number": (Model, "scale", 3.0, lambda v: v * Derived().scale),
    "class's list": (Model, "parts", [Cubing()], lambda v: Model.parts[0](v)),
    "class's dict": (Model, "table", {"a": Cubing()}, lambda v: Model.table["a"](v)),
    "module's list": (MODULE, "parts", [Cubing()], lambda v: sum(p(v) for p in MODULE.parts)),
    "class's object": (Model, "part", Cubing(), lambda v: Model.part(v)),
    "namespace": (MODULE.inner, "value", tripled, lambda v: MODULE.inner.value(v)),
    "defaults": (scaled, "__defaults__", (5.0,), lambda v: scaled(v)),
    "by name": (scaled, "__kwdefaults__", {"plus": 2.0}, lambda v: scaled(v)),
    "code": (scaled, "__code__", (lambda v, by=2.0, *, plus=0.0: v * by**3).__code__, lambda v: scaled(v)),
}


def swap(owner, name, value):
    old = vars(owner)[name] if isinstance(owner, type) and name in vars(owner) else getattr(owner, name)
    setattr(owner, name, value)
    return old


@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize("way", ["here", "helper", "each"])
@pytest.mark.parametrize("kind", [*KINDS])
def test_values_and_derivatives(kind, way, recorded):
    owner, name, other, call = KINDS[kind]
    before = vars(owner).get(name) if isinstance(owner, type) else getattr(owner, name)

    def program(x):
        y = call(x[0])
        if way == "here":
            setattr(owner, name, other)
        elif way == "helper":
            swap(owner, name, other)
        else:
            for each in (owner,):
                setattr(each, name, other)
        y = y + call(x[1])
        if before is None:
            delattr(owner, name)
        else:
            setattr(owner, name, before)
        return y + call(x[2])

    f = on_tape(program) if recorded else program
    want = f(X)
    try:
        y, gradient = value_and_grad(f)(X)
    except Refused:
        return
    finally:
        if before is None and name in vars(owner):
            delattr(owner, name)
        elif before is not None:
            setattr(owner, name, before)
    assert y == want
    differences = np.array([(f(X + e) - f(X - e)) / 2e-6 for e in 1e-6 * np.eye(3)])
    np.testing.assert_allclose(gradient, differences, rtol=1e-7)
    np.testing.assert_allclose(jvp(f, (X,), (np.ones(3),))[1], sum(differences), rtol=1e-7)


OUT_OF_SIGHT = {
    "type": (lambda f: type.__setattr__(Model, "value", f), lambda v: Model().value(v)),
    "map": (lambda f: [*map(functools.partial(setattr, Model, "value"), [f])], lambda v: Model().value(v)),
    "partial": (lambda f: functools.partial(setattr, Model, "value")(f), lambda v: Model().value(v)),
    "exec": (lambda f: exec("Model.value = f", {"Model": Model, "f": f}), lambda v: Model().value(v)),
    "module": (lambda f: types.ModuleType.__setattr__(MODULE, "value", f), lambda v: MODULE.value(v)),
    "vars": (lambda f: vars(MODULE).__setitem__("value", f), lambda v: MODULE.value(v)),
    "update": (lambda f: MODULE.__dict__.update(value=f), lambda v: MODULE.value(v)),
    "globals": (lambda f: globals().update(replaced=f), lambda v: replaced(v)),
}


def replaced(v):
    return v * v


@pytest.mark.parametrize("way", [*OUT_OF_SIGHT])
def test_by_helpers_that_are_not_followed(way):
    put, call = OUT_OF_SIGHT[way]
    first = Model.value if way in ("type", "map", "partial", "exec") else lambda v: v * v
    put(first)

    def program(x):
        y = call(x[0])
        put(tripled)
        y = y + call(x[1])
        put(first)
        return y + call(x[2])

    want = program(X)
    for run in (lambda: value_and_grad(program)(X), lambda: jvp(program, (X,), (X,))):
        try:
            assert run()[0] == want
        except Refused:
            put(first)


class Holder:
    pass


def holder():
    made = Holder()
    made.part, made.parts, made.within = Model(), [Model()], (1.0, [Model()], {"a": [Model()]})
    made.inner = types.SimpleNamespace(part=Model(), table={"a": Model()})
    return made


PARTS, TABLE, WITHIN, HOLDER = [Model()], {"a": Model()}, (1.0, [Model()], {"a": [Model()]}), holder()
Model.holder = holder()
PLACES = {
    "list": (lambda: PARTS[0], lambda v: PARTS.__setitem__(0, v)),
    "sliced": (lambda: PARTS[0], lambda v: PARTS.__setitem__(slice(0, 1), [v])),
    "emptied": (lambda: PARTS[0], lambda v: (PARTS.clear(), PARTS.append(v))),
    "dict": (lambda: TABLE["a"], lambda v: TABLE.__setitem__("a", v)),
    "updated": (lambda: TABLE["a"], lambda v: TABLE.update(a=v)),
    "merged": (lambda: TABLE["a"], lambda v: TABLE.__ior__({"a": v})),
    "popped": (lambda: TABLE["a"], lambda v: (TABLE.pop("a"), TABLE.setdefault("a", v))),
    "in a tuple": (lambda: WITHIN[1][0], lambda v: WITHIN[1].__setitem__(0, v)),
    "dict in a tuple": (lambda: WITHIN[2]["a"][0], lambda v: WITHIN[2]["a"].__setitem__(0, v)),
    "object": (lambda: HOLDER.part, lambda v: setattr(HOLDER, "part", v)),
    "its dict": (lambda: HOLDER.part, lambda v: HOLDER.__dict__.__setitem__("part", v)),
    "vars": (lambda: HOLDER.part, lambda v: vars(HOLDER).update(part=v)),
    "its list": (lambda: HOLDER.parts[0], lambda v: HOLDER.parts.__setitem__(0, v)),
    "its tuple": (lambda: HOLDER.within[1][0], lambda v: HOLDER.within[1].__setitem__(0, v)),
    "its object": (lambda: HOLDER.inner.part, lambda v: setattr(HOLDER.inner, "part", v)),
    "its table": (lambda: HOLDER.inner.table["a"], lambda v: HOLDER.inner.table.__setitem__("a", v)),
    "class": (lambda: Model.holder.parts[0], lambda v: Model.holder.parts.__setitem__(0, v)),
    "module": (lambda: MODULE.parts[0], lambda v: MODULE.parts.__setitem__(0, v)),
}


@pytest.mark.parametrize("looped", [False, True])
@pytest.mark.parametrize("call", [lambda p, v: p(v), lambda p, v: p.value(v)], ids=["call", "method"])
@pytest.mark.parametrize("place", [*PLACES])
def test_what_containers_and_objects_hold(place, call, looped):
    get, put = PLACES[place]
    first = get()

    def program(x):
        y = call(get(), x[0])
        put(Cubing())
        y = y + call(get(), x[1])
        put(first)
        return y + call(get(), x[2])

    def with_a_loop(x):
        y = 0.0
        for v in x:
            y = y + call(get(), v)
            put(Cubing() if v < 1.9 else first)
        put(first)
        return y

    f = with_a_loop if looped else program
    want = f(X)
    differences = np.array([(f(X + e) - f(X - e)) / 2e-6 for e in 1e-6 * np.eye(3)])
    for _ in range(2):
        try:
            y, gradient = value_and_grad(f)(X)
        except Refused:
            put(first)
            return
        assert y == want
        assert get() is first
        np.testing.assert_allclose(gradient, differences, rtol=1e-7)
        np.testing.assert_allclose(jvp(f, (X,), (np.ones(3),))[1], sum(differences), rtol=1e-7)
