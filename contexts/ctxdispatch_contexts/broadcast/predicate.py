"""If-conversion: a lowered graph without loops as one block, in which merges are selections.

    b0: branch %c b1() b2()     b1: %a = ..; jump b3(%a)     b2: %b = ..; jump b3(%b)     b3(%y)

    %a = ..; %b = ..; %y = select(%c, %a, %b)

Instructions have no effect and never trap, so both sides may run: which is what vector units want (Allen et
al. 1983). What both sides compute alike is computed once.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ctxdispatch.ir.analysis import dominators, reverse_postorder
from ctxdispatch.ir.graph import Block, Branch, Const, Edge, Graph, Jump, Op, Operand, Value
from ctxdispatch.ir.rewrite import substitute
from ctxdispatch_contexts.broadcast.instructions import SELECT
from ctxdispatch_contexts.broadcast.lowering import Lowered

BOOL = np.dtype(bool)

Condition = Operand | None
"""A bool, None for what is always so."""


def is_acyclic(graph: Graph) -> bool:
    order = {block: i for i, block in enumerate(reverse_postorder(graph))}
    return all(order[target] > order[block] for block in order for target in block.successors())


def flatten(lowered: Lowered) -> Lowered:
    """`lowered` with one block, in place, where it has no loops."""
    if len(lowered.graph.blocks) == 1 or not is_acyclic(lowered.graph):
        return lowered
    run = _Flatten(lowered.graph)
    run.run()
    outputs = tuple(run.renamed.get(y, y) if isinstance(y, Value) else y for y in lowered.outputs)
    return Lowered(lowered.graph, outputs, lowered.results)


class _Flatten:
    def __init__(self, graph: Graph) -> None:
        self.graph, self.tree = graph, dominators(graph)
        self.preds = graph.predecessors()
        self.ops: list[Op] = []
        self.known: dict[object, Value] = {}
        self.renamed: dict[Value, Operand] = {}

    def run(self) -> None:
        order = reverse_postorder(self.graph)
        for block in order:
            if block is not self.graph.entry:
                self._merge(block)
            for op in block.ops:
                args = [self._now(a) for a in op.args]
                self.renamed[op.result] = self.emit(op.fn, args, op.result.type, op)
        entry, end = order[0], order[-1]
        entry.ops, entry.terminator = self.ops, end.terminator
        self.graph.blocks = [entry]
        substitute(self.graph, {})

    def _now(self, operand: Operand) -> Operand:
        return self.renamed.get(operand, operand) if isinstance(operand, Value) else operand

    def emit(self, fn: object, args: Sequence[Operand], dtype: np.dtype, op: Op | None = None) -> Value:
        """The value of an instruction, which is computed once."""
        key = (fn, dtype, *(a if isinstance(a, Value) else (repr(a.value), type(a.value)) for a in args))
        if key not in self.known:
            result = Value("", dtype)
            self.ops.append(Op(Const(fn), list(args), [result], (), None if op is None else op.pos))
            self.known[key] = result
        return self.known[key]

    # -- merges ----------------------------------------------------------------------------------------------

    def _merge(self, block: Block) -> None:
        edges = self.preds[block]
        top = self.tree.idom[block]
        conditions = [self._taken(pred, edge, top, {}) for pred, edge in edges]
        for k, param in enumerate(block.params):
            given = [self._now(edge.args[k]) for _, edge in edges]
            chosen = given[-1]
            for condition, value in zip(conditions[-2::-1], given[-2::-1]):
                chosen = self._select(condition, value, chosen, param.type)
            self.renamed[param] = chosen

    def _select(self, condition: Condition, a: Operand, b: Operand, dtype: np.dtype) -> Operand:
        if condition is None or a is b:
            return a
        return self.emit(SELECT, [condition, a, b], dtype)

    def _taken(self, pred: Block, edge: Edge, top: Block, seen: dict[Block, Condition]) -> Condition:
        """When control, being at `top`, goes along `edge`."""
        return self._both(self._reached(pred, top, seen), self._along(pred, edge))

    def _reached(self, block: Block, top: Block, seen: dict[Block, Condition]) -> Condition:
        if block is top:
            return None
        if block not in seen:
            seen[block] = self._any([self._taken(p, e, top, seen) for p, e in self.preds[block]])
        return seen[block]

    def _along(self, block: Block, edge: Edge) -> Condition:
        terminator = block.terminator
        if isinstance(terminator, Jump):
            return None
        assert isinstance(terminator, Branch)
        cond = self._now(terminator.cond)
        return cond if edge is terminator.then else self.emit(np.logical_not, [cond], BOOL)

    def _both(self, a: Condition, b: Condition) -> Condition:
        if a is None or b is None:
            return b if a is None else a
        return self.emit(np.logical_and, [a, b], BOOL)

    def _any(self, conditions: Sequence[Condition]) -> Condition:
        if any(c is None for c in conditions):
            return None
        found = conditions[0]
        for other in conditions[1:]:
            if self._opposite(found, other):
                return None
            found = self.emit(np.logical_or, [found, other], BOOL)  # type: ignore[list-item]
        return found

    def _opposite(self, a: Condition, b: Condition) -> bool:
        made = {op.result: op for op in self.ops if op.fn is np.logical_not}
        return any(y in made and made[y].args[0] is x for x, y in ((a, b), (b, a)))
