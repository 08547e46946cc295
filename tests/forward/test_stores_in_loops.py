"""Changes in place in forward mode: right, under whatever name they are made, or refused where they stand."""

from collections import defaultdict, deque
from types import SimpleNamespace

import numpy as np
import pytest

from ctxdispatch import jacfwd, jvp

X = np.array([1.0, 2.0, 3.0])
LOG = []


def list_in_a_dict(x):
    d = {"a": []}
    d["a"].append(x)
    return d["a"][0] * 2.0


def list_in_a_list(x):
    rows = [[0.0]]
    rows[0][0] = x[0]
    return rows[0][0] * x


def rows_by_turns(x):
    rows = [[], []]
    for i in range(3):
        rows[i % 2].append(x[i])
    return rows[0][1] * x


def list_in_a_tuple(x):
    inner = []
    outer = (inner, 1)
    inner.append(x)
    return outer[0][0] * 3.0


def list_in_a_namespace(x):
    inner = []
    space = SimpleNamespace(items=inner)
    inner.append(x)
    return space.items[0] * 3.0


class Bag:
    def __init__(self):
        self.items = []

    def add(self, value):
        self.items.append(value)


def list_in_an_object(x):
    bag = Bag()
    bag.add(x)
    return bag.items[0] * x


def attribute_by_another_name(x):
    bag = Bag()
    same = bag
    same.value = x
    return bag.value * x


def two_names_in_a_list(x):
    a = [0.0]
    b = [a, a]
    b[0][0] = x
    return b[1][0] * 2.0


def by_a_closure(x):
    table = {}

    def put(key, value):
        table[key] = value

    put("k", x)
    return table["k"] * x


def bound_method(x):
    items = []
    put = items.append
    put(x)
    return items[0] * 2.0


def deleted(x):
    items = [x, x * x]
    del items[0]
    return items[0]


def popped(x):
    items = [x, 2.0 * x]
    return items.pop() * items[0]


def reversed_in_place(x):
    items = [x[2], x[1], x[0] * 5.0]
    items.reverse()
    return np.array(items)


def constants_in_a_buffer(x):
    buffer = np.zeros(3)
    buffer[0] = 5.0
    np.add(buffer, 1.0, out=buffer)
    return buffer * x


def log_that_is_not_read(x):
    LOG.append(x)
    return x * x


FOLLOWED = [
    list_in_a_dict, list_in_a_list, rows_by_turns, list_in_a_tuple, list_in_a_namespace, list_in_an_object,
    attribute_by_another_name, two_names_in_a_list, by_a_closure, bound_method, deleted, popped,
    reversed_in_place, constants_in_a_buffer, log_that_is_not_read,
]  # fmt: skip


@pytest.mark.parametrize("f", FOLLOWED, ids=lambda f: f.__name__)
def test_followed_under_all_names(f):
    h = 1e-6
    for direction in (np.ones(3), np.array([1.0, -2.0, 0.5])):
        expected = (f(X + h * direction) - f(X - h * direction)) / (2 * h)
        np.testing.assert_allclose(jvp(f, (X,), (direction,))[1], expected, rtol=1e-7, atol=1e-8)


def out_argument(x):
    out = np.zeros(3)
    np.multiply(x, x, out=out)
    return out


def out_by_position(x):
    out = np.zeros(3)
    np.add(x, x, out)
    return out


def out_of_a_sum(x):
    out = np.zeros(3)
    np.cumsum(x, out=out)
    return out


def copied_to(x):
    y = np.zeros(3)
    np.copyto(y, x)
    return y * 2.0


def view(x):
    y = x * 1.0
    v = y[1:]
    v += x[0] * x[0]
    return y


def other_name(x):
    y = x * 2.0
    z = y
    y += x * x
    return z


def sorted_in_place(x):
    y = np.array([3.0, 2.1, 0.9]) * x
    y.sort()
    return y


def filled(x):
    y = x * 2.0
    y.fill(0.0)
    return y


def added_at(x):
    y = x * 1.0
    np.add.at(y, [0, 0], x[:2])
    return y


def item(x):
    y = x * 1.0
    y[0] = 5.0
    return y


def log_that_is_read(x):
    LOG.append(x)
    return LOG[-1] * x


def queue(x):
    items = deque()
    items.append(x)
    return items[0] * 2.0


def default(x):
    groups = defaultdict(list)
    groups["a"].append(x)
    return groups["a"][0] * 2.0


def cleared(x):
    items = [x]
    items.clear()
    items.append(x * x)
    return items[0]


IN_PLACE = [
    out_argument, out_by_position, out_of_a_sum, copied_to, view, other_name, sorted_in_place, filled,
    added_at, item, log_that_is_read, queue, default, cleared,
]  # fmt: skip


@pytest.mark.parametrize("f", IN_PLACE, ids=lambda f: f.__name__)
def test_changes_in_place(f):
    h = 1e-6
    for direction in (np.ones(3), np.array([1.0, -2.0, 0.5])):
        expected = (f(X + h * direction) - f(X - h * direction)) / (2 * h)
        np.testing.assert_allclose(jvp(f, (X,), (direction,))[1], expected, rtol=1e-7, atol=1e-8)
    columns = [jvp(f, (X,), (unit,))[1] for unit in np.eye(3)]
    np.testing.assert_allclose(jacfwd(f)(X), np.stack(columns, -1))
