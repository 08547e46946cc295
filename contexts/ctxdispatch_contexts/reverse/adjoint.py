"""The adjoint of an SSA program (Innes 2018, section 3), as one program that runs forward and then backward.

    y = f(x)     ->     y = f(x), remembering what is asked for;  then, block by block in reverse,
                        bar(operand) += pullback(bar(result))

* Straight-line values stay values: the reverse sweep simply reads them.
* Where control flow merges, the merge learns which predecessor it was entered by, and the sweep goes back
  there.
* A loop's reverse is a loop over the iterations in reversed order. A value of an iteration that is read there
  goes on a list, one list per value, appended at the latch. The last, partial iteration (from the header to
  the exit) is reversed on its own.
* bar(v), the cotangent of v, is a variable of the builder, so merges of cotangents become block parameters.

The graph given is extended in place; `structure.normalise` has been at it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Container
from typing import Any

from ctxdispatch.ir import primitives
from ctxdispatch.ir.analysis import Loop
from ctxdispatch.ir.graph import Block, Edge, Iterate, Op
from ctxdispatch.ir.values import Const, Operand, Value
from ctxdispatch.passes import types as T
from ctxdispatch_contexts.programs import budget
from ctxdispatch_contexts.programs.activity import passed
from ctxdispatch_contexts.reverse import cotangents
from ctxdispatch_contexts.reverse.bars import (
    NONE,
    ZERO,
    is_zero,
)
from ctxdispatch_contexts.reverse.masks import ONE, Masks
from ctxdispatch_contexts.reverse.merges import Merges
from ctxdispatch_contexts.reverse.overwritten import Overwritten
from ctxdispatch_contexts.reverse.primal import Scope
from ctxdispatch_contexts.reverse.structure import Shape
from ctxdispatch_contexts.reverse.variables import Cotangents


class Adjoint(Cotangents):
    """One run of the transform. `pullbacks` says how an op is reversed (see `pullbacks.py`)."""

    def __init__(
        self, shape: Shape, active: set[Value], pullbacks: Any, shadows: Any, overwritten: Overwritten,
        masks: Masks,
    ) -> None:  # fmt: skip
        super().__init__(shape, active, pullbacks, shadows, overwritten, masks)
        self.makers = {r: op for _, op in self.graph.ops() for r in op.results}
        # the list of item cotangents of each loop being reversed, and of their masks
        self.items: dict[tuple[Iterate, bool], Operand] = {}
        self.merges = Merges(shape, self.define)

    # -- the sweep -------------------------------------------------------------------------------------------

    def start(self, result: Value, seed: Operand) -> None:
        """The sweep begins with bar(result) = seed."""
        for _ in self.passes():
            self.shadows.open(self, None, [self.shape.end])
            given = self.mask_of_seed(result, seed) if self.masking else seed
            (self.add if self.shadows.has(result) else self.set_bar)(result, given)

    def reverse(self) -> None:
        """Emit the sweep, from where the builder stands to the reverse of the entry's first op."""
        self._region(self.shape.end, self.graph.entry, None)

    def _region(self, end: Block, start: Block, inside: Loop | None) -> None:
        """Reverse the acyclic region from `start` to `end`, inner loops taken as one. `inside`: `end` is the
        exit block of this loop and only its edges are the region's, not its ops."""
        twin = {end: self.build.block}
        for block in self._backward_order(end, start, inside):
            self.build.enter(twin[block])
            self.build.seal(twin[block])
            if block is not end or inside is None:
                self._block(block)
            if block is not start:
                self._go_back(block, inside if block is end else None, twin)

    def _backward_order(self, end: Block, start: Block, inside: Loop | None) -> list[Block]:
        order: list[Block] = []
        seen = {end}
        stack = [(end, iter(self._region_preds(end, inside) if end is not start else []))]
        while stack:
            block, preds = stack[-1]
            for pred, _ in preds:
                if pred not in seen:
                    seen.add(pred)
                    stack.append((pred, iter(self._region_preds(pred, None) if pred is not start else [])))
                    break
            else:
                order.append(block)
                stack.pop()
        return order[::-1]

    def _region_preds(self, block: Block, inside: Loop | None) -> list[tuple[Block, Edge | None]]:
        loop = self.shape.loop_of_exit.get(block)
        if loop is not None and loop is not inside:
            return [(self.shape.preheader[loop], None)]
        return list(self.shape.preds(block))

    def _block(self, block: Block) -> None:
        budget.check()
        for op in list(reversed(block.ops)):
            if self._is_reversed(op):
                self.build.pos, self.reversing = op.pos, op
                self._mask_operands(op)
                self.pullbacks.reverse_op(self, op)
        self.reversing = None
        self.pullbacks.end_block(self, block)

    def _mask_operands(self, op: Op) -> None:
        if self.masks.values and not self.masks.values.isdisjoint(self.masks.operands(op)):  # type: ignore[arg-type]
            self.masking = True
            self.pullbacks.reverse_mask(self, op)
            self.masking = False

    def _is_reversed(self, op: Op) -> bool:
        return not self.active.isdisjoint(op.results) or self.pullbacks.stores(op, self.active)

    def _go_back(self, block: Block, inside: Loop | None, twin: dict[Block, Block]) -> None:
        """From the reverse of `block` to that of the predecessor by which it was entered."""
        preds = self._region_preds(block, inside)
        if len(preds) == 1:
            self._pass_back(block, *preds[0], twin)
            return
        arms = [self.build.new_block(sealed=False) for _ in preds]
        self._choose(self.recall(self.merges.came(block)), arms)
        for arm, (pred, edge) in zip(arms, preds, strict=True):
            self.build.enter(arm)
            self.build.seal(arm)
            self._pass_back(block, pred, edge, twin)

    def _choose(self, came: Operand, arms: list[Block]) -> None:
        if len(arms) == 2:
            self.build.branch(came, arms[1], arms[0])
            return
        for number, arm in enumerate(arms[:-2]):
            rest = self.build.new_block()
            is_it = self.call(operator.eq, came, Const(number), syntax=True, type=T.Exact(bool))
            self.build.branch(is_it, arm, rest)
            self.build.seal(rest)
            self.build.enter(rest)
        is_it = self.call(operator.eq, came, Const(len(arms) - 2), syntax=True, type=T.Exact(bool))
        self.build.branch(is_it, arms[-2], arms[-1])

    def _pass_back(self, block: Block, pred: Block, edge: Edge | None, twin: dict[Block, Block]) -> None:
        if edge is None:
            self._loop(self.shape.loop_of_exit[block])
        else:
            self.pass_edge(pred, edge)
        if pred not in twin:
            twin[pred] = self.build.new_block()
        self.build.jump(twin[pred])

    def pass_edge(self, pred: Block, edge: Edge) -> None:
        """Cotangents of a block's parameters go to the arguments that `edge` passed."""
        for _ in self.passes():
            self._hand_on(passed(pred.terminator, edge), self.active, self.bar)
            self._pass_item(pred.terminator, edge)

    def _hand_on(
        self, pairs: list[tuple[Value, Operand]], among: Container[Value], read: Callable[[Value], Operand]
    ) -> None:
        """Cotangents of parameters to their arguments: all are read before the first is changed."""
        arrived = [
            (arg, read(p)) for p, arg in pairs if p in among and (not self.masking or self.has_bar(arg))
        ]
        for arg, cotangent in arrived:
            self.add(arg, cotangent)

    def _pass_item(self, terminator: Any, edge: Edge) -> None:
        if not isinstance(terminator, Iterate) or edge is not terminator.body:
            return
        if not self.has_bar(terminator.iterator):
            return
        bar = self.bar(edge.target.params[0])
        bar = NONE if is_zero(bar) else bar
        if (terminator, self.masking) in self.items:
            self.call(primitives.list_append, self.items[terminator, self.masking], bar, syntax=True)
        else:
            self.add(terminator.iterator, self.call(primitives.build_list, bar, syntax=True))

    # -- loops -----------------------------------------------------------------------------------------------

    def _loop(self, loop: Loop) -> None:
        """Reverse a whole loop: first its last, partial iteration, then the others, backwards."""
        if not self._is_active(loop):
            return
        header, outer = loop.header, self.scope
        iterate = header.terminator if isinstance(header.terminator, Iterate) else None
        for _ in self.passes():
            if iterate is not None and self.has_bar(iterate.iterator):
                made = self.call(primitives.build_list, syntax=True, name="masks" if self.masking else "bars")
                self.items[iterate, self.masking] = made
        self.scope = Scope(loop, outer)
        for _ in self.passes():
            self.shadows.open(self, loop, [pred for pred, _ in self.shape.preds(self.shape.exit[loop])])
        self._region(self.shape.exit[loop], header, loop)
        carried = [p for p in header.params if p in self.active]
        self._carry_on(carried)
        self.scope = outer
        self._iterations(loop, carried)
        self._leave(loop, carried, iterate)

    def _is_active(self, loop: Loop) -> bool:
        exits = self.shape.exit[loop].params
        params = [*exits, *(p for b in loop.blocks for p in b.params)]
        ops = (op for b in loop.blocks for op in b.ops)
        return not self.active.isdisjoint(params) or any(map(self._is_reversed, ops))

    def _iterations(self, loop: Loop, carried: list[Value]) -> None:
        outer, before = self.scope, self.build.block
        header, start, after = (self.build.new_block() for _ in range(3))
        self.build.jump(header)
        self.build.enter(header)
        terminator = Iterate(NONE, Edge(start), Edge(after))
        self.build.terminate(terminator)
        self.build.seal(start)
        self.build.seal(after)
        self.scope = Scope(loop, outer, start)
        self.build.enter(start)
        self._one_iteration(loop, carried)
        self.build.jump(header)
        self.build.seal(header)
        saved = self.scope.saved
        self.scope = outer
        self.build.enter(before)
        terminator.iterator = self._driver(loop, start, saved)
        self.build.enter(after)

    def _one_iteration(self, loop: Loop, carried: list[Value]) -> None:
        latch, header = self.shape.latch[loop], loop.header
        for _ in self.passes():
            for value in self._defined_in(loop):
                self.set_bar(value, ZERO)
            self.shadows.open(self, loop, [latch])
            self._hand_on(passed(latch.terminator, latch.edges()[0]), carried, self._carry)
        self._region(latch, header, None)
        self._carry_on(carried)

    def _carry_on(self, carried: list[Value]) -> None:
        """What has arrived at the loop's header is what the iteration before it begins with."""
        for _ in self.passes():
            for param in filter(self.has_bar, carried):
                self.build.write((self.key("carry"), param), self.bar(param))

    def _defined_in(self, loop: Loop) -> list[Value]:
        out = []
        for block in loop.blocks:
            out += [p for p in block.params if p in self.active]
            out += [r for op in block.ops for r in op.results if r in self.active]
        return out

    def _carry(self, param: Value) -> Operand:
        if self.masking and param not in self.masks.values:
            return ONE
        found = self.build.read((self.key("carry"), param))
        if isinstance(found, Value) and found.type is None:
            found.type = self._type_of_bar(param)
            found.name = "d" + param.name
        return found

    def _leave(self, loop: Loop, carried: list[Value], iterate: Iterate | None) -> None:
        entering = self.shape.preheader[loop].edges()[0]
        pairs = passed(self.shape.preheader[loop].terminator, entering)
        for _ in self.passes():
            self._hand_on(pairs, carried, self._carry)
            if iterate is not None and (iterate, self.masking) in self.items:
                bars = self.call(cotangents.reversed_items, self.items.pop((iterate, self.masking)))
                self.add(iterate.iterator, bars)

    def _driver(self, loop: Loop, start: Block, saved: dict[Value, Value]) -> Operand:
        """The iterator of the reversed loop, made before it; `start` unpacks its items."""
        lists = [(self.save(loop, value), twin) for value, twin in saved.items()]
        if not lists:
            start.params.insert(0, Value("_", T.Exact(int)))
            return self.call(cotangents.steps, self.count(loop), type=T.IterOf(T.Exact(int)))
        item = Value("saved")
        start.params.insert(0, item)
        twins = [twin for _, twin in lists]
        start.ops.insert(0, Op(Const(primitives.unpack), [item, Const(len(twins))], twins, syntax=True))
        return self.call(cotangents.rewind, *[self.recall(kept) for kept, _ in lists], type=T.IterOf(T.Any))
