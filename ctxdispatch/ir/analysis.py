"""Facts about the control flow graph and about lifetimes. Nothing here changes a graph.

Only blocks that the entry reaches take part. Blocks are numbered in reverse postorder, so a walk in that
order sees a block before whatever it dominates, and an edge that goes back in it closes a loop.

All of it is linear in the size of the result, or nearly so: a gradient's first call waits for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from ctxdispatch.ir.graph import Block, Edge, Graph, Iterate, Op
from ctxdispatch.ir.rewrite import definitions
from ctxdispatch.ir.values import Value

Node = TypeVar("Node")


class IrreducibleError(ValueError):
    """A loop that is entered at two places. Python source has none; a pass that makes one is wrong."""


# -- order -----------------------------------------------------------------------------------------


def reverse_postorder(graph: Graph) -> list[Block]:
    """The reachable blocks, the entry first, each before its successors except along a loop's back edges."""
    return depth_first(graph.entry, {b: b.successors() for b in graph.blocks})


def depth_first(root: Node, successors: dict[Node, list[Node]]) -> list[Node]:
    """Reverse postorder. The last successor is visited first: so the first one (`then`, a loop's body) comes
    first in the order."""
    order: list[Node] = []
    seen = {root}
    stack: list[tuple[Node, Iterator[Node]]] = [(root, reversed(successors[root]))]
    while stack:
        node, rest = stack[-1]
        for successor in rest:
            if successor not in seen:
                seen.add(successor)
                stack.append((successor, reversed(successors[successor])))
                break
        else:
            order.append(node)
            stack.pop()
    order.reverse()
    return order


def reachable_predecessors(order: Sequence[Block]) -> dict[Block, list[Block]]:
    """Per block of `order` its predecessors in `order`, once per edge."""
    preds: dict[Block, list[Block]] = {b: [] for b in order}
    for block in order:
        for successor in block.successors():
            preds[successor].append(block)
    return preds


def ahead_of(graph: Graph, ops: Sequence[Op]) -> Iterator[Op]:
    """What may be done before one of them is."""
    wanted = set(ops)
    at = {block: [i for i, op in enumerate(block.ops) if op in wanted] for block in graph.blocks}
    ends = {block: max(found) for block, found in at.items() if found}
    preds = reachable_predecessors(reverse_postorder(graph)) if ends else {}
    whole: set[Block] = set()
    work = [pred for block in ends for pred in preds.get(block, ())]
    while work:
        block = work.pop()
        if block not in whole:
            whole.add(block)
            work.extend(preds[block])
    for block in graph.blocks:
        yield from block.ops if block in whole else block.ops[: ends.get(block, 0)]


# -- dominance -------------------------------------------------------------------------------------


@dataclass(eq=False)
class DominatorTree(Generic[Node]):
    """`idom[node]` is the immediate dominator; the root has none. In `order` a node precedes its children."""

    order: list[Node]
    idom: dict[Node, Node]
    children: dict[Node, list[Node]] = field(init=False)
    _span: dict[Node, tuple[int, int]] = field(init=False)

    def __post_init__(self) -> None:
        self.children = {node: [] for node in self.order}
        for node in self.order[1:]:
            self.children[self.idom[node]].append(node)
        self._span = self._spans()

    def _spans(self) -> dict[Node, tuple[int, int]]:
        """Preorder number and that of the last descendant: an ancestor's span contains its descendants'."""
        size = dict.fromkeys(self.order, 1)
        for node in reversed(self.order[1:]):
            size[self.idom[node]] += size[node]
        first = {self.order[0]: 0}
        for node in self.order:
            number = first[node] + 1
            for child in self.children[node]:
                first[child] = number
                number += size[child]
        return {node: (first[node], first[node] + size[node]) for node in self.order}

    def dominates(self, a: Node, b: Node) -> bool:
        """Every path from the root to `b` passes `a`; a node dominates itself."""
        first, last = self._span[a]
        return first <= self._span[b][0] < last

    def __contains__(self, node: Node) -> bool:
        return node in self._span


def dominators(graph: Graph) -> DominatorTree[Block]:
    """Of the blocks that the entry leads to."""
    order = reverse_postorder(graph)
    return _dominator_tree(order, reachable_predecessors(order))


def postdominators(graph: Graph) -> DominatorTree[Block | None]:
    """Dominators of the reversed graph from its one exit, which is None: every return and raise leads there.
    Blocks that never reach it (endless loops) are not in the tree."""
    backward: dict[Block | None, list[Block | None]] = {None: []}
    forward: dict[Block | None, list[Block | None]] = {None: []}
    blocks = reverse_postorder(graph)
    backward.update((b, []) for b in blocks)
    for block in blocks:
        forward[block] = [*block.successors()] or [None]
        for successor in forward[block]:
            backward[successor].append(block)
    order = depth_first(None, backward)
    known = set(order)
    return _dominator_tree(order, {n: [s for s in forward[n] if s in known] for n in order})


def _dominator_tree(order: list[Node], preds: dict[Node, list[Node]]) -> DominatorTree[Node]:
    """Cooper, Harvey, Kennedy, "A Simple, Fast Dominance Algorithm" (2001), on reverse postorder numbers."""
    number = {node: i for i, node in enumerate(order)}
    incoming = [[number[p] for p in preds[node]] for node in order]
    idom = [0] + [-1] * (len(order) - 1)
    changed = True
    while changed:
        changed = False
        for node in range(1, len(order)):
            new = -1
            for pred in incoming[node]:
                if idom[pred] >= 0:
                    new = pred if new < 0 else _meet(pred, new, idom)
            changed |= idom[node] != new
            idom[node] = new
    return DominatorTree(order, {order[i]: order[idom[i]] for i in range(1, len(order))})


def _meet(a: int, b: int, idom: list[int]) -> int:
    while a != b:
        while a > b:
            a = idom[a]
        while b > a:
            b = idom[b]
    return a


# -- loops -----------------------------------------------------------------------------------------


@dataclass(eq=False)
class Loop:
    """A natural loop: `header` dominates `blocks` (inner loops' included), `latches` jump back to it."""

    header: Block
    latches: list[Block] = field(default_factory=list)
    blocks: set[Block] = field(default_factory=set)
    parent: Loop | None = None
    children: list[Loop] = field(default_factory=list)
    depth: int = 1

    def exits(self) -> list[tuple[Block, Edge]]:
        """The edges that leave the loop, with the block each one leaves from."""
        return [(b, e) for b in self.blocks for e in b.edges() if e.target not in self.blocks]

    def __repr__(self) -> str:
        return f"Loop({self.header!r}, depth {self.depth}, {len(self.blocks)} blocks)"


@dataclass(eq=False)
class LoopForest:
    """`loops` lists every loop after its parent; `loop_of[block]` is the innermost one, if there is any."""

    loops: list[Loop]
    loop_of: dict[Block, Loop]
    dominators: DominatorTree[Block]

    @property
    def roots(self) -> list[Loop]:
        """The loops that lie in no other."""
        return [loop for loop in self.loops if loop.parent is None]

    def depth(self, block: Block) -> int:
        """In how many loops the block is."""
        loop = self.loop_of.get(block)
        return loop.depth if loop else 0

    def header_of(self, block: Block) -> Loop | None:
        """The loop that `block` heads."""
        loop = self.loop_of.get(block)
        return loop if loop and loop.header is block else None


def loops(graph: Graph, tree: DominatorTree[Block] | None = None) -> LoopForest:
    """The loop nesting forest. Raises IrreducibleError where a loop has two entries."""
    tree = tree or dominators(graph)
    preds = reachable_predecessors(tree.order)
    forest = LoopForest([], {}, tree)
    latches = _latches(tree)
    for header in reversed(tree.order):  # inner loops first: their headers come later in the order
        if header in latches:
            _collect(Loop(header, latches[header]), forest, preds)
    forest.loops.reverse()
    for loop in forest.loops:
        loop.children.reverse()
        if loop.parent:
            loop.depth = loop.parent.depth + 1
    _fill(forest)
    return forest


def _latches(tree: DominatorTree[Block]) -> dict[Block, list[Block]]:
    found: dict[Block, list[Block]] = {}
    number = {block: i for i, block in enumerate(tree.order)}
    for block in tree.order:
        for successor in dict.fromkeys(block.successors()):
            if number[successor] <= number[block]:
                if not tree.dominates(successor, block):
                    raise IrreducibleError(
                        f"the loop of {successor} has an entry besides it: {block} is in it"
                    )
                found.setdefault(successor, []).append(block)
    return found


def _collect(loop: Loop, forest: LoopForest, preds: dict[Block, list[Block]]) -> None:
    """Walk back from the latches to the header. A block that an inner loop has stands for that whole loop."""
    work = list(loop.latches)
    while work:
        block = work.pop()
        inner = _outermost(forest.loop_of.get(block))
        if inner is loop:
            continue
        if inner is None:
            forest.loop_of[block] = loop
            work.extend(preds[block] if block is not loop.header else ())
        else:
            inner.parent = loop
            loop.children.append(inner)
            work.extend(p for p in preds[inner.header])
    forest.loop_of[loop.header] = loop
    forest.loops.append(loop)


def _outermost(loop: Loop | None) -> Loop | None:
    while loop is not None and loop.parent is not None:
        loop = loop.parent
    return loop


def _fill(forest: LoopForest) -> None:
    for block, loop in forest.loop_of.items():
        loop.blocks.add(block)
    for loop in reversed(forest.loops):
        if loop.parent:
            loop.parent.blocks |= loop.blocks


# -- lifetimes -------------------------------------------------------------------------------------


@dataclass(eq=False)
class Liveness:
    """`live_in[block]`: values defined before `block` that it, or what follows it, reads. Parameters of the
    block are not among them; an edge's arguments are read by the block that the edge leaves."""

    live_in: dict[Block, set[Value]]

    def live_out(self, block: Block) -> set[Value]:
        """What the successors read of what is defined here or above; arguments of edges are not among it."""
        return set().union(*(self.live_in[s] for s in block.successors()))

    def live_after(self, block: Block, index: int) -> set[Value]:
        """What is read after op `index` of `block`, the op's own results included."""
        live = self.live_out(block)
        live.update(_terminator_reads(block))
        for op in reversed(block.ops[index + 1 :]):
            live.difference_update(op.results)
            live.update(v for v in op.operands() if isinstance(v, Value))
        return live

    def live_across(self, block: Block, index: int) -> set[Value]:
        """What is defined before op `index` of `block` and read after it."""
        return self.live_after(block, index).difference(block.ops[index].results)


def liveness(graph: Graph) -> Liveness:
    """From each use back to the definition (Boissinot et al. 2011): the work is the size of the answer."""
    order = reverse_postorder(graph)
    preds = reachable_predecessors(order)
    home = definitions(graph)
    live_in: dict[Block, set[Value]] = {block: set() for block in order}
    for block in order:
        for value in _reads(block):
            _mark(value, block, home[value], live_in, preds)
    return Liveness(live_in)


def _mark(
    value: Value, block: Block, home: Block, live_in: dict[Block, set[Value]], preds: dict[Block, list[Block]]
) -> None:
    work = [block]
    while work:
        block = work.pop()
        if block is not home and value not in live_in[block]:
            live_in[block].add(value)
            work.extend(preds[block])


def _reads(block: Block) -> set[Value]:
    found = {v for op in block.ops for v in op.operands() if isinstance(v, Value)}
    found.update(_terminator_reads(block))
    return found


def _terminator_reads(block: Block) -> Iterable[Value]:
    if block.terminator is None:
        return
    yield from (v for v in block.terminator.operands() if isinstance(v, Value))
    for edge in block.edges():
        yield from (v for v in edge.args if isinstance(v, Value))


def passed(block: Block) -> list[tuple[Edge, list[Value]]]:
    """The edges that leave `block`, each with the parameters that its arguments are for."""
    terminator = block.terminator
    if isinstance(terminator, Iterate):
        body, exit = terminator.body, terminator.exit
        return [(body, body.target.params[1:]), (exit, exit.target.params)]
    return [(edge, edge.target.params) for edge in block.edges()]
