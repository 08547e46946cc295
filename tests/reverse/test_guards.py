"""What the entry of a gradient asks before it runs a program: of arguments, of what they hold, of names."""

import collections
import dis
import math
import types

import numpy as np
import pytest

from ctxdispatch import grad, jacfwd, jvp, value_and_grad
from ctxdispatch.ir.graph import Graph, Return, positional
from ctxdispatch.ir.values import Const
from ctxdispatch.ir.verify import verify
from ctxdispatch.passes import types as T
from ctxdispatch.passes.buffers import make_function
from ctxdispatch.passes.guards import PathType
from ctxdispatch.passes.held import guardable, held_type
from ctxdispatch.passes.shares import SHORT
from ctxdispatch_contexts.programs import entry
from ctxdispatch_contexts.programs.guarding import add_guards, asking
from tests.passes.covering import covers

Point = collections.namedtuple("Point", "x y")


class Layer:
    def __init__(self, W, b):
        self.W, self.b = W, b


def emitted(type_):
    """value -> whether the emitted test lets it through."""
    graph = Graph("f", positional(1))
    graph.entry.terminator = Return(Const(True))
    add_guards(graph, [type_], [], lambda x: False)
    return make_function(verify(graph))


def fits(type_, value):
    """`value`, and what it holds, is of this type."""
    if isinstance(type_, T.Held):
        return type(value) is type_.cls and _held_fits(type_, value)
    if isinstance(type_, T.TupleOf):
        return type(value) is tuple and len(value) == len(type_.items) and all(map(fits, type_.items, value))
    if isinstance(type_, T.Known):
        return value is type_.value
    if isinstance(type_, T.ArrayOf):
        return _array_fits(type_, value)
    return type(value) is type_.cls if isinstance(type_, T.Exact) else covers(type_, value)


def _array_fits(type_, value):
    if type(value) is not np.ndarray:
        return False
    if value.dtype is not type_.dtype and value.dtype != type_.dtype:
        return False  # compared, too: a dtype of another byte order is no singleton
    shape = value.shape
    if len(shape) != len(type_.dims):
        return False
    return all(one is None or one is (n == 1) for one, n in zip(type_.dims, shape, strict=True))


def _held_fits(type_, value):
    if type_.item is not None:
        return len(value) <= T.MAX_ITEMS and all(fits(type_.item, item) for item in value)
    if issubclass(type_.cls, tuple):
        return all(fits(t, getattr(value, name)) for name, t in type_.fields)
    if type_.cls is list:
        return len(value) == len(type_.fields) and all(fits(t, value[i]) for i, t in type_.fields)
    held = value if type_.cls is dict else value.__dict__
    return all(name in held and fits(t, held[name]) for name, t in type_.fields)


M, V, ROW = np.ones((2, 3)), np.ones(3), np.ones((1, 3))

VALUES = [
    1.0, 2, None, "a", V, np.ones(1), np.ones(()), M, ROW, np.ones((1, 1)), V.astype("f4"), np.ones(3, int),
    (1.0, V), (1.0, 2), [V, V], [V, np.ones(1)], [V, M], [1.0], [], {"a": V}, {"a": 1.0},
    {"a": V, "b": 2}, Point(1.0, V), Point(V, 1.0), Layer(M, V), Layer(V, M), Layer(M, None),
    [Layer(M, V), Layer(ROW, V)], [Layer(M, V)] * 60,
    {"layers": [Layer(M, V)], "scale": 2.0}, V.view(type("Sub", (np.ndarray,), {})), np.float64(1.0), True,
    types.SimpleNamespace(a=V), [[V], [V, V]], V.astype(">f8"),
]  # fmt: skip


@pytest.mark.parametrize("i", range(len(VALUES)))
def test_the_emitted_test_is_the_one_asked_in_python(i):
    type_ = guardable(held_type(VALUES[i]))
    test = emitted(type_)
    assert test(VALUES[i])
    for other in VALUES:
        assert test(other) == (type_ is T.Any or fits(type_, other))


DIMS = [(None, True), (True, False), (None, None), (None,), (), (False, None, True)]


@pytest.mark.parametrize("dims", DIMS, ids=str)
def test_each_dimension_is_tested(dims):
    type_ = T.ArrayOf(np.dtype(float), dims)
    test = emitted(type_)
    for shape in [(), (1,), (2,), (1, 1), (1, 2), (2, 1), (2, 2), (2, 2, 1), (1, 2, 1), (2, 2, 2)]:
        assert test(np.ones(shape)) == fits(type_, np.ones(shape))


def test_a_field_that_is_gone_or_of_the_class():
    type_ = guardable(held_type(Layer(M, V)))
    test, layer = emitted(type_), Layer(M, V)
    del layer.W
    assert not test(layer)
    any_field = T.Held(Layer, (("W", T.Any),))
    assert emitted(any_field)(Layer(M, V)) and not emitted(any_field)(layer)


def count(name):
    return entry.compiled.get(name, 0)


SCALE = 2.0


def scaled(x):
    return SCALE * x * x


def test_a_global_that_goes_to_and_fro_between_types(monkeypatch):
    g, before = grad(scaled), count("scaled")
    for _ in range(5):
        monkeypatch.setitem(globals(), "SCALE", 2.0)
        assert g(3.0) == 12.0
        monkeypatch.setitem(globals(), "SCALE", 3)
        assert g(3.0) == 18.0
        monkeypatch.setitem(globals(), "SCALE", np.float64(4.0))
        assert g(3.0) == 24.0
    assert count("scaled") - before == 3


def total(x):
    return np.sum(np.exp(x))


def test_a_function_of_numpy_replaced(monkeypatch):
    x = np.array([0.5, 1.0])
    g = grad(total)
    np.testing.assert_allclose(g(x), np.exp(x))
    with monkeypatch.context() as patch:
        patch.setattr(np, "exp", np.sin)
        np.testing.assert_allclose(g(x), np.cos(x))
        np.testing.assert_allclose(grad(total)(x), np.cos(x))
    np.testing.assert_allclose(g(x), np.exp(x))


def test_another_module_under_the_name(monkeypatch):
    x = np.array([0.5, 1.0])
    g = grad(total)
    g(x)
    fake = types.SimpleNamespace(sum=np.sum, exp=np.cos)
    monkeypatch.setitem(globals(), "np", fake)
    assert list(g(x)) == pytest.approx([-np_.sin(v) for v in x])


np_ = np


def test_guards_that_lost_their_name():
    namespace = {"a": 1.0, "m": types.SimpleNamespace(b=2.0)}
    holds = asking([PathType(namespace, path, T.Exact(float)) for path in [("a",), ("m", "b")]])
    assert holds()
    namespace["a"] = 1
    assert not holds()
    del namespace["a"]
    assert not holds()
    namespace["a"] = 1.0
    assert holds()
    del namespace["m"].b
    assert not holds()


class Computed:
    """Attributes that are not there are computed."""

    asked: list = []

    def __init__(self, **attributes):
        self.__dict__.update(attributes)

    def __getattr__(self, name):
        self.asked.append(name)
        return {"b": 3.0}[name]


def by_kind(o, x):
    return x * o.a if o.kind else x * 2.0


def test_guards_do_not_compute_attributes():
    g = grad(by_kind, 1)
    assert g(Computed(kind=True, a=4.0), 1.0) == 4.0
    Computed.asked.clear()
    assert g(Computed(kind=False), 1.0) == 2.0 and not Computed.asked
    assert g(Computed(kind=True, a=4.0), 1.0) == 4.0


FACTOR, USED = 2.0, True


def with_a_flag(x):
    return x * FACTOR if USED else x


def test_a_global_that_is_gone_and_not_used(monkeypatch):
    g = grad(with_a_flag)
    assert g(1.0) == 2.0
    monkeypatch.setitem(globals(), "USED", False)
    monkeypatch.delitem(globals(), "FACTOR")
    assert g(1.0) == 1.0
    monkeypatch.setitem(globals(), "USED", True)
    with pytest.raises(NameError, match="name 'FACTOR' is not defined"):
        g(1.0)


def uses_made_up(x):
    return np.made_up(x)


def test_a_name_of_numpy_that_is_gone(monkeypatch):
    monkeypatch.setattr(np, "made_up", lambda x: x * x, raising=False)
    g = grad(uses_made_up)
    assert g(3.0) == 6.0
    monkeypatch.delattr(np, "made_up")
    with pytest.raises(AttributeError, match="has no attribute 'made_up'"):
        g(3.0)


def interrupted(x):
    return x * Interrupting.factor


class Meta(type):
    @property
    def factor(cls):
        raise KeyboardInterrupt


class Interrupting(metaclass=Meta):
    pass


def test_only_errors_are_failing_guards():
    with pytest.raises(KeyboardInterrupt):
        grad(interrupted)(1.0)


# -- lengths of vectors --------------------------------------------------------------------------------------


def logsumexp(x):
    return np.log(np.sum(np.exp(x)))


def against_three(x):
    return np.sum(x * np.ones(3))


def test_a_program_that_is_the_same_for_every_length_is_one():
    before = count("logsumexp")
    for n in (5, 1, 0, 3, 1, SHORT - 1, SHORT, SHORT + 1):
        x = np.linspace(-1.0, 1.0, n)
        with np.errstate(divide="ignore"):
            found = grad(logsumexp)(x)
        np.testing.assert_allclose(found, np.exp(x) / np.exp(x).sum(), rtol=1e-14)
        assert found.shape == (n,)
    assert count("logsumexp") - before == 1
    assert "len" not in [i.argval for i in dis.get_instructions(grad(logsumexp).__code__)][:10]


def test_one_that_is_not_asks_for_the_length():
    for x, expected in [(np.ones(3), [1, 1, 1]), (np.ones(1), [3]), (np.ones(3), [1, 1, 1])]:
        np.testing.assert_array_equal(grad(against_three)(x), expected)
    with pytest.raises(ValueError, match="broadcast"):
        grad(against_three)(np.ones(2))


def normalised(x, y):
    return np.log(np.sum(np.exp(x))) - np.sum(x * y)


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("n", [1, 2, SHORT - 1, SHORT, 3 * SHORT])
def test_short_and_long_arrays_are_divided_alike(n, dtype):
    x, y = np.linspace(-1.0, 1.0, n, dtype=dtype), np.linspace(0.0, 1.0, n, dtype=dtype)
    value, found = value_and_grad(normalised)(x, y)
    assert found.dtype == np.dtype(dtype) and value == normalised(x, y)
    np.testing.assert_allclose(found, np.exp(x) / np.exp(x).sum() - y, rtol=1e-5 if dtype == "f4" else 1e-13)


@pytest.mark.parametrize("reduceat", [False, True])
@pytest.mark.parametrize("n", [0, 1, 3, SHORT, 2 * SHORT])
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_either_sum_of_a_short_array(reduceat, n, dtype, monkeypatch):
    monkeypatch.setattr("ctxdispatch.passes.shares.REDUCEAT", reduceat)
    x = np.linspace(-1.0, 1.0, n, dtype=dtype)
    with np.errstate(divide="ignore"):
        found = grad(types.FunctionType(logsumexp.__code__, globals()))(x)
    assert found.dtype == x.dtype and found.shape == (n,)
    np.testing.assert_allclose(found, np.exp(x) / np.exp(x).sum(), rtol=1e-6 if dtype == "f4" else 1e-14)


def test_the_value_is_that_of_the_plain_call():
    x = np.linspace(-3.0, 1.0, 97)
    assert value_and_grad(logsumexp)(x)[0] == logsumexp(x)


def test_division_by_zero_warns_and_gives_what_numpy_gives():
    x = np.full(3, -1e4)
    with np.errstate(all="ignore"):
        assert np.isnan(grad(logsumexp)(x)).all()


@pytest.mark.parametrize("derivative", [lambda f: grad(f)(1.5), lambda f: jvp(f, (1.5,), (1.0,))])
@pytest.mark.parametrize("late", [2.0, None])
def test_what_an_inner_function_reads_has_to_be_assigned_before(derivative, late):
    """Also where all that is ever assigned is known beforehand."""

    def program(x):
        def scaled():
            return factor * x

        out = scaled()
        factor = 2.0 if late else x
        return out

    with pytest.raises(NameError, match="factor"):
        program(1.5)
    with pytest.raises(NameError, match="factor"):
        derivative(program)


class Having:
    def __init__(self, part):
        self.part = part


HELD = {
    "a function": (lambda o, x: o.part(x), Having, abs, math.sin),
    "none, or not": (lambda o, x: x if o.part is None else x * x, Having, None, 1.0),
    "a class": (lambda o, x: x if isinstance(o.part, float) else x * x, Having, 1.0, "text"),
    "an entry": (lambda o, x: o["part"](x), lambda part: {"part": part}, abs, math.sin),
    "an entry, or none": (lambda o, x: x if o["a"] is None else x * x, lambda a: {"a": a}, None, 1.0),
}


@pytest.mark.parametrize("mode", [grad, jacfwd], ids=["grad", "jacfwd"])
@pytest.mark.parametrize("name", HELD)
def test_what_an_object_holds_decides_at_each_call(name, mode):
    """Also where nothing is left of reading it: a constant, or a branch, took its place."""
    f, holder, *parts = HELD[name]
    derivative = mode(f, 1)
    for part in (*parts, *parts):
        held = holder(part)
        central = (f(held, 0.7 + 1e-6) - f(held, 0.7 - 1e-6)) / 2e-6
        assert derivative(held, 0.7) == pytest.approx(central, rel=1e-6)
