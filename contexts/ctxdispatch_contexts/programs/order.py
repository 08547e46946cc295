"""In which order a graph's ops may run, and where its values are used."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ctxdispatch.ir.graph import Block, Graph, Iterate, Return
from ctxdispatch.ir.values import Operand
from ctxdispatch_contexts.programs.activity import passed


class Order:
    """What may run after what."""

    def __init__(self, graph: Graph) -> None:
        self.place: dict[Any, tuple[Block, int]] = {}
        for block in graph.blocks:
            self.place.update(dict.fromkeys(block.params, (block, -1)))
            for i, op in enumerate(block.ops):
                self.place[op] = (block, i)
                self.place.update(dict.fromkeys(op.results, (block, i)))

    def after(self, start: tuple[Block, int], end: tuple[Block, int], *avoiding: Any) -> bool:
        """Control may get from `start` to `end` without passing any of `avoiding`."""
        walls = [self.place[a] for a in avoiding if a in self.place]
        work = [start]
        seen: set[Block] = set()
        while work:
            block, index = work.pop()
            ahead = [i for b, i in walls if b is block and i > index]
            if block is end[0] and index < end[1] <= min([*ahead, end[1]]):
                return True
            if not ahead:
                for successor in block.successors():
                    if successor not in seen:
                        seen.add(successor)
                        work.append((successor, -2))
        return False


def uses(graph: Graph) -> Iterator[tuple[Operand, tuple[Block, int], Any]]:
    """(operand, place, user) of every use; the user is an op, or the parameter that an edge passes it to, or
    None."""
    for block in graph.blocks:
        for i, op in enumerate(block.ops):
            for operand in op.operands():
                yield operand, (block, i), op
        end = (block, len(block.ops))
        if isinstance(block.terminator, Iterate):
            yield block.terminator.iterator, end, block.terminator.body.target.params[0]
        if isinstance(block.terminator, Return):
            yield block.terminator.value, end, None
        for edge in block.edges():
            for param, arg in passed(block.terminator, edge):
                yield arg, end, param


__all__ = ["Order", "uses"]
