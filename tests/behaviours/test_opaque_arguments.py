"""Arguments whose numbers are out of sight: refused by name, with what to pass; as a part of an argument,
refused where a number is read out of them. Never is their derivative lost."""

import array
import collections
import contextlib
import ctypes
import dataclasses
import datetime
import decimal
import fractions
import functools
import itertools
import random
import re
import threading
import types
import typing

import numpy as np
import pytest

from ctxdispatch import (
    DerivativeError,
    grad,
    hessian,
    hessian_sparsity,
    hvp,
    jacfwd,
    jacobian_sparsity,
    jacrev,
    jvp,
    linearize,
    value_and_grad,
    vjp,
)
from ctxdispatch_contexts.programs.opaque_values import is_opaque
from ctxdispatch_contexts.sparsity import SparsityError
from tests.behaviours.behaviour_checks import WAYS, recorded

scipy_spatial = pytest.importorskip("scipy.spatial")


class Seconds(datetime.timedelta):
    """A subclass in Python of a class of C."""


class Shown:
    """A frame of data: all that it holds is in an object of C code."""

    def __init__(self, values):
        self._manager = memoryview(values)
        self.name = "shown"

    def total(self):
        return self._manager[0] * 2.0


Pair = typing.NamedTuple("Pair", [("weight", float), ("other", object)])


@dataclasses.dataclass
class Model:
    weight: float
    other: object


class Slots:
    __slots__ = ("other", "weight")

    def __init__(self, weight, other):
        self.weight, self.other = weight, other


POINTS = np.arange(6.0).reshape(3, 2) + 1.0

OPAQUE = {
    "timedelta": (lambda: datetime.timedelta(seconds=2), lambda v: v.total_seconds(), "total_seconds"),
    "Seconds": (lambda: Seconds(seconds=2), lambda v: (v * 1.5).total_seconds(), "total_seconds"),
    "datetime": (lambda: datetime.datetime(2020, 1, 1), lambda v: v.timestamp() * 1e-9, "timestamp"),
    "Decimal": (lambda: decimal.Decimal(2), lambda v: float(v * v), "float"),
    "Fraction": (lambda: fractions.Fraction(3, 2), lambda v: float(v), "float"),
    "memoryview": (lambda: memoryview(np.ones(3)), lambda v: v[1], "asarray"),
    "cKDTree": (lambda: scipy_spatial.cKDTree(POINTS), lambda v: v.data[0, 0], "the numbers"),
    "KDTree": (lambda: scipy_spatial.KDTree(POINTS), lambda v: v.query([0.0, 1.0])[0], "the numbers"),
    "set": (lambda: {1.5}, lambda v: sum(v), "list"),
    "frozenset": (lambda: frozenset([1.5]), lambda v: max(v), "list"),
    "mappingproxy": (lambda: types.MappingProxyType({"a": 1.5}), lambda v: v["a"], "dict"),
    "list_iterator": (lambda: iter([1.5] * 99), lambda v: next(v), "list"),
    "generator": (lambda: (1.5 for _ in range(99)), lambda v: next(v), "list"),
    "count": (lambda: itertools.count(1.5), lambda v: next(v), "list"),
    "c_double": (lambda: ctypes.c_double(1.5), lambda v: v.value, "value"),
    "nditer": (lambda: np.nditer(np.ones(3)), lambda v: float(v[0]), "list"),
    "Shown": (lambda: Shown(np.ones(3)), lambda v: v.total(), "the numbers"),
}

MODES = {
    "grad": lambda f, v: grad(f)(v),
    "value_and_grad": lambda f, v: value_and_grad(f)(v),
    "vjp": lambda f, v: vjp(f, v)[1](1.0),
    "jvp": lambda f, v: jvp(f, (v,), (1.0,)),
    "linearize": lambda f, v: linearize(f, v)[1](1.0),
    "jacfwd": lambda f, v: jacfwd(f)(v),
    "jacrev": lambda f, v: jacrev(f)(v),
    "hessian": lambda f, v: hessian(f)(v),
    "hvp": lambda f, v: hvp(f, (v,), (1.0,)),
    "jacobian_sparsity": lambda f, v: jacobian_sparsity(f, v),
    "hessian_sparsity": lambda f, v: hessian_sparsity(f, v),
}


@WAYS
@pytest.mark.parametrize("name", OPAQUE)
def test_the_whole_argument(name, way):
    make, read, remedy = OPAQUE[name]
    for mode, derivative in MODES.items():
        for given in (make(), [make()], {"a": make()}):
            whole = type(given) not in (list, dict)

            def f(v):
                return 3.0 * read(v if whole else v[0] if type(v) is list else v["a"])

            with pytest.raises((DerivativeError, SparsityError)) as caught:
                derivative(way(f), given)
            if whole and "sparsity" not in mode:
                assert name in str(caught.value) and remedy in str(caught.value), caught.value


HOLDERS = {
    "dataclass": (Model, lambda m: (m.weight, m.other)),
    "slots": (Slots, lambda m: (m.weight, m.other)),
    "named tuple": (Pair, lambda m: m),
    "list": (lambda *parts: [*parts], lambda m: m),
    "tuple": (lambda *parts: parts, lambda m: m),
    "dict": (lambda w, o: {"w": w, "o": o}, lambda m: (m["w"], m["o"])),
    "nested": (lambda w, o: {"m": [Model(w, (o, "text"))]}, lambda m: (m["m"][0].weight, m["m"][0].other[0])),
}


@WAYS
@pytest.mark.parametrize("name", OPAQUE)
@pytest.mark.parametrize("holder", HOLDERS)
def test_a_part_of_an_argument(holder, name, way):
    make, read, _ = OPAQUE[name]
    hold, parts = HOLDERS[holder]

    def used(m):
        w, o = parts(m)
        return w * w * read(o)

    def unused(m):
        w, o = parts(m)
        return w * w if o is not None and str(type(o)) else w

    gradient = grad(way(unused))(hold(2.0, make()))
    assert parts_of(gradient, holder) == 4.0
    if name in ("mappingproxy", "set", "frozenset"):
        return  # a program may have a derivative for their items
    with pytest.raises(DerivativeError, match=r"test_opaque_arguments.py:\d+"):
        grad(way(used))(hold(2.0, make()))


def parts_of(gradient, holder):
    if holder == "nested":
        return gradient["m"][0].weight
    if holder == "dict":
        return gradient["w"]
    return gradient[0] if isinstance(gradient, (list, tuple)) else gradient.weight


HARMLESS = {
    "lock": (threading.Lock, lambda v: v.acquire(False)),
    "pattern": (lambda: re.compile("a+"), lambda v: len(v.match("aab").group())),
    "Random": (lambda: random.Random(1), lambda v: v.random()),
    "Generator": (lambda: np.random.default_rng(1), lambda v: v.normal()),
    "text": (lambda: "1.5", lambda v: len(v)),
    "function": (lambda: np.tanh, lambda v: v(0.5)),
    "days": (lambda: datetime.timedelta(days=3), lambda v: v.days),
    "exception": (lambda: ValueError("a"), lambda v: len(v.args)),
    "partial": (lambda: functools.partial(pow, 2.0), lambda v: v(2.0)),
    "deque": (lambda: collections.deque([1, 2]), lambda v: v[0]),
    "array": (lambda: array.array("i", [1, 2]), lambda v: v[0]),
}


@WAYS
@pytest.mark.parametrize("name", HARMLESS)
def test_what_holds_no_derivative_may_be_used(name, way):
    make, read = HARMLESS[name]
    value = read(make())
    found = grad(way(lambda m: m.weight**2 * read(m.other)))(Model(2.0, make()))
    assert found.weight == 4.0 * value


def test_copies_of_what_is_opaque_are_so_too():
    import copy

    def f(m, duplicate):
        return m.weight * duplicate(m).other.total_seconds()

    for duplicate in (copy.copy, copy.deepcopy, lambda m: Model(1.0, m.other + m.other), dataclasses.replace):
        with pytest.raises(DerivativeError, match="total_seconds"):
            grad(recorded(lambda m: f(m, duplicate)))(Model(2.0, datetime.timedelta(seconds=1)))


def test_beside_what_is_differentiated_it_is_a_constant():
    step = datetime.timedelta(seconds=3)
    assert grad(lambda x, step: x * step.total_seconds())(2.0, step) == 3.0
    assert jvp(lambda x, step: x * step.total_seconds(), (2.0, step), (1.0, None))[1] == 3.0
    assert vjp(lambda x, step: x * 2.0, 2.0, step)[1](1.0) == (2.0, None)
    with pytest.raises(DerivativeError, match="out of sight|total_seconds"):
        vjp(lambda x, step: x * step.total_seconds(), 2.0, step)


OF_PYTHON = (float, int, list, dict, tuple, np.ndarray, Model, OSError)


@pytest.mark.parametrize("cls", [
    int, float, complex, str, list, dict, tuple, np.ndarray, np.matrix, np.float32, np.bool_, array.array,
    Model, Slots, Pair, collections.Counter, collections.OrderedDict, collections.defaultdict,
    collections.ChainMap,
    type, KeyError, types.SimpleNamespace, types.FunctionType, np.ufunc, threading.Thread,
    contextlib.ExitStack, np.ma.MaskedArray, *(type(f"Of{c.__name__}", (c,), {}) for c in OF_PYTHON),
    *(type(f"Slots{c.__name__}", (c,), {"__slots__": ()}) for c in (float, tuple, Slots)),
    type("SlotsBoth", (), {"__slots__": ("a", "b", "__dict__", "__weakref__")}),
])  # fmt: skip
def test_classes_in_sight(cls):
    assert not is_opaque(cls)


@pytest.mark.parametrize("name", OPAQUE)
def test_classes_out_of_sight(name):
    """And those that Python code makes of them."""
    cls = type(OPAQUE[name][0]())
    if cls is Shown:
        return
    assert is_opaque(cls)
    with contextlib.suppress(TypeError):
        assert is_opaque(type("Sub", (cls,), {}))
