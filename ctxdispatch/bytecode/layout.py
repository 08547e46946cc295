"""The order of blocks, and what stays on the stack across them.

`base[block]`: the values that lie at the bottom of the stack all through `block`. They are a `for` loop's
iterator, which FOR_ITER wants there, and below it the container that a comprehension fills. Invariant:
along an edge the bases differ only in what the edge pushes or pops, so depth is a fact of the block."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from ctxdispatch.bytecode.rows import APPENDS
from ctxdispatch.ir import primitives
from ctxdispatch.ir.analysis import IrreducibleError, Loop, LoopForest, dominators, loops, reverse_postorder
from ctxdispatch.ir.graph import Block, Edge, Graph, Iterate, Op, Raise, Return
from ctxdispatch.ir.values import Operand, Value

Base = tuple[Value, ...]


@dataclass
class Layout:
    """Blocks in order, and what is known of them."""

    order: list[Block]
    numbers: dict[Block, int]
    incoming: dict[Block, list[Block]]
    uses: Counter[Value]
    base: dict[Block, Base]
    forest: LoopForest | None
    aliases: dict[Value, Value] = field(default_factory=dict)
    """The result of a `check_bound` is its operand."""
    held: set[Block] = field(default_factory=set)
    """Whose FOR_ITER leaves its iterator on the stack although there is no loop: its body returns."""

    def entering(self, block: Block, target: Block) -> Base:
        """What an edge pushes."""
        if block in self.held and target is block.successors()[0]:
            return ()
        return self.base[target][_common(self.base[block], self.base[target]) :]

    def leaving(self, block: Block, edge: Edge) -> Base:
        """What an edge pops, topmost first. Where a loop is exhausted FOR_ITER has popped its iterator."""
        left = self.base[block][_common(self.base[block], self.base[edge.target]) :]
        exhausted = isinstance(block.terminator, Iterate) and edge is block.terminator.exit
        return left[::-1][exhausted and self.resident_iterator(block) :]

    def resident_iterator(self, block: Block) -> bool:
        base = self.base[block]
        return isinstance(block.terminator, Iterate) and bool(base) and base[-1] is block.terminator.iterator


def _common(a: Base, b: Base) -> int:
    count = 0
    for x, y in zip(a, b, strict=False):
        if x is not y:
            break
        count += 1
    return count


def lay_out(graph: Graph) -> Layout:
    """The blocks in the order of their code, loops contiguous, and what the emitter asks of them."""
    order = reverse_postorder(graph)
    forest = _forest(graph, order)
    order = _contiguous(order, forest) if forest else order
    numbers = {block: k for k, block in enumerate(order)}
    incoming: dict[Block, list[Block]] = {block: [] for block in order}
    for block in order:
        for target in block.successors():
            incoming[target].append(block)
    found = Layout(order, numbers, incoming, _count_uses(order), dict.fromkeys(order, ()), forest)
    _find_aliases(found)
    if forest:
        _find_residents(found, forest)
    for block in order:
        _hold(found, block)
    return found


def _forest(graph: Graph, order: list[Block]) -> LoopForest | None:
    """None where there is no loop, or none that is understood."""
    numbers = {block: k for k, block in enumerate(order)}
    if not any(numbers[t] <= k for k, block in enumerate(order) for t in block.successors()):
        return None
    try:
        return loops(graph, dominators(graph))
    except IrreducibleError:
        return None


def _contiguous(order: list[Block], forest: LoopForest) -> list[Block]:
    """Each loop's blocks together, at the place of its header; otherwise in reverse postorder."""
    inside: dict[Loop | None, list[Block | Loop]] = {None: []} | {loop: [] for loop in forest.loops}
    for block in order:
        loop = forest.loop_of.get(block)
        if loop is not None and loop.header is block:
            inside[loop.parent].append(loop)
        inside[loop].append(block)
    found: list[Block] = []
    work: list[Block | Loop] = inside[None][::-1]
    while work:
        item = work.pop()
        if isinstance(item, Loop):
            work += inside[item][::-1]
        else:
            found.append(item)
    return found


# -- uses ------------------------------------------------------------------------------------------


def _count_uses(order: list[Block]) -> Counter[Value]:
    return Counter(v for block in order for v in _operands(block) if isinstance(v, Value))


def _operands(block: Block) -> list[Operand]:
    found: list[Operand] = []
    for op in block.ops:
        found.append(op.callee)
        found += op.args
    if block.terminator is not None:
        found += block.terminator.operands()
    for edge in block.edges():
        found += edge.args
    return found


def _find_aliases(layout: Layout) -> None:
    for block in layout.order:
        for op in block.ops:
            if is_check(op):
                source = op.args[0]
                assert isinstance(source, Value)
                source = layout.aliases[op.result] = layout.aliases.get(source, source)
                layout.uses[source] += layout.uses[op.result]


def is_check(op: Op) -> bool:
    """A test of a local that may be unbound, which is done where it is loaded."""
    return op.fn is primitives.check_bound and isinstance(op.args[0], Value)


# -- residents -------------------------------------------------------------------------------------


def _find_residents(layout: Layout, forest: LoopForest) -> None:
    bottom: dict[Loop | None, Base] = {None: ()}
    for loop in forest.loops:  # parents first
        bottom[loop] = bottom[loop.parent] + _residents(layout, loop, bottom[loop.parent])
    for block in layout.order:
        layout.base[block] = bottom[forest.loop_of.get(block)]
    for block in layout.order:
        _extend_over_return(layout, block)


def _residents(layout: Layout, loop: Loop, below: Base) -> Base:
    end = loop.header.terminator
    if not isinstance(end, Iterate) or end.exit.target in loop.blocks:
        return ()
    iterator = end.iterator
    inside = {r for b in loop.blocks for op in b.ops for r in op.results}
    inside.update(p for b in loop.blocks for p in b.params)
    if not isinstance(iterator, Value) or layout.uses[iterator] != 1 or iterator in inside:
        return ()
    entries = sum(block not in loop.blocks for block in layout.incoming[loop.header])
    layout.uses[iterator] = entries
    filled = _filled(layout, loop, inside.union(below))
    if filled is None:
        return (iterator,)
    layout.uses[filled] += entries
    return (filled, iterator)


def _filled(layout: Layout, loop: Loop, excluded: set[Value]) -> Value | None:
    """A container from outside to which the loop does nothing but append."""
    appends: Counter[Value] = Counter()
    for block in loop.blocks:
        for op in block.ops:
            if op.syntax and id(op.fn) in APPENDS and isinstance(op.args[0], Value):
                appends[op.args[0]] += not any(layout.uses[r] for r in op.results)
    uses = _count_uses(list(loop.blocks)) if appends else appends
    others = {v for v in appends if v not in excluded and uses[v] == appends[v]}
    return next((v for v in appends if v in others), None)


def _extend_over_return(layout: Layout, block: Block) -> None:
    """`return f(x)` in a loop: the iterator lives until the value is there."""
    if not isinstance(block.terminator, (Return, Raise)) or not layout.incoming[block]:
        return
    bases = {layout.base[b] for b in layout.incoming[block]}
    exhausted = any(_exits(b, block) for b in layout.incoming[block])
    if len(bases) == 1 and not exhausted:
        layout.base[block] = bases.pop()


def _hold(layout: Layout, block: Block) -> None:
    """The same for a loop that ends in its first round."""
    end = block.terminator
    if not isinstance(end, Iterate) or layout.resident_iterator(block):
        return
    body = end.body.target
    returns = len(layout.incoming[body]) == 1 and isinstance(body.terminator, (Return, Raise))
    if returns and isinstance(end.iterator, Value):
        layout.held.add(block)
        layout.base[body] = (*layout.base[block], end.iterator)


def _exits(block: Block, target: Block) -> bool:
    return isinstance(block.terminator, Iterate) and block.terminator.exit.target is target
