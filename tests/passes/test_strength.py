"""Sums with a negative become differences: before and after, the same bits, and where it must not be."""

import operator

import numpy as np
import pytest
from optimised import optimise, plain

from ctxdispatch.bytecode.emit import make_function
from ctxdispatch.bytecode.lift import lift
from ctxdispatch.passes.types import type_of

ZEROS = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, 5e-324, 1e308]
A, B = (m.ravel() for m in np.meshgrid(ZEROS, ZEROS))


def add_negative(a, b):
    return a + -b


def negative_first(a, b):
    return -a + b


def subtract_negative(a, b):
    return a - -b


def both_negative(a, b):
    return -a + -b


def by_ufunc(a, b):
    return np.add(a, np.negative(b)), np.subtract(a, np.negative(b))


def used_twice(a, b):
    c = -b
    return a + c, c


BECOMES = {
    add_negative: "%0 = sub(%a, %b); return %0",
    negative_first: "%0 = sub(%b, %a); return %0",
    subtract_negative: "%0 = add(%a, %b); return %0",
    both_negative: "%0 = neg(%a); %1 = sub(%0, %b); return %1",
    by_ufunc: "%0 = np.subtract(%a, %b); %1 = np.add(%a, %b); %2 = build_tuple(%0, %1); return %2",
    used_twice: "%c = neg(%b); %0 = sub(%a, %b); %1 = build_tuple(%0, %c); return %1",
}
SAME = pytest.mark.parametrize("f", BECOMES, ids=lambda f: f.__name__)


def optimised(f, args):
    graph = lift(f)
    graph.name = "f"
    optimise(graph, list(map(type_of, args)))
    return graph


@SAME
@pytest.mark.parametrize("cls", [lambda x: x, lambda x: x.astype("f4"), lambda x: x.astype(complex)])
def test_arrays(f, cls):
    args = cls(A), cls(B)
    graph = optimised(f, args)
    assert str(graph).strip() == f"f(%a, %b):\n  b0(): {BECOMES[f]}"
    with np.errstate(all="ignore"):
        assert without_nan_signs(make_function(graph)(*args)) == without_nan_signs(f(*args))


def without_nan_signs(value):
    items = value if isinstance(value, tuple) else (value,)
    return [plain(np.where(np.isnan(v), np.nan, v)) for v in items]


@pytest.mark.parametrize(
    "args", [(1.5, -0.0), (0.0, 0.0), (-0.0, 0.0), (3, -7), (2.0, 3), (1j, -0.0), (np.float64(2.0), 1.0)]
)
@pytest.mark.parametrize(
    "f", [add_negative, negative_first, subtract_negative, both_negative], ids=lambda f: f.__name__
)
def test_numbers(f, args):
    graph = optimised(f, args)
    assert [op.fn for _, op in graph.ops()].count(operator.neg) == (f is both_negative)
    assert plain(make_function(graph)(*args)) == plain(f(*args))


class Odd:
    def __neg__(self):
        return 1.0

    def __add__(self, other):
        return 2.0


@pytest.mark.parametrize(
    "args",
    [(np.uint8([200, 3]), np.uint8([1, 2])), (np.int32([5]), np.uint8([1])), (Odd(), 1.0), (1.0, True)],
)
def test_left_alone(args):
    graph = optimised(add_negative, args)
    assert operator.neg in {op.fn for _, op in graph.ops()}
    assert plain(make_function(graph)(*args)) == plain(add_negative(*args))


def test_a_negative_that_the_array_has_outlived():
    def f(a, b):
        c = -b
        b[0] = 7.0
        return a + c

    args = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    result = make_function(optimised(f, args))(args[0].copy(), args[1].copy())
    assert plain(result) == plain(np.array([-2.0, -2.0]))


def test_a_difference_is_not_turned_round():
    def f(a, b):
        return -(a - b)

    assert plain(make_function(optimised(f, (A, A)))(A, A)) == plain(f(A, A))
    assert operator.neg in {op.fn for _, op in optimised(f, (A, A)).ops()}
