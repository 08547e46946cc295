"""erf and erfc: near 0 by powers of x^2, else erfc(x) = exp(-x^2) Q((x - 3) / (x + 3)) with a polynomial Q."""

from .coefficients import ERF, ERFCX
from .exponentials import expm1_reduced, reduced
from .floats import scaled, to_width, two_product
from .values import clamp, copysign, fabs, muladd, polynomial, where

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
    return scaled((expm1_reduced(r - lost) + 1.0) * polynomial(ERFCX, q, accuracy), n)


def with_accuracy(formula):
    """A formula in float64's arithmetic, with polynomials of float32's accuracy if that is the type."""
    def rounded(x):
        return to_width(formula(x.double(), 24 if x.width == 32 else 64), x.width)

    return rounded


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
