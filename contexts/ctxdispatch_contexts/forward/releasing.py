"""Tangents as they leave a program."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from ctxdispatch.passes import effects
from ctxdispatch_contexts.forward.dual import Dual
from ctxdispatch_contexts.forward.tangents import zeros_block
from ctxdispatch_contexts.forward.walking import OF_VIEW, as_many, items
from ctxdispatch_contexts.programs.containers import rebuild


def apart(tangent: Any, value: Any, k: int | None = None) -> Any:
    """`tangent` with memory of its own, in containers of any kind; zeros where the value is a number or array
    and nothing moves it. `k`: how many there are in a block."""
    if isinstance(value, (float, complex, np.inexact)) or (
        isinstance(value, np.ndarray) and value.dtype.kind in "fc"
    ):
        return _own(tangent, value, k)
    if isinstance(value, (tuple, list)):
        parts = [None] * len(value) if tangent is None else tangent
        return rebuild(value, [apart(d, v, k) for d, v in zip(parts, value, strict=True)])
    if isinstance(value, dict):
        return {key: apart(None if tangent is None else tangent.get(key), v, k) for key, v in value.items()}
    if type(value) in OF_VIEW:
        return apart(as_many(items(tangent, value), len(value)), list(value), k)
    if isinstance(value, Dual):
        parts = vars(tangent) if isinstance(tangent, SimpleNamespace) else {}
        return Dual(
            apart(parts.get("value"), value.value, k), apart(parts.get("partials"), value.partials, k)
        )
    if isinstance(tangent, SimpleNamespace):
        return SimpleNamespace(
            **{name: apart(d, getattr(value, name, None), k) for name, d in vars(tangent).items()}
        )
    return tangent


def _own(tangent: Any, value: Any, k: int | None) -> Any:
    if tangent is None and k is not None:
        return zeros_block(value, k)
    if tangent is None:
        return np.zeros_like(value) if isinstance(value, np.ndarray) else type(value)(0)
    return np.array(tangent) if isinstance(tangent, np.ndarray) else tangent


effects.assume_removable(apart)
