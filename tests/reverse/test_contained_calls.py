"""Calls of recursive functions that change nothing, of what is stored to before, between and after them."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from ctxdispatch import grad, hessian, jacfwd


def of_object(s, n):
    return s.v if n == 0 else s.v * of_object(s, n - 1)


def of_lists(xs, n):
    return xs[0][0] if n == 0 else xs[0][0] * of_lists(xs, n - 1)


def of_dict(d, n):
    return d["a"] if n == 0 else d["b"] * of_dict(d, n - 1)


def of_array(a, n):
    return np.sum(a) if n == 0 else of_array(a * a, n - 1) + a[0]


def itself(xs, n):
    return xs if n == 0 else itself(xs, n - 1)


def view(a, n):
    return a[1:] if n == 0 else view(a, n - 1)


def into_a_copy(a, n):
    if n == 0:
        return np.sum(a)
    b = a.copy()
    b[0] = b[0] * b[1]
    return into_a_copy(b, n - 1) + a[0]


def taking(items, n):
    return next(items) if n == 0 else next(items) * taking(items, n - 1)


def object_between(x):
    s = SimpleNamespace(v=x)
    y = of_object(s, 3)
    s.v = x * x
    return y + of_object(s, 2)


def lists_between(x):
    a = [x]
    xs = [a]
    y = of_lists(xs, 2)
    a[0] = x * x
    z = of_lists(xs, 2)
    xs[0] = [x + 1.0]
    return y + z * of_lists(xs, 1)


def dict_between(x):
    d = {"a": x, "b": x * 2}
    y = of_dict(d, 2)
    d["a"] = math.sin(x)
    d["b"] = y
    return y * of_dict(d, 2)


def array_between(x):
    a = np.array([x, x * x, 1.0])
    y = of_array(a, 2)
    a[1] = y
    a *= 0.5
    return of_array(a, 2) * y


def list_that_comes_back(x):
    xs = [x, x * x]
    ys = itself(xs, 3)
    ys.append(x * 3)
    ys[0] = x * ys[0]
    return sum(xs) + xs[0]


def view_that_comes_back(x):
    a = np.array([x, x * x, 1.0])
    v = view(a, 3)
    v[0] = x * 3
    v *= 2.0
    return np.sum(a) * a[1]


def copies_inside(x):
    a = np.array([x, x * x])
    return into_a_copy(a, 3) + np.sum(a * a)


def an_iterator(x):
    items = iter([x, x * x, x + 1.0, 2 * x])
    y = taking(items, 1)
    return y + taking(items, 1) * x


PROGRAMS = [
    object_between, lists_between, dict_between, array_between, list_that_comes_back, view_that_comes_back,
    copies_inside, an_iterator,
]  # fmt: skip


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_what_is_stored_is_seen(f):
    x, step = 0.7, 1e-4
    first = (f(x + 1e-6) - f(x - 1e-6)) / 2e-6
    second = (f(x + step) - 2 * f(x) + f(x - step)) / step**2
    for derivative, want, rel in (
        (grad(f), first, 1e-6),
        (jacfwd(f), first, 1e-6),
        (hessian(f), second, 1e-4),
    ):
        for _ in range(2):
            assert derivative(x) == pytest.approx(want, rel=rel)
