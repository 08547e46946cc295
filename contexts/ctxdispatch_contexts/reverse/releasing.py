"""Cotangents as they leave the sweep: of the primal's structure, shapes and dtypes.

finish      for another sweep, which changes nothing
released    for the caller, who may change what it gets: no array among it is one of the program's, or
            stands there twice
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from ctxdispatch.facts import says
from ctxdispatch_contexts.programs.containers import by_index, rebuild
from ctxdispatch_contexts.programs.zeros import Zeros, class_of, fields, in_namespace, layout, zero
from ctxdispatch_contexts.reverse.cotangents import (
    OwnedArray,
    Partial,
    entries_of,
    project,
    whole,
)


class Handed(Zeros):
    """What the caller has got already: arrays, by identity, and the zeros of what was not read."""

    __slots__ = ("arrays",)

    def __init__(self) -> None:
        super().__init__()
        self.arrays: set[int] = set()


Taken = Handed | None
"""None where all may be handed on, and what was not read may be None."""


@says(known=False, raises=False)
def finish(bar: Any, primal: Any) -> Any:
    """The cotangent of an argument: whole, of the primal's shape and dtype, zero where nothing arrived
    (in a container None)."""
    return _argument(bar, primal, None)


@says(known=False, raises=False)
def released(bar: Any, primal: Any) -> Any:
    """`finish`, with a copy of every array that may be someone else's too, and zeros throughout."""
    return _argument(bar, primal, Handed())


@says(known=False, raises=False)
def own(bar: Any) -> Any:
    """An array for the caller. Lowered by `tidy`: to the array itself, where nothing else refers to it."""
    return np.array(bar)


@says(known=False, raises=False)
def number(bar: Any) -> Any:
    """The cotangent of a float. Lowered by `tidy`: to 0.0 where nothing arrived, else to what did."""
    return 0.0 if bar is None else bar


def _argument(bar: Any, primal: Any, taken: Taken) -> Any:
    if type(primal) is float:
        return 0.0 if bar is None else project(bar, primal)
    if isinstance(primal, np.ndarray):
        return _array(bar, primal, taken, False)
    if isinstance(primal, (float, complex, np.inexact)):
        return zero(primal) if bar is None else project(bar, primal)
    return _entry(bar, primal, taken, False)


def _entry(bar: Any, primal: Any, taken: Taken, owned: bool) -> Any:
    """The same for an entry of a container."""
    if type(bar) is np.ndarray and type(primal) is np.ndarray:
        return _array(bar, primal, taken, owned)
    if bar is None:
        return None if taken is None else taken.of(primal)
    if isinstance(primal, (int, str, bytes, np.integer, np.bool_)):
        return None
    if isinstance(primal, (float, complex, np.inexact, np.ndarray)):
        return _argument(bar, primal, taken)
    if isinstance(primal, OwnedArray):
        return _entry(bar, primal.array, taken, owned)
    if isinstance(primal, Partial):  # of a sweep that is swept
        return _partial(bar, primal, taken)
    return _parts(bar, primal, taken)


def _parts(bar: Any, primal: Any, taken: Taken) -> Any:
    """Of a container or object, in which the primal itself is not gone through again."""
    by = _container if isinstance(primal, (tuple, list, dict)) else _object
    if taken is None:
        return by(bar, primal, taken)
    taken.entered(primal)
    made = by(bar, primal, taken)
    taken.left(primal)
    return made


def _entries(bar: Any) -> list[tuple[Any, Any, bool]]:
    """(key, cotangent, whether nothing else refers to it)"""
    if type(bar) is Partial:
        return [(k, b, k in bar.owned) for k, b in bar.entries.items()]
    return [(k, b, False) for k, b in entries_of(bar)]


def _container(bar: Any, primal: Any, taken: Taken) -> Any:
    entries, made = {k: (b, mine) for k, b, mine in _entries(bar)}, {}
    if isinstance(primal, dict):
        for key, part in primal.items() if taken else [(k, p) for k, p in primal.items() if k in entries]:
            cotangent, mine = entries.get(key, _NOTHING)
            made[key] = _entry(cotangent, part, taken, mine)
        return made
    return rebuild(primal, _items(by_index(entries, primal), primal, taken))


_NOTHING = (None, False)


def _items(entries: dict[Any, Any], primal: Any, taken: Taken) -> list[Any]:
    few = taken is not None and len(entries) < len(primal)
    made = taken.alike(primal) if few else None  # type: ignore[union-attr]
    at = range(len(primal)) if made is None else [i for i in entries if i < len(primal)]
    made = [None] * len(primal) if made is None else made
    for i in at:
        cotangent, mine = entries.get(i, _NOTHING)
        made[i] = _entry(cotangent, primal[i], taken, mine)
    return made


def _object(bar: Any, primal: Any, taken: Taken) -> Any:
    """Its fields, and what was read of it that is no field (what a function captured). What its class has is
    no part of it."""
    if not isinstance(bar, (Partial, SimpleNamespace)):
        return _apart(whole(bar, primal), taken)
    partial = type(bar) is Partial
    entries, owned = (bar.entries, bar.owned) if partial else (vars(bar), ())
    made, own = {}, fields(primal) if taken is not None else {}
    for name, part in own.items():
        made[name] = _entry(entries.get(name), part, taken, name in owned)
    for key, cotangent in entries.items():
        if key not in own and not (taken is not None and hasattr(class_of(primal), str(key))):
            made[str(key)] = _entry(cotangent, getattr(primal, str(key), None), taken, key in owned)
    return SimpleNamespace(**made) if taken is None else in_namespace(layout(class_of(primal)), made)


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
    if taken is None or (owned and id(done) not in taken.arrays):
        if taken is not None:
            taken.arrays.add(id(done))
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
