"""PrecisionContext that follows the higher precision: programs return what they return without it."""

import collections.abc
import copy
import itertools
import math
import operator

import numpy as np
import pytest

from ctxdispatch_contexts.precision import side_by_side
from ctxdispatch_contexts.precision.pair import plain

NUMBERS = [0.0, -0.0, 1.0, -1.5, 0.1, 3.7, 1e300, 5e-324, 1e16, math.inf, -math.inf, math.nan]
ARRAYS = [
    np.array([1.0, 2.0, 3.0]), np.array([[1.0, 2.0], [3.0, 0.5]]), np.array(2.5), np.array([]),
    np.array([1.0, np.nan]), np.arange(6.0)[::2], np.array([1.0, 1.0 + 1e-10]),
]  # fmt: skip


def shown(value):
    value = plain(value)
    if isinstance(value, np.ndarray | np.generic):
        return value.dtype.kind, value.shape, repr(value.tolist())
    if isinstance(value, list | tuple):
        return [*map(shown, value)]
    return shown(np.asarray(value)) if type(value) in (float, bool) else (type(value).__name__, repr(value))


def outcome(run, *args):
    try:
        return shown(run(*args)), [*map(shown, args)]
    except Exception as error:
        return "refused", type(error)


def check(f, *args):
    """The outcome, and what became of the arguments, with and without the context."""
    found = outcome(lambda *a: side_by_side(f, *a).result, *copy.deepcopy(args))
    expected = outcome(f, *copy.deepcopy(args))
    assert found == expected or found[0] == expected[0] == "refused", (args, expected, found)


BINARY = {
    name: getattr(operator, name)
    for name in "add sub mul truediv floordiv mod pow matmul contains iadd isub lt le gt ge eq ne".split()
} | {"divmod": divmod, "max": max, "min": min, "maximum": np.maximum, "setdiff1d": np.setdiff1d}  # fmt: skip


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", BINARY)
def test_of_two(name):
    for args in itertools.product([*NUMBERS, *ARRAYS, 2, True], repeat=2):
        check(BINARY[name], *args)


METHODS = [
    *(name for name in dir(np.ndarray) if not name.startswith("_") and callable(getattr(np.ndarray, name))),
    "shape", "ndim", "size", "T", "real", "imag", "is_integer", "as_integer_ratio", "hex",
]  # fmt: skip
UNLIKE = {"data", "dump", "dumps", "tofile", "tobytes", "setflags", "to_device", "getfield", "setfield"}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", sorted({*METHODS} - UNLIKE))
def test_attributes_and_methods_without_operands(name):
    def get(x):
        found = getattr(x, name)
        return found() if callable(found) else found

    for x in (*NUMBERS, *ARRAYS):
        check(get, x)


def through_asarray(x):
    y = np.asarray(x)
    y[0] = 5.0
    return x.sum()


def kinds(x):
    asked = (collections.abc.Iterable, collections.abc.Sized, float)
    names = ("shape", "dtype", "__len__", "__iter__", "__getitem__", "sum", "is_integer")
    return [[isinstance(x, cls) for cls in asked], [hasattr(x, name) for name in names], np.iterable(x)]


PROGRAMS = [
    (through_asarray, np.array([1.0, 2.0])), (lambda x: np.asarray(x) is x, np.array([1.0])),
    (lambda x: np.array(x) is x, np.array([1.0])), (lambda x: np.array([x, 2.7], dtype=int), 1.5),
    (lambda x: np.asarray(x, dtype=int), np.array([1.5])), (lambda x: np.array([x], ndmin=2), 1.5),
    (lambda x: np.array(x, dtype=bool), np.array([1.5])), (lambda x: np.array([x], dtype=complex), 1.5),
    (lambda x: np.array([[x, 1], [2, x]]), 1.5), (kinds, 1.5), (lambda x: float(x), np.array([1.5])),
    (lambda x: float(x), np.array([1.5, 2.5])), (lambda x: [*x], 1.5), (lambda x: x[0], 1.5), (len, 1.5),
    (lambda x: iter(x) and 1, 1.5), (lambda x: iter(x) and 1, np.array(1.5)), (lambda x: 2.0 in x, ARRAYS[0]),
    (lambda x: np.extract(x > 1.0, x), ARRAYS[-1]), (np.unique, ARRAYS[-1]), (np.unique, [1.0, 1.0 + 1e-10]),
    (lambda x: x[x > 1.0], ARRAYS[-1]), (lambda x: divmod(x, 0.1), 1.0), (lambda x: divmod(7, x), 1.5),
]  # fmt: skip


@pytest.mark.parametrize("f, x", PROGRAMS)
def test_programs(f, x):
    check(f, x)


def test_divmod_is_done_in_both():
    (quotient, rest), _ = side_by_side(lambda x: divmod(x, 0.1), 1.0)
    assert (quotient, rest) == divmod(1.0, 0.1)
    assert (quotient.low, rest.low) == divmod(np.float32(1.0), np.float32(0.1))


def test_what_has_another_shape_in_the_lower_precision_is_not_a_number_there():
    result, losses = side_by_side(lambda x: np.unique(x), np.array([1.0, 1.0 + 1e-10]))
    assert result.high.tolist() == [1.0, 1.0 + 1e-10] and np.isnan(result.low).all()
    assert losses.lines[0].operation == "unique" and losses.lines[0].error == 1.0
