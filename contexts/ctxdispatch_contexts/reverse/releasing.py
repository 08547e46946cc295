"""Cotangents as they leave the sweep: of the primal's structure, shapes and dtypes.

finish      for another sweep, which changes nothing
released    for the caller, who may change what it gets: no array among it is one of the program's, or
            stands there twice
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from ctxdispatch_contexts.programs.containers import by_index, rebuild
from ctxdispatch_contexts.reverse.cotangents import (
    OwnedArray,
    Partial,
    entries_of,
    project,
    whole,
)

Taken = set[int] | None
"""The arrays that the caller has got already, by identity; None where all may be handed on."""


def finish(bar: Any, primal: Any) -> Any:
    """The cotangent of an argument: whole, of the primal's shape and dtype, zero where nothing arrived."""
    return _argument(bar, primal, None)


def released(bar: Any, primal: Any) -> Any:
    """`finish`, with a copy of every array that may be someone else's too."""
    return _argument(bar, primal, set())


def own(bar: Any) -> Any:
    """An array for the caller. Lowered by `tidy`: to the array itself, where nothing else refers to it."""
    return np.array(bar)


def number(bar: Any) -> Any:
    """The cotangent of a float. Lowered by `tidy`: to 0.0 where nothing arrived, else to what did."""
    return 0.0 if bar is None else bar


def _argument(bar: Any, primal: Any, taken: Taken) -> Any:
    if type(primal) is float:
        return 0.0 if bar is None else project(bar, primal)
    if isinstance(primal, np.ndarray):
        return _array(bar, primal, taken, False)
    if isinstance(primal, (float, complex, np.inexact)):
        return type(primal)(0) if bar is None else project(bar, primal)
    return _entry(bar, primal, taken, False)


def _entry(bar: Any, primal: Any, taken: Taken, owned: bool) -> Any:
    """The same for an entry of a container: None where nothing arrived."""
    if type(bar) is np.ndarray and type(primal) is np.ndarray:
        return _array(bar, primal, taken, owned)
    if bar is None or isinstance(primal, (int, str, bytes, np.integer, np.bool_)):
        return None
    if isinstance(primal, (float, complex, np.inexact, np.ndarray)):
        return _argument(bar, primal, taken)
    if isinstance(primal, (tuple, list, dict)):
        return _container(bar, primal, taken)
    if isinstance(primal, Partial):  # of a sweep that is swept
        return _partial(bar, primal, taken)
    if isinstance(primal, OwnedArray):
        return _entry(bar, primal.array, taken, owned)
    if isinstance(bar, (Partial, SimpleNamespace)):
        return SimpleNamespace(**{
            str(k): _entry(b, getattr(primal, str(k), None), taken, mine) for k, b, mine in _entries(bar)
        })  # fmt: skip
    return _apart(whole(bar, primal), taken)


def _entries(bar: Any) -> list[tuple[Any, Any, bool]]:
    """(key, cotangent, whether nothing else refers to it)"""
    if type(bar) is Partial:
        return [(k, b, k in bar.owned) for k, b in bar.entries.items()]
    return [(k, b, False) for k, b in entries_of(bar)]


def _container(bar: Any, primal: Any, taken: Taken) -> Any:
    entries = {k: (b, mine) for k, b, mine in _entries(bar)}
    if isinstance(primal, dict):
        return {k: _entry(entries[k][0], p, taken, entries[k][1]) for k, p in primal.items() if k in entries}
    at, nothing = by_index(entries, primal), (None, False)
    found = [(p, *at.get(i, nothing)) for i, p in enumerate(primal)]
    return rebuild(primal, [_entry(b, p, taken, mine) for p, b, mine in found])


def _partial(bar: Any, primal: Partial, taken: Taken) -> Partial:
    """Entry by entry, under the same keys."""
    made = Partial()
    for key, cotangent, mine in _entries(bar):
        made.entries[key] = _entry(cotangent, primal.entries.get(key), taken, mine)
    return made


def _array(bar: Any, primal: Any, taken: Taken, owned: bool) -> Any:
    if type(bar) is OwnedArray:
        bar, owned = bar.array, True
    if primal.dtype.kind not in "fc":
        return _apart(whole(bar, primal), taken) if primal.dtype.kind == "O" else None
    if bar is None:
        return np.zeros(primal.shape, primal.dtype)
    bar = whole(bar, primal)
    exact = type(bar) is np.ndarray and bar.dtype is primal.dtype and bar.shape == primal.shape
    done = bar if exact else project(bar, primal)
    if taken is None or (owned and id(done) not in taken):
        if taken is not None:
            taken.add(id(done))
        return done
    return np.array(done)


def _apart(cotangent: Any, taken: Taken) -> Any:
    """Arrays copied, in containers of any kind."""
    if taken is None:
        return cotangent
    if isinstance(cotangent, np.ndarray):
        return np.array(cotangent)
    if isinstance(cotangent, (tuple, list)):
        return rebuild(cotangent, [_apart(c, taken) for c in cotangent])
    if isinstance(cotangent, dict):
        return {k: _apart(c, taken) for k, c in cotangent.items()}
    if isinstance(cotangent, SimpleNamespace):
        return SimpleNamespace(**_apart(vars(cotangent), taken))
    return cotangent
