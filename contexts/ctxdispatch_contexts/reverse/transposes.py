"""What reverse mode does with the functions that sweeps call, where a sweep is swept: each is linear in its
cotangents, so its rule is its transpose, whatever they are. None stays the zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ctxdispatch_contexts.derivatives.registry import vjp
from ctxdispatch_contexts.programs.containers import rebuild
from ctxdispatch_contexts.reverse import (
    containers,
    cotangents,
    defaults,
    fitting,
    pullbacks,
    releasing,
    walking,
)
from ctxdispatch_contexts.reverse.cotangents import entries_of, entry_of, partial_of, project


@vjp(cotangents.accumulate, arrays=0)
def accumulate_vjp(g, y, a, b):
    return (None if a is None else g, None if b is None else g)


@vjp(fitting.unbroadcast, arrays=0, linear=(0,))
def unbroadcast_vjp(g, y, cotangent, primal, result):
    return (spread_to(g, cotangent, result), None, None)


@vjp(fitting.expand, fitting.full, arrays=0, linear=(0,))
def expand_vjp(g, y, cotangent, primal):
    return (None if cotangent is None else fitting.unbroadcast(g, cotangent, primal), None)


@vjp(project, releasing.finish, releasing.released, fitting.fitted, arrays=0, linear=(0,))
def project_vjp(g, y, cotangent, primal):
    return (projected(g, cotangent, primal), None)


@vjp(fitting.or_zeros, arrays=0, linear=(0,))
def or_zeros_vjp(g, y, cotangent, result):
    return (None if cotangent is None else g, None)


@vjp(releasing.own, releasing.number, pullbacks.or_zero, pullbacks.supplied, arrays=0, linear=(0,))
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


@vjp(walking.entries_before, arrays=0)
def entries_before_vjp(g, y, bar, length):
    return (None if bar is None else partial_of(dict(entries_of(g))), None)


@vjp(walking.entries_from, arrays=0)
def entries_from_vjp(g, y, bar, length):
    return (None if bar is None else partial_of({k + length: b for k, b in entries_of(g)}), None)


@vjp(walking.entries_modulo, arrays=0)
def entries_modulo_vjp(g, y, bar, length):
    return (partial_of({k: entry_of(g, k % length) for k, _ in entries_of(bar)}), None)


@vjp(walking.flat_items, arrays=0)
def flat_items_vjp(g, y, bar, items, before, after):
    return (None if bar is None else partial_of(unflattened(g, items, before, after)), None, None, None)


@vjp(walking.flatten_star, arrays=0)
def flatten_star_vjp(g, y, bars, before, starred):
    return (list(unflattened(g, {before: starred}, before, 0).values()), None, None)


@vjp(walking.add_present, arrays=0)
def add_present_vjp(g, y, bar, mapping, key, cotangent):
    taken = entry_of(g, key) if key in mapping and cotangent is not None else None
    return (None if bar is None else g, None, None, taken)


@vjp(walking.if_absent, arrays=0)
def if_absent_vjp(g, y, mapping, key, cotangent):
    return (None, None, None if key in mapping else g)


# -- containers and functions --------------------------------------------------------------------------------


@vjp(containers.take_keys, arrays=0)
def take_keys_vjp(g, y, bar, other):
    return (None if bar is None else partial_of(dict(entries_of(g))), None)


@vjp(containers.take_from, arrays=0)
def take_from_vjp(g, y, bar, first, items):
    taken = whole_items(g, items)
    return (None if bar is None else partial_of({first + i: b for i, b in enumerate(taken)}), None, None)


@vjp(containers.by_position, arrays=0)
def by_position_vjp(g, y, bar, names):
    return (None if bar is None else partial_of({name: entry_of(g, i) for i, name in enumerate(names)}), None)


@vjp(containers.of_pairs, arrays=0)
def of_pairs_vjp(g, y, bar, source, others):
    if bar is None or hasattr(source, "keys"):
        return (None if bar is None else partial_of(dict(entries_of(g))), None, None)
    pairs = zip(containers.last_of_keys(source), g, strict=True)
    return (partial_of({k: entry_of(b, 1) for (k, last), b in pairs if last}), None, None)


@vjp(defaults.defaults_of, arrays=0)
def defaults_of_vjp(g, y, bar, part):
    return (None if y is None else one_entry(g, part, bar), None)


def unflattened(g: Any, items: Any, before: int, after: int | None) -> dict[int, Any]:
    """The cotangents of what a sequence was unpacked to, the starred one as a list."""
    flat = list(g)
    if after is None:
        return dict(enumerate(flat))
    n = len(items[before])
    found = [*flat[:before], flat[before : before + n], *flat[before + n :]]
    return dict(enumerate(found))


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
    if isinstance(primal, np.ndarray) and isinstance(cotangent, (list, tuple)):
        return [projected(g[i], c, primal[i]) for i, c in enumerate(cotangent)]
    if isinstance(primal, (list, tuple)) and isinstance(cotangent, np.ndarray):
        rows = [projected(entry_of(g, i), c, primal[i]) for i, c in enumerate(cotangent)]
        return np.array([np.zeros_like(c) if r is None else r for r, c in zip(rows, cotangent, strict=True)])
    if isinstance(cotangent, np.ndarray) and np.ndim(primal) < cotangent.ndim:
        return np.full(cotangent.shape, g, cotangent.dtype)
    if isinstance(cotangent, (float, complex, np.inexact, np.ndarray)):
        return fitting.unbroadcast(g, cotangent, primal)
    return g


def at_index(g: Any, sequence: Any, index: Any, cotangent: Any) -> Any:
    """What was added at `index`, of the cotangent of the sum."""
    if g is None or cotangent is None:
        return None
    if isinstance(sequence, np.ndarray):
        return project(releasing.finish(g, sequence)[index], cotangent)
    whole = cotangents.whole(g, sequence)  # of a block, each entry is a block
    if isinstance(index, (slice, range)):
        return rebuild(cotangent, whole[index] if isinstance(index, slice) else [whole[i] for i in index])
    return whole.get(index) if isinstance(whole, dict) else whole[index]


def one_entry(g: Any, key: Any, bar: Any) -> Any:
    if isinstance(bar, np.ndarray):
        out = np.zeros_like(bar)
        out[key] = g
        return out
    return cotangents.add_entry(None, key, g)
