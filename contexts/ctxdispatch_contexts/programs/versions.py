"""Where ways meet that bring values of different types, what comes after is written once for each.

    y = 0.0                            y = 0.0; if 0 < n: y = y + A[0] @ x          of arrays from here on
    for k in range(n): y = y + A[k] @ x                for k in range(1, n): y = y + A[k] @ x

(Basic block versioning, after Chevalier-Boisvert and Feeley, "Simple and Effective Type Check Removal through
Lazy Basic Block Versioning", 2015.) The version of a loop that is entered with a number is left for the one
of arrays where the first array comes; where none does, its own copy of what follows the loop goes on. Where
that would be too much, there may be an attempt (`lifting.py`), which gives up there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ctxdispatch.ir.analysis import IrreducibleError, dominators, loops
from ctxdispatch.ir.graph import Block, Edge, Graph, Iterate, Op
from ctxdispatch.ir.rewrite import copy_blocks
from ctxdispatch.ir.values import Position, Value
from ctxdispatch.passes import types as T
from ctxdispatch.passes.clashes import Found, blurs, clash
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.programs.activity import carries
from ctxdispatch_contexts.programs.lifting import gives_up, giving_up, leaves_out_handlers
from ctxdispatch_contexts.programs.unrolling import take_by_index

MAX_VERSIONS, MAX_STEPS, MAX_OPS = 8, 64, 300

Ways = dict[Edge, T.Type]
"""The edges that lead to a block, with the types of what they bring."""


class Version(NamedTuple):
    """A block, what it was made of, and the parameters that they had then."""

    block: Block
    of: Block
    params: list[Value]
    params_of: list[Value]

    def holds(self, graph: Graph) -> bool:
        """Edges to one of them may lead to the other."""
        there = self.block in graph.blocks and self.of in graph.blocks
        return there and self.block.params == self.params and self.of.params == self.params_of


class Versions:
    """Those of one program: by what they were made of, which parameter told them apart, and its type."""

    def __init__(self) -> None:
        self._of: dict[tuple[Block, int, T.Type], Version] = {}
        self._steps = self._made = self._size = 0

    def split(self, graph: Graph, clashes: Found, chain: dict[Op, Any]) -> bool:
        """One block, in place; whether there was one. Copies of ops have in `chain` what the ops have."""
        for param, (block, type_) in clashes.items():
            ways = _ways(graph, block, param) if block in graph.blocks else {}
            first = [edge for edge, brought in ways.items() if _is_like(brought, type_)]
            if len(first) not in (0, len(ways)) and any(map(_matters, ways.values())):
                at = block.params.index(param)
                if self._steps < MAX_STEPS and self._told_apart(graph, block, at, type_, ways, first, chain):
                    self._steps += 1
                    return True
        return False

    def _told_apart(
        self, graph: Graph, block: Block, at: int, type_: T.Type, ways: Ways, first: list[Edge],
        chain: dict[Op, Any],
    ) -> bool:  # fmt: skip
        made_of = next((v.of for v in self._of.values() if v.block is block and v.holds(graph)), None)
        if made_of is not None:  # the others go there
            return _lead(graph, [edge for edge in ways if edge not in first], made_of)
        key = block, at, T.widen(type_)
        if key in self._of and self._of[key].holds(graph):
            return _lead(graph, first, self._of[key].block)
        poor = _poorer(ways, first)
        inside = _iterations(graph, block) if poor and gives_up() else None
        if poor and inside is None and leaves_out_handlers():
            return _give_up(graph, poor, _position(block))
        region = inside or _dominated(graph, block)
        size = self._size + sum(len(b.ops) + 4 for b in region)
        if self._made >= MAX_VERSIONS or size > MAX_OPS:
            gives_up()
            return False
        loop = _taking_items(region)
        if loop is not None:
            return take_by_index(graph, loop)
        self._made, self._size = self._made + 1, size
        made = _copied(graph, block, at, region, chain)
        self._of[key] = Version(made, block, [*made.params], [*block.params])
        return _lead(graph, first, made)


def _copied(graph: Graph, block: Block, at: int, region: list[Block], chain: dict[Op, Any]) -> Block:
    copy = copy_blocks(region)
    made = copy.block_of[block]
    for old, new in zip(region, copy.blocks, strict=True):
        chain.update((b, chain[a]) for a, b in zip(old.ops, new.ops, strict=True) if a in chain)
        new.name = f"b{len(graph.blocks)}"
        graph.blocks.append(new)
    edges = [edge for b in copy.blocks for edge in b.edges()]
    for edge in edges:
        if edge.target is made and edge.args[at - len(made.params)] is not made.params[at]:
            edge.target = block  # a loop's: it is of another type from here on
    if len(region) < len(_dominated(graph, block)):  # of what follows there is no copy
        _give_up(graph, [e for e in edges if e.target not in (block, *copy.blocks)], _position(block))
    return made


def _lead(graph: Graph, edges: Sequence[Edge], block: Block) -> bool:
    """Not where a loop would have two entries then."""
    before = [edge.target for edge in edges]
    for edge in edges:
        edge.target = block
    try:
        loops(graph)
    except IrreducibleError:
        for edge, target in zip(edges, before, strict=True):
            edge.target = target
        return False
    return True


def _give_up(graph: Graph, edges: Sequence[Edge], pos: Position) -> bool:
    for edge in edges:
        edge.target, edge.args = Block(f"b{len(graph.blocks)}"), []
        edge.target.terminator = giving_up(pos)
        graph.blocks.append(edge.target)
    return bool(edges)


def _position(block: Block) -> Position:
    terminator: Any = block.terminator
    return next((op.pos for op in block.ops if op.pos is not None), terminator.pos)


def _iterations(graph: Graph, header: Block) -> list[Block] | None:
    """The blocks of the loop of which it is the header."""
    found = next((loop for loop in loops(graph).loops if loop.header is header), None)
    return None if found is None else [b for b in graph.blocks if b in found.blocks]


def _dominated(graph: Graph, block: Block) -> list[Block]:
    tree = dominators(graph)
    return [b for b in graph.blocks if b in tree and tree.dominates(block, b)]


def _taking_items(region: list[Block]) -> Block | None:
    """A loop in it of which the iterator, that gives what is differentiated, is made before: each version
    would take items from it."""
    made = {v for b in region for v in (*b.params, *(r for op in b.ops for r in op.results))}
    for each in region:
        iterator = each.terminator.iterator if isinstance(each.terminator, Iterate) else None
        if iterator is not None and iterator not in made and _gives(operand_type(iterator)):
            return each
    return None


def _gives(iterator: T.Type) -> bool:
    return carries(iterator.item if isinstance(iterator, T.IterOf) else iterator)


def _ways(graph: Graph, block: Block, param: Value) -> Ways:
    if param not in block.params:
        return {}
    at = block.params.index(param) - len(block.params)  # the item of a loop comes first
    found = [edge for b in graph.blocks for edge in b.edges() if edge.target is block]
    return {edge: operand_type(edge.args[at]) for edge in found if len(edge.args) >= -at}


def _poorer(ways: Ways, first: list[Edge]) -> list[Edge]:
    """Those that bring numbers or None, where the others bring more."""
    others = [edge for edge in ways if edge not in first]
    poor = [all(_is_poor(ways[edge]) for edge in edges) for edges in (first, others)]
    return [] if poor[0] is poor[1] else first if poor[0] else others


def _is_poor(type_: T.Type) -> bool:
    return bool(T.number_classes(type_)) or T.cls_of(type_) is type(None)


def _matters(type_: T.Type) -> bool:
    return carries(type_) or (isinstance(type_, T.Known) and callable(type_.value))


def _is_like(type_: T.Type, first: T.Type) -> bool:
    return not (blurs(first, type_) or clash(first, type_))
