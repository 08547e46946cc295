"""Which loads of variables may lend: leave on the stack a reference that the variable owns, not one of their
own.

CPython's compiler lends where it can prove that the value is consumed before its variable changes. What a
transform made of the code may take longer, so that is proved again. Invariant: where a value was lent, its
variable is not assigned before everything that may still hold the value is done with it.
"""

from __future__ import annotations

import builtins
from collections import Counter
from collections.abc import Iterator, Set
from itertools import pairwise
from typing import Any

from ctxdispatch.ir import frames
from ctxdispatch.ir.frames import Instruction
from ctxdispatch.ir.graph import Block, Graph, Jump, Op
from ctxdispatch.ir.values import Const, MethodName, Operand

AFTERWARDS = 1 << 30
"""When what a run of blocks hands on is done with."""


def owned(graph: Graph, exported: Set[Operand]) -> set[Op]:
    """The loads that were lending and must not any more. `exported` values go into variables."""
    assigned = {_variable(op) for _, op in graph.ops() if id(op.fn) in frames.ASSIGNS}
    found: set[Op] = set()
    for blocks in _runs(graph):
        lent = [op for block in blocks for op in block.ops if op.fn is frames.load_local_borrowed]
        found.update(op for op in lent if op.results[0] in exported)
        lent = [op for op in lent if _variable(op) in assigned]
        if lent:
            found.update(_Run(blocks).outlived(lent))
    return found


def _variable(op: Op) -> Any:
    """Its name, or the cell that it is."""
    slot = op.args[0]
    return slot.value if isinstance(slot, Const) else slot


def _runs(graph: Graph) -> Iterator[list[Block]]:
    """Blocks one after the other, each entered from the one before alone."""
    entered = Counter(target for block in graph.blocks for target in block.successors())
    entered.update(block.handler.edge.target for block in graph.blocks if block.handler is not None)
    ends = ((block, block.terminator) for block in graph.blocks)
    after = {b: end.edge.target for b, end in ends if isinstance(end, Jump) and entered[end.edge.target] == 1}
    inner = {*after.values()}
    for block in graph.blocks:
        if block not in inner:
            run = [block]
            while run[-1] in after:
                run.append(after[run[-1]])
            yield run


class _Run:
    """`ops` of all the blocks; `done`: per value the op after which nothing on the stack is that object."""

    def __init__(self, blocks: list[Block]) -> None:
        self.ops = [op for block in blocks for op in block.ops]
        self._same: dict[Operand, Operand] = {}  # of what a block hands to the next
        for before, block in pairwise(blocks):
            (edge,) = before.edges()
            self._same.update((p, self._first(a)) for p, a in zip(block.params, edge.args))
        self.done = self._done(blocks[-1])

    def _first(self, operand: Operand) -> Operand:
        return self._same.get(operand, operand)

    def _done(self, last: Block) -> dict[Operand, int]:
        end = last.terminator
        done = {self._first(v): len(self.ops) for v in (end.operands() if end else ())}
        done.update((self._first(v), AFTERWARDS) for edge in last.edges() for v in edge.args)
        for k in range(len(self.ops) - 1, -1, -1):
            op = self.ops[k]
            until = max((done.get(result, k) for result in op.results), default=k) if _hands_on(op) else k
            for operand in map(self._first, op.operands()):
                done[operand] = max(done.get(operand, until), until)
        return done

    def outlived(self, lent: list[Op]) -> Iterator[Op]:
        """Those of the loads whose value is there when its variable is assigned, or is put into one."""
        stored = {self._first(op.args[1]) for op in self.ops if op.fn is frames.store_local}
        index = {op: k for k, op in enumerate(self.ops)}
        for op in lent:
            value, k = op.results[0], index[op]
            done = self.done.get(value, k)
            until = self.ops[k + 1 : done + 1]
            if value in stored or done == AFTERWARDS or any(_assigns(o, _variable(op)) for o in until):
                yield op


def _assigns(op: Op, variable: Any) -> bool:
    return id(op.fn) in frames.ASSIGNS and _variable(op) == variable


def _hands_on(op: Op) -> bool:
    """Whether operands may be on the stack again, beside the result or as one: a method's `self` is."""
    if op.fn is builtins.getattr:
        return type(op.args[-1]) is MethodName
    return type(op.fn) is Instruction and (len(op.results) > 1 or op.fn.name == "LOAD_SPECIAL")
