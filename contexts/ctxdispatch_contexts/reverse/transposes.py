"""What reverse mode does with the functions that sweeps call, where a sweep is swept: each is linear in its
cotangents, so its rule is its transpose, whatever they are. None stays the zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ctxdispatch_contexts.derivatives.registry import vjp
from ctxdispatch_contexts.reverse import cotangents, fitting, pullbacks, releasing, walking
from ctxdispatch_contexts.reverse.cotangents import entry_of, project, rebuild


@vjp(cotangents.accumulate, arrays=0)
def accumulate_vjp(g, y, a, b):
    return (None if a is None else g, None if b is None else g)


@vjp(fitting.unbroadcast, arrays=0)
def unbroadcast_vjp(g, y, cotangent, primal, result):
    return (spread_to(g, cotangent, result), None, None)


@vjp(fitting.expand, fitting.full, arrays=0)
def expand_vjp(g, y, cotangent, primal):
    return (None if cotangent is None else fitting.unbroadcast(g, cotangent, primal), None)


@vjp(project, releasing.finish, releasing.released, fitting.fitted, arrays=0)
def project_vjp(g, y, cotangent, primal):
    return (projected(g, cotangent, primal), None)


@vjp(releasing.own, releasing.number, pullbacks.or_zero, pullbacks.supplied, arrays=0)
def same_vjp(g, y, cotangent):
    return (None if cotangent is None else g,)


@vjp(cotangents.opened, arrays=0)
def opened_vjp(g, y, bar):
    return (g,)


@vjp(cotangents.whole, arrays=0)
def whole_vjp(g, y, bar, primal):
    return (g, None)


@vjp(cotangents.entry_of, cotangents.take_entry, arrays=0)
def entry_of_vjp(g, y, bar, key):
    return (None if bar is None else one_entry(g, key, bar), None)


@vjp(cotangents.add_entry, cotangents.add_own_entry, arrays=0)
def add_entry_vjp(g, y, bar, key, cotangent):
    return (None if bar is None else g, None, None if cotangent is None else entry_of(g, key))


@vjp(cotangents.add_index, cotangents.add_array_index, arrays=0)
def add_index_vjp(g, y, bar, sequence, index, cotangent):
    return (None if bar is None else g, None, None, at_index(g, sequence, index, cotangent))


@vjp(cotangents.times, arrays=0)
def times_vjp(g, y, factor, slope):
    return (cotangents.times(g, slope), g * factor)


@vjp(walking.from_items, arrays=0)
def from_items_vjp(g, y, bars, iterable):
    return (of_items(g, bars) if isinstance(iterable, np.ndarray) else None if y is None else g, None)


@vjp(walking.unzip, arrays=0)
def unzip_vjp(g, y, bars, k):
    return (None if bars is None else [within(one, k, bar) for one, bar in zip(g, bars, strict=False)], None)


@vjp(walking.backwards, arrays=0)
def backwards_vjp(g, y, bars, sequence):
    return (None if bars is None else of_items(whole_items(g, sequence)[::-1], bars), None)


@vjp(cotangents.reversed_items, arrays=0)
def reversed_items_vjp(g, y, bars):
    return (None if g is None else list(g)[::-1],)


@vjp(walking.by_key, arrays=0)
def by_key_vjp(g, y, bars, mapping):
    return (None if bars is None else of_items([entry_of(g, key) for key in mapping], bars), None)


def whole_items(g: Any, sequence: Any) -> list[Any]:
    return [entry_of(g, i) for i in range(len(sequence))]


def of_items(found: Any, bars: Any) -> list[Any] | None:
    """Those of the items that have a cotangent."""
    if bars is None or found is None:
        return None
    return [None if bar is None else one for one, bar in zip(found, bars, strict=False)]


def within(g: Any, key: Any, bar: Any) -> Any:
    return None if g is None or bar is None else one_entry(g, key, bar)


def spread_to(g: Any, cotangent: Any, result: Any) -> Any:
    """The transpose of summing over what was broadcast."""
    return fitting.unbroadcast(np.broadcast_to(g, np.shape(result)), cotangent, result)


def projected(g: Any, cotangent: Any, primal: Any) -> Any:
    if cotangent is None or g is None:
        return None
    if isinstance(cotangent, np.ndarray) and np.ndim(primal) < cotangent.ndim:
        return np.full(cotangent.shape, g, cotangent.dtype)
    if isinstance(cotangent, (float, complex, np.inexact, np.ndarray)):
        return fitting.unbroadcast(g, cotangent, primal)
    return g


def at_index(g: Any, sequence: Any, index: Any, cotangent: Any) -> Any:
    """What was added at `index`, of the cotangent of the sum."""
    if g is None or cotangent is None:
        return None
    whole = releasing.finish(g, sequence)
    if isinstance(sequence, np.ndarray):
        return project(whole[index], cotangent)
    if isinstance(index, slice):
        return rebuild(cotangent, whole[index])
    return whole[index]


def one_entry(g: Any, key: Any, bar: Any) -> Any:
    if isinstance(bar, np.ndarray):
        out = np.zeros_like(bar)
        out[key] = g
        return out
    return cotangents.add_entry(None, key, g)
