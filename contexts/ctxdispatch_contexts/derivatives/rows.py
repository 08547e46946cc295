"""The elementwise functions: for each its parameters and one partial derivative per parameter.

    y = f(a, b)   =>   dy = (partial a) * da + (partial b) * db

A partial is a Python expression in the parameters and in the result `y`. Its names are those of a namespace
(`namespaces.py`), so that one row serves Python floats, complex numbers and arrays. "0" is a zero by rule,
and a number a constant; every other property (linear or not, what the partial needs) is read off the
expression.

Where a real result comes of a complex argument the partial is df/dx - i df/dy; everywhere else it is the
complex derivative, without conjugation.
"""

from __future__ import annotations

from typing import NamedTuple


class Row(NamedTuple):
    """Parameter names and, in the same order, the expressions of the partial derivatives."""

    params: tuple[str, ...]
    partials: tuple[str, ...]


def row(params: str, *partials: str) -> Row:
    return Row(tuple(params.split()), partials)


ROWS = {
    # -- arithmetic ------------------------------------------------------------------------------------------
    "add": row("a b", "1", "1"),
    "sub": row("a b", "1", "-1"),
    "mul": row("a b", "b", "a"),
    "truediv": row("a b", "1 / b", "-y / b"),
    "floordiv": row("a b", "0", "0"),
    "mod": row("a b", "1", "-(a // b)"),
    "fmod": row("a b", "1", "-rint((a - y) / b)"),
    "pow": row("a b", "power_base(a, b)", "power_exponent(a, b, y)"),
    "fma": row("a b c", "b", "a", "1"),
    "pos": row("x", "1"),
    "neg": row("x", "-1"),
    "square": row("x", "2.0 * x"),
    "reciprocal": row("x", "-y * y"),

    # -- size, order, rounding -------------------------------------------------------------------------------
    "abs": row("x", "unit(x)"),
    "fabs": row("x", "unit(x)"),
    "sign": row("x", "0"),
    "copysign": row("a b", "unit(a) * copysign(1.0, b)", "0"),
    "maximum": row("a b", "share(a, b, y)", "share(b, a, y)"),
    "minimum": row("a b", "share(b, a, y)", "share(a, b, y)"),
    "fmax": row("a b", "share(a, where(isnan(b), -inf, b), y)", "share(b, where(isnan(a), -inf, a), y)"),
    "fmin": row("a b", "share(where(isnan(b), inf, b), a, y)", "share(where(isnan(a), inf, a), b, y)"),
    "heaviside": row("a b", "0", "a == 0.0"),
    "floor": row("x", "0"),
    "ceil": row("x", "0"),
    "trunc": row("x", "0"),
    "rint": row("x", "0"),
    "nextafter": row("a b", "1", "0"),
    "ulp": row("x", "0"),
    "ldexp": row("a n", "2.0 ** n", "0"),

    # -- roots, exponentials and logarithms ------------------------------------------------------------------
    "sqrt": row("x", "div(0.5, y)"),
    "cbrt": row("x", "div(1.0, 3.0 * y * y)"),
    "hypot": row("a b", "a / nonzero(y)", "b / nonzero(y)"),
    "exp": row("x", "y"),
    "exp2": row("x", "0.6931471805599453 * y"),
    "expm1": row("x", "y + 1.0"),
    "log": row("x", "1.0 / x"),
    "log2": row("x", "1.4426950408889634 / x"),
    "log10": row("x", "0.4342944819032518 / x"),
    "log1p": row("x", "1.0 / (x + 1.0)"),
    "logaddexp": row("a b", "exp(a - y)", "exp(b - y)"),
    "logaddexp2": row("a b", "exp2(a - y)", "exp2(b - y)"),

    # -- circular and hyperbolic -----------------------------------------------------------------------------
    "sin": row("x", "cos(x)"),
    "cos": row("x", "-sin(x)"),
    "tan": row("x", "1.0 + y * y"),
    "asin": row("x", "div(1.0, sqrt((1.0 - x) * (1.0 + x)))"),
    "acos": row("x", "div(-1.0, sqrt((1.0 - x) * (1.0 + x)))"),
    "atan": row("x", "1.0 / (1.0 + x * x)"),
    "atan2": row("a b", "div(b, a * a + b * b)", "div(-a, a * a + b * b)"),
    "sinh": row("x", "cosh(x)"),
    "cosh": row("x", "sinh(x)"),
    "tanh": row("x", "1.0 - y * y"),
    "asinh": row("x", "1.0 / sqrt(x * x + 1.0)"),
    "acosh": row("x", "div(1.0, sqrt(x - 1.0) * sqrt(x + 1.0))"),
    "atanh": row("x", "1.0 / ((1.0 - x) * (1.0 + x))"),
    "degrees": row("x", "57.29577951308232"),
    "radians": row("x", "0.017453292519943295"),
    "sinc": row("x", "sinc_slope(x, y)"),

    # -- special functions -----------------------------------------------------------------------------------
    "erf": row("x", "1.1283791670955126 * exp(-x * x)"),
    "erfc": row("x", "-1.1283791670955126 * exp(-x * x)"),
    "gamma": row("x", "y * digamma(x)"),
    "lgamma": row("x", "digamma(x)"),
    "digamma": row("x", "polygamma(1, x)"),
    "polygamma": row("n x", "0", "polygamma(n + 1, x)"),
    "expit": row("x", "y * (1.0 - y)"),
    "erfinv": row("x", "0.886226925452758 * exp(y * y)"),
}  # fmt: skip


WITHOUT_CALLEES = frozenset({"expit", "erfinv"})
"""Rows of instructions of kernels: the functions are scipy.special's, which need not be there."""

PIECEWISE_CONSTANT = frozenset("unit share where isnan rint floor sign copysign".split())
"""Functions whose own derivative is zero: a partial made of these alone varies with nothing."""

STEEP = frozenset({"div", "power_base"})
"""What a partial that may be infinite is written with."""

BOUNDED = frozenset("tanh expit atan asinh hypot logaddexp logaddexp2 erf erfc sinc".split())
"""Rows of which no partial is infinite, though they divide, or have the result in them."""

UNBOUNDED = STEEP | frozenset("power_exponent exp exp2 cosh sinh digamma polygamma nonzero".split())
"""What a partial that may be too large for a number is written with, beside a division or the result."""

REAL_ONLY = frozenset({"sign", "copysign"})
"""Rows that do not hold for complex arguments, though the functions accept them."""
