"""Programs that have no enclosure: each is refused by IntervalError, at its line."""

import math

import numpy as np
import pytest

from ctxdispatch_contexts.intervals import IntervalError, enclose

OF_NUMBERS = [
    lambda x: np.divmod(x, 1.0, out=(np.array(0.0), np.array(0.0))),
    lambda x: float(x), lambda x: int(x), lambda x: complex(x), lambda x: [1, 2, 3][x], lambda x: range(x),
    lambda x: "%.2f" % x, lambda x: x * 1j, lambda x: x * np.complex64(2), lambda x: x == 1 + 0j,
    lambda x: x * math.nan, lambda x: x < math.nan, lambda x: {x: 1}, lambda x: {x}, lambda x: hash(x),
    lambda x: pow(x, 2, 3), lambda x: max([x], key=abs), lambda x: x.hex(), lambda x: x.is_integer(),
    lambda x: math.gamma(x), lambda x: math.isclose(1.0, x), lambda x: math.fmod(x, 1.0),
    lambda x: math.log(x - 2.0), lambda x: (-x) ** 0.5, lambda x: np.linspace(0, x), lambda x: round(x, 1),
    lambda x: np.i0(x), lambda x: np.sum([x, x]), lambda x: hasattr(x, "hex"),
    lambda x: math.isfinite(1 / (x - x)), lambda x: np.isnan(1 / (x - x)),
]  # fmt: skip

OF_ARRAYS = [
    lambda v: v * np.array([1j] * 4), lambda v: v + np.array([1.0, math.nan, 0, 0]), lambda v: max(v, v),
    lambda v: min([v, v]), lambda v: math.sin(v), lambda v: math.hypot(v, 1.0), lambda v: math.log(v),
    lambda v: v.argmax(), lambda v: v[v],
    lambda v: np.sum(v, where=[True] * 4), lambda v: np.max(v, initial=0), lambda v: v.astype(int),
    lambda v: np.sum(v, dtype=np.float32), lambda v: v.sum(out=np.array(0.0)), lambda v: np.repeat(v, v[0]),
    lambda v: np.add(v, 1, out=np.zeros(4)), lambda v: np.take(v, [0, 1], out=np.zeros(2)),
    lambda v: np.take(v, [0, 1], None, np.zeros(2)), lambda v: np.concatenate([v], 0, np.zeros(4)),
    lambda v: np.add(v, 1, where=v > 1), lambda v: np.add.accumulate(v), lambda v: list(v)[v[0]],
    lambda v: np.array([0.0, 1.0]).dot(v[:2]), lambda v: np.ma.array([1.0, 2, 3, 4]) * v, lambda v: hash(v),
    lambda v: np.zeros(4).fill(v[0]), lambda v: np.zeros_like(v, dtype=int), lambda v: np.array(v, dtype=int),
    lambda v: np.array(v, ndmin=2), lambda v: v.reshape(v[0]),
]  # fmt: skip


def storing_in_floats(x):
    a = np.zeros(3)
    a[0] = x


def storing_rows_in_floats(x):
    a = np.zeros((2, 1))
    a[0] = np.array([x])


def adding_to_floats(x):
    a = np.zeros(4)
    a += x


@pytest.mark.parametrize("f", [*OF_NUMBERS, storing_in_floats, storing_rows_in_floats, adding_to_floats])
def test_programs_of_numbers_are_refused(f):
    check_refused(f, 1.2)


@pytest.mark.parametrize("f", OF_ARRAYS)
def test_programs_of_arrays_are_refused(f):
    check_refused(f, np.array([0.5, 1.25, 2.0, 3.5]))


def check_refused(f, argument):
    with pytest.raises(IntervalError) as info:
        enclose(f, argument)
    assert str(info.value).startswith(__file__)
