"""Special functions of Python floats that the standard library lacks and derivatives need."""

from __future__ import annotations

import math

# B_2k / (2k)!: the coefficients of the asymptotic series of the polygamma functions (DLMF 5.11.2, 5.15.8).
_BERNOULLI = (
    1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330,
)  # fmt: skip


def digamma(x: float) -> float:
    """The derivative of log(gamma(x)); nan at its poles 0, -1, -2, ...

    Reflection for x < 0 (DLMF 5.5.4), then recurrence up to x >= 10 and the asymptotic series: within 4 ulp
    of max(1, |digamma(x)|).
    """
    if x <= 0.0:
        fraction = x - round(x)
        if fraction == 0.0:
            return math.nan
        return digamma(1.0 - x) - math.pi / math.tan(math.pi * fraction)
    shift = 0.0
    while x < 10.0:
        shift += 1.0 / x
        x += 1.0
    return math.log(x) - 0.5 / x - _tail(0, x) - shift


def polygamma(n: int, x: float) -> float:
    """The n-th derivative of digamma; nan at the poles. The time grows with -x where n > 1."""
    if n == 0:
        return digamma(x)
    if x <= 0.0 and x == round(x):
        return math.nan
    if n == 1 and x < 0.0:
        return (math.pi / math.sin(math.pi * (x - round(x)))) ** 2 - polygamma(1, 1.0 - x)
    shift = 0.0
    while x < 10.0 + n:
        shift += x ** (-n - 1)
        x += 1.0
    scale = math.factorial(n)
    series = scale / n * x**-n + 0.5 * scale * x ** (-n - 1) + _tail(n, x)
    return (series + scale * shift) * (1.0 if n % 2 else -1.0)


def _tail(n: int, x: float) -> float:
    """sum over k of B_2k (2k + n - 1)! / (2k)! / x^(2k + n)"""
    total = 0.0
    for k in range(len(_BERNOULLI), 0, -1):
        total += _BERNOULLI[k - 1] * math.factorial(2 * k + n - 1) / math.factorial(2 * k) * x ** (-2 * k - n)
    return total
