"""The gamma function and the logarithm of its absolute value, in float64's arithmetic.

    gamma(a) = gamma(z) / p        z = a + 3 at most, 3 <= z, and p = a (a + 1) .. (z - 1)
    log(gamma(z)) = (z - 1/2) log(z) - z + log(2 pi) / 2 + S(1 / z^2) / z       Stirling's formula
    gamma(-a) = -pi / (a sin(pi a) gamma(a))

All but S is carried in two floats, so that gamma of a whole number is exact wherever it can be.
"""


from .coefficients import EXPM1, HALF_LOG_TURN, HALF_PI, STIRLING
from .exponentials import reduced
from .floats import INF, NAN, fast_two_sum, in_double, normalised, scaled, two_product, two_sum
from .powers import log_in_two
from .reduction import within_turn
from .trigonometric import sine_of_turns
from .values import fabs, in_pairs, muladd, rint, where

FROM = 3
PAST = 200.0           # gamma(200) is above every float64, and gamma(-200.5) below
TINY = 2.0**-60        # below it gamma(x) is 1 / x
LARGEST = 2.55e305     # log(gamma) of what is above it overflows


def raised(a):
    """z and p, both as sums of two floats."""
    z, z_low, p, p_low = a, a.like(0.0), a.like(1.0), a.like(0.0)
    for k in range(FROM):
        factor, lost = more_by(a, k)
        below = factor < float(FROM)
        factor, lost = where(below, factor, 1.0), where(below, lost, 0.0)
        carried = muladd(p, lost, p_low * factor)
        p, rest = two_product(p, factor)
        p_low = carried + rest
        following, lost = more_by(a, k + 1)
        z, z_low = where(below, following, z), where(below, lost, z_low)
    return z, z_low, p, p_low


def more_by(a, k):
    """a + k, of a >= 0, and what rounding took."""
    total = a + float(k)
    return total, a - (total - float(k))


def log_gamma(z, z_low):
    """Of z >= FROM, as a sum of two floats."""
    high, low = log_in_two(z)
    inverse = 1.0 / z
    half_less = z - 0.5
    total, lost = two_product(half_less, high)
    lost = muladd(half_less, low, lost)
    total, less = two_sum(total, -z)
    total, more = two_sum(total, z.like(HALF_LOG_TURN[64][0]))
    series = muladd(in_pairs(STIRLING, inverse * inverse), inverse, HALF_LOG_TURN[64][1])
    slope = muladd(inverse, -0.5, high)
    return fast_two_sum(total, series + (muladd(z_low, slope, lost) + (less + more)))


def sine_of_half_turns(a):
    """sin(pi a)"""
    turns = within_turn(a + a)
    n = rint(turns)
    f = turns - n
    high, low, _ = HALF_PI[64]
    r, rest = two_product(f, f.like(high))
    return sine_of_turns(n, r, muladd(f, low, rest), 64)


def reflected(negative, a, sine, p, p_low):
    """Of negative arguments pi p and a sin(pi a), else p and 1: as top, bottom, and the share by which their
    quotient is too large."""
    high, low, _ = HALF_PI[64]
    top, rest = two_product(p, p.like(2.0 * high))
    top_low = muladd(p_low, 2.0 * high, muladd(p, 2.0 * low, rest))
    bottom, bottom_low = two_product(a, sine)
    top, top_low = where(negative, top, p), where(negative, top_low, p_low)
    bottom, bottom_low = where(negative, bottom, 1.0), where(negative, bottom_low, 0.0)
    return top, bottom, (bottom_low * top - top_low * bottom) / (top * bottom)


@in_double
def gamma(x):
    """The infinity of 0's sign at 0, NaN at the negative whole numbers and at -inf."""
    a = fabs(x)
    whole, tiny = rint(a) == a, a < TINY
    negative = (x < 0.0) & ~tiny
    sine, a = sine_of_half_turns(a), where(a > PAST, PAST, a)
    z, z_low, p, p_low = raised(a)
    log, lost = log_gamma(z, z_low)
    top, bottom, less = reflected(negative, a, sine, p, p_low)
    n, r = reduced(log)
    r = r + (lost + less)
    e = muladd(r * r, in_pairs(EXPM1, r), r) + 1.0
    top, bottom = where(negative, -top, e), where(negative, bottom * e, top)
    n = where(tiny, 0.0, where(negative, -n, n))
    result = scaled(where(tiny, 1.0, top) / where(tiny, x, bottom), n)
    return where(negative & whole, NAN, result)


@in_double
def lgamma(x):
    """log |gamma(x)|: inf at 0, at the negative whole numbers and at either infinity."""
    a = fabs(x)
    negative = (x < 0.0) & (a >= TINY)
    z, z_low, p, p_low = raised(a)
    log, lost = log_gamma(z, z_low)
    top, bottom, less = reflected(negative, a, sine_of_half_turns(a), p, p_low)
    high, low = log_in_two(*normalised(fabs(top / bottom)))
    result, rest = two_sum(log, -high)
    result = result + (rest + (lost - low + less))
    pole = (a == 0.0) | (a > LARGEST) | (negative & (rint(a) == a))
    return where(pole, INF, where(negative, -result, result))
