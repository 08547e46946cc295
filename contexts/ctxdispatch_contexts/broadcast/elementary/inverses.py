"""The inverses of the circular and of the hyperbolic functions."""

from .coefficients import ARCSIN, ARCTAN, QUARTER_PI
from .floats import INF, NAN
from .logarithms import log1p
from .values import copysign, fabs, muladd, polynomial, sqrt, where

TAN_EIGHTH = 0.41421356237309503       # tan(pi/8)
LN_2 = 0.6931471805599453
LARGE = {32: 2.0**30, 64: 2.0**60}     # above it x^2 + 1 and x^2 - 1 are x^2, and log1p(x) is log(x)


def quarters(k, x):
    """k pi/4, k at most 4, as a sum of two floats of x's type."""
    high, low = QUARTER_PI[x.width]
    return k * x.like(high), k * x.like(low)


def from_quarters(k, sign, t):
    """k pi/4 + sign arctan(t) of |t| <= tan(pi/8)."""
    z = t * t
    high, low = quarters(k, t)
    t = sign * t
    return high + (t + muladd(t * z, polynomial(ARCTAN, z), low))


def arctan(x):
    a = fabs(x)
    steep, middle = a > 1.0 / TAN_EIGHTH, a > TAN_EIGHTH
    top = where(steep, -1.0, where(middle, a - 1.0, a))
    bottom = where(steep, a, where(middle, a + 1.0, 1.0))
    k = where(steep, x.like(2.0), where(middle, x.like(1.0), 0.0))
    return copysign(from_quarters(k, x.like(1.0), top / bottom), x)


def ratio(low, high):
    """t and k with low / high = tan(k pi/4 + arctan(t)), of 0 <= low <= high."""
    limit = 2.0 ** (100 if high.width == 32 else 1000)
    shrink = where(high > limit, high.like(0.25), 1.0)
    low, high = low * shrink, high * shrink
    middle = low > high * TAN_EIGHTH
    t = where(middle, low - high, low) / where(middle, low + high, high)
    t = where((high == 0.0) & (low == 0.0), 0.0, t)
    return t, where(middle, t.like(1.0), 0.0)


def arctan2(y, x):
    """The angle of the point (x, y), as C's atan2 has it."""
    a, b = fabs(y), fabs(x)
    swap, left = a > b, copysign(x.like(1.0), x) < 0.0
    t, k = ratio(where(swap, b, a), where(swap, a, b))
    both = (a == INF) & (b == INF)
    t, k = where(both, 0.0, t), where(both, 1.0, k)
    k, sign = where(swap, 2.0 - k, k), where(swap, x.like(-1.0), 1.0)
    k, sign = where(left, 4.0 - k, k), where(left, -sign, sign)
    return copysign(from_quarters(k, sign, t), y)


def of_half(x):
    """Whether |x| > 1/2, and arcsin(|x|), there arcsin(sqrt((1 - |x|) / 2)), as s and what to add to it."""
    a = fabs(x)
    far = a > 0.5
    z = where(far, (1.0 - a) * 0.5, a * a)
    s = where(far, sqrt(z), a)
    return far, s, s * z * polynomial(ARCSIN, z)


def arcsin(x):
    far, s, rest = of_half(x)
    high, low = quarters(x.like(2.0), x)
    return copysign(where(far, high - (2.0 * s + (2.0 * rest - low)), s + rest), x)


def arccos(x):
    far, s, rest = of_half(x)
    sign = copysign(x.like(1.0), x)
    high, low = quarters(where(far, 2.0 - 2.0 * sign, 2.0), x)
    factor = where(far, 2.0 * sign, -sign)
    return high + (factor * s + (factor * rest + low))


def arcsinh(x):
    a = fabs(x)
    large = a > LARGE[x.width]
    square = a * a
    moderate = a + square / (sqrt(square + 1.0) + 1.0)
    return copysign(log1p(where(large, a, moderate)) + where(large, a.like(LN_2), 0.0), x)


def arccosh(x):
    t = x - 1.0
    large = x > LARGE[x.width]
    result = log1p(where(large, x, t + sqrt(t * (t + 2.0)))) + where(large, x.like(LN_2), 0.0)
    return where(x < 1.0, NAN, result)


def arctanh(x):
    a = fabs(x)
    return copysign(log1p(2.0 * a / (1.0 - a)) * 0.5, x)
