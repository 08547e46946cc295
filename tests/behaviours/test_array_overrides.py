"""`__array_ufunc__` and `__array_function__` of the user's: NumPy calls them, under the context."""

import numpy as np
import pytest
from numpy.lib.mixins import NDArrayOperatorsMixin

from ctxdispatch import grad
from tests.behaviours.protocol_checks import X, check


class Quantity:
    """Wraps an array, and is what NumPy's functions give of one."""

    def __init__(self, v):
        self.v = v

    def __array_ufunc__(self, ufunc, method, *inputs, out=(), **kwargs):
        if out:
            kwargs["out"] = tuple([o.v if isinstance(o, Quantity) else o for o in out])
        y = getattr(ufunc, method)(*[i.v if isinstance(i, Quantity) else i for i in inputs], **kwargs)
        return out[0] if out else type(self)(y)


class Operable(NDArrayOperatorsMixin, Quantity):
    pass


class Functional:
    def __init__(self, v):
        self.v = v

    def __array_function__(self, function, types, args, kwargs):
        assert all(issubclass(cls, (Functional, np.ndarray)) for cls in types)
        return type(self)(function(*map(_unwrapped, args), **kwargs))


def _unwrapped(value):
    if isinstance(value, (list, tuple)):
        return [_unwrapped(item) for item in value]
    return value.v if isinstance(value, Functional) else value


class Doubled(np.ndarray):
    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        plain = [2.0 * np.asarray(i) if isinstance(i, Doubled) else i for i in inputs]
        return super().__array_ufunc__(ufunc, method, *plain, **kwargs)


class Aside:
    """Arrays leave operators to it."""

    def __init__(self, v):
        self.v = v

    def __rmul__(self, other):
        return other * self.v

    def __rmatmul__(self, other):
        return (other * self.v).sum()


class ByPriority(Aside):
    __array_priority__ = 10


class ByNone(Aside):
    __array_ufunc__ = None


def _changed_in_place(x):
    q = Operable(x.copy())
    q += x
    q *= 2.0
    return q.v @ x


def _added_into_an_array(x):
    y = x.copy()
    y += Quantity(x * x)
    return y @ x


def _added_at(x):
    q = Quantity(x.copy())
    np.add.at(q, [0, 0], x[1])
    return (q.v * x).sum()


def _written_into(x):
    q = Quantity(np.zeros(2))
    np.multiply(x, x, out=q)
    np.sin(q.v, out=(q,))
    return q.v @ x


UFUNCS = {
    "call": lambda x: np.sin(Quantity(x)).v.sum(),
    "of two": lambda x: np.multiply(Quantity(x), Quantity(x)).v.sum(),
    "operators": lambda x: ((Operable(x) * Operable(x) - 1.0) / x).v.sum(),
    "reflected": lambda x: (2.0 * Operable(x) ** 2 + x * Operable(x)).v.sum(),
    "unary": lambda x: (-abs(Operable(x - 1.0))).v.sum(),
    "array first": lambda x: (x * Quantity(x)).v.sum(),
    "array second": lambda x: (Quantity(x) * x).v.sum(),
    "NumPy's number": lambda x: (x[0] * Quantity(x) + x[1] * Operable(x)).v.sum(),
    "reduce": lambda x: np.multiply.reduce(Quantity(x)).v,
    "outer": lambda x: np.multiply.outer(Quantity(x), x).v[0, 1],
    "accumulate": lambda x: np.multiply.accumulate(Quantity(x)).v[1],
    "reduceat": lambda x: np.add.reduceat(Quantity(x * x), [0, 1]).v[1],
    "at": _added_at, "out": _written_into,
    "in place": _changed_in_place, "into an array": _added_into_an_array,
    "of a subclass of arrays": lambda x: np.sin(x.view(Doubled)).sum(),
    "operator of a subclass": lambda x: np.asarray(x.view(Doubled) * x).sum(),
}  # fmt: skip

FUNCTIONS = {
    "sum": lambda x: np.sum(Functional(x * x)).v,
    "list": lambda x: np.concatenate([Functional(x), Functional(x * x)]).v.sum(),
    "beside an array": lambda x: np.dot(Functional(x), x).v,
    "by keyword": lambda x: np.sum(Functional(np.outer(x, x)), axis=0).v[1],
    "where": lambda x: np.where(x > 1.0, Functional(x), Functional(x * x)).v.sum(),
}

OPERATORS = {
    "priority": lambda x: (x * ByPriority(x)).sum(),
    "none": lambda x: (x * ByNone(x)).sum(),
    "matmul": lambda x: x @ ByPriority(x),
    "number": lambda x: x[0] * ByPriority(x[1]) + x[0] * ByNone(x[1]) + x[0] * Aside(x[1]),
}


@pytest.mark.parametrize("name", UFUNCS)
def test_array_ufunc(name):
    check(UFUNCS[name])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_array_function(name):
    check(FUNCTIONS[name])


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_that_arrays_leave_to_others(name):
    check(OPERATORS[name])


class Base(Quantity):
    asked: list = []

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        self.asked.append(type(self).__name__)
        return NotImplemented


class Derived(Base):
    pass


def test_operands_are_asked_in_the_order_of_numpy():
    """A subclass before its base, then from left to right, each class once; the error is NumPy's."""

    def f(x):
        try:
            return np.add(Base(x), Derived(x))
        except TypeError as error:
            return x.sum() * ("did not" in str(error) or "all returned NotImplemented" in str(error))

    Base.asked.clear()
    f(X)
    plain = list(Base.asked)
    Base.asked.clear()
    np.testing.assert_array_equal(grad(f)(X), [1.0, 1.0])
    assert Base.asked[: len(plain)] == plain == ["Derived", "Base"]


def test_first_that_knows_answers():
    class Knows(Base):
        def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
            return ufunc(*[i.v for i in inputs])

    check(lambda x: np.multiply(Base(x), Knows(x)).sum())
