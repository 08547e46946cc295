"""The primal's values, as the sweep finds them again.

    outside of loops      the value itself, or a block parameter where it does not dominate the sweep
    a whole iteration     an item of the list on which the iterations kept it, taken by the reversed loop
    the last iteration    what it was when the loop was left: a parameter of the exit block
    stored to since       a copy from before

What the iterations of a loop keep for the sweep is put into the primal part here, too.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from typing import Any

from ctxdispatch.ir import primitives
from ctxdispatch.ir.analysis import Loop
from ctxdispatch.ir.builder import Builder
from ctxdispatch.ir.graph import Block, Graph, Op
from ctxdispatch.ir.rewrite import definitions
from ctxdispatch.ir.values import UNREAD, Const, Operand, Value
from ctxdispatch.passes import types as T
from ctxdispatch_contexts.reverse.bars import ZERO
from ctxdispatch_contexts.reverse.overwritten import Overwritten, insert_copy
from ctxdispatch_contexts.reverse.structure import Shape, argument

COTANGENTS = frozenset({"bar", "carry", "barmask", "carrymask"})
"""Kinds of variables of the builder that hold cotangents, and masks of cotangents; the others hold values."""


@dataclass(eq=False)
class Scope:
    """Where the sweep is: outside of all loops (`loop` None), in the reverse of one whole iteration (`start`
    is the block it begins with), or in that of the last, partial one (`start` None)."""

    loop: Loop | None = None
    parent: Scope | None = None
    start: Block | None = None
    saved: dict[Value, Value] = field(default_factory=dict)


class Primal:
    """The program that is reversed, what the sweep reads of it, and where the sweep is."""

    def __init__(self, shape: Shape, overwritten: Overwritten) -> None:
        self.shape = shape
        self.graph: Graph = shape.graph
        self.overwritten = overwritten
        self.home = definitions(self.graph)
        self.build = Builder(self.graph, default=self._default)
        self.scope = Scope()
        self.reversing: Op | None = None
        self.block_of = {op: block for block, op in self.graph.ops()}
        self._copies: dict[tuple[Value, Op], Value] = {}
        self.reads: list[tuple[Operand, Op]] = []  # what the sweep reads, and the op whose reverse does
        for value, block in self.home.items():
            self.build.write(("primal", value), value, block)

    @staticmethod
    def _default(variable: Any) -> Operand:
        return ZERO if variable[0] in COTANGENTS else UNREAD

    def recall(self, value: Operand) -> Operand:
        """`value` of the primal, as the sweep finds it again here."""
        if self.overwritten.after(value, self.reversing):
            return self.shaped(self._as_it_was(value))  # type: ignore[arg-type]
        if self.reversing is not None:
            self.reads.append((value, self.reversing))
        return self.shaped(value)

    def _as_it_was(self, value: Value) -> Value:
        """`value` as the op that is being reversed read it, which has been stored to since."""
        assert self.reversing is not None
        key = value, self.reversing
        if key not in self._copies:
            block = self.block_of[self.reversing]
            self._copies[key] = insert_copy(block, self.reversing, value)
            self.define(self._copies[key], block)
        return self._copies[key]

    def shaped(self, value: Operand) -> Operand:
        """Like `recall`, for who asks for its shape or class only: it may have been stored to since."""
        return self._recall(value, self.scope) if isinstance(value, Value) else value

    def _recall(self, value: Value, scope: Scope) -> Operand:
        loop = self.shape.loop(self.home[value])
        at: Scope | None = scope
        while at is not None and at.loop is not loop:
            at = at.parent
        assert at is not None, f"{value} is read by the sweep outside of its loop"
        if at.loop is None:
            return self._direct(value)
        if at.start is None:
            assert at.parent is not None
            return self._recall(self._exit_value(value, at.loop), at.parent)
        if value not in at.saved:
            at.saved[value] = Value(value.name, value.type)
        return at.saved[value]

    def _direct(self, value: Value) -> Operand:
        if self.shape.tree.dominates(self.home[value], self.shape.end):
            return value
        found = self.build.read(("primal", value))
        if isinstance(found, Value) and found.type is None:
            found.type = value.type
        return found

    def _exit_value(self, value: Value, loop: Loop) -> Value:
        """The value's last incarnation, after the loop."""
        exit = self.shape.exit[loop]
        for position, param in enumerate(exit.params):
            if all(argument(e, position) is value for _, e in self.shape.preds(exit)):
                return param
        param = Value(value.name, value.type)
        exit.params.append(param)
        for block, edge in self.shape.preds(exit):
            edge.args.append(self._value_at(value, block, loop))
        self.define(param, exit)
        return param

    def _value_at(self, value: Value, block: Block, loop: Loop) -> Operand:
        """`value` of this iteration at the end of `block`; anything where the iteration has not passed it."""
        home = self.home[value]
        if self.shape.tree.dominates(home, block):
            return value
        if home is not loop.header:
            self.build.write(("primal", value), UNREAD, loop.header)
        found = self.build.read(("primal", value), block)
        if isinstance(found, Value):
            found.type = value.type
            self.home.setdefault(found, block)
        return found

    def define(self, value: Value, block: Block) -> None:
        """A value that the transform adds to the primal part."""
        self.home[value] = block
        self.build.write(("primal", value), value, block)

    # -- what the iterations keep ---------------------------------------------------------------------------

    def save(self, loop: Loop, value: Value) -> Value:
        """Keep `value` of every whole iteration on a list."""
        preheader, latch = self.shape.preheader[loop], self.shape.latch[loop]
        kept = Value(value.name + "s", T.Exact(list))
        preheader.ops.append(Op(Const(primitives.build_list), [], [kept], syntax=True))
        self.define(kept, preheader)
        args = [kept, self._value_at(value, latch, loop)]
        latch.ops.append(Op(Const(primitives.list_append), args, [Value()], syntax=True))
        return kept

    def count(self, loop: Loop) -> Operand:
        """How many whole iterations there were."""
        header = loop.header
        count, more = Value("count", T.Exact(int)), Value("count", T.Exact(int))
        header.params.append(count)
        self.shape.preheader[loop].edges()[0].args.append(Const(0))
        latch = self.shape.latch[loop]
        latch.ops.append(Op(Const(operator.add), [count, Const(1)], [more], syntax=True))
        latch.edges()[0].args.append(more)
        self.define(count, header)
        self.define(more, latch)
        return self.recall(self._exit_value(count, loop))
