"""The gradient of a container as a display, where the sweep shows which entries have which cotangent.

    %b = add_index(None, params, 1, from_items([dW, db], layer)); released(%b, params)
    ->  [zeros of params[0], (dW, db)]

What `released` finds out entry by entry at each call (what structure, which arrays are nobody else's) is said
here once, by the types of the argument.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Graph, Op
from ctxdispatch.ir.rewrite import Use, substitute
from ctxdispatch.ir.values import Const, Operand, Position, Value
from ctxdispatch.passes import types as T
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.programs.operands import numeric
from ctxdispatch_contexts.reverse import cotangents, fitting, releasing, walking
from ctxdispatch_contexts.reverse.bars import NONE

Entries = dict[Any, Operand]
"""The cotangents of a container's entries, by key."""

_ADDS = {cotangents.add_entry: 1, cotangents.add_own_entry: 1, cotangents.add_index: 2}
"""They add to an entry: where its key is; the cotangent comes after it."""


def deliver(
    graph: Graph, used: Mapping[Value, list[Use]], makers: Mapping[Value, Op],
    is_own: Callable[[Operand], bool],
) -> None:  # fmt: skip
    """In place. `used`, `makers`: of its values; `is_own`: a new array that is read there only."""
    lowering = _Lowering(used, makers, is_own)
    replaced: dict[Value, Operand] = {}
    for block in graph.blocks:
        for op in [op for op in block.ops if op.fn is releasing.released]:
            made = lowering.container(op)
            if made is not None:
                at = block.ops.index(op)
                block.ops[at : at + 1] = lowering.ops
                replaced[op.result] = made
    gone = {*map(id, lowering.gone)}
    for block in graph.blocks:
        block.ops = [op for op in block.ops if id(op) not in gone]
    substitute(graph, replaced)


class _Lowering:
    """`ops`: what the last container that was lowered has become; `gone`: the ops in whose place they are."""

    def __init__(
        self, used: Mapping[Value, list[Use]], makers: Mapping[Value, Op], is_own: Callable[[Operand], bool]
    ) -> None:
        self.used, self.makers, self.is_own = used, makers, is_own
        self.ops: list[Op] = []
        self.gone: list[Op] = []
        self._taken: Value | None = None
        self._pos: Position | None = None

    def container(self, released: Op) -> Operand | None:
        """None where it does not show its entries."""
        self.ops, self._taken, self._pos = [], None, released.pos
        bar, primal = released.args
        entries = self._entries(bar, operand_type(primal))
        return None if entries is None else self._gathered(entries, primal, operand_type(primal))

    # -- what has been added ---------------------------------------------------------------------------------

    def _entries(self, bar: Operand, type_: T.Type) -> Entries | None:
        """None where that is not seen."""
        cls, found, gone = T.cls_of(type_), Entries(), list[Op]()
        if cls is None or (issubclass(cls, tuple) and cls is not tuple):
            return None
        for op in self._added(bar):
            items = self._items(op, cls) if op is not None else None
            if op is None or items is None or not found.keys().isdisjoint(items):
                return None
            found.update(items)
            gone.append(op)
            if op.fn is walking.from_items:
                gone.append(self.makers[op.args[0]])  # type: ignore[index]
        self.gone += gone
        return found

    def _added(self, bar: Operand) -> Iterator[Op | None]:
        """The ops that have added to it, the last one first; None for one that is something else."""
        while bar is not NONE:
            op = self.makers.get(bar) if isinstance(bar, Value) else None
            alone = op is not None and len(self.used[bar]) == 1  # type: ignore[index]
            yield op if alone else None
            bar = op.args[0] if op is not None and op.fn in _ADDS else NONE

    def _items(self, op: Op, cls: type) -> Entries | None:
        if op.fn is walking.from_items:
            made = self.makers.get(op.args[0])  # type: ignore[arg-type]
            shown = made is not None and made.fn is primitives.build_list and len(self.used[made.result]) == 1
            return dict(enumerate(made.args)) if shown and cls in (list, tuple) else None
        key = op.args[_ADDS[op.fn]] if op.fn in _ADDS else None
        if not isinstance(key, Const) or type(key.value) is not (int if cls in (list, tuple) else str):
            return None
        return None if cls in (list, tuple) and key.value < 0 else {key.value: op.args[-1]}

    # -- what the caller gets --------------------------------------------------------------------------------

    def _gathered(self, entries: Entries, primal: Operand, type_: T.Type) -> Operand:
        types = _all_parts(type_)
        if types is not None and all(k in entries or numeric(t) for k, t in types.items()):
            parts = [self._part(entries.get(k, NONE), primal, k, type_, types[k]) for k in types]
            return self._call(_DISPLAYS[T.cls_of(type_)], *_spelled(types, parts), syntax=True)
        taken = self._handed()
        self._call(releasing.enter, taken, primal)
        parts = [self._part(bar, primal, key, type_, _part_type(type_, key)) for key, bar in entries.items()]
        return self._call(releasing.gathered, taken, primal, Const(tuple(entries)), *parts)

    def _part(self, bar: Operand, primal: Operand, key: Any, whole: T.Type, type_: T.Type) -> Operand:
        if type_ == T.Exact(float) == operand_type(bar):
            return bar
        cls = T.cls_of(whole)
        read = operator.getitem if cls in (list, tuple, dict) else releasing.field
        given = self._call(read, primal, Const(key), syntax=read is operator.getitem)
        given.type = type_
        if isinstance(type_, T.ArrayOf) and _same_kind(operand_type(bar), type_) and self.is_own(bar):
            return self._call(fitting.expand, bar, given)
        entries = self._entries(bar, type_) if bar is not NONE else None
        if entries is not None:
            return self._gathered(entries, given, type_)
        return self._call(releasing.part, self._handed(), bar, given)

    def _handed(self) -> Value:
        if self._taken is None:
            self._taken = Value("taken")
            self.ops.insert(0, Op(Const(releasing.Handed), [], [self._taken], (), self._pos))
        return self._taken

    def _call(self, fn: Any, *args: Operand, syntax: bool = False) -> Value:
        made = Value()
        self.ops.append(Op(Const(fn), [*args], [made], (), self._pos, syntax))
        return made


_DISPLAYS: dict[Any, Any] = {
    tuple: primitives.build_tuple, list: primitives.build_list, dict: primitives.build_map
}  # fmt: skip


def _spelled(types: dict[Any, T.Type], parts: list[Operand]) -> list[Operand]:
    """The operands of a display: of a dict, keys and values."""
    if all(type(key) is int for key in types):
        return parts
    return [each for key, part in zip(types, parts, strict=True) for each in (Const(key), part)]


def _all_parts(type_: T.Type) -> dict[Any, T.Type] | None:
    """The type of every entry, where all are known."""
    if isinstance(type_, T.TupleOf):
        return dict(enumerate(type_.items))
    if not isinstance(type_, T.Held) or type_.item is not None:
        return None
    whole = type_.cls is list or type_.cls is tuple or (type_.cls is dict and type_.whole)
    return dict(type_.fields) if whole else None


def _part_type(type_: T.Type, key: Any) -> T.Type:
    found = type_.field(key) if isinstance(type_, T.Held) else None
    item = type_.item if isinstance(type_, (T.Held, T.ListOf)) else None
    return found or item or T.Any


def _same_kind(bar: T.Type, primal: T.ArrayOf) -> bool:
    return isinstance(bar, T.ArrayOf) and bar.dtype == primal.dtype and bar.ndim == primal.ndim
