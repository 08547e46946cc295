"""Pullbacks of what walks through a sequence: iteration, unpacking, views of dicts, concatenation.

Each item's cotangent is an entry of that of the whole: `from_items` puts them together again.
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ctxdispatch.facts import says
from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Op
from ctxdispatch.ir.values import Const
from ctxdispatch.passes import types as T
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.programs.containers import (
    all_sequences,
    any_iterable,
    is_sequence,
    sequence_and_int,
)
from ctxdispatch_contexts.programs.objects import unpacked
from ctxdispatch_contexts.reverse import cotangents
from ctxdispatch_contexts.reverse.adjoint import Adjoint
from ctxdispatch_contexts.reverse.bars import NONE, is_zero
from ctxdispatch_contexts.reverse.handlers import Handler, arrived, or_none, own_bar

# -- concatenation and repetition ----------------------------------------------------------------------------


def _concat(adjoint: Adjoint, op: Op) -> None:
    g = arrived(adjoint, op)
    if not is_zero(g):
        length = adjoint.recall(adjoint.pullbacks.before[op])
        adjoint.add(op.args[0], adjoint.call(entries_before, g, length))
        adjoint.add(op.args[1], adjoint.call(entries_from, g, length))


def entries_before(bar: Any, length: int) -> Any:
    return cotangents.partial_of({k: b for k, b in cotangents.entries_of(bar) if k < length})


def entries_from(bar: Any, length: int) -> Any:
    return cotangents.partial_of({k - length: b for k, b in cotangents.entries_of(bar) if k >= length})


def _repeat(adjoint: Adjoint, op: Op) -> None:
    g = arrived(adjoint, op)
    sequence = next((a for a in op.args if is_sequence(a)), op.args[0])
    if not is_zero(g):
        adjoint.add(sequence, adjoint.call(entries_modulo, g, adjoint.recall(adjoint.pullbacks.before[op])))


def entries_modulo(bar: Any, length: int) -> Any:
    out: Any = None
    for k, b in cotangents.entries_of(bar):
        out = cotangents.add_entry(out, k % length, b)
    return out


# -- walking through -----------------------------------------------------------------------------------------


def _iter(adjoint: Adjoint, op: Op) -> None:
    g = arrived(adjoint, op)
    if not is_zero(g):
        adjoint.add(op.args[0], adjoint.call(from_items, g, adjoint.shaped(op.args[0])))


@says(known=False, raises=False)
def from_items(bars: Any, iterable: Any) -> Any:
    """The cotangent of `iterable` whose items, in order, have the cotangents `bars` (maybe fewer than
    items)."""
    if bars is None or isinstance(iterable, (dict, set, frozenset, str, range)):
        return None
    if isinstance(iterable, np.ndarray):
        out = np.zeros(iterable.shape, iterable.dtype)
        for row, bar in cotangents.entries_of(bars):
            if bar is not None:
                out[row] += cotangents.whole(bar, iterable[row])
        return out
    return bars if isinstance(iterable, (list, tuple)) else cotangents.in_order(bars)


def _enumerate(adjoint: Adjoint, op: Op) -> None:
    g = arrived(adjoint, op)
    if not is_zero(g):
        bars = adjoint.call(unzip, g, Const(1))
        adjoint.add(op.args[0], adjoint.call(from_items, bars, adjoint.shaped(op.args[0])))


def _zip(adjoint: Adjoint, op: Op) -> None:
    g = arrived(adjoint, op)
    if is_zero(g):
        return
    for k, arg in enumerate(op.args[: len(op.args) - len(op.kwnames)]):
        if arg in adjoint.active:
            bars = adjoint.call(unzip, g, Const(k))
            adjoint.add(arg, adjoint.call(from_items, bars, adjoint.shaped(arg)))


@says(known=False, raises=False)
def unzip(bars: Any, k: int) -> Any:
    """Entry k of each item's cotangent."""
    return None if bars is None else [cotangents.entry_of(bar, k) for bar in bars]


def _reversed(adjoint: Adjoint, op: Op) -> None:
    g = arrived(adjoint, op)
    if not is_zero(g):
        adjoint.add(op.args[0], adjoint.call(backwards, g, adjoint.shaped(op.args[0])))


@says(known=False, raises=False)
def backwards(bars: Any, sequence: Any) -> Any:
    if bars is None:
        return None
    bars = [None] * (len(sequence) - len(bars)) + list(bars)[::-1]
    return from_items(bars, sequence)


def _values(adjoint: Adjoint, op: Op) -> None:
    g = arrived(adjoint, op)
    if not is_zero(g):
        adjoint.add(op.args[0], adjoint.call(by_key, g, adjoint.shaped(op.args[0])))


@says(known=False, raises=False)
def by_key(bars: Any, mapping: dict[Any, Any]) -> Any:
    return None if bars is None else dict(zip(mapping, bars, strict=False))


def _items(adjoint: Adjoint, op: Op) -> None:
    g = arrived(adjoint, op)
    if not is_zero(g):
        adjoint.add(
            op.args[0], adjoint.call(by_key, adjoint.call(unzip, g, Const(1)), adjoint.shaped(op.args[0]))
        )


def _get(adjoint: Adjoint, op: Op) -> None:
    g = arrived(adjoint, op)
    if is_zero(g):
        return
    mapping, key, *default = op.args
    if mapping in adjoint.active:
        bar = or_none(adjoint.bar(mapping))
        args = (bar, adjoint.shaped(mapping), adjoint.recall(key), g)
        own_bar(adjoint, mapping, adjoint.call(add_present, *args))
    if default and default[0] in adjoint.active:
        args = (adjoint.shaped(mapping), adjoint.recall(key), g)
        adjoint.add(default[0], adjoint.call(if_absent, *args))


def add_present(bar: Any, mapping: dict[Any, Any], key: Any, g: Any) -> Any:
    return cotangents.add_entry(bar, key, g) if key in mapping else bar


def if_absent(mapping: dict[Any, Any], key: Any, g: Any) -> Any:
    return None if key in mapping else g


# -- unpacking -----------------------------------------------------------------------------------------------


def _unpack(adjoint: Adjoint, op: Op) -> None:
    bars = [or_none(adjoint.bar(r)) if r in adjoint.active else NONE for r in op.results]
    if all(b is NONE for b in bars) or op.args[0] not in adjoint.active:
        return
    given = adjoint.call(primitives.build_list, *bars, syntax=True)
    adjoint.add(op.args[0], adjoint.call(from_items, given, adjoint.shaped(op.args[0])))


def _unpack_ex(adjoint: Adjoint, op: Op) -> None:
    bars = [or_none(adjoint.bar(r)) if r in adjoint.active else NONE for r in op.results]
    if all(b is NONE for b in bars) or op.args[0] not in adjoint.active:
        return
    before = op.args[1]
    given = adjoint.call(primitives.build_list, *bars, syntax=True)
    starred = adjoint.shaped(op.results[before.value])  # type: ignore[union-attr]
    flat = adjoint.call(flatten_star, given, before, starred)
    adjoint.add(op.args[0], adjoint.call(from_items, flat, adjoint.shaped(op.args[0])))


def flatten_star(bars: list[Any], before: int, starred: list[Any]) -> list[Any]:
    middle = cotangents.whole(bars[before], starred)
    middle = [None] * len(starred) if middle is None else list(middle)
    return [*bars[:before], *middle, *bars[before + 1 :]]


def _unpacked(adjoint: Adjoint, op: Op) -> None:
    g = arrived(adjoint, op)
    if not is_zero(g):
        args = [adjoint.shaped(op.result), *op.args[1:]]
        flat = adjoint.call(flat_items, g, *args)
        adjoint.add(op.args[0], adjoint.call(from_items, flat, adjoint.shaped(op.args[0])))


def flat_items(bar: Any, items: tuple[Any, ...], before: int, after: int | None) -> Any:
    """The cotangents of a sequence's items, from those of what it was unpacked to."""
    bars = [cotangents.entry_of(bar, i) for i in range(len(items))]
    return bars if after is None else flatten_star(bars, before, items[before])


# -- which ops these are for ---------------------------------------------------------------------------------


def _of_classes(*classes: type) -> Callable[[Op], bool]:
    """The first operand is of one of these builtin classes, or it does not matter which."""

    def accepts(op: Op) -> bool:
        return T.cls_of(operand_type(op.args[0])) in classes

    return accepts


WALKED: dict[Any, Handler] = {
    primitives.unpack: Handler(_unpack, any_iterable),
    primitives.unpack_ex: Handler(_unpack_ex, any_iterable),
    unpacked: Handler(_unpacked, any_iterable),
    operator.add: Handler(_concat, all_sequences),
    operator.mul: Handler(_repeat, sequence_and_int),
    builtins.iter: Handler(_iter, any_iterable),
    builtins.enumerate: Handler(_enumerate, any_iterable),
    builtins.zip: Handler(_zip),
    builtins.reversed: Handler(_reversed, _of_classes(list, tuple, np.ndarray)),
    builtins.list: Handler(_iter, lambda op: bool(op.args) and any_iterable(op)),
    builtins.tuple: Handler(_iter, lambda op: bool(op.args) and any_iterable(op)),
    dict.values: Handler(_values),
    dict.items: Handler(_items),
    dict.get: Handler(_get),
}
