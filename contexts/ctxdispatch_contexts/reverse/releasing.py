"""Cotangents as they go out to the caller, who may change them: no array among them is one of the program's,
or stands there twice.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from ctxdispatch_contexts.reverse.cotangents import OwnedArray, Partial, entries_of, finish, rebuild


def released(bar: Any, primal: Any) -> Any:
    """`finish` for the caller, who may change what it gets: what may be someone else's array too is
    copied."""
    own: set[int] = set()
    _find_own(bar, own)
    return _apart(finish(bar, primal), own)


def _find_own(bar: Any, own: set[int]) -> None:
    """The arrays that nothing else refers to, by identity."""
    if isinstance(bar, Partial):
        own.update(id(bar.entries[key]) for key in bar.owned)
        for entry in bar.entries.values():
            if type(entry) is not np.ndarray:
                _find_own(entry, own)
    elif isinstance(bar, OwnedArray):
        own.add(id(bar.array))
    elif isinstance(bar, (tuple, list, dict, SimpleNamespace)):
        for _, entry in entries_of(bar):
            _find_own(entry, own)


def _apart(cotangent: Any, own: set[int]) -> Any:
    if isinstance(cotangent, np.ndarray):
        if id(cotangent) not in own:
            return np.array(cotangent)
        own.discard(id(cotangent))  # only once
        return cotangent
    if isinstance(cotangent, (tuple, list)):
        return rebuild(cotangent, [_apart(c, own) for c in cotangent])
    if isinstance(cotangent, dict):
        return {k: _apart(c, own) for k, c in cotangent.items()}
    if isinstance(cotangent, SimpleNamespace):
        return SimpleNamespace(**_apart(vars(cotangent), own))
    return cotangent


def own(bar: Any) -> Any:
    """An array for the caller. Lowered by `tidy`: to the array itself, where nothing else refers to it."""
    return np.array(bar)
