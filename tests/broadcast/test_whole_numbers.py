"""Whole numbers on all back ends: powers, of which NumPy has the low bits."""

import numpy as np
import pytest
from broadcast_checks import same
from cuda_host import Library, needs_compiler
from kernels import kernel_of

from ctxdispatch_contexts.broadcast import broadcast
from ctxdispatch_contexts.broadcast.lowering import lower

DTYPES = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]


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
