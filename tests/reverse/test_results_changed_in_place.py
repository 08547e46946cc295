"""Who changes in place what a gradient returned does not change derivatives that are still to be computed."""

import functools
from collections import deque
from types import SimpleNamespace

import numpy as np
import pytest

from ctxdispatch import ADContext, custom_rule, overdub, vjp

X = np.array([0.5, 1.0, -2.0])


def changed(y):
    """In place: every array that a caller gets hold of."""
    if isinstance(y, np.ndarray):
        y *= 3.0
        y += 1.0
    elif isinstance(y, dict):
        [changed(item) for item in y.values()]
    elif isinstance(y, (tuple, list)):
        [changed(item) for item in y]
    elif hasattr(y, "__dict__"):
        changed(vars(y))


def ones(y):
    if isinstance(y, np.ndarray):
        return np.ones_like(y)
    if isinstance(y, dict):
        return {k: ones(item) for k, item in y.items()}
    return [ones(item) for item in y] if isinstance(y, (tuple, list)) else 1.0


def view(x):
    return np.exp(x).reshape(3, 1)


def part(x):
    return np.exp(x)[1:]


def several(x):
    e = np.exp(x)
    return e, {"again": e, "other": np.tanh(x)}, [e[::-1]]


def steps(x):
    out = []
    for _ in range(3):
        x = np.tanh(x)
        out.append(x)
    return out


def last(x):
    for _ in range(3):
        x = np.tanh(x)
    return x


def at_run_time(x):
    return functools.reduce(lambda a, f: f(a), [np.exp, np.tanh], x)


def branched(x):
    return np.exp(x) if x[0] > 0 else np.sin(x)


def closure(x):
    scale = np.exp(x)

    def inner(z):
        return scale * z

    return inner(np.exp(x)), scale


@pytest.mark.parametrize(
    "f",
    [np.exp, np.tanh, np.sqrt, view, part, several, steps, last, at_run_time, branched, closure],
    ids=lambda f: f.__name__,
)
def test_results_changed_in_place(f):
    x = np.abs(X)
    y, pullback = vjp(f, x)
    expected = pullback(ones(y))
    changed(y)
    np.testing.assert_array_equal(pullback(ones(y))[0], expected[0])
    y, pullback = overdub(ADContext(), f, x)
    changed(y)
    np.testing.assert_array_equal(pullback(ones(y))[0], expected[0])


def test_a_gradient_changed_in_place():
    y, pullback = vjp(np.tanh, X)
    first = pullback(np.ones(3))[0]
    expected = first.copy()
    changed(first)
    np.testing.assert_array_equal(pullback(np.ones(3))[0], expected)


def test_the_result_is_what_the_plain_call_gives():
    """An argument that is returned is that argument."""
    x = X.copy()
    y, pullback = vjp(lambda x: (x, (x * x).sum()), x)
    assert y[0] is x
    changed(y[0])
    np.testing.assert_array_equal(pullback((None, 1.0))[0], 2 * X)


class Slotted:
    __slots__ = ("v",)

    def __init__(self, v):
        self.v = v


class Attributed:
    def __init__(self, v):
        self.v = v


@pytest.mark.parametrize("cls", [Slotted, Attributed])
def test_objects_with_arrays(cls):
    y, pullback = vjp(lambda x: cls(np.exp(x)), X)
    y.v *= 10.0
    np.testing.assert_array_equal(pullback(SimpleNamespace(v=np.ones(3)))[0], np.exp(X))


def test_pullbacks_of_the_users_rules():
    class Kept:
        __slots__ = ("y",)

        def __init__(self, y):
            self.y = y

        def __call__(self, ybar):
            return ybar * self.y

    def in_a_deque(x):
        kept = deque([np.exp(x)])
        return kept[0], lambda ybar: ybar * kept[0]

    for rule in (lambda x: (y := np.exp(x), Kept(y)), in_a_deque):
        f = lambda x: np.exp(x)  # noqa: E731
        custom_rule(f)(rule)
        y, pullback = vjp(f, X)
        y *= 10.0
        np.testing.assert_array_equal(pullback(np.ones(3))[0], np.exp(X))
        ADContext.unrule(f)


def chained(x, o):
    return np.exp(x) * o.w


def test_long_chains_of_objects_are_no_matter():
    last = Attributed(None)
    last.w = np.ones(3)
    for _ in range(3000):
        last.v = Attributed(last.v)
    y, pullback = vjp(chained, X, last)
    y *= 3.0
    np.testing.assert_array_equal(pullback(np.ones(3))[0], np.exp(X))


def many(x):
    return [np.sin(x * float(i)) for i in range(2000)]


def test_many_results():
    """Not quadratic in their number: that took seconds."""
    y, pullback = vjp(many, X)
    changed(y)
    np.testing.assert_allclose(pullback([None, np.ones(3), *[None] * 1998])[0], np.cos(X))
