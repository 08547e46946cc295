"""Bounds as text, of which the numbers that it spells contain the interval."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

__undispatched__ = True


def outwards(lo: Any, hi: Any, spec: str) -> str:
    """f"[{lo:spec}, {hi:spec}]", each bound rounded away from the other. Raises ValueError where what the
    format makes of a number cannot be read as one."""
    if getattr(lo, "ndim", 0):
        raise TypeError("arrays of intervals have no format; format their items")
    low = _rounded(float(lo), spec, lambda spelled, bound: spelled <= bound, -1)
    return f"[{low}, {_rounded(float(hi), spec, lambda spelled, bound: spelled >= bound, 1)}]"


def _rounded(bound: float, spec: str, is_outside: Callable[[Fraction, Fraction], bool], sign: int) -> str:
    """The bound by the format; where that rounds inwards, a number as much further out as is needed."""
    text = format(bound, spec)
    if bound in (float("inf"), float("-inf")):
        return text
    exact = Fraction(bound)
    step = abs(_number(text, spec) - exact)
    while not is_outside(_number(text, spec), exact):
        text = format(float(exact + sign * step), spec)
        step *= 2
    return text


def _number(text: str, spec: str) -> Fraction:
    digits = text.strip().replace(",", "").replace("_", "")
    try:
        return Fraction(digits[:-1]) / 100 if digits.endswith("%") else Fraction(digits)
    except ValueError:
        raise ValueError(f"the format {spec!r} of an interval: {text!r} cannot be read as a number") from None
