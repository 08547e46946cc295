"""The gamma function and its logarithmic derivatives, with scipy.special's meaning: one element at a time.

Euler and Maclaurin's sum, from an argument that recurrence has made large enough; negative ones are
reflected.
"""

import math

import numpy as np
from numba import njit

compiled = njit(error_model="numpy", cache=True, nogil=True)

# B(2k) / (2k) for digamma's series, and B(2k) / (2k)! for zeta's
BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798,
             -174611 / 330)
DIGAMMA = np.array([b / (2 * k) for k, b in enumerate(BERNOULLI, 1)])
ZETA = np.array([b / math.factorial(2 * k) for k, b in enumerate(BERNOULLI, 1)])
DIGAMMA_FROM, ZETA_FROM = 12.0, 14.0


@compiled
def gamma(x):
    """inf of 0's sign at 0, NaN at the negative integers."""
    return math.gamma(x)


@compiled
def gammaln(x):
    """log |gamma(x)|; inf at 0 and the negative integers, -inf at -inf."""
    return x if x == -np.inf else math.lgamma(x)


@compiled
def digamma_of_positive(x):
    total = 0.0
    while x < DIGAMMA_FROM:
        total -= 1.0 / x
        x += 1.0
    inverse = 1.0 / (x * x)
    series = 0.0
    for k in range(len(DIGAMMA) - 1, -1, -1):
        series = (series + DIGAMMA[k]) * inverse
    return total + (math.log(x) - 0.5 / x - series)


@compiled
def digamma(x):
    """The infinity of the side it comes from at 0, NaN at the negative integers."""
    if x > 0.0:
        return digamma_of_positive(x)
    if x == 0.0:
        return math.copysign(np.inf, -x)
    fraction = x - math.floor(x)
    if x == -np.inf or fraction == 0.0:
        return np.nan
    return digamma_of_positive(1.0 - x) - math.pi / math.tan(math.pi * (x - np.rint(x)))


@compiled
def zeta_of_positive(s, q):
    """Hurwitz's: the sum of (q + k)**-s, of s >= 2 and q > 0."""
    if q == np.inf:
        return 0.0
    total = 0.0
    while q < ZETA_FROM + 0.5 * s:
        total += q**-s
        q += 1.0
    power, inverse = q**-s, 1.0 / (q * q)
    factor, series = s / q, 0.0
    for k in range(len(ZETA)):
        series += ZETA[k] * factor
        factor *= (s + 2.0 * k + 1.0) * (s + 2.0 * k + 2.0) * inverse
    return total + power * (q / (s - 1.0) + 0.5 + series)


@compiled
def zeta(s, x):
    """Of negative x: the terms below 0 are those of a finite sum of positive ones, with a sign."""
    if x > 0.0:
        return zeta_of_positive(s, x)
    above = x - math.floor(x)
    if above == 0.0 or x == -np.inf:
        return np.inf
    below = zeta_of_positive(s, math.ceil(x) - x) - zeta_of_positive(s, 1.0 - x)
    return zeta_of_positive(s, above) + (below if s % 2.0 == 0.0 else -below)


@compiled
def polygamma(n, x):
    """The n-th derivative of digamma; an infinity at 0 and the negative integers."""
    if n == 0:
        return digamma(x)
    sign = 1.0 if n % 2 else -1.0
    return sign * math.gamma(n + 1.0) * zeta(n + 1.0, x)


# Of float32, by way of float64. One by one: a closure over a compiled function has no place in Numba's cache.

@compiled
def gamma_of_single(x):
    return np.float32(gamma(np.float64(x)))


@compiled
def gammaln_of_single(x):
    return np.float32(gammaln(np.float64(x)))


@compiled
def digamma_of_single(x):
    return np.float32(digamma(np.float64(x)))


@compiled
def polygamma_of_single(n, x):
    return np.float32(polygamma(n, np.float64(x)))
