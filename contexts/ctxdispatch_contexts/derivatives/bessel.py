"""The modified Bessel functions of NumPy: `np.i0`, and I1, which NumPy lacks and which is its derivative."""

from __future__ import annotations

import numpy as np
from numpy.polynomial.chebyshev import chebval

from ctxdispatch_contexts.derivatives.registry import vjp

# exp(-x) I1(x) / x in x / 4 - 1 up to x = 8, and exp(-x) sqrt(x) I1(x) in 16 / x - 1 beyond: coefficients of
# Chebyshev's polynomials (the form of Clenshaw, "Chebyshev series for mathematical functions", 1962).
_SMALL = (
    0.12629359322181682, -0.17641651835783406, 0.1026436586898471, -0.05294598120809499,
    0.024726449030626516, -0.010564084894626197, 0.004156422944312888, -0.0015135724506312532,
    0.0005122859561685758, -0.00016176081582589674, 4.781565107550054e-05, -1.3273163656039436e-05,
    3.4702513081376785e-06, -8.568720264695455e-07, 2.0032947535521353e-07, -4.445059128796328e-08,
    9.381537386495773e-09, -1.8872497517228294e-09, 3.625590281552117e-10, -6.663489723502027e-11,
    1.1736186298890901e-11, -1.9839743977649436e-12, 3.223793365945575e-13, -5.042185504727912e-14,
    7.600684294735408e-15, -1.1055969477353862e-15, 1.5536319577362005e-16, -2.111421214358166e-17,
)  # fmt: skip
_LARGE = (
    0.38928811750914005, -0.009761097491361469, -0.00011058893876262371, -3.882564808877691e-06,
    -2.512236237870209e-07, -2.6314688468895196e-08, -3.835380385964237e-09, -5.589743462196584e-10,
    -1.8974958123505413e-11, 3.2526035830154884e-11, 1.4125807436613782e-11, 2.0356285441470896e-12,
    -7.198551776245908e-13, -4.0835511110921974e-13, -2.1015418427726643e-14, 4.272440016711951e-14,
    1.0420276984128802e-14, -3.8144030724370075e-15, -1.8803547755107825e-15, 3.3082023109209285e-16,
    2.96262899764595e-16, -3.209525921993424e-17, -4.6503053684893586e-17, 4.414348323071708e-18,
    7.517296310842105e-18,
)  # fmt: skip


def i1(x):
    """I1(x), an array of the dtype of `x`, within 1e-15 of its size."""
    size = np.abs(x)
    near, far = np.minimum(size, 8.0), np.maximum(size, 8.0)
    inner = size * chebval(0.25 * near - 1.0, _SMALL)
    outer = chebval(16.0 / far - 1.0, _LARGE) / np.sqrt(far)
    y = np.sign(x) * np.exp(size) * np.where(size <= 8.0, inner, outer)
    return y.astype(x.dtype)


@vjp(np.i0)
def i0(g, y, x):
    """DLMF 10.29.3"""
    return (g * i1(x),)


@vjp(i1)
def i1_vjp(g, y, x):
    """DLMF 10.29.2; I1(x) / x is 1/2 at 0."""
    zero = x == 0
    return (g * (np.i0(x) - np.where(zero, 0.5, y / np.where(zero, 1.0, x))),)
