"""Comparisons of bounds: they hold for all members, or for none; else they are refused.

Each is a pair (yes, no): where it holds for all members, and where for none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ctxdispatch_contexts.intervals.formatting import shown
from ctxdispatch_contexts.intervals.refusals import refuse
from ctxdispatch_contexts.intervals.rounding import Bounds

__undispatched__ = True

Certain = tuple[Any, Any]


def less(a: Bounds, b: Bounds) -> Certain:
    return a[1] < b[0], a[0] >= b[1]


def less_equal(a: Bounds, b: Bounds) -> Certain:
    return a[1] <= b[0], a[0] > b[1]


def equal(a: Bounds, b: Bounds) -> Certain:
    return (a[0] == a[1]) & (b[0] == b[1]) & (a[0] == b[0]), (a[1] < b[0]) | (b[1] < a[0])


def is_finite(a: Bounds) -> Certain:
    """An interval without bound has finite members, but floats may have overflowed."""
    return np.isfinite(a[0]) & np.isfinite(a[1]), (a[0] == a[1]) & np.isinf(a[0])


def is_nan(a: Bounds) -> Certain:
    """inf - inf and 0 / 0 have no bounds either."""
    return np.zeros(np.shape(a[0]), bool), is_finite(a)[0]


COMPARISONS: dict[str, tuple[str, Callable[[Bounds, Bounds], Certain]]] = {
    "lt": ("<", less), "le": ("<=", less_equal), "eq": ("==", equal),
    "gt": (">", lambda a, b: less(b, a)), "ge": (">=", lambda a, b: less_equal(b, a)),
    "ne": ("!=", lambda a, b: equal(a, b)[::-1]),
}  # fmt: skip
"""By the name that the operator has in `operator`."""


def compared(name: str, a: Bounds, b: Bounds) -> Any:
    symbol, f = COMPARISONS[name]
    return decided(f(a, b), lambda: f"{shown(*a)} {symbol} {shown(*b)}")


def decided(certain: Certain, question: Callable[[], str]) -> Any:
    """yes, where each element is certain."""
    yes, no = certain
    if not np.all(yes | no):
        refuse(
            f"{question()} holds for some of their numbers and not for others; split the intervals, "
            "or write it without a branch (max, min, abs)"
        )
    return yes if np.ndim(yes) else bool(yes)


def is_any_equal(a: Bounds, b: Bounds) -> bool:
    """What NumPy means by `b in a`."""
    yes, no = equal(a, b)
    if np.any(yes):
        return True
    decided((no, yes), lambda: f"{shown(*b)} in {shown(*a)}")
    return False
