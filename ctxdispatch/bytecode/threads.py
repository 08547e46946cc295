"""Containers that are filled where they are made: `[a, *b]`, `f(*a, **k)`.

What grows a container has no result, but leaves the container on the stack. So within a block each such op
gets the container as its result, `t1 = list_extend(t, b)`, and what comes after it reads `t1`: a chain of
single uses, which never sees a slot. Invariant: every version is the same object: renaming changes nothing.
"""

from __future__ import annotations

from collections import Counter

from ctxdispatch.bytecode.layout import Layout
from ctxdispatch.bytecode.rows import GROWS
from ctxdispatch.ir.graph import Block, Jump, Op, Return
from ctxdispatch.ir.values import Operand, Value


class Threads:
    """`made`: the ops whose result is the container. `now`: what a container is called at the end of the last
    block, by what it was called at first."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.made: set[Op] = set()
        self.now: dict[Operand, Value] = {}

    def ops(self, block: Block) -> list[Op]:
        self.now = {}
        grown = [op for op in block.ops if op.syntax and id(op.fn) in GROWS and not self._result_used(op)]
        wanted = self._only_here(block, {op.args[0] for op in grown}) if grown else set()
        return self._rename(block, wanted) if wanted else block.ops

    def _result_used(self, op: Op) -> bool:
        return any(self.layout.uses[r] for r in op.results)

    def _only_here(self, block: Block, targets: set[Operand]) -> set[Operand]:
        """Those that this block's ops make, and nothing but they use."""
        uses = Counter(v for op in block.ops for v in op.operands())
        uses.update(_final(block))
        made = {r for op in block.ops for r in op.results if len(op.results) == 1}
        return {t for t in targets & made if isinstance(t, Value) and uses[t] == self.layout.uses[t]}

    def _rename(self, block: Block, wanted: set[Operand]) -> list[Op]:
        found = [op if wanted.isdisjoint(op.operands()) else self._version(op, wanted) for op in block.ops]
        for value in _final(block):
            self._count(value, self.now.get(value, value))
        return found

    def _count(self, before: Operand, after: Operand) -> None:
        if before is not after and isinstance(before, Value) and isinstance(after, Value):
            self.layout.uses[before] -= 1
            self.layout.uses[after] += 1

    def _version(self, op: Op, wanted: set[Operand]) -> Op:
        now = self.now
        callee, *args = (now.get(v, v) for v in op.operands())
        made = Op(callee, args, op.results, op.kwnames, op.pos, op.syntax)
        for before, after in zip(op.operands(), made.operands(), strict=True):
            self._count(before, after)
        if op.syntax and id(op.fn) in GROWS and op.args[0] in wanted and not self._result_used(op):
            now[op.args[0]] = version = Value(op.args[0].name if isinstance(op.args[0], Value) else "")
            made.results = [version]
            self.made.add(made)
        return made


def _final(block: Block) -> list[Operand]:
    """What a block returns or passes on, where it goes one way."""
    end = block.terminator
    if isinstance(end, Return):
        return [end.value]
    return [*end.edge.args] if isinstance(end, Jump) else []
