"""log(e^x + e^y) and log2(2^x + 2^y)."""

from .exponentials import LOG2_E, exp, exp2
from .floats import in_double
from .logarithms import log1p
from .values import fabs, where


def larger(x, y):
    return where(x > y, x, y)


@in_double
def logaddexp(x, y):
    """Its error is absolute where x and y nearly cancel log(2): of the order of the larger argument's ulp."""
    gap = where(x == y, 0.0, fabs(x - y))     # infinities of one sign have no gap either
    return larger(x, y) + log1p(exp(-gap))


@in_double
def logaddexp2(x, y):
    gap = where(x == y, 0.0, fabs(x - y))
    return larger(x, y) + log1p(exp2(-gap)) * LOG2_E
