"""Cotangents as they leave the sweep: of the primal's structure, shapes and dtypes.

finish      for another sweep, which changes nothing
released    for the caller, who may change what it gets: no array among it is one of the program's, or
            stands there twice
"""

from __future__ import annotations

from collections.abc import Collection
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


# What `released` is made of, where the sweep shows the entries (`delivering.py`).


@says(stores="0", raises=False)
def enter(taken: Handed, primal: Any) -> None:
    """Before its parts."""
    taken.entered(primal)


@says(known=False, raises=False)
def part(taken: Handed, bar: Any, primal: Any) -> Any:
    """The cotangent of an entry."""
    return _entry(bar, primal, taken, False)


@says(known=False, raises=False)
def field(primal: Any, name: str) -> Any:
    return getattr(primal, name, None)


@says(stores="0", known=False, raises=False)
def gathered(taken: Handed, primal: Any, keys: tuple[Any, ...], *parts: Any) -> Any:
    """The cotangent of a container, whose entries of these keys have these, and no other has been read."""
    made = dict(zip(keys, parts, strict=True))
    if isinstance(primal, dict):
        whole = {key: made[key] if key in made else taken.of(part) for key, part in primal.items()}
    elif isinstance(primal, (list, tuple)):
        whole = [made[i] if i in made else taken.of(part) for i, part in enumerate(primal)]
        whole = rebuild(primal, whole)
    else:
        whole = _namespace(primal, made, taken)
    taken.left(primal)
    return whole


def _namespace(primal: Any, made: dict[str, Any], taken: Handed) -> Any:
    own = fields(primal)
    found = {name: made[name] if name in made else taken.of(part) for name, part in own.items()}
    found.update(
        (name, bar) for name, bar in made.items() if name not in own and not hasattr(class_of(primal), name)
    )
    return in_namespace(layout(class_of(primal)), found)


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
    cls = type(primal)
    if cls is np.ndarray and type(bar) is np.ndarray:
        return _array(bar, primal, taken, owned)
    if bar is None:
        return None if taken is None else taken.of(primal)
    if cls is list or cls is tuple:
        return _parts(bar, primal, taken)
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
    if taken is not None:
        taken.entered(primal)
    if isinstance(primal, (tuple, list)):
        made = _sequence(bar, primal, taken)
    else:
        made = (_mapping if isinstance(primal, dict) else _object)(bar, primal, taken)
    if taken is not None:
        taken.left(primal)
    return made


def _opened(bar: Any) -> tuple[dict[Any, Any], Collection[Any]]:
    """Cotangents by key, and the keys of those that nothing else refers to."""
    if type(bar) is Partial:
        return bar.entries, bar.owned
    return dict(enumerate(bar) if type(bar) is list else entries_of(bar)), ()


def _mapping(bar: Any, primal: dict[Any, Any], taken: Taken) -> dict[Any, Any]:
    entries, owned = _opened(bar)
    parts = primal.items() if taken else [(k, p) for k, p in primal.items() if k in entries]
    return {key: _entry(entries.get(key), part, taken, key in owned) for key, part in parts}


def _sequence(bar: Any, primal: Any, taken: Taken) -> Any:
    entries, owned = _opened(bar)
    if hasattr(type(primal), "_fields"):
        entries, owned = by_index(entries, primal), by_index(dict.fromkeys(owned), primal)
    made = taken.alike(primal) if taken is not None and len(entries) < len(primal) else None
    if made is None:
        made = [_entry(entries.get(i), part, taken, i in owned) for i, part in enumerate(primal)]
    else:  # long ones, of which little was read
        for i in entries:
            if i < len(primal):
                made[i] = _entry(entries[i], primal[i], taken, i in owned)
    if type(primal) is list:
        return made
    return tuple(made) if type(primal) is tuple else rebuild(primal, made)


def _object(bar: Any, primal: Any, taken: Taken) -> Any:
    """Its fields, and what was read of it that is no field (what a function captured). What its class has is
    no part of it."""
    if not isinstance(bar, (Partial, SimpleNamespace)):
        return _apart(whole(bar, primal), taken)
    entries, owned = _opened(bar)
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
    for key, cotangent in _opened(bar)[0].items():
        made.entries[key] = _entry(cotangent, primal.entries.get(key), taken, False)
    return made


def _array(bar: Any, primal: Any, taken: Taken, owned: bool) -> Any:
    if type(bar) is OwnedArray:
        bar, owned = bar.array, True
    dtype = primal.dtype
    if dtype.kind not in "fc":
        return _apart(whole(bar, primal), taken) if dtype.kind == "O" else None
    if type(bar) is np.ndarray and bar.dtype is dtype and bar.shape == primal.shape:
        return _for_caller(bar, taken, owned)
    if bar is None:
        return np.zeros(primal.shape, primal.dtype)
    return _for_caller(project(whole(bar, primal), primal), taken, owned)


def _for_caller(array: Any, taken: Taken, owned: bool) -> Any:
    if taken is None:
        return array
    if not owned or id(array) in taken.arrays:
        return np.array(array)
    taken.arrays.add(id(array))
    return array


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
