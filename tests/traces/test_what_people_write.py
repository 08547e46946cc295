"""Constructs of other people's programs that a trace has, and what may change between its calls."""

import collections
import logging
import math
import re

import numpy as np
import pytest

from ctxdispatch import explain, grad
from ctxdispatch_contexts.traces import lines, straight

logger = logging.getLogger("ctxdispatch.of_tests")
POINTS = np.array([[0.5, 1.0], [1.5, -0.3], [0.2, 0.7]])


class Bounce(Exception):
    def __init__(self, value):
        super().__init__("bounce")
        self.value = value


def unprogrammed(x):
    """Recorded, the first time."""
    names = [m.group(1) for m in re.finditer(r"(\w)=", "a=1 b=2")]
    return {name: x * (i + 1.0) for i, name in enumerate(names)}


def with_logging(x):
    table = unprogrammed(x)
    logger.debug("%s", table["a"])
    if logger.isEnabledFor(logging.INFO):
        return table["a"] * 3.0
    return table["b"] * table["a"]


def with_constants(x):
    table = unprogrammed(x)
    steps = np.geomspace(1.0, 4.0, 3)
    steps[0] = 5.0
    rows, columns = np.ix_([0, 1], [1, 2])
    grid = np.zeros((3, 3))
    grid[rows, columns] += table["a"]
    return np.sum(steps * table["b"]) + np.sum(grid**2)


def with_joined(x):
    table = unprogrammed(x)
    columns = np.c_[POINTS, np.ones(3) * table["a"]]
    return np.sum(columns**2) + np.sum(np.r_[np.ones(2) * table["b"], POINTS[0]] ** 2)


def with_solved(x):
    table = unprogrammed(x)
    found, *_ = np.linalg.lstsq(POINTS * table["a"], np.ones(3), rcond=None)
    return np.sum(found) * table["b"] ** 3


def with_ordered(x):
    table = collections.OrderedDict(unprogrammed(x))
    return sum(u * v for u, v in zip(table.values(), (2.0, x), strict=True))


def with_raised(x):
    t, v, total = 0.0, x, 0.0
    while t < 1.0:
        try:
            if v > 1.5:
                raise Bounce(v * v)
            v = v * 1.3
        except Bounce as hit:
            v = 0.5 * math.sqrt(hit.value)
        finally:
            t += 0.25
        total = total + v * v
    return total


PROGRAMS = [with_logging, with_constants, with_joined, with_solved, with_ordered, with_raised]


def difference(f, x):
    return (f(x + 1e-6) - f(x - 1e-6)) / 2e-6


@pytest.mark.parametrize("f", PROGRAMS)
def test_right_at_each_call(f):
    gradient = grad(f)
    for x in (1.3, 1.3, 1.3, 0.4, 1.3, 2.2, 0.4):
        np.testing.assert_allclose(gradient(x), difference(f, x), rtol=1e-5)


@pytest.mark.parametrize("f", [f for f in PROGRAMS if f is not with_raised])
def test_traced(f):
    gradient = grad(f)
    gradient(1.3), gradient(1.3)
    assert "recorded" not in str(explain(gradient)(1.3)).splitlines()[0]


def test_who_listens_is_asked_at_each_call():
    gradient, heard = grad(with_logging), []
    handler = logging.Handler()
    handler.emit = lambda record: heard.append(record.args)
    logger.addHandler(handler)
    try:
        for name in ("WARNING", "WARNING", "INFO", "WARNING", "DEBUG", "ERROR"):
            logger.setLevel(name)
            del heard[:]
            np.testing.assert_allclose(gradient(1.3), difference(with_logging, 1.3), rtol=1e-6)
            assert bool(heard) is (name == "DEBUG")
    finally:
        logger.removeHandler(handler)
        logger.setLevel(logging.NOTSET)


def test_constants_are_made_anew_each_time():
    """Who stores into what a call made changes no other call."""

    def f(x):
        table = unprogrammed(x)
        kept = np.linspace(0.0, 1.0, 3)
        kept += table["a"]
        return kept

    gradient = grad(lambda x: np.sum(f(x) ** 2))
    assert len({float(gradient(1.3)) for _ in range(5)}) == 1


def long(x, n):
    table = unprogrammed(x)
    v, names = x, list(table)
    for i in range(n):
        v = v + 0.001 * math.sin(v) * table[names[i % 2]]
    return v


def test_long_runs_are_traced_once_they_were_recorded_often():
    n = lines.MAX_LINES // 3
    gradient = grad(long)
    for _ in range(straight.LATER + 4):
        np.testing.assert_allclose(gradient(1.3, n), difference(lambda x: long(x, n), 1.3), rtol=1e-6)
