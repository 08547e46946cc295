"""Functions whose results are exact, or rounded once: with NumPy's NaN and signed zeros."""

from . import values
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


def remainder_of_c(x, y):
    builder = x.builder
    return values.Value(builder, builder.frem(x.ir, y.ir))


def fmod(x, y):
    """A call of the C library's for each element: LLVM has no vector form."""
    return remainder_of_c(x, y)


def remainder(x, y):
    """With the sign of y, as Python's %."""
    rest = remainder_of_c(x, y)
    other_side = (rest != 0.0) & ((y < 0.0) != (rest < 0.0))
    return where(rest == 0.0, copysign(y.like(0.0), y), where(other_side, rest + y, rest))


def floor_divide(x, y):
    rest = remainder_of_c(x, y)
    other_side = (rest != 0.0) & ((y < 0.0) != (rest < 0.0))
    quotient = (x - rest) / y
    quotient = where(other_side, quotient - 1.0, quotient)
    below = floor(quotient)
    below = where(quotient - below > 0.5, below + 1.0, below)
    result = where(quotient == 0.0, copysign(x.like(0.0), x / y), below)
    return where(y == 0.0, x / y, result)


def sinc(x):
    """sin(y) / y of y = pi x rounded, as NumPy has it; 1 at 0."""
    y = x * 3.141592653589793
    return where(x == 0.0, 1.0, sin(y) / y)
