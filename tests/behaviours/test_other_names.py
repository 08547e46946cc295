"""Lists, dicts and objects that are changed by another name than that by which they are read, iterators that
are shared, closures that call themselves: in every mix of modes right or refused by name, never silently
wrong.
"""

import numpy as np
import pytest
from numpy.polynomial import Polynomial

from ctxdispatch import grad, jvp
from ctxdispatch_contexts.reverse import DerivativeError


def plus_assigned(x):
    xs = [1.0]
    xs += [x * x]
    return xs[1] * x


def plus_assigned_in_a_loop(x):
    out = []
    for _ in range(2):
        out += [x * x]
    return out[0] * x


def plus_assigned_by_another_name(x):
    xs = [x]
    ys = xs
    ys += (x * x, 2.0)
    return xs[1] * x


def appended_by_a_closure(x):
    xs = [x]

    def add(v):
        xs.append(v)

    add(x * x)
    return xs[1] * x


def read_by_a_closure(x):
    xs = [1.0]
    f = lambda: xs  # noqa: E731
    xs.append(x * x)
    return f()[1] * x


class Log:
    def __init__(self):
        self.xs = []

    def add(self, v):
        self.xs.append(v)


def appended_by_a_method(x):
    log = Log()
    log.add(x * x)
    return log.xs[0] * x


def held_by_a_dict(x):
    xs = [x, 2.0]
    d = {"a": xs}
    d["a"].append(x * x)
    return xs[2] * x


def held_by_keyword(x):
    xs = [x]
    d = dict(a=xs)
    d["a"].append(x * x)
    return xs[1] * x


def asked_of_a_dict(x):
    xs = [x]
    d = {"a": xs}
    d.get("a").append(x * x)
    return xs[1] * x


def walked(x):
    xs = [x]
    d = {"a": xs}
    for ys in d.values():
        ys.append(x * x)
    return xs[1] * x


def twice_in_a_list(x):
    xs = [x]
    both = [xs] * 2
    both[1].append(x * x)
    return xs[1] * x


def unpacked(x):
    xs = [x]
    *_, last = [xs]
    last.append(x * x)
    return xs[1] * x


def in_a_copy(x):
    xs = [x]
    d = {"a": xs}.copy()
    d["a"].append(x * x)
    return xs[1] * x


def read_again(x):
    d = {"a": [x]}
    d["a"].append(x * x)
    return d["a"][1] * x


def by_index_in_a_loop(x):
    rows = [[x], [x]]
    for i in range(2):
        rows[i].append(x * x)
    return rows[0][1] * rows[1][0]


def appended_to_what_was_appended(x):
    rows = []
    rows.append([x])
    rows[0].append(x * x)
    return rows[0][1] * x


def rows_of_a_loop(x):
    rows = []
    for _ in range(3):
        row = []
        row.append(x * x)
        rows.append(row)
    return rows[0][0] * rows[2][0]


def stored_to_a_slice(x):
    q = [x, x * x]
    a = q[:1]
    a[0] = 2.0 * x
    return a[0] * q[0]


def one_iterator_two_loops(x):
    items, s = iter([x, x * x, x**3]), 0.0
    for a in items:
        s += a
        break
    for b in items:
        s += 5 * b
    return s


def one_iterator_in_a_loop(x):
    items, s = iter([x, x * x, x**3, x]), 0.0
    for i in range(2):
        for a in items:
            s += a * (i + 1)
            break
    return s


def zipped_with_itself(x):
    items, s = iter([x, x * x, x**3, x]), 0.0
    for a, b in zip(items, items):
        s += a * b * b
    return s


def recursive_closure(x):
    def rec(n, v):
        return v if n == 0 else rec(n - 1, v) * x

    return rec(3, 1.0)


def recursive_closure_with_accumulator(x):
    def rec(n, v):
        return v if n == 0 else rec(n - 1, v * x)

    return rec(3, 1.0)


def recursive_closure_with_default(x):
    def rec(n, v, y=x):
        return v if n == 0 else rec(n - 1, v * y) * x

    return rec(2, 1.0)


def recursive_closure_twice(x):
    def rec(n):
        return x if n <= 0 else rec(n - 1) * rec(n - 2)

    return rec(3)


FUNCTIONS = [f for f in list(globals().values()) if getattr(f, "__code__", None) and f.__module__ == __name__]
RIGHT_FORWARD = {f.__name__ for f in FUNCTIONS} - {
    "plus_assigned_in_a_loop", "stored_to_a_slice"
}  # fmt: skip
RIGHT_IN_REVERSE = {f.__name__ for f in FUNCTIONS if "recursive" in f.__name__} | {"rows_of_a_loop"}


def forward(f):
    return lambda x: jvp(f, (x,), (1.0,))[1]


@pytest.mark.parametrize("mix", ["r", "f", "rr", "rf", "fr", "ff"])
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_right_or_refused(f, mix):
    derivative = f
    for mode in mix:
        derivative = grad(derivative) if mode == "r" else forward(derivative)
    expected = f(Polynomial([0.0, 1.0])).deriv(len(mix))(1.5)
    certain = {"r": RIGHT_IN_REVERSE, "f": RIGHT_FORWARD}.get(mix, ())
    try:
        found = derivative(1.5)
    except DerivativeError as refusal:
        assert f.__name__ not in certain, refusal
        assert f"{__file__}:" in str(refusal)
    else:
        assert found == pytest.approx(expected, rel=1e-12)


def test_an_array_that_comes_by_the_only_item_of_an_iterator():
    def f(x):
        a = np.zeros(3)
        b = next(iter([a]))
        read = {}
        for j in range(2):
            np.add(x, 1.0, b)
            read[j] = b[0]
        return (a * read[0]).sum()

    x = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(jvp(f, (x,), (np.array([1.0, 0.0, 0.0]),))[1], 11.0)
