"""Elementary functions for the innermost loop of a kernel: instructions without calls, so that it vectorises.

    FORMULAS["exp"](x)      appends to the block in which x is computed; x is a `Value`

Arguments and results are numbers of one dtype, or vectors of them, and follow IEEE 754: NaN, infinities,
signed zeros and denormals come out as NumPy's. `BOUNDS[name, dtype]` is the largest error in units in the
last place.

All arguments are taken. FAST has formulas that take a half or a third of the time; what they give is the
result, and a bool that says whether it is right.
"""

from .bounds import AS_NUMPY, BOUNDS, NOT_VECTORISED, OF_ONE_AT_LEAST, OF_THE_LARGEST
from .formulas import FAST, FORMULAS

__all__ = [
    "AS_NUMPY", "BOUNDS", "FAST", "FORMULAS", "NOT_VECTORISED", "OF_ONE_AT_LEAST", "OF_THE_LARGEST",
]  # fmt: skip
