"""If-conversion: control flow that differs from element to element becomes selection.

    b0: branch %c b1() b2()     b1: %a = ..; jump b3(%a)     b2: %b = ..; jump b3(%b)     b3(%y)

    %a = ..; %b = ..; %y = select(%c, %a, %b)

Instructions have no effect and never trap, so both sides may run: which is what vector units want (Allen et
al. 1983). A loop goes on while it does for any element; what an element leaves it with is kept (Karrenberg
and Hack, "Whole-Function Vectorization", 2011):

    loop(%active, %i, %left, %y): branch any(%active) body() after()
    body(): ..; jump loop(%again, %i2, or(%left, %leaves), select(%leaves, %value, %y))

So after `flatten` the only branches are those on `any`, and each has a loop of two blocks. What is computed
alike on both sides of a branch is computed once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from ctxdispatch.ir.analysis import Loop, loops, reverse_postorder
from ctxdispatch.ir.graph import Block, Branch, Edge, Graph, Jump, Op, Return
from ctxdispatch.ir.values import Const, Operand, Value
from ctxdispatch_contexts.broadcast.instructions import ANY, SELECT
from ctxdispatch_contexts.broadcast.lowering import Lowered

BOOL = np.dtype(bool)
FALSE = Const(np.False_)

Condition = Operand | None
"""A bool, None for what is always so."""


def flatten(lowered: Lowered) -> Lowered:
    """Another graph for the same program, whose only branches are on `any`."""
    if len(lowered.graph.blocks) == 1:
        return lowered
    return _Flatten(lowered).run()


class _Flatten:
    def __init__(self, lowered: Lowered) -> None:
        self.old, self.lowered = lowered.graph, lowered
        self.forest = loops(self.old)
        self.order = reverse_postorder(self.old)
        self.preds = self.old.predecessors()
        self.new = Graph(self.old.name, self.old.signature, filename=self.old.filename, line=self.old.line)
        self.at = self.new.entry
        self.renamed: dict[Value, Operand] = {}
        self.left: dict[Edge, Condition] = {}
        """Which elements have left a loop, by the edge."""
        self.known: dict[object, Value] = {}
        self.negated: dict[Operand, Operand] = {}

    def run(self) -> Lowered:
        for old, param in zip(self.old.params, self.new.params, strict=True):
            param.type = old.type
            self.renamed[old] = param
        self._region(None, self.old.entry, None)
        self.at.terminator = Return(Const(None))
        return Lowered(self.new, tuple(map(self._now, self.lowered.outputs)), self.lowered.results)

    def _now(self, operand: Operand) -> Operand:
        return self.renamed.get(operand, operand) if isinstance(operand, Value) else operand

    # -- regions ---------------------------------------------------------------------------------------------

    def _region(self, loop: Loop | None, entry: Block, mask: Condition) -> None:
        """The blocks of a loop (None: of the program), an inner loop as one, for the elements in `mask`."""
        for block in self.order:
            inner = self.forest.loop_of.get(block)
            if inner is not loop:
                while inner is not None and inner.parent is not loop:
                    inner = inner.parent
                if inner is not None and inner.header is block:
                    self._loop(inner, entry, mask)
                continue
            if block is not entry:
                self._merge(block, self.preds[block])
            for op in block.ops:
                args = [self._now(a) for a in op.args]
                self.renamed[op.result] = self.emit(op.fn, args, op.result.type, op)

    def emit(self, fn: object, args: Sequence[Operand], dtype: np.dtype, op: Op | None = None) -> Value:
        """The value of an instruction, which is computed once."""
        key = (fn, dtype, *(a if isinstance(a, Value) else (repr(a.value), type(a.value)) for a in args))
        if key not in self.known:
            result = Value("", dtype)
            self.at.ops.append(Op(Const(fn), list(args), [result], (), None if op is None else op.pos))
            self.known[key] = result
        return self.known[key]

    def _merge(self, block: Block, edges: Sequence[tuple[Block, Edge]]) -> None:
        top = self.forest.dominators.idom[block]
        conditions = [self._taken(pred, edge, top, {}) for pred, edge in edges]
        for k, param in enumerate(block.params):
            given = [self._now(edge.args[k]) for _, edge in edges]
            self.renamed[param] = self._chosen(conditions, given, param.type)

    def _chosen(self, conditions: Sequence[Condition], given: Sequence[Operand], dtype: np.dtype) -> Operand:
        chosen = given[-1]
        for condition, value in zip(conditions[-2::-1], given[-2::-1]):
            chosen = self._select(condition, value, chosen, dtype)
        return chosen

    def _select(self, condition: Condition, a: Operand, b: Operand, dtype: np.dtype) -> Operand:
        if condition is None or a is b:
            return a
        return self.emit(SELECT, [condition, a, b], dtype)

    # -- conditions ------------------------------------------------------------------------------------------

    def _taken(self, pred: Block, edge: Edge, top: Block, seen: dict[Block, Condition]) -> Condition:
        """When control, being at `top`, goes along `edge`."""
        if edge in self.left:
            return self.left[edge]
        return self._both(self._reached(pred, top, seen), self._along(pred, edge))

    def _reached(self, block: Block, top: Block, seen: dict[Block, Condition]) -> Condition:
        if block is top:
            return None
        if block not in seen:
            edges = self._forward(block)
            seen[block] = self._any([self._taken(p, e, top, seen) for p, e in edges])
        return seen[block]

    def _forward(self, block: Block) -> list[tuple[Block, Edge]]:
        """The edges into `block`, those of a loop that it heads left out."""
        headed = self.forest.header_of(block)
        return [(p, e) for p, e in self.preds[block] if headed is None or p not in headed.blocks]

    def _along(self, block: Block, edge: Edge) -> Condition:
        terminator = block.terminator
        if isinstance(terminator, Jump):
            return None
        assert isinstance(terminator, Branch)
        cond = self._now(terminator.cond)
        return cond if edge is terminator.then else self._not(cond)

    def _not(self, condition: Operand) -> Operand:
        if condition not in self.negated:
            found = self.emit(np.logical_not, [condition], BOOL)
            self.negated[condition], self.negated[found] = found, condition
        return self.negated[condition]

    def _both(self, a: Condition, b: Condition) -> Condition:
        if a is None or b is None:
            return b if a is None else a
        return self.emit(np.logical_and, [a, b], BOOL)

    def _any(self, conditions: Sequence[Condition]) -> Condition:
        found: Condition = conditions[0]
        for other in conditions[1:]:
            if found is None or other is None or self.negated.get(found) is other:
                return None
            found = self.emit(np.logical_or, [found, other], BOOL)
        return found

    # -- loops -----------------------------------------------------------------------------------------------

    def _loop(self, loop: Loop, entry: Block, mask: Condition) -> None:
        header, exits = loop.header, loop.exits()
        self._merge_into(loop, entry)
        coming = self._both(mask, self._reached(header, entry, {}) if header is not entry else None)
        carried = [(param, self._now(param)) for param in header.params]
        kept = sorted(self._used_after(loop), key=lambda v: self._place(v))
        start = [coming or Const(np.True_), *(first for _, first in carried)]
        start += [FALSE] * len(exits) + [Const(v.type.type(0)) for v in kept]
        head, body, after = self.new.new_block(), self.new.new_block(), self.new.new_block()
        head.params = [Value("active", BOOL), *(Value(p.name, p.type) for p, _ in carried)]
        head.params += [Value("left", BOOL) for _ in exits] + [Value(v.name, v.type) for v in kept]
        self.at.terminator = Jump(Edge(head, start))
        active, *rest = head.params
        values, left, old = _cut(rest, len(carried), len(exits))
        going = Value("any", BOOL)
        head.ops.append(Op(Const(ANY), [active], [going]))
        head.terminator = Branch(going, Edge(body), Edge(after))
        known, negated = self.known, self.negated
        self.known, self.negated, self.at = dict(known), dict(negated), body
        self.renamed.update(zip(header.params, values, strict=True))
        self._body(loop, head, active, left, kept, old)
        self.known, self.negated, self.at = known, negated, after
        self.renamed.update(zip(kept, old, strict=True))
        self.left.update(zip((edge for _, edge in exits), left, strict=True))

    def _merge_into(self, loop: Loop, entry: Block) -> None:
        """The parameters of the header, as they are when the loop is entered."""
        if loop.header is not entry:
            self._merge(loop.header, self._forward(loop.header))

    def _body(
        self, loop: Loop, head: Block, active: Operand, left: Sequence[Value], kept: Sequence[Value],
        old: Sequence[Value],
    ) -> None:  # fmt: skip
        header = loop.header
        self._region(loop, header, active)
        seen: dict[Block, Condition] = {}
        leaving = [self._within(active, pred, edge, header, seen) for pred, edge in loop.exits()]
        back = [(p, e) for p, e in self.preds[header] if p in loop.blocks]
        again = [self._within(active, pred, edge, header, seen) for pred, edge in back]
        arguments: list[Operand] = [self._any(again) or Const(np.True_)]
        for k, param in enumerate(header.params):
            arguments.append(self._chosen(again, [self._now(e.args[k]) for _, e in back], param.type))
        arguments += [self.emit(np.logical_or, [was, now], BOOL) for was, now in zip(left, leaving)]
        gone = self._any(leaving) if leaving else FALSE
        for value, was in zip(kept, old, strict=True):
            arguments.append(self._select(gone, self._now(value), was, value.type))
        self.at.terminator = Jump(Edge(head, arguments))

    def _within(
        self, active: Operand, pred: Block, edge: Edge, top: Block, seen: dict[Block, Condition]
    ) -> Operand:
        found = self._both(active, self._taken(pred, edge, top, seen))
        assert found is not None
        return found

    def _used_after(self, loop: Loop) -> set[Value]:
        """What is defined in the loop and read after it, by the edges that leave it too."""
        inside = {v for b in loop.blocks for v in (*b.params, *(op.result for op in b.ops))}
        read: set[Operand] = set(self.lowered.outputs)
        for block in self.old.blocks:
            if block not in loop.blocks:
                read |= set(_reads(block))
            read |= {a for e in block.edges() if e.target not in loop.blocks for a in e.args}
        return inside & {v for v in read if isinstance(v, Value)}

    def _place(self, value: Value) -> tuple[int, int]:
        """Where it is defined: for an order that is the same each time."""
        for i, block in enumerate(self.order):
            defined = [*block.params, *(op.result for op in block.ops)]
            if value in defined:
                return i, defined.index(value)
        raise AssertionError("it is not defined")


def _reads(block: Block) -> Iterable[Operand]:
    for op in block.ops:
        yield from op.args
    for edge in block.edges():
        yield from edge.args
    if isinstance(block.terminator, Branch):
        yield block.terminator.cond


def _cut(values: Sequence[Value], n: int, m: int) -> tuple[Sequence[Value], Sequence[Value], Sequence[Value]]:
    return values[:n], values[n : n + m], values[n + m :]
