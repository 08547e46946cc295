"""Elementary functions for the innermost loop of a kernel: instructions without calls, so that it vectorises.

    FORMULAS["exp"](x)      appends to the block in which x is computed; x is a `Value`

Arguments and results are numbers of one dtype, or vectors of them, and follow IEEE 754: NaN, infinities,
signed zeros and denormals come out as NumPy's. `BOUNDS[name, dtype]` is the largest error in units in the
last place.

sin, cos and tan take any finite argument. FAST has formulas that take a third of the time and hold for
|x| <= FAST_RANGE[name, dtype] alone.
"""

from .bounds import AS_NUMPY, BOUNDS, NOT_VECTORISED, OF_THE_LARGEST
from .formulas import FAST, FAST_RANGE, FORMULAS

__all__ = ["AS_NUMPY", "BOUNDS", "FAST", "FAST_RANGE", "FORMULAS", "NOT_VECTORISED", "OF_THE_LARGEST"]
