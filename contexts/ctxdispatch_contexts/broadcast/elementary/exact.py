"""Functions whose results are exact, or rounded once: with NumPy's NaN and signed zeros."""

from . import reduction, values
from .floats import BIAS, INF, MANTISSA, rest_of_product
from .trigonometric import sin
from .values import where

sqrt, fabs, rint, floor, ceil, trunc, copysign = (
    getattr(values, name) for name in "sqrt fabs rint floor ceil trunc copysign".split())


def maximum(x, y):
    """NaN if either is. Of two zeros the second, as x86's instructions have it, and NumPy with them."""
    return where((x > y) | (x != x), x, y)


def minimum(x, y):
    return where((x < y) | (x != x), x, y)


def fmax(x, y):
    """NaN if both are."""
    return where((x > y) | (y != y), x, y)


def fmin(x, y):
    return where((x < y) | (y != y), x, y)


def fmod(x, y):
    """A call of the C library's for each element: LLVM has no vector form of it."""
    return values.Value(x.builder, x.builder.frem(x.ir, y.ir))


def rest_of_moderate(x, y):
    """fmod, and whether that is it: of a quotient whose whole part is within one of the exact one.

    What is left after so many times y, one too many maybe, is below y and of no more digits: exact.
    """
    a, b = fabs(x), fabs(y)
    quotient = a / b
    rest = rest_of_product(a, trunc(quotient), b)
    rest = where(rest < 0.0, rest + b, rest)
    return copysign(rest, x), (quotient < 2.0 ** MANTISSA[x.width]) & can_be_halved(b)


def can_be_halved(b):
    """A machine that does not multiply and add at once takes products apart, which may overflow."""
    low, high = (0.0, INF) if values.HAS_FMA else (2.0 ** (each * BIAS[b.width] // 2) for each in (-1, 1))
    return (b > low) & (b < high)


def remainder(x, y, rest=None):
    """With the sign of y, as Python's %. `rest` is fmod(x, y)."""
    rest = fmod(x, y) if rest is None else rest
    other_side = (rest != 0.0) & ((y < 0.0) != (rest < 0.0))
    return where(rest == 0.0, copysign(y.like(0.0), y), where(other_side, rest + y, rest))


def floor_divide(x, y, rest=None):
    rest = fmod(x, y) if rest is None else rest
    other_side = (rest != 0.0) & ((y < 0.0) != (rest < 0.0))
    quotient = (x - rest) / y
    quotient = where(other_side, quotient - 1.0, quotient)
    below = floor(quotient)
    below = where(quotient - below > 0.5, below + 1.0, below)
    result = where(quotient == 0.0, copysign(x.like(0.0), x / y), below)
    return where(y == 0.0, x / y, result)


def by_moderate_rest(formula):
    def fast(x, y):
        rest, holds = rest_of_moderate(x, y)
        return formula(x, y, rest), holds

    return fast


fmod_fast = rest_of_moderate
remainder_fast, floor_divide_fast = map(by_moderate_rest, (remainder, floor_divide))


def sinc(x, reduce=reduction.full):
    """sin(y) / y of y = pi x rounded, as NumPy has it; 1 at 0."""
    y = x * 3.141592653589793
    return where(x == 0.0, 1.0, sin(y, reduce) / y)


def sinc_fast(x):
    return sinc(x, reduction.moderate), fabs(x) <= reduction.MODERATE / 4.0
