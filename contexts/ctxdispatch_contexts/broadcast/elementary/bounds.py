"""The errors, stated. tests/broadcast/test_elementary.py holds the functions to them.

Those of float32 come from a third of all arguments, or from 10**7 pairs; those of float64 from 2 * 10**7
arguments against 64-bit mantissas, or from 10**4 against 40 digits. Each is rounded up.
"""

import numpy as np

# name: float32, float64, in units in the last place of the exact result (one half is a correctly rounded one)
TABLE = """
exp    1.1 1.0    exp2   1.0 1.0    expm1  1.7 1.9    tanh   2.6 2.7    sinh   2.3 2.5    cosh   1.6 1.6
expit  2.5 2.5    log    0.9 0.9    log2   1.1 1.1    log10  1.1 1.0    log1p  1.0 1.0
sin    0.6 0.9    cos    0.6 0.9    tan    0.6 2.3    sinc   1.6 2.0
arcsin 1.7 1.7    arccos 1.2 1.2    arctan 2.0 2.0    arctan2   2.0 2.0
arcsinh 1.8 1.9   arccosh 2.5 2.7   arctanh 2.1 2.1
power  0.6 1.2    cbrt   1.0 1.0    hypot  0.6 1.0    sqrt   0.5 0.5
erf    0.6 0.9    erfc   0.6 3.5    erfinv 0.6 2.5    i0     0.6 3.8
gamma  0.6 3.0    lgamma 0.6 1.3
logaddexp 0.6 2.0  logaddexp2 0.6 2.0
fabs   0 0        rint   0 0        floor  0 0        ceil   0 0        trunc  0 0        copysign 0 0
maximum 0 0       minimum 0 0       fmax   0 0        fmin   0 0        fmod   0 0
"""
WORDS = iter(TABLE.split())
BOUNDS = {(name, np.dtype(dtype)): bound for name, *bounds in zip(WORDS, map(float, WORDS), map(float, WORDS))
          for dtype, bound in zip((np.float32, np.float64), bounds)}

# Their bound is in units in the last place of the largest of |x|, |y| and |result|: where the exponentials
# add up to about 1 the result cancels. NumPy's have the same formula, and the same bound.
OF_THE_LARGEST = ("logaddexp", "logaddexp2")

# Its bound is in units in the last place of the larger of |result| and 1.
OF_ONE_AT_LEAST = ("lgamma",)

# Of these the result is NumPy's, bit by bit, which rounds more than once.
AS_NUMPY = ("remainder", "floor_divide")

# A call of the C library's for each element, where the formula of FAST does not hold.
NOT_VECTORISED = ("fmod", "remainder", "floor_divide")
