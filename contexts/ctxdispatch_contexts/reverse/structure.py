"""The shape that the adjoint transform wants of the primal's control flow graph.

After `normalise(graph)`:
  * one block returns;
  * every loop has one preheader (its only successor is the header), one latch (likewise) and one exit block,
    which all edges that leave the loop lead to; an exit block with several targets branches on a selector;
  * a value defined in a loop and used after it passes through a parameter of the exit block (loop-closed
    SSA);
  * the body edge of an `Iterate` leads to a block of its own, whose only parameter is the item.

Blocks from which the return is not reached (they raise) are *cold*: nothing of them is reversed.
"""

from __future__ import annotations

import functools
import operator
from dataclasses import dataclass, field

from ctxdispatch.ir.analysis import DominatorTree, Loop, LoopForest, dominators, loops
from ctxdispatch.ir.graph import Block, Branch, Edge, Graph, Iterate, Jump, Op, Return
from ctxdispatch.ir.rewrite import definitions, substitute_in
from ctxdispatch.ir.values import Const, Operand, Value
from ctxdispatch.passes import types as T
from ctxdispatch.passes.types import operand_type

NONE = Const(None)


@dataclass(eq=False)
class Shape:
    """What the transform asks about the normalised graph."""

    graph: Graph
    end: Block
    forest: LoopForest
    live: set[Block]
    preheader: dict[Loop, Block] = field(default_factory=dict)
    latch: dict[Loop, Block] = field(default_factory=dict)
    exit: dict[Loop, Block] = field(default_factory=dict)
    loop_of_exit: dict[Block, Loop] = field(default_factory=dict)

    @property
    def tree(self) -> DominatorTree[Block]:
        return self.forest.dominators

    def loop(self, block: Block) -> Loop | None:
        return self.forest.loop_of.get(block)

    def preds(self, block: Block) -> list[tuple[Block, Edge]]:
        return self._preds[block]

    def __post_init__(self) -> None:
        self._preds = {
            b: [(p, e) for p, e in preds if p in self.live] for b, preds in self.graph.predecessors().items()
        }


def normalise(graph: Graph) -> Shape | None:
    """Bring `graph` into the shape, in place. None when it never returns."""
    end = _one_return(graph)
    if end is None:
        return None
    _item_blocks(graph)
    settled, all_looked_at = set[Block](), True
    for _ in range(8 * len(graph.blocks) + 8):
        forest = loops(graph)
        live = _reaching(graph, end)
        if _normalise_one(graph, forest, live, settled):
            all_looked_at = False
        elif all_looked_at:
            return _shape(graph, end, forest, live)
        else:  # what has changed around them may concern those that were settled
            settled.clear()
            all_looked_at = True
    raise AssertionError("loop normalisation does not settle")


def _one_return(graph: Graph) -> Block | None:
    returns = [b for b in graph.blocks if isinstance(b.terminator, Return)]
    if not returns:
        return None
    if len(returns) == 1:
        return returns[0]
    end = graph.new_block()
    values = [b.terminator.value for b in returns if isinstance(b.terminator, Return)]
    result = Value("y", functools.reduce(T.join, map(_widened, values)))
    end.params = [result]
    end.terminator = Return(result, returns[-1].terminator.pos)
    for block in returns:
        assert isinstance(block.terminator, Return)
        block.terminator = Jump(Edge(end, [block.terminator.value]), block.terminator.pos)
    return end


def _widened(operand: Operand) -> T.Type:
    return T.widen(operand_type(operand))


def _item_blocks(graph: Graph) -> None:
    for block in list(graph.blocks):
        terminator = block.terminator
        if isinstance(terminator, Iterate) and not _is_item_block(terminator.body):
            edge = terminator.body
            first = edge.target.params[0]
            middle = graph.new_block()
            item = Value(first.name, first.type)
            middle.params = [item]
            middle.terminator = Jump(Edge(edge.target, [item, *edge.args]), terminator.pos)
            terminator.body = Edge(middle)


def _is_item_block(edge: Edge) -> bool:
    return (
        len(edge.target.params) == 1
        and not edge.args
        and isinstance(edge.target.terminator, Jump)
        and not edge.target.ops
    )


def _reaching(graph: Graph, end: Block) -> set[Block]:
    preds = graph.predecessors()
    live, work = {end}, [end]
    while work:
        for pred, _ in preds[work.pop()]:
            if pred not in live:
                live.add(pred)
                work.append(pred)
    return live


# -- loops ---------------------------------------------------------------------------------------------------


def _normalise_one(graph: Graph, forest: LoopForest, live: set[Block], settled: set[Block]) -> bool:
    """Make one change; False when there is none to make. Inner loops first. `settled`: the headers of those
    that need not be looked at."""
    for loop in reversed(forest.loops):
        if loop.header in settled:
            continue
        if (
            _preheader(graph, loop)
            or _latch(graph, loop)
            or _exit(graph, loop, live)
            or _close(graph, loop, live)
        ):
            return True
        settled.add(loop.header)
    return False


def _entering(graph: Graph, loop: Loop) -> list[tuple[Block, Edge]]:
    return [(b, e) for b, e in graph.predecessors()[loop.header] if b not in loop.blocks]


def _preheader(graph: Graph, loop: Loop) -> bool:
    edges = _entering(graph, loop)
    if len(edges) == 1 and isinstance(edges[0][0].terminator, Jump):
        return False
    _meet(graph, [e for _, e in edges], loop.header)
    return True


def _latch(graph: Graph, loop: Loop) -> bool:
    edges = [e for b, e in graph.predecessors()[loop.header] if b in loop.blocks]
    if (
        len(edges) == 1
        and isinstance(loop.latches[0].terminator, Jump)
        and loop.latches[0] is not loop.header
    ):
        return False
    _meet(graph, edges, loop.header)
    return True


def _meet(graph: Graph, edges: list[Edge], target: Block) -> Block:
    """A new block between `edges` and their common target."""
    middle = graph.new_block()
    middle.params = [Value(p.name, p.type) for p in target.params]
    middle.terminator = Jump(Edge(target, list(middle.params)))
    for edge in edges:
        edge.target = middle
    return middle


def _exit_edges(loop: Loop, live: set[Block]) -> list[Edge]:
    return [e for b in _ordered(loop) for e in b.edges() if e.target not in loop.blocks and e.target in live]


def _ordered(loop: Loop) -> list[Block]:
    return sorted(loop.blocks, key=lambda b: (len(b.name), b.name))


def _exit(graph: Graph, loop: Loop, live: set[Block]) -> bool:
    """One exit block. What the several targets of the exits read of the loop is passed to them before their
    edges are bent to it: afterwards the loop's values do not dominate them any more."""
    edges = _exit_edges(loop, live)
    targets = list(dict.fromkeys(e.target for e in edges))
    for target in targets:
        mine = [e for e in edges if e.target is target]
        if not _is_exit_block(graph, target, mine):
            live.add(_meet(graph, mine, target))
            return True
    if len(targets) < 2:
        return False
    if not _close(graph, loop, live):
        _exit_switch(graph, edges, targets)
    return True


def _is_exit_block(graph: Graph, block: Block, edges: list[Edge]) -> bool:
    """Entered by the loop's exits alone, and by no more than passing through: so no other loop's exit is
    it."""
    return len(graph.predecessors()[block]) == len(edges) and block.terminator is not None and not block.ops


def _exit_switch(graph: Graph, edges: list[Edge], targets: list[Block]) -> None:
    """One block for exits to several targets: it gets the number of the target and everybody's arguments. The
    item of an `Iterate` whose body leaves the loop at once comes before them."""
    switch = graph.new_block()
    items = {e.target for e in edges if len(e.args) < len(e.target.params)}
    head = [Value("item")] if items else []
    selector = Value("exit")
    switch.params = [*head, selector]
    given: dict[Block, list[Value]] = {}
    for target in targets:
        own = [Value(p.name, p.type) for p in target.params[target in items :]]
        switch.params += own
        given[target] = own
    for edge in edges:
        _bend(edge, switch, targets, given, bool(head) and edge.target not in items)
    onward = [Edge(t, [*(head if t in items else []), *given[t]]) for t in targets]
    _switch(graph, switch, selector, onward)


def _bend(
    edge: Edge, switch: Block, targets: list[Block], given: dict[Block, list[Value]], no_item: bool
) -> None:
    args: list[Operand] = [NONE] if no_item else []
    args.append(Const(targets.index(edge.target)))
    for target in targets:
        args += edge.args if target is edge.target else [NONE] * len(given[target])
    edge.target, edge.args = switch, args


def _switch(graph: Graph, block: Block, selector: Value, edges: list[Edge]) -> None:
    """Leave `block` by `edges[selector]`. Its tests stand in blocks of their own, so `block` has no ops."""
    test = graph.new_block()
    block.terminator = Jump(Edge(test))
    for number, edge in enumerate(edges[:-2]):
        following = graph.new_block()
        test.terminator = Branch(_is_number(test, selector, number), edge, Edge(following))
        test = following
    test.terminator = Branch(_is_number(test, selector, len(edges) - 2), edges[-2], edges[-1])


def _is_number(block: Block, selector: Operand, number: int) -> Value:
    result = Value("is_exit")
    block.ops.append(Op(Const(operator.eq), [selector, Const(number)], [result], syntax=True))
    return result


def _close(graph: Graph, loop: Loop, live: set[Block]) -> bool:
    """Loop-closed SSA: uses after the loop read parameters of its exit blocks."""
    edges = _exit_edges(loop, live)
    tree = dominators(graph)
    inside = {v for v, b in definitions(graph).items() if b in loop.blocks}
    changed = False
    for exit in dict.fromkeys(e.target for e in edges):
        after = [b for b in tree.order if b not in loop.blocks and tree.dominates(exit, b)]
        changed |= _close_at(exit, [e for e in edges if e.target is exit], after, inside)
    return changed


def _close_at(exit: Block, edges: list[Edge], after: list[Block], inside: set[Value]) -> bool:
    closed: dict[Value, Operand] = {}
    for value in dict.fromkeys(v for b in after for v in _uses_in(b) if v in inside):
        closed[value] = param = Value(value.name, value.type)
        exit.params.append(param)
        for edge in edges:
            edge.args.append(value)
    for block in after:
        substitute_in(block, closed)
    return bool(closed)


def _uses_in(block: Block) -> set[Value]:
    used = {v for op in block.ops for v in op.operands() if isinstance(v, Value)}
    if block.terminator is not None:
        used.update(v for v in block.terminator.operands() if isinstance(v, Value))
        for edge in block.terminator.edges():
            used.update(v for v in edge.args if isinstance(v, Value))
    return used


def _shape(graph: Graph, end: Block, forest: LoopForest, live: set[Block]) -> Shape:
    shape = Shape(graph, end, forest, live)
    for loop in forest.loops:
        shape.preheader[loop] = _entering(graph, loop)[0][0]
        shape.latch[loop] = loop.latches[0]
        exits = _exit_edges(loop, live)
        if exits:
            shape.exit[loop] = exits[0].target
            shape.loop_of_exit[exits[0].target] = loop
    return shape


def argument(edge: Edge, position: int) -> Operand | None:
    """What an edge passes for a parameter; None for the item of an `Iterate`."""
    position -= len(edge.target.params) - len(edge.args)
    return edge.args[position] if position >= 0 else None
