"""Parts of what is known item by item are taken item by item: so each keeps its type.

%a, %q, %z = unpack_ex(%p, 1, 1)    %a = %p[0]; %q = build_list(%p[1], %p[2]); %z = %p[3]
%q = getitem(%p, slice(1, 3))       %q = build_list(%p[1], %p[2])
%x, %y = unpack(%q, 2)              of a list that is made of two items, and used for nothing else: these
%d = dict(%m)                       %d = build_map('a', %m['a'], 'b', %m['b'])
dict.update(%d, %m, c=%v)           %d['a'] = %m['a']; %d['b'] = %m['b']; %d['c'] = %v
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable
from typing import Any

from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Block, Graph, Op
from ctxdispatch.ir.registry import Registry
from ctxdispatch.ir.rewrite import substitute, uses
from ctxdispatch.ir.values import Const, Operand, Value, hashable
from ctxdispatch.passes import types as T
from ctxdispatch.passes.container_types import by_position
from ctxdispatch.passes.held import MAX_POSITIONS
from ctxdispatch.passes.inline import emit_before
from ctxdispatch.passes.types import operand_type


def spell_out_parts(graph: Graph) -> bool:
    """In place. Whether anything is changed."""
    replaced: dict[Value, Operand] = {}
    for block in graph.blocks:
        for op in list(block.ops):
            rule = PARTS.get(op.fn) if hashable(op.fn) else None
            found = rule(block, op) if rule is not None else None
            if found is not None:
                block.ops.remove(op)
                replaced.update(zip(op.results, found, strict=True))
    opened = _open_lists(graph)
    replaced.update(opened)
    substitute(graph, replaced)
    return bool(replaced)


PARTS: Registry[Callable[[Block, Op], list[Operand] | None]] = Registry()


def _items(operand: Operand) -> int:
    """How many items it has, each of a type of its own; 0 where that is not known."""
    types = by_position(operand_type(operand))
    known = types is not None and len(types) <= MAX_POSITIONS and isinstance(operand, Value)
    return len(types) if known and T.cls_of(operand_type(operand)) in (list, tuple) else 0  # type: ignore[arg-type]


@PARTS.of(primitives.unpack_ex)
def _starred(block: Block, op: Op) -> list[Operand] | None:
    sequence, n = op.args[0], _items(op.args[0])
    counts = [a.value for a in op.args[1:] if isinstance(a, Const)]
    if len(counts) < 2 or n < max(sum(counts), 1):
        return None
    before, after = counts
    emit = emit_before(block, op)
    items: list[Operand] = [emit(operator.getitem, sequence, Const(i)) for i in range(n)]
    middle = emit(primitives.build_list, *items[before : n - after])
    return [*items[:before], middle, *items[n - after :]]


@PARTS.of(operator.getitem)
def _sliced(block: Block, op: Op) -> list[Operand] | None:
    """Of a list: one of a tuple is a tuple, with types."""
    sequence, place = op.args
    n = _items(sequence) if T.cls_of(operand_type(sequence)) is list else 0
    if not n or not isinstance(place, Const) or type(place.value) is not slice:
        return None
    try:
        chosen = range(n)[place.value]
    except (TypeError, ValueError):  # the slice itself raises
        return None
    emit = emit_before(block, op)
    return [emit(primitives.build_list, *[emit(operator.getitem, sequence, Const(i)) for i in chosen])]


@PARTS.of(builtins.dict, dict.copy)
def _copied(block: Block, op: Op) -> list[Operand] | None:
    """dict(m, c=v), m.copy()"""
    entries = entries_given(block, op, op.args)
    if entries is None or len(op.args) == len(op.kwnames):
        return None
    pairs = [operand for key, value in entries.items() for operand in (Const(key), value)]
    return [emit_before(block, op)(primitives.build_map, *pairs)]


@PARTS.of(dict.update, operator.ior, primitives.dict_update)
def _updated(block: Block, op: Op) -> list[Operand] | None:
    """d.update(m, c=v), d |= m, {**m}"""
    target, *others = op.args
    entries = entries_given(block, op, others) if T.cls_of(operand_type(target)) is dict else None
    if entries is None:
        return None
    emit = emit_before(block, op)
    for key, value in entries.items():
        emit(operator.setitem, target, Const(key), value)
    return [target if op.fn is operator.ior else Const(None) for _ in op.results]


def updates(op: Op) -> bool:
    return hashable(op.fn) and PARTS.get(op.fn) is _updated


def keys_given(op: Op, given: list[Operand]) -> tuple[Any, ...] | None:
    """Those of a dict of which all are known, if there is one, and of the keywords."""
    n = len(given) - len(op.kwnames)
    if n > 1:
        return None
    fields: Any = ()
    if n:
        type_ = operand_type(given[0])
        if not (isinstance(type_, T.Held) and type_.cls is dict) or len(type_.fields) > MAX_ENTRIES:
            return None
        fields = type_.fields
    return (*(key for key, _ in fields), *op.kwnames)


def entries_given(block: Block, op: Op, given: list[Operand]) -> dict[Any, Operand] | None:
    """The same, with their values."""
    keys = keys_given(op, given)
    if keys is None:
        return None
    emit, n = emit_before(block, op), len(op.kwnames)
    entries = {key: emit(operator.getitem, given[0], Const(key)) for key in keys[: len(keys) - n]}
    return entries | dict(zip(op.kwnames, given[len(given) - n :], strict=True))


MAX_ENTRIES = 64


def _open_lists(graph: Graph) -> dict[Value, Operand]:
    """Lists that are made only to be unpacked."""
    used = uses(graph)
    makers = {op.result: op for _, op in graph.ops() if op.fn is primitives.build_list}
    found: dict[Value, Operand] = {}
    for block in graph.blocks:
        for op in list(block.ops):
            maker = makers.get(op.args[0]) if op.fn is primitives.unpack else None  # type: ignore[arg-type]
            if maker is None or len(maker.args) != len(op.results) or len(used[maker.result]) != 1:
                continue
            block.ops.remove(op)
            found.update(zip(op.results, maker.args, strict=True))
    return found
