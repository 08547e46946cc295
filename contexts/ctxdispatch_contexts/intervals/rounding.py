"""Outward rounding: bounds of sums, products and quotients of floats, and steps of some ulps.

What IEEE 754 rounds correctly is off by less than one step, so one step outwards encloses it. Sums and
products that are exact stay as they are: the error of a sum is known (Knuth, "The Art of Computer
Programming" 2, 4.2.2), and that of a product (Dekker 1971, "A floating-point technique for extending the
available precision").
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

__undispatched__ = True

Bounds = tuple[Any, Any]
SPLIT = 2.0**27 + 1.0
WHOLE = 2.0**53
"""Whole numbers below are floats."""
SAFE = 2.0**480
"""Products of numbers between 1 / SAFE and SAFE, and what Dekker's method takes of them, are in range."""


def below(x: Any, ulps: int = 1) -> Any:
    for _ in range(ulps):
        x = np.nextafter(x, -np.inf)
    return x


def above(x: Any, ulps: int = 1) -> Any:
    for _ in range(ulps):
        x = np.nextafter(x, np.inf)
    return x


def enclosed(value: Any) -> Bounds:
    """Two floats between which a real number lies, or each of an array: the number itself where there is such
    a float. Whole numbers, fractions and long doubles may have none."""
    exact = np.asarray(value)
    if exact.dtype.kind not in "fiubO":
        raise TypeError(f"{value!r} is no bound of real numbers")
    near = _nearest(exact)
    if exact.dtype.kind in "bf" and exact.itemsize <= near.itemsize:
        return near, near
    if exact.dtype.kind in "iu":
        if np.all(np.abs(near) < WHOLE):
            return near, near
        exact = exact.astype(object)
    # NumPy compares floats with long doubles exactly, and Python floats with its other numbers.
    return np.where(near > exact, below(near), near), np.where(near < exact, above(near), near)


def _nearest(exact: Any) -> Any:
    """As floats; infinite where they are too large for that."""
    with np.errstate(over="ignore"):
        return _floats(exact) if exact.dtype.kind == "O" else exact.astype(np.float64)


def _float(number: Any) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.copysign(math.inf, 1 if number > 0 else -1)


_floats = np.vectorize(_float, otypes=[np.float64])


def add(a: Any, b: Any) -> Bounds:
    """Two numbers between which a + b lies; NaNs for inf - inf."""
    total = a + b
    part = total - a
    error = (a - (total - part)) + (b - part)
    # Where the sum overflows the error is a NaN: then a step outwards.
    infinite = np.isinf(a) | np.isinf(b)
    low = np.where((error >= 0.0) | infinite, total, below(total))
    return low, np.where((error <= 0.0) | infinite, total, above(total))


def mul(a: Any, b: Any) -> Bounds:
    """Two numbers between which a * b lies; 0 times anything is 0."""
    zero = (a == 0.0) | (b == 0.0)
    product = np.where(zero, 0.0, a * b)
    exact = zero | np.isinf(a) | np.isinf(b)
    exact = exact | (_is_safe(a) & _is_safe(b) & (_error(a, b, product) == 0.0))
    return np.where(exact, product, below(product)), np.where(exact, product, above(product))


def div(a: Any, b: Any) -> Bounds:
    """Two numbers between which a / b lies, for b other than 0."""
    quotient = a / b
    safe = _is_safe(quotient) & _is_safe(b) & (quotient * b == a)
    exact = (a == 0.0) | np.isinf(a) | (safe & (_error(quotient, b, a) == 0.0))
    return np.where(exact, quotient, below(quotient)), np.where(exact, quotient, above(quotient))


def sqrt(x: Any) -> Bounds:
    root = np.sqrt(x)
    exact = (x == 0.0) | (_is_safe(root) & (root * root == x) & (_error(root, root, x) == 0.0))
    return np.where(exact, root, np.maximum(below(root), 0.0)), np.where(exact, root, above(root))


def _is_safe(x: Any) -> Any:
    size = np.abs(x)
    return (size > 1.0 / SAFE) & (size < SAFE)


def _error(a: Any, b: Any, product: Any) -> Any:
    """a * b - product, exactly, where all are safe."""
    a1, a2 = _halves(a)
    b1, b2 = _halves(b)
    return ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2


def _halves(x: Any) -> Bounds:
    high = SPLIT * x
    high = high - (high - x)
    return high, x - high
