"""Quarter turns: x = (n + f) pi / 2 with |f| <= 1/2 about, for every finite x, by Payne and Hanek's method.

x is m 2**(STEP j) where m is an integer, or j is 0. Row j of the table is 2**(STEP j) 2/pi modulo 4: whole
turns do not count. The row's parts times m are summed without loss, as long as what is left may cancel.

`moderate` does the same by Cody and Waite's method in a third of the time, where |x| is below MODERATE.
"""

from .coefficients import HALF_PI
from .floats import BIAS, MANTISSA, shifter, two_product, two_sum
from .turns import STEP, TURNS
from .values import lookup, muladd, rint, where

MODERATE = 2.0**30
TWO_OVER_PI = 0.6366197723675814


def row(x, bits):
    """m, and the index of the first part of x's row, where x has that many bits."""
    exponent = (x.bits() >> MANTISSA[64]) & 0x7FF
    excess = exponent - (BIAS[64] + bits - 1)
    j = where(excess > 0, excess, 0) >> STEP.bit_length() - 1
    return x * ((BIAS[64] - j * STEP) << MANTISSA[64]).as_float(), j * 4


def parts(index, count):
    return [lookup("ctxdispatch.turns", TURNS, index + i) for i in range(count)]


def within_turn(q):
    """q modulo 4, exactly."""
    return muladd(rint(q * 0.25), -4.0, q)


def quarter_turns(x):
    """n, and f as a sum of two floats, of a float64."""
    m, index = row(x, 53)
    t0, t1, t2, t3 = parts(index, 4)
    (q0, l0), (q1, l1), (q2, l2) = (two_product(m, t) for t in (t0, t1, t2))
    total, *small = two_sum(l0, q1)
    total, lost = two_sum(within_turn(q0), total)
    n = rint(total)
    f, errors = total - n, []
    for term in (lost, *small, q2, l1):
        f, error = two_sum(f, term)
        errors.append(error)
    return n, f, sum(errors, muladd(m, t3, l2))


def quarter_turns_of_single(x):
    """n and f of a float32, given as a float64: f has float32's precision and a few bits."""
    m, index = row(x, 24)
    t0, t1 = parts(index, 2)
    q0, l0 = two_product(m, t0)
    q0 = within_turn(q0)
    n = rint(q0)
    return n, (q0 - n) + muladd(m, t1, l0)


def full(x):
    """n, and r = f pi / 2 as a sum of two floats."""
    n, f, lost = quarter_turns(x)
    high, low, _ = HALF_PI[64]
    r, rest = two_product(f, f.like(high))
    return n, r, muladd(f, low, muladd(lost, high, rest))


def moderate(x):
    """The same of |x| < MODERATE. n times the first part need not be exact, but what x less it leaves is."""
    n = muladd(x, TWO_OVER_PI, shifter(x)) - shifter(x)
    high, middle, low = HALF_PI[64]
    product, lost = two_product(n, n.like(high))
    r = x - product
    q, rest = two_product(n, n.like(-middle))
    r, carried = two_sum(r - lost, q)
    return n, r, muladd(n, -low, carried + rest)


def moderate_single(x):
    """n and r of a float32 given as a float64: n times the first two parts is exact."""
    n = muladd(x, TWO_OVER_PI, shifter(x)) - shifter(x)
    high, middle, low = HALF_PI[24]
    return n, muladd(n, -low, muladd(n, -middle, muladd(n, -high, x)))
