"""Functions of `itertools` as generators: programs put them around the loop that goes through them
(`passes/generators.py`), so each item is taken when it was taken."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable
from typing import Any

from ctxdispatch.ir.registry import Registry

GENERATORS: Registry[Callable[..., Any]] = Registry()
"""By what they stand for."""


def enumerated(iterable, start=0):
    """`enumerate` of a generator."""
    for item in iterable:
        yield start, item
        start = start + 1


def mapped(function, iterable, /):
    """`map` in a loop."""
    for item in iterable:
        yield function(item)


def filtered(function, iterable, /):
    """`filter` in a loop."""
    for item in iterable:
        if item if function is None else function(item):
            yield item


def backwards(array, /):
    """`reversed` of an array."""
    for i in range(len(array) - 1, -1, -1):
        yield array[i]


def neighbours(sequence, /):
    """`itertools.pairwise` of an array or tuple."""
    for i in range(len(sequence) - 1):
        yield sequence[i], sequence[i + 1]


@GENERATORS.of(itertools.pairwise)
def pairwise(iterable, /):
    before, is_first = None, True
    for item in iterable:
        if is_first:
            is_first = False
        else:
            yield before, item
        before = item


@GENERATORS.of(itertools.chain)
def chain(*iterables):
    for iterable in iterables:
        yield from iterable


@GENERATORS.of(itertools.islice)
def islice(iterable, start, /, *rest):
    first, end, step = (start, *rest, None)[:3] if rest else (0, start, None)
    first, step = 0 if first is None else first, 1 if step is None else step
    if first < 0 or step < 1 or (end is not None and end < 0):
        raise ValueError("Indices for islice() must be None or an integer: 0 <= x <= sys.maxsize.")
    if end == 0 and first == 0:
        return
    for i, item in enumerate(iterable):
        if i >= first and (i - first) % step == 0 and (end is None or i < end):
            yield item
        if end is not None and i + 1 >= max(end, first):
            return


@GENERATORS.of(itertools.accumulate)
def accumulate(iterable, func=None, *, initial=None):
    combine = operator.add if func is None else func
    if initial is not None:
        total = initial
        yield total
        for item in iterable:
            total = combine(total, item)
            yield total
        return
    total, is_first = None, True
    for item in iterable:
        if is_first:
            total, is_first = item, False
        else:
            total = combine(total, item)
        yield total


@GENERATORS.of(itertools.takewhile)
def takewhile(predicate, iterable, /):
    for item in iterable:
        if not predicate(item):
            return
        yield item


@GENERATORS.of(itertools.dropwhile)
def dropwhile(predicate, iterable, /):
    is_dropping = True
    for item in iterable:
        if is_dropping and predicate(item):
            continue
        is_dropping = False
        yield item


@GENERATORS.of(itertools.filterfalse)
def filterfalse(function, iterable, /):
    for item in iterable:
        if not (item if function is None else function(item)):
            yield item


@GENERATORS.of(itertools.compress)
def compress(data, selectors):
    for item, is_chosen in zip(data, selectors):
        if is_chosen:
            yield item


@GENERATORS.of(itertools.starmap)
def starmap(function, iterable, /):
    for args in iterable:
        yield function(*args)


@GENERATORS.of(itertools.repeat)
def repeat(object, times=None):
    if times is None:
        while True:
            yield object
    for _ in range(times):
        yield object


@GENERATORS.of(itertools.combinations)
def combinations(iterable, r):
    pool = list(iterable)
    if r == 2:
        for i in range(len(pool)):
            for j in range(i + 1, len(pool)):
                yield pool[i], pool[j]
        return
    for indices in itertools.combinations(range(len(pool)), r):
        yield tuple([pool[i] for i in indices])


@GENERATORS.of(itertools.permutations)
def permutations(iterable, r=None):
    pool = list(iterable)
    for indices in itertools.permutations(range(len(pool)), r):
        yield tuple([pool[i] for i in indices])


@GENERATORS.of(itertools.combinations_with_replacement)
def combinations_with_replacement(iterable, r):
    pool = list(iterable)
    for indices in itertools.combinations_with_replacement(range(len(pool)), r):
        yield tuple([pool[i] for i in indices])
