"""Where control flow merges: how the sweep knows by which edge a block was entered."""

from __future__ import annotations

from collections.abc import Callable

from ctxdispatch.ir.graph import Block, Branch, Edge
from ctxdispatch.ir.values import Const, Operand, Value
from ctxdispatch.passes import types as T
from ctxdispatch_contexts.reverse.structure import Shape


class Merges:
    """`define` is told of the parameters that blocks get to record it."""

    def __init__(self, shape: Shape, define: Callable[[Value, Block], None]) -> None:
        self._shape = shape
        self._define = define
        self._came: dict[Block, Operand] = {}

    def came(self, block: Block) -> Operand:
        """By which of its edges `block` was entered: a bool for two of them, else a number."""
        if block not in self._came:
            self._came[block] = self._tested(block) or self._recorded(block)
        return self._came[block]

    def _tested(self, block: Block) -> Operand | None:
        """The condition that decided between the two predecessors, where there is one: True for the
        second."""
        preds = self._shape.preds(block)
        fork = self._shape.tree.idom[block]
        branch = fork.terminator
        if (
            len(preds) != 2
            or not isinstance(branch, Branch)
            or self._shape.loop(fork) is not self._shape.loop(block)
        ):
            return None
        sides = [self._side(fork, branch, pred, edge) for pred, edge in preds]
        return branch.cond if sides == [False, True] else None

    def _side(self, fork: Block, branch: Branch, pred: Block, edge: Edge) -> bool | None:
        for side, out in ((True, branch.then), (False, branch.orelse)):
            if out is edge:
                return side
            if (
                pred is not fork
                and len(self._shape.preds(out.target)) == 1
                and self._shape.tree.dominates(out.target, pred)
            ):
                return side
        return None

    def _recorded(self, block: Block) -> Value:
        preds = self._shape.preds(block)
        param = Value("came", T.Exact(bool if len(preds) == 2 else int))
        block.params.append(param)
        for number, (_, edge) in enumerate(preds):
            edge.args.append(Const(bool(number) if len(preds) == 2 else number))
        self._define(param, block)
        return param
