"""Structural zeros of a recorded run (`reverse/masks.py` says what they are).

A sweep that ends in nan is made again. First the masks of what arrives at each entry go back along the tape,
as cotangents would if all partials were 1; then the cotangents, which stay 0 where their masks are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ctxdispatch_contexts.recording.leaves import leaves
from ctxdispatch_contexts.reverse.cotangents import kept

Masks = dict[int, Any]
"""By entry, the mask of the cotangent that arrives at it."""


def is_nan(bars: Any) -> bool:
    return any(bool(np.isnan(bar).any()) for bar in leaves(bars))


def selected(cotangent: Any, mask: Any) -> Any:
    """`cotangent`, of what has that mask."""
    if isinstance(cotangent, (list, tuple)) and isinstance(mask, (list, tuple)):
        return [selected(c, m) for c, m in zip(cotangent, mask, strict=True)]
    numeric = isinstance(cotangent, (float, np.inexact, np.ndarray)) and np.shape(cotangent) == np.shape(mask)
    return kept(cotangent, mask) if numeric else cotangent


__all__ = ["Masks", "is_nan", "selected"]
