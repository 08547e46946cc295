"""Iterators that functions are given: who goes through them, when, and what is left of them."""

import collections
import contextlib
import itertools
import math
import statistics

import numpy as np
import pytest

from ctxdispatch import DerivativeError, grad, jvp, value_and_grad
from tests.recording import RECORDED, recorded

X = np.array([0.5, 1.0, -2.0])

ITERATORS = {
    "generator": lambda x: (2.0 * p for p in x), "map": lambda x: map(np.sin, x), "iter": iter,
    "items": lambda x: iter([*x]), "zip": lambda x: zip(x, x), "flat": lambda x: x.flat,
}  # fmt: skip
FUNCTIONS = {
    "array": np.array, "asarray": np.asarray, "sum": np.sum, "mean": np.mean, "any": np.any,
    "stack": np.stack, "vstack": np.vstack, "hstack": np.hstack, "concatenate": np.concatenate,
    "prod": np.prod, "add": lambda a: np.add(a, X), "dot": lambda a: np.dot(a, X),
    "full": lambda a: np.full(2, a), "where": lambda a: np.where([True, False, True], a, X),
    "copy": np.copy, "fsum": math.fsum,
    "builtin sum": sum, "product": math.prod, "max": max, "statistics": statistics.mean, "ravel": np.ravel,
    "fromiter": lambda a: np.fromiter(a, float), "atleast_1d": np.atleast_1d, "shape": np.shape,
}  # fmt: skip


def _read(out):
    """What it is, and its numbers."""
    if isinstance(out, np.ndarray) and out.dtype == float:
        return out.sum()
    return out if isinstance(out, float) else 1.0


@pytest.mark.every(24)
@pytest.mark.parametrize("iterator", [*ITERATORS])
@pytest.mark.parametrize("function", [*FUNCTIONS])
def test_what_is_left_of_it(function, iterator):
    """As plainly, or refused."""
    call, make = FUNCTIONS[function], ITERATORS[iterator]

    def program(x):
        given = make(x)
        read = _read(call(given))
        left = [_read(item) if not isinstance(item, tuple) else item[0] for item in given]
        return read * x[0] + len(left) + sum(left)

    for f in (program, recorded(program)):
        try:
            want = f(X.copy())
        except (TypeError, ValueError):
            with pytest.raises((TypeError, ValueError, DerivativeError)):
                grad(f)(X.copy())
            continue
        try:
            gradient, (value, along) = grad(f)(X.copy()), jvp(f, (X.copy(),), (np.ones(3),))
        except DerivativeError:
            continue
        np.testing.assert_allclose(value, want)
        differences = [(f(X + e) - f(X - e)) / 2e-5 for e in 1e-5 * np.eye(3)]
        np.testing.assert_allclose(gradient, differences, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(along, sum(differences), rtol=1e-6, atol=1e-8)


@pytest.mark.every(12)
@pytest.mark.parametrize(
    "reader",
    [
        lambda items, x: sum(items, x), lambda items, x: sum(items, start=x),
        lambda items, x: math.prod(items, start=x),
        lambda items, x: [*itertools.accumulate(items, initial=x)][-1],
    ],
)  # fmt: skip
@pytest.mark.parametrize("through", [lambda g: g, lambda g: map(np.negative, g), iter])
def test_the_first_operand_is_read_with_the_first_item(reader, through):
    def program(x):
        def stored():
            for i in range(3):
                x[i] = 2.0 * x[i - 1]
                yield x

        return np.sum(reader(through(stored()), x) ** 2)

    want = np.array([(program(X + e) - program(X - e)) / 2e-5 for e in 1e-5 * np.eye(3)])
    for f in (program, recorded(program)):
        np.testing.assert_allclose(grad(f)(X.copy()), want, rtol=1e-6, atol=1e-5)
        assert f(X.copy()) == jvp(f, (X.copy(),), (X,))[0]


def test_functions_beside_an_iterator_run_once():
    calls = []

    def halved(v):
        calls.append(1)
        return 0.5 * v

    def program(x):
        calls.clear()
        there = np.array([True, False, True])
        return np.piecewise(x[::1].flat, [there], [halved, 0.0]).sum() * len(calls)

    with contextlib.suppress(DerivativeError):
        assert value_and_grad(program)(X)[0] == program(X)


TABLES = {
    "dict.update": (lambda v: {"a": v}, lambda c, g: c.update(g), True),
    "|=": (lambda v: {"a": v}, lambda c, g: c.__ior__(g), True),
    "set.update": (lambda v: {v}, lambda c, g: c.update(g), False),
    "difference": (lambda v: {v, 5.0}, lambda c, g: c.difference_update(g), False),
    "intersection": (lambda v: {v, 5.0}, lambda c, g: c.intersection_update(g), False),
    "symmetric": (lambda v: {v}, lambda c, g: c.symmetric_difference_update(g), False),
    "new": (lambda v: {v, 5.0}, lambda c, g: c.intersection(g), False),
    "list.extend": (lambda v: [v], lambda c, g: c.extend(g), False),
    "+=": (lambda v: [v], lambda c, g: c.__iadd__(g), False),
    "slice": (lambda v: [v], lambda c, g: c.__setitem__(slice(0, 1), g), False),
    "deque": (lambda v: collections.deque([v]), lambda c, g: c.extendleft(g), False),
    "defaultdict": (lambda v: collections.defaultdict(float), lambda c, g: c.update(g), True),
    "OrderedDict": (lambda v: collections.OrderedDict(a=v), lambda c, g: c.update(g), True),
    "Counter": (lambda v: collections.Counter(), lambda c, g: c.update(g), False),
}
"""What is made of a number, gone through and changed; whether items are pairs."""


@pytest.mark.every(6)
@pytest.mark.parametrize("raises", [False, True])
@pytest.mark.parametrize("kind", [*TABLES])
def test_what_is_filled_one_by_one(kind, raises):
    """The iterator reads it meanwhile, and may raise."""
    make, fill, pairs = TABLES[kind]

    def program(x):
        with RECORDED:
            table, log = make(x[0] * 2.0), []

            def items():
                for i in range(4):
                    value = x[i % 3] * 2.0 + (i % 2) * len(table)
                    log.append(value)
                    yield ("ab"[i % 2], table.get("a", 1.0) * value) if pairs else value
                if raises:
                    raise KeyError

            with contextlib.suppress(KeyError):
                fill(table, items())
            found = table.values() if isinstance(table, dict) and pairs else table
            return sum(found, start=x[1]) + sum(log) * x[2]

    want = np.array([(program(X + e) - program(X - e)) / 2e-5 for e in 1e-5 * np.eye(3)])
    y, gradient = value_and_grad(program)(X.copy())
    np.testing.assert_allclose(y, program(X))
    np.testing.assert_allclose(gradient, want, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(jvp(program, (X,), (np.ones(3),))[1], want.sum(), rtol=1e-6, atol=1e-7)


LEFT = {}


@pytest.mark.parametrize("kind", [k for k in TABLES if "=" in k or "." in k or "dict" in k.lower()])
def test_what_an_iterator_has_left(kind):
    make, fill, pairs = TABLES[kind]
    LEFT[kind] = make(0.0)

    def program(x):
        fill(LEFT[kind], ((i, 2.0 * v) if pairs else 2.0 * v for i, v in enumerate(x)))
        return x[0]

    grad(program)(X)
    with pytest.raises(DerivativeError, match="an earlier run"):
        grad(lambda x: x[0] * max(LEFT[kind].values() if pairs else LEFT[kind]))(X)
