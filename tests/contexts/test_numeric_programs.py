"""Ordinary programs of numbers under every bundled context: the plain run's results and types, what is shared
and what is changed. On intervals results are enclosed, also of wide ones; on pairs of precisions the higher
is the plain result, bit for bit."""

import warnings

import numpy as np
import pytest
from numeric_programs import PROGRAMS
from test_stacks import NAMES, made

from ctxdispatch import overdub
from ctxdispatch_contexts.intervals import Interval, IntervalContext, IntervalError
from ctxdispatch_contexts.precision.context import PrecisionContext
from ctxdispatch_contexts.precision.losses import Losses
from ctxdispatch_contexts.precision.pair import Pair, lift
from ctxdispatch_contexts.tainting import taints

each_program = pytest.mark.parametrize("f", [pytest.param(f, id=name) for name, f in PROGRAMS.items()])

NO_ENCLOSURE = {
    "np.median(x)", "np.argmax(x)", "np.linalg.det(A)", "np.linalg.solve(A, x[:3])", "np.round(x, 1)",
    "np.interp(s, [0.0, 9.0], [1.0, 2.0])", 'np.einsum("ij,jk", A, A)', "float(s) + 0.0", "int(s)",
    "indices_that_come_twice",
}  # fmt: skip
"""Refused on intervals."""


def arguments(times=1.0):
    x = np.array([0.75, 1.25, 0.5, 2.0])
    A = np.array([[1.5, 0.25, 0.75], [0.5, 2.0, 1.0], [0.3, 0.6, 1.75]])
    return [x * times, A * times, 1.3 * times]


def same(a, b):
    """Values, bit for bit, and types; a float of NumPy will do for a float."""
    if isinstance(a, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and (a.dtype, a.shape) == (b.dtype, b.shape) and np.array_equal(a, b)
    alike = type(a) is type(b) or (isinstance(a, float) and isinstance(b, float))
    return alike and a == b


@pytest.mark.parametrize("name", [name for name in NAMES if name != "DebugContext"])
@each_program
def test_without_values_of_its_own(f, name):
    """The debugger, which stops at each line, is left out."""
    plain, args = arguments(), arguments()
    assert same(f(*plain), overdub(made(name), f, *args)) and same(plain, args)


@each_program
def test_with_labels(f):
    plain, args = arguments(), arguments()
    assert same(f(*plain), taints(f, *args).result) and same(plain, args)


@each_program
def test_in_two_precisions(f):
    losses = Losses(np.float32, np.float64, "high")
    plain, args = arguments(), [lift(a, losses) for a in arguments()]
    assert same(f(*plain), high(overdub(PrecisionContext(losses), f, *args)))
    assert same(plain, high(args))


def high(value):
    if isinstance(value, list | tuple):
        return type(value)(map(high, value))
    return value.high if isinstance(value, Pair) else value


@pytest.mark.parametrize("width", [0.0, 1e-3])
@each_program
def test_on_intervals(f, width):
    args = [Interval(a, b) for a, b in zip(arguments(), arguments(1.0 + width))]
    if f in map(PROGRAMS.get, NO_ENCLOSURE):
        with pytest.raises(IntervalError):
            overdub(IntervalContext(), f, *args)
        return
    found = overdub(IntervalContext(), f, *args)
    for times in {1.0, 1.0 + width / 2, 1.0 + width}:
        plain = arguments(times)
        assert encloses(found, f(*plain)) and encloses(args, plain)


def encloses(found, plain):
    if isinstance(found, Interval):
        return np.shape(plain) == found.shape and found.contains(plain)
    if isinstance(found, list | tuple):
        return type(found) is type(plain) and len(found) == len(plain) and all(map(encloses, found, plain))
    return same(found, plain)


@pytest.fixture(autouse=True)
def quietly():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
