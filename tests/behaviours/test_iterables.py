"""What is gone through, by what goes through it: derivatives against central differences.

Each pair is a function of its own, compiled in reverse and in forward mode, and recorded: what code of the
user's computes of items is followed wherever C code takes them. Those in `REFUSED` may be refused instead.
"""

import array
import collections
import functools
import heapq
import itertools
import math
import statistics

import numpy as np
import pytest

from ctxdispatch import grad, jvp
from ctxdispatch_contexts.programs.errors import DerivativeError

X = np.array([0.83, 1.37, 1.6])

# -- iterables ------------------------------------------------------------------------------------


class Holding:
    def __init__(self, values):
        self.values = values


class Generating(Holding):
    def __iter__(self):
        for v in self.values:
            yield v * v


class Delegating(Holding):
    def __iter__(self):
        yield from Generating(self.values)


class OfList(Holding):
    def __iter__(self):
        return iter([v * v for v in self.values])


class Stepping(Holding):
    taken = 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.taken >= len(self.values):
            raise StopIteration
        self.taken += 1
        return self.values[self.taken - 1] ** 2


class Apart(Holding):
    def __iter__(self):
        return Stepping(self.values)


class Either(Holding):
    def __iter__(self):
        return Stepping(self.values) if self.values[0] > 0.5 else iter([v * v for v in self.values])


class Indexed(Holding):
    def __len__(self):
        return len(self.values)

    def __getitem__(self, i):
        if i >= len(self.values):
            raise IndexError(i)
        return self.values[i] ** 2


def generated(x):
    for v in x:
        yield v * v


def found(x):
    """An object that only run time knows."""
    return [Holding(Stepping(x)), Holding(3)][int(x[1] > 9)].values


ITERABLES = {
    "generating": Generating, "delegating": Delegating, "of list": OfList, "stepping": Stepping,
    "apart": Apart, "either": Either, "indexed": Indexed, "found": found, "array": lambda x: x * x,
    "rows": lambda x: (x * x).reshape(3, 1), "flat": lambda x: (x * x).flat,
    "map": lambda x: map(lambda v: v * v, x), "generator": generated,
    "values": lambda x: {i: v * v for i, v in enumerate(x)}.values(),
    "deque": lambda x: collections.deque(v * v for v in x),
    "UserList": lambda x: collections.UserList([v * v for v in x]),
    "set": lambda x: {v * v for v in x}, "filter": lambda x: filter(lambda v: True, x * x),
    "ChainMap": lambda x: collections.ChainMap({i: v * v for i, v in enumerate(x)}).values(),
}  # fmt: skip

# -- what goes through them -----------------------------------------------------------------------


def weighted(items):
    total = 0.0
    for item, weight in zip(items, (1.0, 2.0, 3.0)):
        total = total + item * weight
    return np.sum(total)


def looped(items):
    total, weight = 0.0, 1.0
    for v in items:
        total = total + weight * v
        weight = weight + 1.0
    return np.sum(total)


def extended(items):
    out = []
    out.extend(items)
    return weighted(out)


def added(items):
    out = [0.0]
    out += items
    return weighted(out[1:])


def added_by_name(items):
    return weighted([0.0].__iadd__(items)[1:])


def added_to_deque(items):
    out = collections.deque()
    out += items
    return weighted(out)


def stored(items):
    out = [0.0] * 5
    out[1:2] = items
    return weighted(out[1:])


def stored_by_steps(items):
    out = [0.0] * 6
    out[::2] = items
    return weighted(out[::2])


def unpacked(items):
    a, *b = items
    return weighted([a, *b])


def delegated(items):
    def through():
        yield from items

    return weighted(through())


CONSUMERS = {
    "for": looped, "list": lambda o: weighted(list(o)),
    "sum": lambda o: np.sum(sum(o)), "min": lambda o: np.sum(min(o)),
    "sorted": lambda o: weighted(sorted(o)), "zip": weighted,
    "enumerate": lambda o: np.sum(sum([(i + 1) * v for i, v in enumerate(o)])),
    "map": lambda o: weighted(map(np.sin, o)), "filter": lambda o: weighted(filter(None, o)),
    "chain": lambda o: weighted(itertools.chain(o, ())),
    "from_iterable": lambda o: weighted(itertools.chain.from_iterable([o, ()])),
    "accumulate": lambda o: weighted(itertools.accumulate(o)),
    "islice": lambda o: weighted(itertools.islice(o, 1, None)), "display": lambda o: weighted([*o]),
    "call": lambda o: (lambda *items: weighted(items))(*o), "unpack": unpacked, "extend": extended,
    "+=": added, "iadd": added_by_name, "deque +=": added_to_deque, "slice": stored,
    "steps": stored_by_steps, "np.array": lambda o: weighted(np.array(list(o))), "fsum": math.fsum,
    "prod": lambda o: np.sum(math.prod(o)), "fmean": statistics.fmean, "yield from": delegated,
    "comprehension": lambda o: weighted([v * 2 for v in o]),
    "dict": lambda o: weighted(dict(zip("abc", o)).values()),
    "reduce": lambda o: np.sum(functools.reduce(lambda a, b: a * b, o)),
    "array.array": lambda o: weighted(array.array("d", o)),
    "fromiter": lambda o: weighted(np.fromiter(o, float)), "merge": lambda o: weighted(heapq.merge(o, [9.0])),
    "asarray": lambda o: weighted(np.asarray(o, float)), "set": lambda o: np.sum(sum({*o})),
}  # fmt: skip

REFUSED = {"either", "found", "values"}
"""What only run time knows: right or refused."""


def of_its_own(make, consume, recorded):
    """A function of new code, for which nothing has been compiled yet."""
    body = "consume(make(x)) * x[2]"
    handled = f"    try:\n        return {body}\n    except ZeroDivisionError:\n        return 0.0\n"
    source = "def f(x):\n" + (handled if recorded else f"    return {body}\n")
    namespace = {"make": make, "consume": consume}
    exec(compile(source, f"<of its own {next(NUMBERS)}>", "exec"), namespace)
    return namespace["f"]


NUMBERS = itertools.count()


def tangents(f):
    return [jvp(f, (X.copy(),), (e,))[1] for e in np.eye(3)]


MODES = {
    "reverse": lambda make, consume: grad(of_its_own(make, consume, False))(X.copy()),
    "forward": lambda make, consume: tangents(of_its_own(make, consume, False)),
    "recorded": lambda make, consume: grad(of_its_own(make, consume, True))(X.copy()),
}


def differences(f, h=1e-6):
    try:
        return [(f(X + h * e) - f(X - h * e)) / (2 * h) for e in np.eye(3)]
    except (TypeError, ValueError):
        return None  # it does not go through that


def pairs():
    """One mode each, so that each consumer meets each mode, and each iterable does."""
    for i, iterable in enumerate(ITERABLES):
        for j, consumer in enumerate(CONSUMERS):
            yield iterable, consumer, [*MODES][(i + j) % 3]


@pytest.mark.parametrize(("iterable", "consumer", "mode"), [*pairs()])
def test_items_are_followed_through(iterable, consumer, mode):
    make, consume = ITERABLES[iterable], CONSUMERS[consumer]
    expected = differences(of_its_own(make, consume, False))
    if expected is None:
        return
    try:
        found = MODES[mode](make, consume)
    except DerivativeError:
        assert (iterable in REFUSED and mode != "recorded") or (iterable, consumer) in NOT_YET
        return
    assert np.allclose(found, expected, rtol=1e-4, atol=1e-5)


NOT_YET = {("rows", "deque +="), ("array", "deque +=")}
"""The array adds the deque, as NumPy does with what it takes for a sequence."""
