"""Elementary functions of intervals: tables of what is monotone, even or periodic, and by how many ulps the
library may be off.

    ULPS   twice what is known of the errors of glibc and of NumPy's vector loops (4 ulp)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ctxdispatch_contexts.intervals import rounding
from ctxdispatch_contexts.intervals.formatting import shown
from ctxdispatch_contexts.intervals.refusals import refuse
from ctxdispatch_contexts.intervals.rounding import Bounds, above, below

__undispatched__ = True

ULPS = 8
INF = np.inf
Function = Callable[[Any], Any]
Enclosure = Callable[[Any, Any], Bounds]

_erf: Function = np.vectorize(math.erf, otypes=[float])
_erfc: Function = np.vectorize(math.erfc, otypes=[float])

INCREASING: dict[str, tuple[Function, float, float]] = {
    "exp": (np.exp, 0.0, INF), "exp2": (np.exp2, 0.0, INF), "expm1": (np.expm1, -1.0, INF),
    "log": (np.log, -INF, INF), "log2": (np.log2, -INF, INF), "log10": (np.log10, -INF, INF),
    "log1p": (np.log1p, -INF, INF), "cbrt": (np.cbrt, -INF, INF),
    "sinh": (np.sinh, -INF, INF), "tanh": (np.tanh, -1.0, 1.0), "asinh": (np.arcsinh, -INF, INF),
    "acosh": (np.arccosh, 0.0, INF), "atanh": (np.arctanh, -INF, INF),
    "asin": (np.arcsin, -1.5707963267948968, 1.5707963267948968), "erf": (_erf, -1.0, 1.0),
    "atan": (np.arctan, -1.5707963267948968, 1.5707963267948968),
}  # fmt: skip
"""The function, and between which numbers all its values lie."""

DECREASING: dict[str, tuple[Function, float, float]] = {
    "acos": (np.arccos, 0.0, 3.1415926535897936),
    "erfc": (_erfc, 0.0, 2.0),
}

EXACT: dict[str, Function] = {
    "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "rint": np.rint, "positive": np.positive,
    "degrees": np.degrees, "radians": np.radians,
}  # fmt: skip
"""Monotone; what is rounded is exact but for the last two."""

DOMAINS = {
    "sqrt": (0.0, INF), "log": (0.0, INF), "log2": (0.0, INF), "log10": (0.0, INF), "log1p": (-1.0, INF),
    "asin": (-1.0, 1.0), "acos": (-1.0, 1.0), "acosh": (1.0, INF), "atanh": (-1.0, 1.0),
}  # fmt: skip
"""Where a function has values; an interval that reaches beyond is refused."""


def increasing(name: str) -> Enclosure:
    f, least, most = INCREASING[name]
    return lambda lo, hi: (
        np.clip(below(f(lo), ULPS), least, most),
        np.clip(above(f(hi), ULPS), least, most),
    )


def decreasing(name: str) -> Enclosure:
    f, least, most = DECREASING[name]
    return lambda lo, hi: (
        np.clip(below(f(hi), ULPS), least, most),
        np.clip(above(f(lo), ULPS), least, most),
    )


def exact(name: str) -> Enclosure:
    f = EXACT[name]
    ulps = ULPS if name in ("degrees", "radians") else 0
    return lambda lo, hi: (below(f(lo), ulps), above(f(hi), ulps))


def sqrt(lo: Any, hi: Any) -> Bounds:
    return rounding.sqrt(lo)[0], rounding.sqrt(hi)[1]


def absolute(lo: Any, hi: Any) -> Bounds:
    largest = np.maximum(np.abs(lo), np.abs(hi))
    return np.where(_has_zero(lo, hi), 0.0, np.minimum(np.abs(lo), np.abs(hi))), largest


def square(lo: Any, hi: Any) -> Bounds:
    least, most = absolute(lo, hi)
    return np.maximum(rounding.mul(least, least)[0], 0.0), rounding.mul(most, most)[1]


def cosh(lo: Any, hi: Any) -> Bounds:
    least, most = absolute(lo, hi)
    return np.maximum(below(np.cosh(least), ULPS), 1.0), above(np.cosh(most), ULPS)


def _has_zero(lo: Any, hi: Any) -> Any:
    return (lo <= 0.0) & (hi >= 0.0)


# -- periodic functions ----------------------------------------------------------------------------

FAR = 2.0**30
"""Beyond this the enclosure of multiples of pi is too wide to tell where the extrema are."""

HALF_PI = (1.5707963267948966, 1.5707963267948968)
"""Floats around pi / 2."""


def sin(lo: Any, hi: Any) -> Bounds:
    """At odd multiples of pi / 2 there are extrema: +1 at 1 + 4 k, -1 at 3 + 4 k."""
    return _wave(np.sin, lo, hi, 1)


def cos(lo: Any, hi: Any) -> Bounds:
    """+1 at 4 k, -1 at 2 + 4 k."""
    return _wave(np.cos, lo, hi, 0)


def _wave(f: Function, lo: Any, hi: Any, highest: int) -> Bounds:
    far = ~(np.isfinite(lo) & np.isfinite(hi)) | (np.maximum(np.abs(lo), np.abs(hi)) > FAR)
    a, b = np.where(far, 0.0, lo), np.where(far, 0.0, hi)
    least, most = np.minimum(f(a), f(b)), np.maximum(f(a), f(b))
    top = far | _reaches(a, b, highest)
    bottom = far | _reaches(a, b, highest + 2)
    return (
        np.where(bottom, -1.0, np.maximum(below(least, ULPS), -1.0)),
        np.where(top, 1.0, np.minimum(above(most, ULPS), 1.0)),
    )


def _reaches(lo: Any, hi: Any, offset: int) -> Any:
    """Whether (offset + 4 k) * pi / 2 may lie in [lo, hi] for a whole k."""
    first = np.floor((lo / HALF_PI[0] - offset) / 4.0) - 1.0
    found = hi - lo > 6.3
    for step in range(4):
        multiple = offset + 4.0 * (first + step)
        bounds = sorted_products(multiple)
        found = found | ((bounds[1] >= lo) & (bounds[0] <= hi))
    return found


def sorted_products(multiple: Any) -> Bounds:
    """Around multiple * pi / 2."""
    ends = [rounding.mul(multiple, np.float64(bound)) for bound in HALF_PI]
    return np.minimum(ends[0][0], ends[1][0]), np.maximum(ends[0][1], ends[1][1])


def tan(lo: Any, hi: Any) -> Bounds:
    """All numbers where a pole may lie in between."""
    far = ~(np.isfinite(lo) & np.isfinite(hi)) | (np.maximum(np.abs(lo), np.abs(hi)) > FAR)
    a, b = np.where(far, 0.0, lo), np.where(far, 0.0, hi)
    pole = far | _reaches(a, b, 1) | _reaches(a, b, 3)
    return np.where(pole, -INF, below(np.tan(a), ULPS)), np.where(pole, INF, above(np.tan(b), ULPS))


FUNCTIONS: dict[str, Enclosure] = {
    **{name: increasing(name) for name in INCREASING},
    **{name: decreasing(name) for name in DECREASING},
    **{name: exact(name) for name in EXACT},
    "sqrt": sqrt, "absolute": absolute, "fabs": absolute, "square": square, "cosh": cosh,
    "sin": sin, "cos": cos, "tan": tan,
}  # fmt: skip
"""By the name that the function has in `math`, or in NumPy."""

NUMPY_NAMES = {
    "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arcsinh": "asinh", "arccosh": "acosh",
    "arctanh": "atanh", "deg2rad": "radians", "rad2deg": "degrees", "abs": "absolute",
}  # fmt: skip


def elementary(name: str, x: Bounds) -> Bounds:
    """The function of this name, or of NumPy's name for it. Refuses x that reaches beyond its domain."""
    name = NUMPY_NAMES.get(name, name)
    if name in DOMAINS:
        least, most = DOMAINS[name]
        if np.any((x[0] < least) | (x[1] > most)):
            refuse(f"{name} of {shown(*x)}, which reaches beyond [{least}, {most}]")
    return FUNCTIONS[name](*x)
