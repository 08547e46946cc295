"""What the formats of float32 and float64 are made of: exponents read and written through the bits.

Integers are reached through the bits of a sum with 1.5 * 2**mantissa, not by conversion: it rounds to
nearest, has no undefined results, and 64-bit conversions have no vector form before AVX-512.
"""

import functools

from . import values
from .values import llvm_call, where

MANTISSA = {32: 23, 64: 52}
BIAS = {32: 127, 64: 1023}
SMALLEST_NORMAL = {32: 2.0**-126, 64: 2.0**-1022}
SQRT_HALF_BITS = {32: 0x3F3504F3, 64: 0x3FE6A09E667F3BCD}
INF, NAN = float("inf"), float("nan")


def shifter(x):
    """Added to a float below 2**(mantissa - 2), it leaves the nearest integer in the low bits of the sum."""
    return 1.5 * 2.0 ** MANTISSA[x.width]


def power_of_two(n):
    """2**n of an integral float n in the range of normal exponents."""
    return ((n + (shifter(n) + BIAS[n.width])).bits() << MANTISSA[n.width]).as_float()


def scaled(x, n):
    """x 2**n, rounded once where it is denormal: 2**n in two factors, each of which is normal."""
    half = (n * 0.5 + shifter(n)) - shifter(n)
    return x * power_of_two(half) * power_of_two(n - half)


def normalised(x, lift=None):
    """x and 0; of a denormal x, x times 2**lift and -lift."""
    tiny, lift = x < SMALLEST_NORMAL[x.width], lift or MANTISSA[x.width]
    return where(tiny, x * 2.0**lift, x), where(tiny, x.like(-lift), 0.0)


def mantissa_and_exponent(x):
    """m in [sqrt(1/2), sqrt(2)) and k with x = m 2**k, of a positive normal x."""
    width, shift = x.width, MANTISSA[x.width]
    one = BIAS[width] << shift
    moved = x.bits() + (one - SQRT_HALF_BITS[width])
    mantissa = (moved & ((1 << shift) - 1)) + SQRT_HALF_BITS[width]
    exponent = (moved >> shift) | ((BIAS[width] + shift) << shift)    # the bits of 2**shift + exponent
    return mantissa.as_float(), exponent.as_float() - (2.0**shift + BIAS[width])


def two_sum(a, b):
    """a + b exactly, as the rounded sum and what rounding took."""
    total = a + b
    moved = total - a
    return total, (a - (total - moved)) + (b - moved)


def fast_two_sum(a, b):
    """two_sum where |a| >= |b|."""
    total = a + b
    return total, b - (total - a)


def halved(x):
    """x as a sum of two floats of half its precision, by Veltkamp; of |x| below 2**(emax - mantissa / 2)."""
    carried = x * (2.0 ** ((MANTISSA[x.width] + 2) // 2) + 1.0)
    high = carried - (carried - x)
    return high, x - high


def two_product(a, b):
    """a b exactly, as the rounded product and what rounding took, where neither over- nor underflows."""
    product = a * b
    if values.HAS_FMA:
        return product, llvm_call("fma", a, b, -product)
    (a_high, a_low), (b_high, b_low) = halved(a), halved(b)
    rest = ((a_high * b_high - product) + a_high * b_low + a_low * b_high)
    return product, rest + a_low * b_low


def rest_of_product(c, a, b):
    """c - a b, rounded once where the difference is small."""
    if values.HAS_FMA:
        return llvm_call("fma", -a, b, c)
    product, lost = two_product(a, b)
    return (c - product) - lost


def in_double(formula):
    """The formula in float64's arithmetic, whatever the arguments are: rounded once more to float32."""
    @functools.wraps(formula)
    def rounded(*arguments):
        return to_width(formula(*(each.double() for each in arguments)), arguments[0].width)

    return rounded


def with_accuracy(formula):
    """A formula in float64's arithmetic, with polynomials of float32's accuracy where that is the type."""
    def rounded(x):
        return to_width(formula(x.double(), 24 if x.width == 32 else 64), x.width)

    return rounded


def to_width(x, width):
    return x if width == 64 else x.single()
