"""exp and its kin: x = n ln(2) + r with |r| <= ln(2) / 2, and expm1(r) = r + r^2 P(r)."""

from .coefficients import EXP2, EXPM1, LN2
from .floats import power_of_two, scaled, shifter
from .values import clamp, copysign, fabs, muladd, polynomial, where

LOG2_E = 1.4426950408889634
EXP_RANGE = {32: (-104.0, 89.0), 64: (-746.0, 710.0)}         # past these: 0 and inf
EXP2_RANGE = {32: (-151.0, 128.5), 64: (-1076.0, 1024.5)}
TANH_RANGE = {32: 10.0, 64: 20.0}                             # past it: 1
NO_ONE = {32: 40.0, 64: 70.0}                                 # past n: 2**n - 1 is 2**n


def reduced(x):
    """n and r: ln(2) is in two parts, the first short enough for n times it to be exact."""
    high, low = LN2[x.width]
    n = muladd(x, LOG2_E, shifter(x)) - shifter(x)
    return n, muladd(n, -low, muladd(n, -high, x))


def expm1_reduced(r):
    return muladd(r * r, polynomial(EXPM1, r), r)


def exp(x):
    n, r = reduced(clamp(x, *EXP_RANGE[x.width]))
    return scaled(expm1_reduced(r) + 1.0, n)


def exp2(x):
    x = clamp(x, *EXP2_RANGE[x.width])
    n = (x + shifter(x)) - shifter(x)
    r = x - n
    return scaled(muladd(r, polynomial(EXP2, r), 1.0), n)


def expm1(x):
    n, r = reduced(clamp(x, *EXP_RANGE[x.width]))
    p = expm1_reduced(r)
    power = power_of_two(clamp(n, -NO_ONE[x.width], NO_ONE[x.width]))
    near = muladd(power, p, power - 1.0)
    return where(x == 0.0, x, where(n > NO_ONE[x.width], scaled(p + 1.0, n), near))


def tanh(x):
    """t / (t + 2) with t = expm1(2 |x|)."""
    n, r = reduced(clamp(fabs(x) * 2.0, 0.0, 2.0 * TANH_RANGE[x.width]))
    power = power_of_two(n)
    t = muladd(power, expm1_reduced(r), power - 1.0)
    return copysign(t / (t + 2.0), x)


def expit(x):
    """1 / (1 + exp(-x)), without overflow: e / (1 + e) of e = exp(-|x|) where x is negative."""
    e = exp(-fabs(x))
    return where(x < 0.0, e, 1.0) / (e + 1.0)


def halves(x):
    """exp(x) / 2, which is finite wherever sinh and cosh are, and expm1(x) where that is small; of x >= 0."""
    n, r = reduced(where(x > EXP_RANGE[x.width][1] + 1.0, EXP_RANGE[x.width][1] + 1.0, x))
    p = expm1_reduced(r)
    power = power_of_two(where(n > NO_ONE[x.width], NO_ONE[x.width], n))
    return scaled(p + 1.0, n - 1.0), muladd(power, p, power - 1.0)


def sinh(x):
    half, t = halves(fabs(x))
    near = (t + t / (t + 1.0)) * 0.5
    return copysign(where(fabs(x) > NO_ONE[x.width] / 3.0, half, near), x)


def cosh(x):
    half, _ = halves(fabs(x))
    return half + 0.25 / half
