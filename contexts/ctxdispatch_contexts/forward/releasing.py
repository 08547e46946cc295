"""Tangents as they leave a program."""

from __future__ import annotations

import functools
from collections import deque
from types import SimpleNamespace
from typing import Any

import numpy as np

from ctxdispatch.facts import says
from ctxdispatch_contexts.forward.dual import Dual
from ctxdispatch_contexts.forward.tangents import zeros_block
from ctxdispatch_contexts.forward.walking import OF_VIEW, as_many, items
from ctxdispatch_contexts.programs.containers import rebuild
from ctxdispatch_contexts.programs.zeros import Zeros, fields, in_namespace, is_floating, layout, zero


@says(known=False, raises=False)
def apart(tangent: Any, value: Any, k: int | None = None) -> Any:
    """`tangent` with memory of its own, in containers of any kind; zeros where nothing moves the value. `k`:
    how many there are in a block."""
    if type(value) is float and tangent is not None:
        return np.array(tangent) if type(tangent) is np.ndarray else tangent
    zeros = Zeros(zero if k is None else functools.partial(zeros_block, k=k))
    return _apart(tangent, value, zeros)


def _apart(tangent: Any, value: Any, zeros: Zeros) -> Any:
    if type(value) in OF_VIEW:
        value, tangent = list(value), as_many(items(tangent, value), len(value))
    if tangent is None and not isinstance(value, Dual):
        return zeros.of(value)
    if is_floating(value):
        return np.array(tangent) if isinstance(tangent, np.ndarray) else tangent
    zeros.entered(value)
    found = _parts(tangent, value, zeros)
    zeros.left(value)
    return found


def _parts(tangent: Any, value: Any, zeros: Zeros) -> Any:
    if isinstance(value, (tuple, list, deque)):
        return rebuild(value, [_apart(d, v, zeros) for d, v in zip(tangent, value, strict=True)])
    if isinstance(value, dict):
        return {key: _apart(tangent.get(key), v, zeros) for key, v in value.items()}
    if isinstance(value, Dual):
        parts = vars(tangent) if isinstance(tangent, SimpleNamespace) else {}
        return Dual(*(_apart(parts.get(name), getattr(value, name), zeros) for name in ("value", "partials")))
    if isinstance(tangent, SimpleNamespace):
        moved = vars(tangent)
        return in_namespace(layout(type(value)), {
            name: _apart(moved.get(name), getattr(value, name, None), zeros)
            for name in {**fields(value), **moved}
        })  # fmt: skip
    return tangent
