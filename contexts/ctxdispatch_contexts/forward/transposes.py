"""What reverse mode does with the functions that forward programs call: a tangent may be pulled back.

    h = jvp(f, (x,), (dx,))[1], of bar(h):      bar(x), bar(dx)

Each is linear in its tangents, so its rule is its transpose, whatever they are; None stays the zero.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from ctxdispatch_contexts.derivatives.registry import vjp
from ctxdispatch_contexts.forward import (
    containers,
    duals,
    elementwise,
    reading,
    releasing,
    structural,
    tangents,
    walking,
)
from ctxdispatch_contexts.programs.containers import rebuild
from ctxdispatch_contexts.reverse import cotangents, fitting
from ctxdispatch_contexts.reverse import walking as backward


@vjp(tangents.or_zeros, tangents.or_zeros_block, releasing.apart, arrays=0)
def or_zeros_vjp(g, y, tangent, value, k=None):
    return (None if tangent is None else g, None, None)


@vjp(tangents.of_inexact, arrays=0)
def of_inexact_vjp(g, y, tangent, value):
    return (None if y is None else g, None)


@vjp(tangents.as_number, arrays=0)
def as_number_vjp(g, y, tangent, cls):
    return (None if tangent is None else cotangents.project(g, tangent), None)


@vjp(tangents.expand, arrays=0)
def expand_vjp(g, y, tangent, value):
    return (None if tangent is None else fitting.unbroadcast(g, tangent, value), None)


@vjp(elementwise.times, elementwise.steep_times, arrays=0)
def steep_times_vjp(g, y, slope, tangent):
    first = fitting.unbroadcast(elementwise.steep_times(g, tangent), slope, y)
    return (first, fitting.unbroadcast(elementwise.steep_times(slope, g), tangent, y))


@vjp(structural.plus, arrays=0)
def plus_vjp(g, y, a, b):
    return (None if a is None else g, None if b is None else g)


@vjp(structural.fill, arrays=0)
def fill_vjp(g, y, tangent, value):
    return (unfilled(g, tangent), None)


@vjp(containers.entries_of, arrays=0)
def entries_of_vjp(g, y, tangent, mapping):
    return (None if tangent is None else present(g, tangent), None)


@vjp(reading.entry, arrays=0)
def entry_vjp(g, y, tangent, key):
    return (None if tangent is None else one_entry(g, key, tangent), None)


@vjp(reading.entry_or_default, arrays=0)
def entry_or_default_vjp(g, y, tangent, mapping, key, default=None):
    if key not in mapping:
        return (None, None, None, None if default is None else g)
    return (one_entry(g, key, tangent) if tangent is not None and key in tangent else None, None, None, None)


@vjp(reading.attribute_or_default, arrays=0)
def attribute_or_default_vjp(g, y, tangent, target, name, default):
    if not hasattr(target, name):
        return (None, None, None, None if default is None else g)
    return (one_entry(g, name, tangent) if hasattr(tangent, name) else None, None, None, None)


@vjp(reading.content, arrays=0)
def content_vjp(g, y, cell):
    """The cotangent of a cell is that of what it holds."""
    return (None if cell is None else g,)


@vjp(containers.function_tangent, arrays=0)
def function_tangent_vjp(g, y, defaults, kwdefaults, cells):
    return (part(g, "defaults", defaults), part(g, "kwdefaults", kwdefaults), part(g, "cells", cells))


@vjp(containers.partial_tangent, arrays=0)
def partial_tangent_vjp(g, y, func, args, keywords):
    return (part(g, "func", func), part(g, "args", args), part(g, "keywords", keywords))


@vjp(containers.unless_none, arrays=0)
def unless_none_vjp(g, y, made, fn, tangent, *rest):
    """A copy, or a sequence repeated."""
    if tangent is None:
        return (None, None, None)
    return (None, None, like(tangent, backward.entries_modulo(g, len(tangent)) if rest else g))


@vjp(containers.concatenated, arrays=0)
def concatenated_vjp(g, y, fn, a, da, b, db):
    first, second = backward.entries_before(g, len(a)), backward.entries_from(g, len(a))
    return (None, None, None if da is None else first, None, None if db is None else second)


@vjp(containers.dict_of, arrays=0)
def dict_of_vjp(g, y, source, tangent, given, entries):
    rest = {k: b for k, b in g.items() if k not in entries}
    if tangent is not None and not hasattr(tangent, "keys"):
        last = {key: i for i, (key, _) in enumerate(given)}
        rest = [(None, rest.get(key) if last[key] == i else None) for i, (key, _) in enumerate(given)]
    return (None, None if tangent is None else rest, None, {k: g.get(k) for k in entries})


# -- what walks through a sequence ---------------------------------------------------------------------------


@vjp(walking.items, walking.as_many, duals.all_of, arrays=0)
def items_vjp(g, y, tangents, values):
    """An iterator over things that have no tangents (`repeat`) has no cotangent."""
    return (None if has_none(tangents) else backward.from_items(g, tangents), None)


@vjp(walking.backwards, arrays=0)
def backwards_vjp(g, y, tangents):
    return (None if has_none(tangents) else backward.backwards(g, tangents),)


@vjp(walking.like_unpacked, arrays=0)
def like_unpacked_vjp(g, y, tangents, values, before, after=None):
    flat = backward.flat_items(g, values, before, after)
    return (None if has_none(tangents) else backward.from_items(flat, tangents), None, None, None)


@vjp(walking.values_of, arrays=0)
def values_of_vjp(g, y, tangent, view):
    return (None if tangent is None else present(backward.by_key(g, view.mapping), tangent), None)


@vjp(walking.items_of_mapping, arrays=0)
def items_of_mapping_vjp(g, y, tangent, view):
    bars = backward.by_key(backward.unzip(g, 1), view.mapping)
    return (None if tangent is None else present(bars, tangent), None)


def has_none(tangents: Any) -> bool:
    return tangents is None or isinstance(tangents, itertools.repeat)


def present(bars: Any, tangent: dict[Any, Any]) -> Any:
    return None if bars is None else {k: b for k, b in bars.items() if k in tangent}


def like(sequence: Any, g: Any) -> Any:
    whole = cotangents.whole(g, sequence)
    return None if whole is None else rebuild(sequence, list(whole))


def part(g: Any, name: str, tangent: Any) -> Any:
    return None if tangent is None else cotangents.entry_of(g, name)


def unfilled(g: Any, tangent: Any) -> Any:
    """Nothing where there was nothing."""
    if tangent is None or g is None:
        return None
    if isinstance(tangent, (list, tuple)):
        return rebuild(tangent, [unfilled(a, b) for a, b in zip(g, tangent, strict=True)])
    return g


def one_entry(g: Any, key: Any, whole: Any) -> Any:
    if isinstance(whole, np.ndarray):
        out = np.zeros_like(whole)
        out[key] = g
        return out
    return cotangents.add_index(None, whole, key, g)
