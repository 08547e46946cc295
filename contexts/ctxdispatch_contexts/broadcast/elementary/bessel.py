"""i0, the modified Bessel function of the first kind and order 0: by powers of x^2, or exp(x) Q(1/x) /
sqrt(x)."""

from .coefficients import I0_FAR, I0_NEAR
from .exponentials import expm1_reduced, reduced
from .floats import INF, scaled, with_accuracy
from .values import fabs, muladd, polynomial, sqrt, where

NEAR, PAST = 8.0, 720.0      # i0(720) is above every float64


@with_accuracy
def i0(x, accuracy):
    a = fabs(x)
    square = where(a > NEAR, 0.0, a * a)
    near = muladd(square, polynomial(I0_NEAR, square, accuracy), 1.0)
    large = where(a > NEAR, a, NEAR)
    n, r = reduced(where(large > PAST, PAST, large))
    far = scaled((expm1_reduced(r) + 1.0) * (polynomial(I0_FAR, 1.0 / large, accuracy) / sqrt(large)), n)
    return where(a > NEAR, where(a > PAST, INF, far), near)
