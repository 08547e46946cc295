"""Builtins and functions of `math` and `operator` that are differentiated as Python code: the same meaning,
in terms of what has a derivative.

Each takes the parameters of what it stands for. Iterators come back as iterators over a finished list: what
the functions called on the way do, they do at once.
"""

from __future__ import annotations

import builtins
import cmath
import functools
import math
import operator

import numpy as np

from ctxdispatch.facts import says
from ctxdispatch_contexts.derivatives.linear import spread, unbroadcast
from ctxdispatch_contexts.derivatives.registry import lower, vjp

MISSING = object()

# -- builtins ------------------------------------------------------------------------------------------------


@lower(builtins.sum)
def sum_(iterable, /, start=0):
    """Of numbers and arrays `sum` itself, which has a rule; of anything else, one after the other."""
    items = list(iterable)
    if len(items) == 0:
        return start
    if isinstance(items[0], NUMERIC) and isinstance(start, NUMERIC):
        return sum_of(items, start)
    total = start
    for item in items:
        total = total + item
    return total


NUMERIC = (int, float, complex, np.ndarray, np.generic)


@says(known=False)
def sum_of(items, start):
    """`sum` itself, for numbers and arrays: it adds floats exacter than one after the other."""
    return sum(items, start)


@vjp(builtins.sum, sum_of, arrays=0, linear=(0, 1))
def sum_vjp(g, y, items, start=0):
    """For sequences of numbers and arrays; what else there is to add is lowered."""
    if np.ndim(y) == 0:
        if isinstance(items, np.ndarray):
            return (spread(g, items.shape, items.dtype), g)
        return ([g] * len(items), g)
    return (shares(g, items), None if isinstance(start, int) else unbroadcast(g, np.shape(start)))


def shares(g, items):
    return [unbroadcast(g, np.shape(item)) for item in items]


@lower(builtins.max)
def max_(first, /, *rest, key=None, default=MISSING):
    if len(rest) == 1 and key is None:
        return rest[0] if rest[0] > first else first
    return extreme((first, *rest) if rest else first, key, default, operator.gt, "max")


def extreme(iterable, key, default, beats, name):
    """The first of the items that no other one beats; an iterator is asked for the next one when the key of
    this one is known."""
    if key is None or isinstance(iterable, (list, tuple, dict, set, range, np.ndarray)):
        items = list(iterable)
        return first_of(items, key, beats) if items else fallback(default, name)
    pairs = [(item, key(item)) for item in iterable]
    return first_of(pairs, operator.itemgetter(1), beats)[0] if pairs else fallback(default, name)


def first_of(items, key, beats):
    if key is None:
        best = items[0]
        for item in items[1:]:
            if beats(item, best):
                best = item
        return best
    best, top = items[0], key(items[0])
    for item in items[1:]:
        value = key(item)
        if beats(value, top):
            best, top = item, value
    return best


@lower(builtins.min)
def min_(first, /, *rest, key=None, default=MISSING):
    if len(rest) == 1 and key is None:
        return rest[0] if rest[0] < first else first
    return extreme((first, *rest) if rest else first, key, default, operator.lt, "min")


def fallback(default, name):
    if default is MISSING:
        raise ValueError(f"{name}() iterable argument is empty")
    return default


@lower(builtins.map)
def map_(function, iterable, /, *iterables):
    if len(iterables) == 0:
        return iter([function(item) for item in iterable])
    return iter([function(*items) for items in zip(iterable, *iterables, strict=False)])


@lower(builtins.filter)
def filter_(function, iterable, /):
    if function is None:
        return iter([item for item in iterable if item])
    return iter([item for item in iterable if function(item)])


@lower(functools.reduce)
def reduce(function, iterable, initial=MISSING, /):
    items = list(iterable)
    if initial is not MISSING:
        return reduced(function, initial, items)
    if len(items) == 0:
        raise TypeError("reduce() of empty iterable with no initial value")
    return reduced(function, items[0], items[1:])


def reduced(function, total, items):
    for item in items:
        total = function(total, item)
    return total


@lower(builtins.sorted)
def sorted_(iterable, /, *, key=None, reverse=False):
    items = list(iterable)
    return chosen(items, order(items if key is None else [key(item) for item in items], reverse))


def order(keys, reverse):
    return sorted(range(len(keys)), key=keys.__getitem__, reverse=reverse)


def chosen(items, indices):
    return [items[i] for i in indices]


@lower(builtins.divmod)
def divmod_(a, b, /):
    return (a // b, a % b)


@lower(operator.concat)
def concat(a, b, /):
    return a + b


# -- math ----------------------------------------------------------------------------------------------------


@lower(math.log)
def log(x, base=math.e, /):
    return math.log(x) / math.log(base)


@lower(cmath.log)
def complex_log(z, base=math.e, /):
    return cmath.log(z) / cmath.log(base)


@lower(math.prod)
def prod(iterable, /, *, start=1):
    total = start
    for item in iterable:
        total = total * item
    return total
