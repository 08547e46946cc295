"""Elementary functions for the innermost loop of a kernel: instructions without calls, so that it vectorises.

    exp = implementation("exp", np.float32)

    @numba.njit(error_model="numpy")
    def kernel(x, out):
        for i in range(len(x)):
            out[i] = exp(x[i])

What `implementation` gives is called in compiled code only. Its arguments and its result are scalars of that
dtype, and follow IEEE 754: NaN, infinities, signed zeros and denormals come out as NumPy's. No warning is
raised. `BOUNDS[name, dtype]` is the largest error in units in the last place, `LOOPING_BOUNDS` a relative
one.

sin, cos and tan take any finite argument. `fast_implementation` gives what takes a third of the time and
holds for |x| <= FAST_RANGE[name, dtype] alone.
"""

from functools import cache

import numpy as np

from .bounds import AS_NUMPY, BOUNDS, LOOPING_BOUNDS, NOT_VECTORISED, OF_THE_LARGEST
from .formulas import FAST, FAST_RANGE, FORMULAS, LOOPING, looping
from .intrinsics import as_intrinsic

__all__ = [
    "AS_NUMPY", "BOUNDS", "LOOPING_BOUNDS", "NOT_VECTORISED", "OF_THE_LARGEST",
    "FAST_RANGE", "NAMES", "fast_implementation", "implementation",
]

NAMES = (*FORMULAS, *LOOPING)


def implementation(name, dtype):
    """The function of NumPy's or scipy.special's name. KeyError: there is none, or not of that dtype."""
    return made(name, np.dtype(dtype))


@cache
def made(name, dtype):
    return looping(name, dtype) if name in LOOPING else as_intrinsic(FORMULAS[name], dtype)


def fast_implementation(name, dtype):
    """Of the names in FAST_RANGE: outside that range the results mean nothing."""
    return fast_made(name, np.dtype(dtype))


@cache
def fast_made(name, dtype):
    return as_intrinsic(FAST[name], dtype)
