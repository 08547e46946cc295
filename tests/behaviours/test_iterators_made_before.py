"""Iterators that were there before the run: what they compute is followed, a constant, or refused."""

import functools
import itertools
import math
import operator
import random

import numpy as np
import pytest

from ctxdispatch import DerivativeError, grad, jacfwd, jacobian_sparsity
from ctxdispatch_contexts.sparsity import SparsityError
from tests.behaviours.behaviour_checks import recorded
from tests.behaviours.foreign_calls import MORE

STATE = [0.0]


def square_of_global(*_):
    return STATE[0] * STATE[0]


def square_of(held, _):
    return held[0] * held[0]


class Indexed:
    def __init__(self, held):
        self.held = held

    def __getitem__(self, i):
        return self.held[0] * self.held[0]


class Stepped(Indexed):
    def __iter__(self):
        return self

    def __next__(self):
        return self[0]


def generated(held):
    while True:
        yield held[0] * held[0]


def generated_of_global():
    while True:
        yield square_of_global()


SOURCES = {
    "callable": lambda held: iter(lambda: held[0] * held[0], None),
    "by index": lambda held: iter(Indexed(held)),
    "map": lambda held: map(lambda _: held[0] * held[0], itertools.count()),
    "map of a partial": lambda held: map(functools.partial(square_of, held), itertools.count()),
    "map of a method": lambda held: map(Indexed(held).__getitem__, itertools.count()),
    "map of a C function": lambda held: map(math.exp, itertools.chain(held, held, held)),
    "map of an operator": lambda held: map(operator.mul, itertools.chain(held * 3), itertools.repeat(3.0)),
    "starmap": lambda held: itertools.starmap(lambda a, b: a * b, zip(held * 8, held)),
    "groupby": lambda held: (k for k, _ in itertools.groupby(range(4), lambda i: held[0] ** 2 * i)),
    "accumulate": lambda held: itertools.accumulate(itertools.chain(held, held, held)),
    "generator": generated,
    "by a global": lambda held: map(square_of_global, itertools.count()),
    "generator by a global": lambda held: generated_of_global(),
    "user's iterator": lambda held: Stepped(held),
}
AROUND = {
    "itself": lambda it: it,
    "chain": lambda it: itertools.chain(it),
    "islice": lambda it: itertools.islice(it, 9),
    "zip": lambda it: (a for a, _ in zip(it, itertools.count())),
    "zip_longest": lambda it: (a for a, _ in itertools.zip_longest(it, [1.0])),
    "tee": lambda it: itertools.tee(it)[1],
    "enumerate": lambda it: map(operator.itemgetter(1), enumerate(it)),
    "takewhile": lambda it: itertools.takewhile(lambda v: True, it),
}
TAKEN = {
    "next": lambda it: next(it),
    "loop": lambda it: next(v for v in it),
    "islice": lambda it: sum(itertools.islice(it, 2)),
    "unpacked": lambda it: (lambda a, b: a + b)(*itertools.islice(it, 2)),
    "zip": lambda it: sum(a * b for a, b in zip(it, [1.0, 2.0])),
    "tee": lambda it: next(itertools.tee(it)[0]),
}


def value(source, around, take, x):
    """Of a fresh iterator, made before x is known."""
    held = STATE
    held[0] = 0.0
    it = AROUND[around](SOURCES[source](held))
    held[0] = x
    return TAKEN[take](it)


CROSS = [*itertools.product(SOURCES, AROUND, TAKEN, ("compiled", "recorded"))]
random.Random(0).shuffle(CROSS)


@pytest.mark.parametrize("source, around, take, way", CROSS[: 40 * MORE])
def test_made_before_the_run(source, around, take, way):
    """`STATE` is filled by the run."""
    try:
        plus, minus = (value(source, around, take, 1.5 + h) for h in (1e-6, -1e-6))
    except (StopIteration, TypeError, ValueError):
        return
    for mode in (grad, jacfwd):
        STATE[0] = 0.0
        it = AROUND[around](SOURCES[source](STATE))

        def f(x):
            STATE[0] = x
            return TAKEN[take](it)

        try:
            found = mode(recorded(f) if way == "recorded" else f)(1.5)
        except DerivativeError:
            continue
        assert np.isclose(found, (plus - minus) / 2e-6, rtol=1e-4), mode.__name__


FOLLOWED = [*itertools.product(("map", "starmap", "accumulate", "generator", "callable", "by index"), AROUND)]
random.Random(1).shuffle(FOLLOWED)


@pytest.mark.parametrize("source, around", FOLLOWED[: 10 * MORE])
def test_made_in_the_run(source, around):
    """The same iterators of the run's own are followed, after items were taken and by copies."""

    def f(x):
        it = AROUND[around](SOURCES[source]([x, x * x]))
        first = next(it)
        a, b = itertools.tee(itertools.islice(it, 1))
        return first + sum(a) * sum(b)

    central = (f(1.5 + 1e-6) - f(1.5 - 1e-6)) / 2e-6
    for mode in (grad, jacfwd):
        try:
            assert np.isclose(mode(f)(1.5), central, rtol=1e-4)
        except DerivativeError:
            assert source == "by index"


def test_batches_made_before_the_run_are_constants():
    batches = (np.arange(3.0) * k for k in range(9))
    weights = map(float, range(9))

    def loss(w):
        return np.sum(next(batches) * w) + next(weights) * w

    assert [grad(loss)(2.0) for _ in range(3)] == [0.0, 4.0, 8.0]


def test_half_filled_tuples_of_iterators_are_not_looked_into():
    def f(x):
        it, s = itertools.zip_longest([x, x], [x], [], fillvalue=0.5), 0.0
        for a, b, c in iter(functools.partial(next, it, None), None):
            s = s + a * b * c
        return s

    assert grad(f)(2.0) == jacfwd(f)(2.0) == 2.25 + 0.25 - 0.25


THROUGH = {
    "map": lambda it: map(lambda v: v + 1.0, it),
    "filter": lambda it: filter(None, it),
    "enumerate": enumerate,
    "zip": zip,
    "chain": lambda it: itertools.chain(it, [1.0]),
    "islice": lambda it: itertools.islice(it, 1),
    "accumulate": itertools.accumulate,
    "cycle": itertools.cycle,
    "expression": lambda it: (v for v in it),
}


@pytest.mark.parametrize("taken", [0, 1, 2])
@pytest.mark.parametrize("name", THROUGH)
def test_items_that_another_iterator_leaves(name, taken):
    def f(x):
        it = iter([x, x * x, 2.0 * x])
        other = THROUGH[name](it)
        for _ in range(taken):
            next(other, None)
        return next(it, 0.0)

    central = (f(1.5 + 1e-6) - f(1.5 - 1e-6)) / 2e-6
    for mode in (grad, jacfwd, lambda f: lambda x: jacobian_sparsity(f, x).toarray() * central):
        try:
            assert np.isclose(mode(f)(1.5), central)
        except (DerivativeError, SparsityError):
            continue
