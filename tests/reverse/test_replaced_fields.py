"""Named tuples and copies with other fields, made within a program: compiled, and what plain Python makes."""

import dataclasses
from collections import namedtuple
from typing import Any, NamedTuple

import numpy as np
import pytest

from ctxdispatch import grad, hessian, jvp
from ctxdispatch_contexts.recording import api

X = np.linspace(0.1, 1.0, 4)

Pair = namedtuple("Pair", "x y")


class Typed(NamedTuple):
    x: Any
    y: Any = 1.5


@dataclasses.dataclass
class Open:
    x: Any
    y: Any = 1.5


@dataclasses.dataclass(frozen=True)
class Frozen:
    x: Any
    y: Any = 1.5


@dataclasses.dataclass(slots=True)
class Slotted:
    x: Any
    y: Any = 1.5


@dataclasses.dataclass
class Derived(Open):
    z: float = dataclasses.field(init=False, default=3.0)

    def __post_init__(self):
        self.z = self.y * 2.0


def straight(s):
    s = s._replace(x=s.x * 2.0, y=s.y + 1.0)
    s = s._replace(x=np.sin(s.x))
    return np.sum(s.x * s.x) * s.y


def looped(s):
    for i in range(5):
        s = s._replace(x=s.x * 1.1, y=s.y * s.x[i % 4])
    return np.sum(s.x) + s.y


def straight_of_dataclass(s):
    s = dataclasses.replace(s, x=s.x * 2.0, y=s.y + 1.0)
    s = dataclasses.replace(s, x=np.sin(s.x))
    return np.sum(s.x * s.x) * s.y


def looped_of_dataclass(s):
    for i in range(5):
        s = dataclasses.replace(s, x=s.x * 1.1, y=s.y * s.x[i % 4])
    return np.sum(s.x) + s.y


def of_derived(s):
    s = dataclasses.replace(s, y=s.y * s.x[0])
    return np.sum(s.x) * s.z


def made_by_tuple(x):
    s = Pair(x, y=np.sum(x))
    a, b = s
    return np.sum(s[0] * a) * s.y * s[-1] * b


CASES = [
    *[(f, made) for f in (straight, looped) for made in (lambda x: Pair(x, 1.5), Typed)],
    *[(f, made) for f in (straight_of_dataclass, looped_of_dataclass) for made in (Open, Frozen, Slotted)],
    (of_derived, Derived),
]


@pytest.fixture
def compiled(monkeypatch):
    monkeypatch.setattr(api, "joint", lambda *args: pytest.fail("recorded"))


@pytest.mark.every(2)
@pytest.mark.parametrize("f, made", CASES)
def test_compiled(f, made, compiled):
    whole = eval("lambda x: f(made(x))", {"f": f, "made": made})  # code of its own
    check(whole)
    given = grad(f)(made(X))
    assert np.allclose(given.x, grad(whole)(X))


def check(f):
    steps = 1e-6 * np.eye(4)
    expected = np.array([f(X + h) - f(X - h) for h in steps]) / 2e-6
    assert np.allclose(grad(f)(X), expected, rtol=1e-5)
    assert np.isclose(jvp(f, (X,), (np.ones(4),))[1], expected.sum(), rtol=1e-5)


def test_items_fields_and_unpacking(compiled):
    check(made_by_tuple)
    second = np.array([grad(made_by_tuple)(X + h) - grad(made_by_tuple)(X - h) for h in 1e-6 * np.eye(4)])
    assert np.allclose(hessian(made_by_tuple)(X), second / 2e-6, rtol=1e-4)


def test_the_results_are_what_plain_python_makes():
    def f(x):
        s = Typed(x)._replace(y=x * 2.0)
        o = dataclasses.replace(Frozen(x), y=s)
        return np.sum(x), (s, o)

    _, (s, o) = grad(f, has_aux=True)(X)
    assert type(s) is Typed
    assert type(o) is Frozen
    assert o.y is s
    assert s.x is o.x is X or np.all(s.x == X)


@pytest.mark.parametrize("error, made", [(ValueError, Typed), (TypeError, Open), (ValueError, Derived)])
def test_fields_that_there_are_not(error, made):
    def f(x):
        s = made(x)
        if made is Typed:
            return np.sum(s._replace(no=x).x)
        if made is Derived:
            return np.sum(dataclasses.replace(s, z=1.0).x)
        return np.sum(dataclasses.replace(s, no=x).x)

    with pytest.raises(error) as plain:
        f(X)
    with pytest.raises(error) as found:
        grad(f)(X)
    assert str(found.value) == str(plain.value)


def test_classes_with_code_of_their_own():
    class Counted(Pair):
        made = 0

        @classmethod
        def _make(cls, items):
            Counted.made += 1
            return tuple.__new__(cls, items)

    class Doubled(Pair):
        __slots__ = ()

        def __getitem__(self, i):
            return tuple.__getitem__(self, i) * 2.0

        x = property(lambda self: tuple.__getitem__(self, 0) * 3.0)

    @dataclasses.dataclass
    class Initial(Open):
        k: dataclasses.InitVar[float] = 4.0

        def __post_init__(self, k):
            self.y = k

    assert np.allclose(grad(lambda x: np.sum(Counted(x, 1.0)._replace(x=x * 2.0).x))(X), 2.0)
    assert Counted.made == 1
    f = lambda x: np.sum(Doubled(x, x)[1] + Doubled(x, x)._replace(y=x).x)  # noqa: E731
    assert np.allclose(grad(f)(X), 5.0)
    g = lambda x: np.sum(dataclasses.replace(Initial(x), x=x * x, k=2.0).x) * 1.0  # noqa: E731
    assert np.allclose(grad(g)(X), 2.0 * X)


def test_a_class_that_is_changed_later():
    g = grad(lambda s: np.sum(s._replace(x=s.x * 2.0).x))
    local = namedtuple("local", "x y")
    assert np.allclose(g(local(X, 1.0)).x, 2.0)

    def refuse(cls, items):
        raise KeyError("mine")

    local._make = classmethod(refuse)
    with pytest.raises(KeyError, match="mine"):
        g(local(X, 1.0))
