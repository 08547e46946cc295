"""Dead code: what has no effect and whose results nobody reads goes.

Mark and sweep from what must stay: calls with effects, what is returned or raised, loops that may not end. A
block parameter lives if it is read, so values that only feed each other around a loop go. A branch lives if
something in its reach (by control dependence, Cytron et al. 1991, section 7) does; a dead one becomes a jump
to where its ways meet again, so a loop that surely ends and computes nothing goes whole.
"""

from __future__ import annotations

import functools
import operator
from collections import Counter
from collections.abc import Iterable

from ctxdispatch.facts import fact_of
from ctxdispatch.ir import primitives as prim
from ctxdispatch.ir.analysis import DominatorTree, dominators, loops, passed, postdominators
from ctxdispatch.ir.graph import Block, Edge, Graph, Iterate, Jump, Op, Raise, Return
from ctxdispatch.ir.rewrite import definitions
from ctxdispatch.ir.values import Operand, Value
from ctxdispatch.passes import effects
from ctxdispatch.passes.conform import test_shapes, unnoticed
from ctxdispatch.passes.types import IterOf, operand_type


def dce(graph: Graph, *, written: bool = False) -> Graph:
    """In place. `written`: by the user. What nobody reads is there for what it does: it may be to raise."""
    live = _Liveness(graph)
    live.mark()
    if written:
        live.mark_failing()
    _keep_errors(live)
    for block in live.tree.order:
        _sweep(block, live)
    _redirect(live)
    graph.blocks = dominators(graph).order
    return graph


class _Liveness:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.tree = dominators(graph)
        self.meet: DominatorTree[Block | None] = postdominators(graph)
        self.home = definitions(graph)
        self.makers = {r: op for block in self.tree.order for op in block.ops for r in op.results}
        self.controllers = _controllers(self.tree.order, self.meet)
        self.arguments = self._arguments()
        self.values: set[Value] = set()
        self.ops: set[int] = set()
        self.blocks: set[Block] = set()
        self.branches: set[Block] = set()
        self.appends: dict[Value, list[tuple[Block, Op]]] = {}
        self.work: list[Value] = []
        ends = [block.terminator for block in self.tree.order]
        self.items = {end.body.target.params[0] for end in ends if isinstance(end, Iterate)}
        """They stay, and with them what other edges pass in their place."""

    def _arguments(self) -> dict[Value, list[tuple[Block, Operand]]]:
        """Per block parameter what the edges pass, and from where."""
        found: dict[Value, list[tuple[Block, Operand]]] = {}
        for block in self.tree.order:
            for edge, params in passed(block):
                for param, arg in zip(params, edge.args):
                    found.setdefault(param, []).append((block, arg))
        return found

    # -- marking ---------------------------------------------------------------------------------------------

    def mark(self) -> None:
        """Everything that must stay, and what that needs."""
        self.block(self.graph.entry)
        for block in self.tree.order:
            self._roots(block)
        for loop in loops(self.graph, self.tree).loops:
            if not self._ends(loop.header):
                for block in loop.blocks:
                    self.branch(block)
        while self.work:
            self._follow(self.work.pop())

    def mark_failing(self) -> None:
        for block in self.tree.order:
            for op in block.ops:
                if id(op) not in self.ops and effects.fails_on_some(op):
                    op.caught = True
                    self.op(block, op)
        while self.work:
            self._follow(self.work.pop())

    def _roots(self, block: Block) -> None:
        for op in block.ops:
            target = _appends_to(op, self.makers)
            if target is not None:
                self.appends.setdefault(target, []).append((block, op))
                if target in self.values:
                    self.op(block, op)
            elif not effects.removable(op):
                self.op(block, op)
        terminator = block.terminator
        taken = isinstance(terminator, Iterate) and not self._own(terminator.iterator)
        if taken or isinstance(terminator, (Return, Raise)) or block not in self.meet:
            self.branch(block)

    def _ends(self, header: Block) -> bool:
        return isinstance(header.terminator, Iterate) and self._own(header.terminator.iterator)

    def _own(self, iterator: Operand) -> bool:
        """An iterator over something of known length, made here, that nobody else takes items from."""
        type_ = operand_type(iterator)
        maker = self.makers.get(iterator) if isinstance(iterator, Value) else None
        if maker is None or not isinstance(type_, IterOf) or not type_.plain or self._reads[iterator] != 1:
            return False
        inner = [a for a in maker.args if isinstance(operand_type(a), IterOf)]
        return effects.removable(maker) and all(map(self._own, inner))

    @functools.cached_property
    def _reads(self) -> Counter[Operand]:
        reads: Counter[Operand] = Counter()
        for block in self.tree.order:
            for op in block.ops:
                reads.update(op.operands())
            reads.update(block.terminator.operands() if block.terminator else ())
            for edge in block.edges():
                reads.update(edge.args)
        return reads

    def block(self, block: Block) -> None:
        """`block` is to be reached exactly when it is now: what decides that lives."""
        if block not in self.blocks:
            self.blocks.add(block)
            for controller in self.controllers.get(block, ()):
                self.branch(controller)

    def branch(self, block: Block) -> None:
        if block not in self.branches:
            self.branches.add(block)
            self.block(block)
            self.read(block.terminator.operands() if block.terminator else ())

    def op(self, block: Block, op: Op) -> None:
        if id(op) not in self.ops:
            self.ops.add(id(op))
            self.block(block)
            self.read(op.operands())

    def read(self, operands: Iterable[Operand]) -> None:
        for operand in operands:
            if isinstance(operand, Value) and operand not in self.values:
                self.values.add(operand)
                self.work.append(operand)

    def _follow(self, value: Value) -> None:
        home = self.home[value]
        maker = self.makers.get(value)
        if maker is not None:
            self.op(home, maker)
        else:
            self.block(home)
        for block, append in self.appends.get(value, ()):
            self.op(block, append)
        for block, arg in self.arguments.get(value, ()):
            self.block(block)
            self.read((arg,))
        if maker is None and value not in self.arguments and home is not self.graph.entry:
            for pred in self.tree.order:  # the item of an iteration
                if isinstance(pred.terminator, Iterate) and pred.terminator.body.target is home:
                    self.branch(pred)


def _appends_to(op: Op, makers: dict[Value, Op]) -> Value | None:
    """The list, made here, that `op` only appends to: if nobody reads it, the appending is not needed
    either."""
    if op.fn not in (prim.list_append, list.append) or not isinstance(op.args[0], Value):
        return None
    maker = makers.get(op.args[0])
    unread = maker is not None and maker.fn is prim.build_list and len(op.args) == 2
    return op.args[0] if unread else None


def _controllers(order: list[Block], meet: DominatorTree[Block | None]) -> dict[Block, set[Block]]:
    """Per block the branches that decide whether it is reached."""
    found: dict[Block, set[Block]] = {}
    for block in order:
        if len(block.edges()) < 2 or block not in meet:
            continue
        for successor in block.successors():
            runner: Block | None = successor
            while runner is not None and runner is not meet.idom[block] and runner in meet:
                found.setdefault(runner, set()).add(block)
                runner = meet.idom[runner]
    return found


# -- sweeping ------------------------------------------------------------------------------------------------


def _keep_errors(live: _Liveness) -> None:
    """Of dead ops that might raise for their operands' shapes, where these are there anyway, a test stays."""
    blocks = [b for b in live.tree.order if b in live.blocks]
    lost = unnoticed(blocks, live.graph.entry, live.meet, live.makers, lambda op: id(op) in live.ops)
    for op, pair in lost:
        if all(_is_there(a, live) for a in pair):
            test_shapes(op, pair)
            live.ops.add(id(op))
            live.read(pair)
            while live.work:
                live._follow(live.work.pop())


def _is_there(operand: Operand, live: _Liveness) -> bool:
    """Or can be had for next to nothing."""
    if not isinstance(operand, Value) or operand in live.values or operand in live.graph.params:
        return True
    maker = live.makers.get(operand)
    if maker is None or not _costs_nothing(maker.fn):
        return False
    return all(_is_there(a, live) for a in maker.args)


def _costs_nothing(function: object) -> bool:
    """It reads what is there, or makes an array of constants."""
    if function in (getattr, operator.getitem, prim.load_global):
        return True
    row = fact_of(function)
    return row is not None and bool(row.lengths) and row.new_array


def _sweep(block: Block, live: _Liveness) -> None:
    block.ops = [op for op in block.ops if id(op) in live.ops]
    for edge, params in passed(block):
        edge.args = [a for a, p in zip(edge.args, params) if p in live.values or p in live.items]


def _redirect(live: _Liveness) -> None:
    """Dead branches jump to the next living block; dead parameters go (an iteration's item stays)."""
    for block in live.tree.order:
        if len(block.edges()) > 1 and block not in live.branches:
            target = _next_living(block, live)
            block.terminator = Jump(
                _only_edge(block, target), block.terminator.pos if block.terminator else None
            )
    items = {b.terminator.body.target for b in live.tree.order if isinstance(b.terminator, Iterate)}
    for block in live.tree.order[1:]:
        keep = block.params[:1] if block in items else []
        block.params = keep + [p for p in block.params[len(keep) :] if p in live.values]


def _next_living(block: Block, live: _Liveness) -> Block:
    target = live.meet.idom[block]
    while target is not None and target not in live.blocks:
        target = live.meet.idom[target]
    assert target is not None, "every way out of a block that ends is a return or a raise, and these live"
    return target


def _only_edge(block: Block, target: Block) -> Edge:
    """Its living parameters would make the block that passes them live: there are none, or this block passes
    them."""
    direct = [e for e in block.edges() if e.target is target]
    return Edge(target, list(direct[0].args) if direct else [])
