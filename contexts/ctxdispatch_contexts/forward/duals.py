"""The algebra of duals: what each kind of op does to tangents. In the order in which they are asked:

stores into arrays        the same, done to the tangents: `arrays.py`
containers and cells      the same, done to the tangents: `containers.py`, `reading.py`, `walking.py`
elementwise operations    partials times tangents: `elementwise.py`
structural rules          `structural.py`
everything else           was replaced before by a call that returns (y, dy): `calls.py`
"""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from ctxdispatch.facts.arity import fits
from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Op
from ctxdispatch.ir.values import Const, Operand, Value, hashable
from ctxdispatch.passes import types as T
from ctxdispatch.passes.companion import Companions, companion_name
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.forward.arrays import Arrays
from ctxdispatch_contexts.forward.containers import MIRRORED
from ctxdispatch_contexts.forward.elementwise import push_row
from ctxdispatch_contexts.forward.structural import is_structural, push_structural
from ctxdispatch_contexts.forward.tangents import NONE, Shapes
from ctxdispatch_contexts.forward.walking import items
from ctxdispatch_contexts.programs.activity import is_flat
from ctxdispatch_contexts.programs.changes import changed
from ctxdispatch_contexts.programs.contained import contained_with
from ctxdispatch_contexts.programs.derived import is_found_at_run_time, takes_function
from ctxdispatch_contexts.programs.errors import Ending
from ctxdispatch_contexts.programs.hashed import is_hashed
from ctxdispatch_contexts.programs.journal import NOTES, note_beside
from ctxdispatch_contexts.programs.objects import unpacked
from ctxdispatch_contexts.programs.operands import infer_op, is_of_subclass, row_for
from ctxdispatch_contexts.programs.primitive import Primitive
from ctxdispatch_contexts.programs.refusals import looks_at_frame, refusal_of, refusal_of_frame


def has_form(op: Op) -> bool:
    """What `op` does to a container can be done to its tangent; with others than it takes it raises."""
    mirrored = MIRRORED.get(op.fn) if hashable(op.fn) else None
    return mirrored is not None and fits(op.fn, len(op.args), op.kwnames) and mirrored[1](op)


class Duals:
    """`context.ad_entries_for(block)` gives, for an op that no static rule is for, what is called at run time
    and the operands it takes: it returns (y, dy) and takes, last, the tangents of the operands that vary.
    `mode(wrt)`: the mode of programs within this one. `own`: the one call of a program that is for that
    call. `refused`: what is not allowed, `arrays`: those that are stored to, see `stores.py`."""

    def __init__(
        self,
        shapes: Shapes,
        context: Any,
        mode: Any,
        own: Op | None = None,
        refused: Set[Op] = frozenset(),
        arrays: Arrays | None = None,
    ) -> None:
        self.shapes, self.context, self.mode, self.own = shapes, context, mode, own
        self.refused, self.arrays = refused, arrays
        self.entry_for = context.ad_entries_for(shapes.block)

    def op(self, run: Companions, op: Op) -> None:
        if looks_at_frame(op):
            op.callee, op.syntax = Const(refusal_of_frame(op)), False
        if op in self.refused or isinstance(op.fn, Ending):
            self._refuse(run, op)
            return
        if not _concerns(run, op):
            run.emit(op)
            if op.fn in NOTES and len(op.args) > 1:
                _note_beside(run, op)
            return
        if self.arrays is None:
            self._push(run, op)
        elif self.arrays.has(op):
            self.arrays.push(self.shapes, run, op)
        else:
            start = len(run.build.block.ops)
            self._push(run, op)
            self.arrays.separate(self.shapes, run, op, start)

    def _push(self, run: Companions, op: Op) -> None:
        if is_hashed(op, lambda operand: run.of(operand) is not None):
            self._refuse(run, op)
            return
        mirrored = MIRRORED.get(op.fn) if hashable(op.fn) else None
        row = row_for(op)
        if mirrored is not None and mirrored[1](op):
            run.emit(op)
            mirrored[0](self.shapes, run, op)
        elif isinstance(op.fn, Primitive):
            run.emit(op)
            op.fn.push(self.shapes, run, op)
        elif row is not None:
            run.emit(op)
            push_row(self.shapes, run, op, row)
        elif is_structural(op, certain=op is not self.own):
            run.emit(op)
            push_structural(self.shapes, run, op)
        else:
            self._call(run, op)

    def _call(self, run: Companions, op: Op) -> None:
        """(y, dy) = entry(operands, tangents of those that vary)"""
        if op.fn in primitives.UNPACKING and op is not self.own:
            self._unpack(run, op)
            return
        varying = [a for a in op.operands() if run.of(a) is not None]
        if is_flat(op):
            run.emit(op)  # a new array: what is stored to it is followed, or refused there
            for result in op.results:
                run.put(result, self.shapes.zero(run, result))
            return
        unknown = takes_function(op.fn) and not is_found_at_run_time(op.fn)
        unknown |= any(is_of_subclass(operand_type(a)) for a in op.args)
        if op is self.own or not varying or isinstance(op.fn, Ending) or unknown:
            self._refuse(run, op)
            return
        entry, operands = self.entry_for(op, lambda a: run.of(a) is not None)
        tangents = [run.of(a) for a in operands if run.of(a) is not None]
        counted = [self.shapes.count] if self.shapes.block else []
        pair = run.call(entry, *operands, *tangents, *counted, name="pair")
        run.build.block.ops[-1].contained = self._contained(run, op, operands)
        dy = Value(companion_name(op.result))
        run.build.op(primitives.unpack, [pair, Const(2)], [op.result, dy], syntax=True)
        run.put(op.result, self.shapes.definite(run, dy, op.result))

    def _contained(self, run: Companions, op: Op, operands: list[Operand]) -> tuple[T.Type, ...] | None:
        types = contained_with(op, operands)
        if types is None:
            return None
        moving = [self.shapes.type(t) for a, t in zip(operands, types) if run.of(a) is not None]
        return (*types, *moving)

    def _unpack(self, run: Companions, op: Op) -> None:
        """In two steps: the items as a tuple, by a call, and these."""
        items = Value("items", T.Exact(tuple))
        run.tracked.add(items)
        source, before, *after = op.args
        args = [source, before, *(after or [Const(None)])]
        self._call(run, Op(Const(unpacked), args, [items], (), op.pos))
        run.build.op(primitives.unpack, [items, Const(len(op.results))], op.results, syntax=True)
        tangents = run.call(all_of, run.of(items) or NONE, Const(len(op.results)))
        found = [Value(companion_name(r)) for r in op.results]
        run.build.op(primitives.unpack, [tangents, Const(len(found))], found, syntax=True)
        for value, tangent in zip(op.results, found, strict=True):
            run.put(value, self.shapes.definite(run, tangent, value))

    def _refuse(self, run: Companions, op: Op) -> None:
        if not isinstance(op.fn, Ending):
            op.callee, op.syntax = Const(refusal_of(op, in_place=op in self.refused)), False
        run.emit(op)
        for result in op.results:
            run.put(result, NONE)

    def parameter(self, param: Value) -> Value:
        return Value(companion_name(param), self.shapes.type(param.type))

    def absent(self, run: Companions, operand: Operand, param: Value) -> Operand:
        return self.shapes.zero(run, operand)

    def item(self, run: Companions, iterator: Operand, item: Value) -> Operand:
        beside = run.item_beside(item, items)
        if beside is None:
            beside = run.call(next, iterator)
            beside.type = infer_op(run.build.block.ops[-1])
        return self.shapes.definite(run, beside, item)


def _note_beside(run: Companions, op: Op) -> None:
    entries, owner, *key = op.args
    tangent = run.of(owner)
    if tangent is not None:
        run.call(note_beside, Const(op.fn), entries, tangent, *key)


def all_of(tangents: Any, n: int) -> Any:
    return (None,) * n if tangents is None else tangents


def _concerns(run: Companions, op: Op) -> bool:
    """A result or an object stored to has a tangent."""
    if any(r in run.tracked for r in op.results):
        return True
    return any(run.of(target) is not None for target in changed(op))
