"""Attributes that a program stores into objects which were there before, and reads again.

    setattr(%o, 'last', %v); ...; %y = getattr(%o, 'last')      ->      setattr(%o, 'last', %v); ...; %y is %v

The store stays: whoever has the object finds what the plain program would have left. Where only some of the
ways to a read come from a store, the others bring what is read where the object comes to be known, and block
parameters where they meet.
(Promotion of memory to registers: Cooper and Xu, "An Efficient Static Analysis Algorithm to Detect Redundant
Memory Operations", 2002.)

Invariant: between what tells the value and a read that is replaced, nothing may change the attribute: neither
code out of sight nor a store into what may be the same object.
"""

from __future__ import annotations

import operator
from collections.abc import Set
from typing import Any, NamedTuple

from ctxdispatch.facts import NAMESPACES, SETS_ATTRIBUTE
from ctxdispatch.ir import primitives as prim
from ctxdispatch.ir.graph import Block, Edge, Graph, Iterate, Op
from ctxdispatch.ir.rewrite import substitute
from ctxdispatch.ir.values import Const, Operand, Value
from ctxdispatch.passes import effects
from ctxdispatch.passes import types as T
from ctxdispatch.passes.aggregates import is_plain, is_plain_attribute
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.programs.fresh_objects import is_fresh
from ctxdispatch_contexts.programs.order import uses
from ctxdispatch_contexts.programs.out_of_sight import runs_python


class Place(NamedTuple):
    """An attribute of the object that a value is, or that has this identity."""

    owner: Value | int
    name: str


def forward_stores(graph: Graph) -> bool:
    """In place. True where something was changed."""
    if not any(op.fn in SETS_ATTRIBUTE for _, op in graph.ops()) or opens_namespace(graph):
        return False
    _name_once(graph)
    stores = {place_of(op): op for _, op in graph.ops() if op.fn in SETS_ATTRIBUTE}
    unseen = {op for _, op in graph.ops() if runs_python(op)}
    forwarded = [_Attribute(graph, place, op, unseen).forward() for place, op in stores.items() if place]
    return any(forwarded)


def place_of(op: Op) -> Place | None:
    """Which attribute it reads or stores, if no code of the class has a say in that."""
    is_read = op.fn is getattr and len(op.args) == 2
    if op.kwnames or not (is_read or (op.fn in SETS_ATTRIBUTE and len(op.args) == 3)):
        return None
    owner, name = op.args[:2]
    cls = T.cls_of(operand_type(owner))
    named = isinstance(name, Const) and type(name.value) is str
    if cls is None or not named or not is_plain(cls) or not is_plain_attribute(cls, name.value):  # type: ignore[union-attr]
        return None
    return Place(owner if isinstance(owner, Value) else id(owner.value), name.value)  # type: ignore[union-attr]


def opens_namespace(graph: Graph) -> bool:
    """There is another way to the attributes of an object: its dict, of which more is asked than whether a
    name is in it."""
    dicts = {op.result for _, op in graph.ops() if op.fn in NAMESPACES or _reads_dict(op)}
    return bool(dicts) and any(
        operand in dicts and not (isinstance(user, Op) and user.fn is operator.contains)
        for operand, _, user in uses(graph)
    )


def _reads_dict(op: Op) -> bool:
    name = op.args[1] if op.fn is getattr and len(op.args) > 1 else None
    return isinstance(name, Const) and name.value == "__dict__"


# -- one name for what is read several times -----------------------------------------------------------------


def _name_once(graph: Graph) -> None:
    """In place: an object that a variable holds, of which attributes are stored, is read at the entry, once.
    (What guards say of a variable's type lasts: `assigned.py`.)"""
    stored = {op.args[0] for _, op in graph.ops() if op.fn in SETS_ATTRIBUTE}
    set_here = {_variable(op) for _, op in graph.ops() if op.fn in (prim.store_global, prim.cell_set)}
    reads: dict[Any, list[Op]] = {}
    for _, op in graph.ops():
        is_read = op.fn in (prim.load_global, prim.cell_get) and not op.tested
        if is_read and isinstance(op.result.type, T.Held):
            reads.setdefault(_variable(op), []).append(op)
    several = [ops for key, ops in reads.items() if len(ops) > 1 and key is not None and key not in set_here]
    again = [ops for ops in several if not stored.isdisjoint(op.result for op in ops)]
    gone = {op for ops in again for op in ops}
    if not gone:
        return
    for block in graph.blocks:
        block.ops = [op for op in block.ops if op not in gone]
    graph.entry.ops[:0] = [ops[0] for ops in again]
    substitute(graph, {op.result: ops[0].result for ops in again for op in ops[1:]})


def _variable(op: Op) -> Any:
    """Which one it reads or sets."""
    owner, name = op.args[0], op.args[1].value if isinstance(op.args[1], Const) else None
    if op.fn in (prim.cell_get, prim.cell_set):
        return owner if isinstance(owner, Value) else id(owner.value)
    return (id(owner.value), name) if isinstance(owner, Const) else None


# -- what an attribute holds ---------------------------------------------------------------------------------


class _Attribute:
    """What it holds where, found as SSA construction finds variables (Braun et al. 2013)."""

    def __init__(self, graph: Graph, place: Place, store: Op, unseen: Set[Op]) -> None:
        """`unseen`: the ops that may run code out of sight."""
        self.graph, self.place, self.owner, self.pos = graph, place, store.args[0], store.pos
        self.unseen = unseen
        self.cls = T.cls_of(operand_type(self.owner))
        self.home = self._find_home()
        self.last: dict[Block, list[tuple[int, Op | None]]] = {b: [*self._of(b)] for b in graph.blocks}
        """What is done to it, in order: reads and stores, None where it may be changed."""
        self.preds: dict[Block, list[tuple[Block, Edge]]] = graph.predecessors()
        self.params: dict[Block, Value] = {}
        self.first: Value | None = None

    def _find_home(self) -> tuple[Block, int]:
        """Where the object comes to be known."""
        for block in self.graph.blocks:
            for i, op in enumerate(block.ops):
                if self.owner in op.results:
                    return block, i + 1
            if self.owner in block.params:
                return block, 0
        return self.graph.entry, 0

    def _of(self, block: Block) -> list[tuple[int, Op | None]]:
        found: list[tuple[int, Op | None]] = []
        for i, op in enumerate(block.ops):
            if place_of(op) == self.place:
                found.append((i, op))
            elif self._may_change(op):
                found.append((i, None))
        end = block.terminator
        if isinstance(end, Iterate) and not effects.plain_container(operand_type(end.iterator)):
            found.append((len(block.ops), None))
        return found

    def _may_change(self, op: Op) -> bool:
        if op.fn not in SETS_ATTRIBUTE or op in self.unseen or len(op.args) < 2:  # which raises
            return op in self.unseen
        cls = T.cls_of(operand_type(op.args[0]))
        name = op.args[1].value if isinstance(op.args[1], Const) else None
        if type(name) is str and name != self.place.name and not name.startswith("__"):
            return False
        if op.args[0] is self.owner:
            return True  # it is deleted
        return (cls is None or cls is self.cls) and not is_fresh(self.graph, op)

    def forward(self) -> bool:
        known: dict[Op, tuple[Block, int]] = {}
        for block in self.graph.blocks:
            for i, op in self.last[block]:
                if op is not None and op.fn is getattr and self._is_known(block, i, op):
                    known[op] = block, i
        if not known:
            return False
        replaced = {op.result: self._before(*at) for op, at in known.items()}
        for block in {block for block, _ in known.values()}:
            block.ops = [op for op in block.ops if op not in known]
        if self.first is not None:
            self._read_first(self.first)
        substitute(self.graph, replaced)
        return True

    def _is_known(self, block: Block, i: int, read: Op) -> bool:
        """It is stored or read on the ways to a read; on some, if it has been there from the start."""
        ways = self._ways(block, i)
        if None in ways or True not in ways:
            return False
        at_start = self.owner.type if isinstance(self.owner, Value) else None
        held = at_start.field(self.place.name) if isinstance(at_start, T.Held) else None
        return False not in ways or (held is not None and not read.tested)

    def _ways(self, block: Block, limit: float) -> set[bool | None]:
        """Of the ways to a place: True where the attribute is stored or read, False where it is as it was
        from the start, None where it may have been changed."""
        work, seen, found = [(block, limit)], set[Block](), set[bool | None]()
        while work:
            block, limit = work.pop()
            last = self._last(block, limit)
            if last is not None:
                found.add(last[1] is not None or None)
            elif block is self.home[0]:
                found.add(False)
            else:
                ahead = [pred for pred, _ in self.preds[block] if pred not in seen]
                seen.update(ahead)
                work += [(pred, float("inf")) for pred in ahead]
        return found

    def _last(self, block: Block, limit: float) -> tuple[int, Op | None] | None:
        start = self.home[1] if block is self.home[0] else 0
        found = [each for each in self.last[block] if start <= each[0] < limit]
        return found[-1] if found else None

    # -- what it holds ---------------------------------------------------------------------------------------

    def _before(self, block: Block, limit: float) -> Operand:
        while True:
            last = self._last(block, limit)
            if last is not None:
                assert last[1] is not None
                return last[1].result if last[1].fn is getattr else last[1].args[2]
            if block is self.home[0]:
                self.first = self.first or Value(self.place.name)
                return self.first
            if block in self.params:
                return self.params[block]
            if len(self.preds[block]) != 1:
                return self._merge(block)
            block, limit = self.preds[block][0][0], float("inf")

    def _merge(self, block: Block) -> Value:
        param = self.params[block] = Value(self.place.name)
        given = [self._before(pred, float("inf")) for pred, _ in self.preds[block]]
        block.params.append(param)
        for (_, edge), arg in zip(self.preds[block], given, strict=True):
            edge.args.append(arg)
        return param

    def _read_first(self, value: Value) -> None:
        block, _ = self.home
        made = [i for i, op in enumerate(block.ops) if self.owner in op.results]
        read = Op(Const(getattr), [self.owner, Const(self.place.name)], [value], (), self.pos, True)
        block.ops.insert(made[0] + 1 if made else 0, read)


__all__ = ["Place", "forward_stores", "opens_namespace", "place_of"]
