"""Classes that a program makes of what is differentiated: their bodies are followed, whatever they hold."""

import abc
import dataclasses
import enum
import typing

import numpy as np
import pytest
from behaviour_checks import WAYS
from mutation_checks import central

from ctxdispatch import grad, hessian, jacfwd

X = np.array([0.7, -0.4, 1.3])


def an_attribute(x):
    class C:
        v = x[0] * x[1]

    return C.v


def of_an_object(x):
    class C:
        v = x[0] * x[1]

    return C().v * x[0]


def loops_and_handlers(x):
    class C:
        total = 0.0
        try:
            for k in x:
                total += k * k
        except KeyError:
            pass
        items = [k * k for k in x]

        def __getitem__(self, i):
            return self.items[i] * self.total

    return C()[1]


def a_function_called_there(x):
    def square():
        return x[0] * x[0]

    class C:
        v = square()

    return C.v


def a_default(x):
    class C:
        def __init__(self, v=x[0] * x[1]):
            self.v = v

    return C().v


def a_class_within(x):
    class P:
        class Q:
            r = x[0] * x[0]

        @property
        def s(self):
            return self.Q.r * x[1]

    return P().s


def a_variable_outside(x):
    y = x[0] * 1.0

    class C:
        nonlocal y
        y = y * x[1]

    return y


def the_cell_of_the_class(x):
    class A(abc.ABC):
        v = np.sin(x[0])

        @classmethod
        def k(cls):
            return cls.v

    class B(A):
        def m(self):
            return super().k() * __class__.v

    return B().m()


def a_keyword(x):
    class B:
        def __init_subclass__(cls, scale=1.0):
            cls.scale = scale

    class C(B, scale=x[0] * x[1]):
        pass

    return C().scale


def a_dataclass(x):
    @dataclasses.dataclass
    class D:
        v: float = x[0] * x[1]
        w: list = dataclasses.field(default_factory=lambda: [x[2]])

    return D().v * D().w[0]


def an_enum(x):
    class E(enum.Enum):
        A = x[0] * x[1]
        B = 2.0

    return E.A.value * E.B.value


def a_named_tuple(x):
    class N(typing.NamedTuple):
        a: float = x[0] * x[1]

    return N().a


def made_by_type(x):
    return type("C", (), {"v": x[0] * x[1]}).v


def a_method_by_type(x):
    scale = x[0] * x[0]
    return type("C", (), {"m": lambda self: scale * x[1]})().m()


def a_base_by_type(x):
    base = type("B", (), {"items": [x[0] * x[1]]})
    return vars(base)["items"][0] * type("C", (base,), {})().items[0]


PROGRAMS = [
    an_attribute, of_an_object, loops_and_handlers, a_function_called_there, a_default, a_class_within,
    a_variable_outside, the_cell_of_the_class, a_keyword, a_dataclass, an_enum, a_named_tuple, made_by_type,
    a_method_by_type, a_base_by_type,
]  # fmt: skip


@WAYS
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_bodies_are_followed(f, way):
    slopes = central(f, X)
    for mode in (grad, jacfwd):
        np.testing.assert_allclose(mode(way(f))(X.copy()), slopes, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("f", [of_an_object, a_class_within, made_by_type], ids=lambda f: f.__name__)
def test_second_derivatives_too(f):
    steps = 1e-5 * np.eye(3)
    bends = [(grad(f)(X + e) - grad(f)(X - e)) / 2e-5 for e in steps]
    np.testing.assert_allclose(hessian(f)(X.copy()), bends, rtol=1e-5, atol=1e-8)


def test_the_class_is_what_it_is_plainly():
    """Name, module, attributes and their order."""

    def made(x):
        class C(abc.ABC):
            """Told."""

            v = x[0] * 2.0

            def m(self):
                return __class__

        seen.append((C.__name__, C.__qualname__, C.__module__, C.__doc__, [*vars(C)], C().m() is C))
        return C.v

    seen = []
    made(X.copy())
    grad(made)(X.copy())
    assert seen[0] == seen[1]
