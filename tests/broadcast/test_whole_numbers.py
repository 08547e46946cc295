"""Whole numbers on all back ends: what floats become, and powers, of which NumPy has the low bits."""

import math

import numpy as np
import pytest
from broadcast_checks import same
from cuda_host import Library, needs_compiler
from kernels import instruction_graph, kernel_of

from ctxdispatch_contexts.broadcast import broadcast
from ctxdispatch_contexts.broadcast.lowering import lower

DTYPES = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]


# -- floats that become whole numbers ------------------------------------------------------------------------

FLOATS = ["f2", "f4", "f8"]


def floats(dtype):
    """The ends of all ranges with their neighbours, what lies far outside, and what is none."""
    ends = [sign * 2.0**k for k in (7, 8, 15, 16, 31, 32, 63, 64) for sign in (1, -1)]
    ends += [end + step for end in ends for step in (-1.5, -1.0, -0.5, 0.5, 1.0)]
    with np.errstate(over="ignore"):
        x = np.array([*ends, 0.0, 0.5, -0.5, -0.99, -1.0, 300.0, 1e20, -1e20, np.inf, -np.inf, np.nan], dtype)
    return np.concatenate([x, np.nextafter(x, x.dtype.type(0)), np.nextafter(x, np.copysign(np.inf, x))])


def nearest(x, dtype):
    """Towards 0, to what fits; nan is 0."""
    info = np.iinfo(dtype)
    ends = {math.inf: info.max, -math.inf: info.min}
    whole = [0 if v != v else ends.get(v) if v in ends else int(v) for v in x.tolist()]
    return np.array([min(max(n, info.min), info.max) for n in whole], dtype)


@pytest.mark.parametrize("to", DTYPES)
@pytest.mark.parametrize("of", FLOATS)
def test_casts_of_floats(of, to, backend):
    x, cast = floats(of), np.dtype(to).type
    same(broadcast(lambda v: cast(v), x, backend=backend), nearest(x, to))


@pytest.mark.parametrize("of", FLOATS)
def test_rounding_to_whole_numbers(of, backend):
    x = floats(of)
    found = broadcast(lambda v: (int(v), math.floor(v), round(v)), x, backend=backend)
    for each, wanted in zip(found, (x, np.floor(x), np.rint(x)), strict=True):
        same(each, nearest(wanted, "i8"))


@needs_compiler
def test_casts_of_floats_in_cuda():
    cases = [(of, to) for of in FLOATS for to in DTYPES]
    library = Library(
        {f"{of}_to_{to}": lower(instruction_graph(np.dtype(to).type, 1), [np.dtype(of)]) for of, to in cases}
    )
    for of, to in cases:
        (found,) = library(f"{of}_to_{to}", [floats(of)])
        same(found, nearest(floats(of), to))


# -- powers --------------------------------------------------------------------------------------------------

POWERS = {n: eval(f"lambda v: v ** {n}") for n in (0, 1, 2, 3, 4, 5, 31, 63, 64, 65, 66, 127, 200)}
"""An exponent is a literal: of others nobody knows that they are not negative."""

CASES = [(n, d) for n in POWERS for d in DTYPES if n <= np.iinfo(d).max]


def bases(dtype):
    info = np.iinfo(dtype)
    some = {0, 1, 2, 3, 7, -1, -2, -3, info.min, info.min + 1, info.max, info.max - 1}
    return np.array(sorted(n for n in some if info.min <= n <= info.max), dtype)


@pytest.mark.parametrize("n, dtype", CASES)
def test_powers(n, dtype, backend):
    same(broadcast(POWERS[n], bases(dtype), backend=backend), bases(dtype) ** n)


@needs_compiler
def test_powers_in_cuda():
    library = Library(
        {f"power_{n}_{d}": lower(kernel_of(POWERS[n], int).graph, [np.dtype(d)]) for n, d in CASES}
    )
    for n, dtype in CASES:
        (found,) = library(f"power_{n}_{dtype}", [bases(dtype)])
        same(found, bases(dtype) ** n)
