"""Bounds as text. What is printed, read as floats, contains the interval: what digits are left out is rounded
outwards."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import Any

import numpy as np

__undispatched__ = True

SPEC = re.compile(r"(?:.?[<>=^])?[-+ ]?z?#?0?\d*[,_]?(?P<precision>(?:\.\d+)?)(?P<kind>[eEfFgGn%]?)")
"""PEP 3101's specification of a float; what stands before the precision does not change the number."""


def shown(lo: Any, hi: Any) -> str:
    """All digits that tell a float from its neighbours."""
    if np.ndim(lo) == 0:
        return f"[{float(lo)!r}, {float(hi)!r}]"
    with np.printoptions(floatmode="unique"):
        return f"Interval({lo!r}, {hi!r})"


def formatted(lo: Any, hi: Any, spec: str) -> str:
    return f"[{_outwards(float(lo), spec, -1)}, {_outwards(float(hi), spec, 1)}]"


def _outwards(bound: float, spec: str, sign: int) -> str:
    """The text nearest to the bound that reads as no number inside of it: a float further out is formatted,
    by one ulp, two, four and so on."""
    text, number, step = format(bound, spec), bound, math.ulp(bound)
    while math.isfinite(bound) and sign * (_read(number, spec) - bound) < 0:
        number, step = bound + sign * step, step * 2.0
        text = format(number, spec)
    return text


def _read(number: float, spec: str) -> float:
    """The float that `format(number, spec)` reads as."""
    parts = SPEC.fullmatch(spec)
    assert parts is not None, f"{spec!r} formats floats"
    kind = parts["kind"].replace("n", "g")
    text = format(number, parts["precision"] + kind)
    return float(Decimal(text[:-1]).scaleb(-2)) if kind == "%" else float(text)
