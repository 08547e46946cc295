"""`map` and `filter` call their function as their items are taken: where not all are taken at once, it is
called for those that are."""

import operator

import numpy as np
import pytest

from ctxdispatch import grad, jvp, value_and_grad
from tests.reverse.test_followed_stores import compiled  # noqa: F401

X = np.array([1.5, 2.0, 3.0])


def square(v):
    return v * v


def fails(v):
    raise KeyError(v)


class Counts:
    def __init__(self):
        self.calls = 0

    def __call__(self, v):
        self.calls += 1
        return v * v


def never_taken(x, count):
    map(fails, x)
    filter(fails, [x[0]])
    return x[0] * 2.0


def of_what_cannot_be_called(x, count):
    map("d", x, x)
    filter((x[0], x[1]), {"a": x[0]})
    return x[1] * 3.0


def one_item(x, count):
    squares = map(count, x)
    return next(squares) * (count.calls + 1.0)


def two_of_three(x, count):
    first, second = zip(map(count, x), "ab")
    return first[0] * second[0] * count.calls


def of_a_helper(x, count):
    return next(squares_of(x, count)) * count.calls


def squares_of(x, count):
    return map(count, x)


def through_a_function(x, count):
    return first_of(map(count, x)) + count.calls * x[1]


def first_of(items):
    return next(items)


def kept_in_a_list(x, count):
    kept = [map(count, x)]
    return next(kept[0]) * count.calls * x[2]


PROGRAMS = [
    never_taken, of_what_cannot_be_called, one_item, two_of_three, of_a_helper, through_a_function,
    kept_in_a_list,
]  # fmt: skip


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_as_in_plain_code(f):
    def g(x):
        return f(x, Counts())

    plain, wanted = g(X), [(g(X + 1e-6 * e) - g(X - 1e-6 * e)) / 2e-6 for e in np.eye(3)]
    value, found = value_and_grad(g)(X)
    assert value == plain
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(jvp(g, (X,), (np.ones(3),))[1], np.sum(wanted), rtol=1e-6)


def total(items):
    result = 0.0
    for item in items:
        result = result + item
    return result


def chosen(x):
    items = map(square, x) if x[0] > 0.0 else map(abs, x)
    return sum(items)


TAKEN = {
    "summed": lambda x: sum(map(square, x)),
    "by a helper": lambda x: total(map(square, x)),
    "listed": lambda x: operator.mul([*map(square, x)][0], x[1]),
    "of pairs": lambda x: sum([a * b for a, b in zip(map(square, x), x)]),
    "of two branches": chosen,
}


@pytest.mark.parametrize("name", TAKEN)
def test_what_is_taken_whole_has_a_program(name, compiled):  # noqa: F811
    f = TAKEN[name]
    wanted = [(f([*(X + 1e-6 * e)]) - f([*(X - 1e-6 * e)])) / 2e-6 for e in np.eye(3)]
    np.testing.assert_allclose(grad(f)([*X]), wanted, rtol=1e-6)
