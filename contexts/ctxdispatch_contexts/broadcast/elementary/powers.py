"""x**y, cube root and hypotenuse."""

from . import exponentials
from .coefficients import ATANH_POWER, ATANH_SQUARE, CBRT, EXPM1, LN2, TWO_THIRDS
from .floats import (
    INF,
    NAN,
    SMALLEST_NORMAL,
    fast_two_sum,
    mantissa_and_exponent,
    normalised,
    power_of_two,
    rest_of_product,
    scaled,
    shifter,
    to_width,
    two_product,
)
from .values import clamp, copysign, fabs, in_pairs, is_nan, muladd, polynomial, sqrt, trunc, where

MODERATE = {32: 86.0, 64: 700.0}    # a power is normal, where its logarithm is below it
EXPONENTS = 2.0**66        # a larger y gives what this one gives: 0, 1 or inf
CBRT_LIFT = {32: 24, 64: 54}
THIRDS = {-1: 0.7937005259840998, 1: 1.2599210498948732}      # 2**(k/3)


def atanh_quotient(f):
    """f / (f + 2) as a sum of two floats. 2 s is near f, so that f - 2 s is exact."""
    inverse = 1.0 / (f + 2.0)
    s = f * inverse
    return s, rest_of_product(f - (s + s), s, f) * inverse


def log_in_two(x, lifted=None):
    """log(x) as a sum of two floats, with about 65 bits: 2 atanh(s) = s (2 + z (2/3 + z P(z))), z = s^2."""
    m, k = mantissa_and_exponent(x)
    k = k if lifted is None else k + lifted
    s, s_low = atanh_quotient(m - 1.0)
    z, z_low = two_product(s, s)
    z_low = muladd(s + s, s_low, z_low)
    c, c_low = fast_two_sum(x.like(TWO_THIRDS[64][0]), z * in_pairs(ATANH_POWER, z))
    p, p_low = two_product(z, c)
    p_low = p_low + muladd(z, c_low + TWO_THIRDS[64][1], z_low * c)
    p, lost = fast_two_sum(x.like(2.0), p)
    high, low = two_product(s, p)
    low = low + muladd(s, lost + p_low, s_low * p)
    total, rest = fast_two_sum(k * LN2[64][0], high)      # of k = 0 the sum is exact
    return total, rest + muladd(k, LN2[64][1], low)


def log_of_single(x):
    """log(x) in float64, with float32's accuracy and ten bits; x is a float32 and so never denormal."""
    m, k = mantissa_and_exponent(x)
    s = (m - 1.0) / (m + 1.0)
    z = s * s
    return muladd(k, sum(LN2[64]), muladd(s * z, polynomial(ATANH_SQUARE, z, 24), 2.0 * s))


def magnitude(x, y):
    """x**y of finite x > 0."""
    high, low = log_in_two(*normalised(x))
    t, lost = two_product(y, high)
    lost = muladd(y, low, lost)
    n, r = exponentials.reduced(clamp(t, -800.0, 800.0))
    r = r + where(fabs(t) < 800.0, lost, 0.0)
    return scaled(exponentials.expm1_reduced(r) + 1.0, n)


def magnitude_of_single(x, y):
    n, r = exponentials.reduced(clamp(y * log_of_single(x), -200.0, 200.0))
    return power_of_two(n) * (muladd(r * r, polynomial(EXPM1, r, 24), r) + 1.0)


def power_fast(x, y):
    """Of a positive normal number with a normal result."""
    t, result = (exp_of_log_single if x.width == 32 else exp_of_log)(x.double(), y.double())
    holds = (x >= SMALLEST_NORMAL[x.width]) & (x < INF) & (fabs(t) < MODERATE[x.width])
    return to_width(result, x.width), holds


def exp_of_log(x, y):
    """y log(x), and x**y."""
    high, low = log_in_two(x)
    t, lost = two_product(y, high)
    n, r = exponentials.reduced(t)
    r = r + muladd(y, low, lost)
    return t, (muladd(r * r, in_pairs(EXPM1, r), r) + 1.0) * power_of_two(n)


def exp_of_log_single(x, y):
    t = y * log_of_single(x)
    n = muladd(t, exponentials.LOG2_E, shifter(t)) - shifter(t)
    r = muladd(n, -sum(LN2[64]), t)
    return t, power_of_two(n) * (muladd(r * r, in_pairs(EXPM1, r, 24), r) + 1.0)


def parity(y):
    """Whether y is an integer, and whether an odd one."""
    half = y * 0.5
    integral = trunc(y) == y
    return integral, integral & (trunc(half) != half)


def power(x, y):
    """C's pow: 1 for y = 0 and for x = 1, whatever the other is; NaN for x < 0 if y is no integer."""
    width, x, y = x.width, x.double(), y.double()
    a = fabs(x)
    result = magnitude_of_single(a, y) if width == 32 else magnitude(a, clamp(y, -EXPONENTS, EXPONENTS))
    integral, is_odd = parity(y)
    at_end = (a == 0.0) | (a == INF)
    result = where(at_end, where((a == 0.0) ^ (y > 0.0), x.like(INF), 0.0), result)
    result = where(a == 1.0, 1.0, result)
    result = where(is_odd, copysign(result, x), result)
    undefined = (x < 0.0) & (a != INF) & ~integral
    result = where(undefined | is_nan(x) | is_nan(y), NAN, result)
    return to_width(where((y == 0.0) | (x == 1.0), 1.0, result), width)


def cbrt(x):
    """Halley's step from a polynomial: c + c (m - c^3) / (2 c^3 + m)."""
    a, lifted = normalised(fabs(x), CBRT_LIFT[x.width])
    m, k = mantissa_and_exponent(a)
    third = (k * (1.0 / 3.0) + shifter(x)) - shifter(x)
    rest = k - 3.0 * third
    c = polynomial(CBRT, m) * where(rest == 0.0, 1.0, where(rest > 0.0, x.like(THIRDS[1]), THIRDS[-1]))
    m = m * power_of_two(rest)
    cube = c * c * c
    root = muladd(c, (m - cube) / muladd(cube, 2.0, m), c)
    result = root * power_of_two(third + lifted * (1.0 / 3.0))
    return where((a > 0.0) & (a < INF), copysign(result, x), x)


def hypot(x, y):
    width, a, b = x.width, fabs(x.double()), fabs(y.double())
    larger, smaller = where(a > b, a, b), where(a > b, b, a)
    unit = where(larger > 2.0**500, larger.like(2.0**-600), 1.0)
    unit = where(larger < 2.0**-450, 2.0**600, unit)
    larger, smaller = larger * unit, smaller * unit
    result = sqrt(muladd(larger, larger, smaller * smaller)) / unit
    return to_width(where((a == INF) | (b == INF), INF, result), width)
