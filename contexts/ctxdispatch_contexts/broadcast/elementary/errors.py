"""erf and its kin: near 0 by powers of x^2, else erfc(x) = exp(-x^2) Q(q) / (1 + 2 x), q = (x - 3) / (x +
3)."""

import math

from .coefficients import ERF, ERFCX
from .exponentials import exp, expm1_reduced, reduced
from .floats import INF, NAN, scaled, two_product, with_accuracy
from .logarithms import log
from .values import clamp, copysign, fabs, muladd, polynomial, sqrt, where

PAST = 28.0        # erfc(28) < 2**-1100
NEAR = 0.5         # above it erfc is not taken as 1 - erf


def near_zero(x, accuracy):
    return muladd(x, polynomial(ERF, x * x, accuracy), x)


def complement(a, accuracy):
    """erfc(a) of a >= NEAR."""
    a = clamp(a, NEAR, PAST)
    q = (a - 3.0) / (a + 3.0)
    square, lost = two_product(a, a)
    n, r = reduced(-square)
    quotient = polynomial(ERFCX, q, accuracy) / (2.0 * a + 1.0)
    return scaled((expm1_reduced(r - lost) + 1.0) * quotient, n)


@with_accuracy
def erf(x, accuracy):
    a = fabs(x)
    far = copysign(1.0 - complement(a, accuracy), x)
    return where(a > 1.0, far, near_zero(x, accuracy))


@with_accuracy
def erfc(x, accuracy):
    a = fabs(x)
    far = complement(a, accuracy)
    return where(a > NEAR, where(x < 0.0, 2.0 - far, far), 1.0 - near_zero(x, accuracy))


def first_inverse(product):
    """erfinv within 0.3 %, of (1 - x) (1 + x): for that exp(-y^2 (4/pi + a y^2) / (1 + a y^2)) stands, which
    can be solved for y (S. Winitzki's approximation)."""
    a = 0.147
    log_product = log(product)
    half = 2.0 / (math.pi * a) + 0.5 * log_product
    return sqrt(sqrt(half * half - log_product / a) - half)


def nearer(y, a, accuracy):
    """Halley's step towards erf(y) = a, by erfc where that is the smaller."""
    excess = where(y < NEAR, near_zero(y, accuracy) - a, (1.0 - a) - complement(y, accuracy))
    u = excess * exp(y * y) * (math.sqrt(math.pi) / 2)
    return y - u / muladd(y, u, 1.0)


@with_accuracy
def erfinv(x, accuracy):
    a = fabs(x)
    y = first_inverse((1.0 - a) * (1.0 + a))
    for _ in range(3 if accuracy == 64 else 2):
        y = nearer(y, a, accuracy)
    y = where(a < 1e-8, a * (math.sqrt(math.pi) / 2), where(a == 1.0, INF, y))
    return copysign(where(a <= 1.0, y, NAN), x)
