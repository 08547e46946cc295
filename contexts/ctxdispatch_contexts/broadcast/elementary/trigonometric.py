"""sin, cos and tan: of what is left of x after quarter turns, by minimax polynomials on [-pi/4, pi/4]."""

from . import reduction
from .coefficients import COS, HALF_PI, SIN
from .floats import shifter, to_width
from .values import fabs, muladd, polynomial, where

SMALL = {32: 2.0**-13, 64: 2.0**-27}     # below it sin(x) is x


def sin_cos(r, low, accuracy):
    """sin(r + low) and cos(r + low)."""
    z = r * r
    odd, even = polynomial(SIN, z, accuracy), polynomial(COS, z, accuracy)
    if low is None:
        return muladd(r * z, odd, r), muladd(z * z, even, muladd(z, -0.5, 1.0))
    half = z * 0.5
    one = 1.0 - half
    lost = (1.0 - one) - half
    sine = r + muladd(r * z, odd, low * one)
    return sine, one + muladd(z * z, even, lost - r * low)


def odd(n):
    """Whether the integral float is odd."""
    return ((n + shifter(n)).bits() & 1) != 0


def sine_of_turns(n, r, low, accuracy):
    """sin((n pi / 2) + r + low)."""
    sine, cosine = sin_cos(r, low, accuracy)
    result = where(odd(n), cosine, sine)
    flip = ((n + shifter(n)).bits() & 2) << 62
    return (result.bits() ^ flip).as_float()


def turns(x, reduce):
    """n, r and low of a float64, or of a float32 in float64's arithmetic."""
    if x.width == 64:
        return reduce(x)
    if reduce is reduction.moderate:
        return (*reduction.moderate_single(x.double()), None)
    n, f = reduction.quarter_turns_of_single(x.double())
    return n, f * HALF_PI[64][0], None


def sin(x, reduce=reduction.full):
    accuracy = 64 if x.width == 64 else 24
    n, r, low = turns(x, reduce)
    result = to_width(sine_of_turns(n, r, low, accuracy), x.width)
    return where(fabs(x) < SMALL[x.width], x, result)


def cos(x, reduce=reduction.full):
    accuracy = 64 if x.width == 64 else 24
    n, r, low = turns(x, reduce)
    return to_width(sine_of_turns(n + 1.0, r, low, accuracy), x.width)


def tan(x, reduce=reduction.full):
    accuracy = 64 if x.width == 64 else 24
    n, r, low = turns(x, reduce)
    sine, cosine = sin_cos(r, low, accuracy)
    swap = odd(n)
    result = to_width(where(swap, -cosine, sine) / where(swap, sine, cosine), x.width)
    return where(fabs(x) < SMALL[x.width], x, result)


def moderate(formula):
    def fast(x):
        return formula(x, reduction.moderate), fabs(x) <= reduction.MODERATE

    return fast


sin_fast, cos_fast, tan_fast = map(moderate, (sin, cos, tan))
