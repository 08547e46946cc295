"""log and its kin: x = m 2**k with m in [sqrt(1/2), sqrt(2)), and log(m) = f + tail(f), f = m - 1 exact.

Where a formula says `+ lost`, that is what rounding took from f, added to the tail.
"""

from .coefficients import ATANH_SQUARE, INVERSE_LN2, INVERSE_LN10, LN2, LOG1P, LOG10_2
from .floats import INF, NAN, mantissa_and_exponent, normalised, power_of_two, two_product
from .values import muladd, polynomial, where


def tail(f):
    """log1p(f) - f: -f^2 / 2 and f^3 P(f); in float64 by s = f / (2 + f), where log1p(f) = 2 atanh(s)."""
    half_square = f * f * 0.5
    if f.width == 32:
        return muladd(f * f * f, polynomial(LOG1P, f), -half_square)
    s = f / (f + 2.0)
    z = s * s
    return muladd(s, muladd(z, polynomial(ATANH_SQUARE, z), half_square), -half_square)


def with_specials(x, pole, result):
    """-inf at the pole, NaN below it."""
    result = where(x == INF, INF, result)
    return where(x > pole, result, where(x == pole, x.like(-INF), NAN))


def split(x):
    """k and f of a positive x."""
    x, lifted = normalised(x)
    m, k = mantissa_and_exponent(x)
    return k + lifted, m - 1.0


def log(x):
    k, f = split(x)
    high, low = LN2[x.width]
    return with_specials(x, 0.0, muladd(k, high, f + muladd(k, low, tail(f))))


def log1p(x):
    one_more = x + 1.0
    moved = one_more - 1.0
    lost = (1.0 - (one_more - moved)) + (x - moved)
    m, k = mantissa_and_exponent(one_more)
    lost = where(k < 60.0, lost * power_of_two(-where(k < 60.0, k, 60.0)), 0.0)
    f = (m - 1.0) + lost
    lost = lost - (f - (m - 1.0))
    high, low = LN2[x.width]
    result = muladd(k, high, f + (muladd(k, low, tail(f)) + lost))
    return where(x == 0.0, x, with_specials(x, -1.0, result))


def in_base(f, inverse):
    """log1p(f) times `inverse`, the sum of two floats, as a sum."""
    high, low = inverse[f.width]
    product, lost = two_product(f, f.like(high))
    return product, muladd(f, low, muladd(tail(f), high, lost))


def log2(x):
    k, f = split(x)
    product, rest = in_base(f, INVERSE_LN2)
    return with_specials(x, 0.0, k + (product + rest))


def log10(x):
    k, f = split(x)
    product, rest = in_base(f, INVERSE_LN10)
    high, low = LOG10_2[x.width]
    return with_specials(x, 0.0, muladd(k, high, product + muladd(k, low, rest)))
