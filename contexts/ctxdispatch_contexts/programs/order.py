"""In which order a graph's ops may run, and where its values are used."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ctxdispatch.ir.graph import Block, Graph, Iterate, Return
from ctxdispatch.ir.values import Operand
from ctxdispatch_contexts.programs.activity import passed

Place = tuple[Block, int]


class Order:
    """What may run after what."""

    def __init__(self, graph: Graph) -> None:
        self.place: dict[Any, Place] = {}
        self._entered: dict[tuple[Block, tuple[Place, ...]], set[Block]] = {}
        for block in graph.blocks:
            self.place.update(dict.fromkeys(block.params, (block, -1)))
            for i, op in enumerate(block.ops):
                self.place[op] = (block, i)
                self.place.update(dict.fromkeys(op.results, (block, i)))

    def after(self, start: Place, end: Place, *avoiding: Any) -> bool:
        """Control may get from `start` to `end` without passing any of `avoiding`."""
        walls = tuple([self.place[a] for a in avoiding if a in self.place])
        block, index = start
        ahead = [i for b, i in walls if b is block and i > index]
        if block is end[0] and index < end[1] <= min([*ahead, end[1]]):
            return True
        if ahead or end[0] not in self._entered_from(block, walls):
            return False
        return end[1] <= min((i for b, i in walls if b is end[0]), default=end[1])

    def _entered_from(self, start: Block, walls: tuple[Place, ...]) -> set[Block]:
        """The blocks that control may come to, out of `start`. It is asked for each store and reader."""
        if walls:  # most are behind, where control does not come again
            free = self._entered_from(start, ())
            walls = tuple([wall for wall in walls if wall[0] in free])
        found = self._entered.get((start, walls))
        if found is None:
            closed = {block for block, _ in walls}
            found = self._entered[start, walls] = {*start.successors()}
            work = [*found]
            while work:
                block = work.pop()
                if block not in closed:
                    new = {*block.successors()} - found
                    found |= new
                    work += new
        return found


def uses(graph: Graph) -> Iterator[tuple[Operand, Place, Any]]:
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
