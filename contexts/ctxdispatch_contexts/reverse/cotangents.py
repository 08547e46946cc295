"""Cotangents at run time: how they add, what shape they have, how those of containers are held.

Conventions (one zero, one of everything):
  * `None` is the cotangent of what has no derivative, and the zero of everything whose type is not known
    beforehand;
  * a float's cotangent is a float, an array's an array of its shape and dtype;
  * what the result does not depend on has zeros, in the structure of the argument, where it leaves the
    program (`releasing.py`); until then an entry that is not read has None (in a dict or object: is absent)
  * tuple -> tuple, list -> list, dict -> dict, named tuple -> the same named tuple, any other object ->
    `types.SimpleNamespace` of its attributes.

While the reverse sweep runs, a container's cotangent may be a `Partial`: entries by index, key or attribute
name, so that reading one entry of a long list costs one entry.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from ctxdispatch.facts import says
from ctxdispatch_contexts.programs.containers import by_index, rebuild


class _Zero:
    """The cotangent that nothing has been added to yet. Lives at transform time only."""

    def __repr__(self) -> str:
        return "zero"


ZERO = _Zero()


class Missing:
    """The cotangent of a keyword argument for which the pullback of a rule gave none."""

    def __init__(self, rule: str) -> None:
        self.rule = rule


class Partial:
    """Cotangent of a container by entries. Owned by one variable of one reverse sweep, so it is changed in
    place, and so are those of its entries (arrays) that are `owned`."""

    __slots__ = ("entries", "owned")

    def __init__(self) -> None:
        self.entries: dict[Any, Any] = {}
        self.owned: set[Any] = set()


def partial_of(entries: dict[Any, Any]) -> Partial:
    out = Partial()
    out.entries = entries
    return out


# -- sums ----------------------------------------------------------------------------------------------------


def accumulate(a: Any, b: Any) -> Any:
    """a + b for cotangents of one value. Never changes a `b`, nor an `a` that is no `Partial`."""
    if a is None:
        return b
    if b is None:
        return a
    if type(a) is Partial:
        return add_entries(a, b)
    if isinstance(a, OwnedArray) or isinstance(b, OwnedArray):
        return _add_owned(a, b)
    if type(a) is float or isinstance(a, (np.ndarray, np.generic, complex, int, float)):
        return a + b
    if type(b) is Partial:
        return add_entries(add_entries(Partial(), a), b)
    return _add_containers(a, b)


def add_entries(into: Partial, whole: Any) -> Partial:
    """Add a container cotangent entry by entry."""
    owned = whole.owned if isinstance(whole, Partial) else ()
    for key, cotangent in entries_of(whole):
        _add_to(into, key, cotangent, key in owned)
    return into


def _add_to(into: Partial, key: Any, cotangent: Any, owned: bool) -> None:
    """Arrays that are our own are added to in place: large ones cost more to allocate than to add."""
    entries = into.entries
    old = entries.get(key)
    if old is None:
        entries[key] = cotangent
        if owned:
            into.owned.add(key)
    elif key in into.owned and _fits_in(cotangent, old):
        np.add(old, cotangent, old)
    elif owned and _fits_in(old, cotangent):
        entries[key] = np.add(old, cotangent, cotangent)
        into.owned.add(key)
    else:
        entries[key] = accumulate(old, cotangent)
        if type(old) is type(cotangent) is np.ndarray:
            into.owned.add(key)  # the sum is new
        else:
            into.owned.discard(key)


def _fits_in(array: Any, buffer: Any) -> bool:
    return (
        type(array) is np.ndarray and type(buffer) is np.ndarray
        and array.shape == buffer.shape and array.dtype == buffer.dtype
    )  # fmt: skip


def entries_of(whole: Any) -> list[tuple[Any, Any]]:
    """(key, cotangent) of every entry of a container's cotangent, whatever form it has."""
    if type(whole) is Partial:
        return list(whole.entries.items())
    if whole is None:
        return []
    if isinstance(whole, dict):
        return list(whole.items())
    if isinstance(whole, SimpleNamespace):
        return list(vars(whole).items())
    return list(enumerate(whole))


def in_order(bars: Any) -> Any:
    """The cotangents of items of what has no places: as many as the last that is not zero."""
    if type(bars) is not Partial:
        return bars
    return [bars.entries.get(i) for i in range(1 + max(bars.entries, default=-1))]


def _add_containers(a: Any, b: Any) -> Any:
    if isinstance(a, dict):
        return {k: accumulate(a.get(k), b.get(k)) for k in {**a, **b}}
    if isinstance(a, SimpleNamespace):
        return SimpleNamespace(**_add_containers(vars(a), vars(b)))
    if isinstance(a, (tuple, list)):
        longer, shorter = (a, b) if len(a) >= len(b) else (b, a)
        items = [accumulate(x, y) for x, y in zip(longer, shorter, strict=False)] + list(
            longer[len(shorter) :]
        )
        return rebuild(a, items)
    return a + b


# -- entries of containers -----------------------------------------------------------------------------------


def add_entry(bar: Any, key: Any, cotangent: Any) -> Any:
    """The cotangent of a container after one of its entries received `cotangent`."""
    if cotangent is None:
        return bar
    if type(bar) is not Partial:
        bar = Partial() if bar is None else add_entries(Partial(), bar)
    _add_to(bar, key, cotangent, False)
    return bar


def add_own_entry(bar: Any, key: Any, cotangent: Any) -> Any:
    """`add_entry` of an array that nothing else refers to."""
    if type(bar) is not Partial:
        bar = Partial() if bar is None else add_entries(Partial(), bar)
    _add_to(bar, key, cotangent, True)
    return bar


def add_index(bar: Any, sequence: Any, index: Any, cotangent: Any) -> Any:
    """`add_entry` for sequence[index]: arrays, sequences with negative indices and slices, mappings."""
    if cotangent is None:
        return bar
    if isinstance(sequence, np.ndarray):
        return add_array_index(bar, sequence, index, cotangent)
    if isinstance(index, (slice, range)) and isinstance(sequence, (list, tuple)):
        chosen = index if isinstance(index, range) else range(len(sequence))[index]
        for i, entry in entries_of(cotangent):
            bar = add_entry(bar, chosen[i], entry)
        return bar
    if isinstance(sequence, (list, tuple)):
        index = index.__index__()
        return add_entry(bar, index + len(sequence) if index < 0 else index, cotangent)
    return add_entry(bar, index, cotangent)


def add_array_index(bar: Any, array: Any, index: Any, cotangent: Any) -> Any:
    """`array[index]` read: scatter-add. The buffer belongs to the sweep: see `OwnedArray`."""
    if not isinstance(bar, OwnedArray):
        fresh = OwnedArray(np.zeros(array.shape, array.dtype))
        if bar is not None and not (isinstance(bar, float) and bar == 0.0):
            fresh.array += bar
        bar = fresh
    if isinstance(cotangent, OwnedArray):
        cotangent = cotangent.array
    if unique_index(index):
        bar.array[index] += cotangent
    else:
        np.add.at(bar.array, index, cotangent)
    return bar


class OwnedArray:
    """An array cotangent that this sweep made and may therefore change."""

    __slots__ = ("array",)

    def __init__(self, array: Any) -> None:
        self.array = array


@says(result="item 0")
def unwrapped(bar: Any) -> Any:
    """The array that an `OwnedArray` has; anything else as it is."""
    return bar.array if isinstance(bar, OwnedArray) else bar


def _add_owned(a: Any, b: Any) -> OwnedArray:
    """Into the array that may be changed; which of both that is does not matter to a sum."""
    if not isinstance(a, OwnedArray):
        a, b = b, a
    a.array += b.array if isinstance(b, OwnedArray) else b
    return a  # type: ignore[no-any-return]


_BASIC = (int, slice, type(None), type(Ellipsis), np.integer)


def unique_index(index: Any) -> bool:
    """No element is selected twice: basic indices and boolean masks."""
    if isinstance(index, tuple):
        return all(map(unique_index, index))
    return isinstance(index, _BASIC) or (isinstance(index, np.ndarray) and index.dtype == bool)


def opened(bar: Any) -> Any:
    """The same cotangent of a container as a `Partial`, from which entries can be taken."""
    return bar if bar is None or isinstance(bar, Partial) else add_entries(Partial(), bar)


def take_entry(bar: Any, key: Any) -> Any:
    """What the entry has received; the entry is a new one before this point (an append, a store)."""
    if bar is None:
        return None
    if isinstance(bar, Partial):
        return bar.entries.pop(key, None)
    return _entry(bar, key)


@says(known=False, raises=False)
def entry_of(bar: Any, key: Any) -> Any:
    """One entry of a container's cotangent, or None."""
    if bar is None:
        return None
    if isinstance(bar, Partial):
        return bar.entries.get(key)
    return _entry(bar, key)


def _entry(bar: Any, key: Any) -> Any:
    if isinstance(bar, dict):
        return bar.get(key)
    if isinstance(bar, SimpleNamespace):
        return getattr(bar, key, None)
    if isinstance(bar, np.ndarray):
        return bar[key]
    if isinstance(key, str):
        return getattr(bar, key, None)
    return bar[key] if -len(bar) <= key < len(bar) else None


# -- finished cotangents -------------------------------------------------------------------------------------


@says(known=False, raises=False)
def whole(bar: Any, primal: Any) -> Any:
    """`bar` in the form that leaves the sweep: no Partial, no OwnedArray anywhere in it."""
    if bar is None or type(bar) is float or type(bar) is np.ndarray:
        return bar
    if isinstance(bar, OwnedArray):
        return bar.array
    if isinstance(bar, Partial):
        return _whole_container(bar.entries, primal)
    if isinstance(bar, (tuple, list)):
        return _whole_items(bar, primal)
    if isinstance(bar, SimpleNamespace):
        return SimpleNamespace(**{k: whole(b, getattr(primal, k, None)) for k, b in vars(bar).items()})
    if isinstance(bar, dict):
        return {k: whole(b, primal.get(k)) for k, b in bar.items()}
    return bar


def _whole_items(bar: Any, primal: Any) -> Any:
    """Of an iterator the items are gone: their cotangents stay as they are."""
    if not isinstance(primal, (tuple, list)):
        return bar
    missing = [None] * (len(primal) - len(bar))
    return rebuild(bar, [whole(b, p) for b, p in zip([*bar, *missing], primal, strict=True)])


def _whole_container(entries: dict[Any, Any], primal: Any) -> Any:
    if isinstance(primal, dict):
        return {k: whole(b, primal.get(k)) for k, b in entries.items()}
    if isinstance(primal, (tuple, list)):
        at = by_index(entries, primal)
        return rebuild(primal, [whole(at.get(i), p) for i, p in enumerate(primal)])
    return SimpleNamespace(**{str(k): whole(b, getattr(primal, str(k), None)) for k, b in entries.items()})


@says(result="itself 0", raises=False)
def project(bar: Any, primal: Any) -> Any:
    """`bar` with the shape, dtype and realness of `primal`; None stays the zero."""
    if bar is None:
        return None
    if isinstance(primal, np.ndarray):
        if np.iscomplexobj(bar) and primal.dtype.kind == "f":
            bar = bar.real
        if type(bar) is np.ndarray and bar.shape == primal.shape:
            return bar if bar.dtype == primal.dtype else bar.astype(primal.dtype)
        return np.broadcast_to(bar, primal.shape).astype(primal.dtype)
    if isinstance(bar, np.ndarray):
        bar = bar[()] if bar.ndim == 0 else bar.sum()
    if isinstance(primal, (float, np.floating)) and isinstance(bar, (complex, np.complexfloating)):
        bar = bar.real
    return bar if type(bar) is type(primal) else type(primal)(bar)


# -- helpers of the sweep ------------------------------------------------------------------------------------


@says(known=False, raises=False)
def times(g: float, slope: float) -> float:
    """g * slope where a power is flat whatever comes after it: sqrt(x ** 2) has slope 0 at 0, not nan."""
    return g * slope if slope else 0.0


@says(known=False, raises=False)
def kept(g: Any, mask: Any) -> Any:
    """`g`, which may have become nan, and 0 where by the mask nothing can arrive."""
    if isinstance(g, np.ndarray):
        return np.where(0.0 if mask is None else mask, g, g.dtype.type(0))
    return type(g)(0) if isinstance(g, (float, np.inexact)) and not mask else g


@says(known=False, raises=False)
def ones_of(value: Any) -> Any:
    """The mask of a value all parts of which are used, or of a cotangent that lacks no part by structure."""
    if isinstance(value, (float, complex, np.inexact)):
        return 1.0
    if isinstance(value, np.ndarray):
        return np.ones(value.shape, value.dtype) if value.dtype.kind in "fc" else None
    if isinstance(value, (list, tuple)):
        return [ones_of(item) for item in value]
    if isinstance(value, dict):
        return {key: ones_of(item) for key, item in value.items()}
    fields = getattr(value, "__dict__", None)
    return None if fields is None else SimpleNamespace(**{k: ones_of(v) for k, v in fields.items()})


def reversed_items(bars: list[Any]) -> Any:
    """Item cotangents collected by a reversed loop, as the cotangent of the iterator."""
    bars.reverse()
    return bars


@says(known=False, raises=False)
def rewind(*lists: list[Any]) -> Any:
    """From the last entries of lists of one length to the first. Lowered by `tidy`."""
    return zip(*map(reversed, lists))


@says(known=False, raises=False)
def steps(count: int) -> Any:
    """So many iterations. Lowered by `tidy`."""
    return iter(range(count))
