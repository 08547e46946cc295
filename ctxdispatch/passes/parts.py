"""Where parts of a program in frame form begin and end: of its loops, and of a program that has some.

A *part* is entered at one place and left to one place. Where an exception would go is no matter: who runs a
part lets the program itself raise what is raised. So what handlers do is in no part, though a `try` may be.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ctxdispatch.ir.analysis import IrreducibleError, Loop, depth_first, loops
from ctxdispatch.ir.frames import Instruction
from ctxdispatch.ir.graph import Block, Edge, Graph, Iterate, Jump, Op, Raise
from ctxdispatch.ir.rewrite import clone
from ctxdispatch.ir.values import Value
from ctxdispatch.passes.frame_variables import Variable


@dataclass(eq=False)
class Part:
    """`graph` gives the outputs as a tuple; of a whole program what that returns comes first."""

    graph: Graph
    inputs: tuple[Variable, ...]
    outputs: tuple[Variable, ...]


@dataclass(eq=False)
class Place:
    """Where a part begins: before op `at` of `block`, or on `edge`, which leaves the block; with so many
    values on the stack, which stay there."""

    block: Block
    at: int
    edge: Edge
    through: int
    inside: list[Block] = field(default_factory=list)
    target: Block | None = None
    part: Part | None = None


def places(graph: Graph) -> Iterator[Place]:
    """Those of the program itself and of its loops, the outer ones before those in them."""
    plain, own = _plainly(graph)
    order = depth_first(plain.entry, {b: b.successors() for b in plain.blocks})
    try:
        found = loops(plain).loops
    except IrreducibleError:  # generated code
        return
    if found:
        yield from _whole(graph.entry, [own[b] for b in order[1:]])
    ends = _ends(order)
    for loop in found:
        place = _of_loop(loop, order, own)
        if place is None:
            continue
        raising = [b for b in order if b not in ends and any(b in of.successors() for of in loop.blocks)]
        # nobody goes on after what only raises
        place.inside = [own[b] for b in order if b in loop.blocks or b in raising]
        place.target = _left_to(graph, place.inside)
        if place.target is not None:
            yield place


def _plainly(graph: Graph) -> tuple[Graph, dict[Block, Block]]:
    """The graph without handlers, and its blocks by those of that."""
    plain = clone(graph)
    for block in plain.blocks:
        block.handler = None
    return plain, dict(zip(plain.blocks, graph.blocks, strict=True))


def _whole(entry: Block, inside: list[Block]) -> Iterator[Place]:
    """After what makes a generator of it, or a frame."""
    at = next((i + 1 for i, op in enumerate(entry.ops) if _is(op, "RESUME")), None)
    if at is not None:
        yield Place(entry, at, Edge(entry), 0, inside)


def _of_loop(loop: Loop, order: Sequence[Block], own: dict[Block, Block]) -> Place | None:
    entries = [
        (own[b], i) for b in order if b not in loop.blocks
        for i, edge in enumerate(b.edges()) if edge.target is loop.header
    ]  # fmt: skip
    return _entered(*entries[0]) if len(entries) == 1 else None


def _ends(order: Sequence[Block]) -> set[Block]:
    """The blocks from which the program may come to an end other than an exception."""
    found = {b for b in order if not isinstance(b.terminator, Raise) and not b.edges()}
    size = -1
    while size != len(found):
        size = len(found)
        found.update(b for b in order if not found.isdisjoint(b.successors()))
    return found


def _left_to(graph: Graph, inside: list[Block]) -> Block | None:
    """Where control goes then. What is done on one of several ways there (before a `break`) is taken in."""
    preds = graph.predecessors()
    while True:
        targets = dict.fromkeys(e.target for b in inside for e in b.edges() if e.target not in inside)
        own = [b for b in targets if isinstance(b.terminator, Jump) and all(p in inside for p, _ in preds[b])]
        if len(targets) < 2 or not own:
            return next(iter(targets)) if len(targets) == 1 else None
        inside += own


def _entered(block: Block, number: int) -> Place | None:
    """With the ops of `block` that compute what the loop finds on the stack (its iterator)."""
    edge = block.edges()[number]
    if isinstance(block.terminator, Iterate) and number == 0:
        return None  # the item is on the stack
    header = edge.target
    used = [i for i, param in enumerate(header.params) if _uses(header, param)]
    most = min(used, default=len(header.params))  # so many values may stay on the stack
    if not isinstance(block.terminator, Jump):
        return Place(block, len(block.ops), edge, len(edge.args)) if most == len(edge.args) else None
    for at in range(len(block.ops), -1, -1):
        made = {r for op in block.ops[at:] for r in op.results}
        below = [a for a in edge.args if a not in made]
        read = {a for op in block.ops[at:] for a in op.operands() if isinstance(a, Value)} - made
        if not read and len(below) <= most and below == edge.args[: len(below)]:
            return Place(block, at, edge, len(below))
    return None


def _uses(block: Block, param: Value) -> bool:
    ends = block.terminator.operands() if block.terminator is not None else ()
    return param in ends or any(param in op.operands() for op in block.ops)


def _is(op: Op, name: str) -> bool:
    return isinstance(op.fn, Instruction) and op.fn.name == name
