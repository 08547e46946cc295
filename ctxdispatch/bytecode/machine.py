"""The abstract machine that lifting runs: locals and a stack of operands instead of objects.

A state is `locals + stack`, one operand per slot. Since spans come in reverse postorder, all states that flow
into a span are known when it is entered, but those of back edges; so block parameters are made exactly where
states differ and, at a loop's header, for what the loop stores. The part of the stack that a loop finds it
leaves as it is.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from itertools import chain
from types import CodeType
from typing import Any

from ctxdispatch.bytecode import flow
from ctxdispatch.bytecode.errors import UnsupportedSyntax
from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Block, Branch, Edge, Graph, Jump, Op, Signature, Terminator
from ctxdispatch.ir.values import UNDEF, Const, Operand, Position, Value

NULL = Const("NULL")
"""The marker that CPython pushes beside a callable that is not a method."""

ITERATOR, ITEM = Const("iterator"), Const("item")
"""What stands in the place of an exhausted iterator, for instructions that pop it and are never executed."""

Handler = Callable[["Machine", int], None]
State = list[Operand]


class Join:
    """A span's block, and the states that flow into it. `slots` are those with a parameter, None before it is
    entered."""

    __slots__ = ("span", "block", "incoming", "slots", "state")

    def __init__(self, span: flow.Span, block: Block) -> None:
        self.span = span
        self.block = block
        self.incoming: list[tuple[Edge, State]] = []
        self.slots: list[int] | None = None
        self.state: State = []


class Machine:
    """The interpreter's stack and slots at lifting time: operands in the place of objects."""

    def __init__(self, code: CodeType, graph: Graph, handlers: list[Handler]) -> None:
        self.code = code
        self.graph = graph
        self.handlers = handlers
        self.names = slot_names(code)
        self.consts = [Const(c) for c in code.co_consts]
        self.small_ints: dict[int, Const] = {}
        self.namespace = Const(graph.namespace)
        self.frees = len(self.names) - len(code.co_freevars)  # the first slot of the closure's cells
        self.kwnames: tuple[str, ...] = ()
        self.hides_frame = True  # builtins that look at the caller's frame find another one
        self.block = graph.entry
        self.locals: State = []
        self.stack: State = []
        self.next = 0  # the span that follows in the code
        self.unbound: set[Operand] = {UNDEF}  # what may be UNDEF
        self.bools: set[Operand] = set()  # what is exactly a bool
        self.sites: list[Any] = []  # what `sites.folded` found
        self.supers: set[Operand] = set()  # what was loaded from the global name `super`
        self._cleared: set[int] = set()
        self._joins: dict[int, Join] = {}
        self._unit = self._at = -1
        self._position: Position | None = None
        self._positions = list(code.co_positions())

    def run(self, order: list[flow.Span]) -> None:
        self._cleared = flow.cleared(order)
        blocks = chain([self.graph.entry], iter(self.graph.new_block, None))
        self._joins = {span.start: Join(span, block) for span, block in zip(order, blocks)}
        unset = [UNDEF] * (self.frees - len(self.graph.params))
        self._joins[0].state = [*self.graph.params, *unset, *self.graph.cells]
        for join in self._joins.values():
            if join.incoming or join.span.index == 0:  # a handler may know that a branch is never taken
                self._enter(join)
                self._execute(join.span)

    def _execute(self, span: flow.Span) -> None:
        handlers = self.handlers
        self.next = span.end
        for _, opcode, arg, self._unit, _ in span.instructions:
            handlers[opcode](self, arg)
        if self.block.terminator is None:
            self.goto(self.next)

    # -- states ------------------------------------------------------------------------------------

    def _enter(self, join: Join) -> None:
        state = join.state = list(join.incoming[0][1]) if join.incoming else join.state
        join.slots = self._merged(join, state)
        states = [s for _, s in join.incoming]
        for slot in join.slots:
            arguments = [s[slot] for s in states]
            for (edge, _), argument in zip(join.incoming, arguments):
                edge.args.append(argument)
            state[slot] = self._parameter(join, slot, arguments)
        self.block = join.block
        self.locals, self.stack = state[: len(self.names)], state[len(self.names) :]

    def _merged(self, join: Join, first: State) -> list[int]:
        """The slots that need a parameter."""
        stores = join.span.stores
        if len(join.incoming) < 2:
            return sorted(stores) if stores else []
        differ = stores or set()
        for _, state in join.incoming[1:]:
            assert len(state) == len(first), "stacks of different depth meet"
            if state != first:
                differ = differ.union(k for k, (a, b) in enumerate(zip(first, state)) if a is not b)
        return sorted(differ)

    def _parameter(self, join: Join, slot: int, arguments: State) -> Value:
        param = Value(self.names[slot] if slot < len(self.names) else "")
        join.block.params.append(param)
        again = join.span.stores is not None and slot in self._cleared
        if again or not self.unbound.isdisjoint(arguments):
            self.unbound.add(param)
        return param

    def edge(self, target: int, stack: State | None = None) -> Edge:
        """An edge that carries the present locals and `stack` (the present one) to the span at `target`."""
        join = self._joins[target]
        edge = Edge(join.block)
        state = self.locals + (self.stack if stack is None else stack)
        if join.slots is None:
            join.incoming.append((edge, state))
        else:
            n = len(self.names)
            assert state[n:] == join.state[n:], "a loop changes the stack below it"
            edge.args = [state[slot] for slot in join.slots]
        return edge

    # -- what handlers write -----------------------------------------------------------------------

    def end(self, terminator: Terminator) -> None:
        self.block.terminator = terminator

    def goto(self, target: int) -> None:
        self.end(Jump(self.edge(target), self.position()))

    def branch(self, cond: Operand, then: int, orelse: int) -> None:
        self.end(Branch(cond, self.edge(then), self.edge(orelse), self.position()))

    def op(self, callee: Operand, args: list[Operand], syntax: bool, kwnames: tuple[str, ...] = ()) -> Op:
        op = Op(callee, args, [Value()], kwnames, self.position(), syntax)
        self.block.ops.append(op)
        return op

    def syntax(self, function: Any, *args: Operand) -> Value:
        """A call that the source spells without parentheses."""
        return self.op(Const(function), list(args), True).results[0]

    def test(self, function: Any, *args: Operand) -> Value:
        """`syntax` whose result is exactly a bool."""
        result = self.syntax(function, *args)
        self.bools.add(result)
        return result

    def just_made(self, value: Operand, function: Any) -> Op | None:
        """The op before, where it is the one that made `value` by the syntax of `function`."""
        op = self.block.ops[-1] if self.block.ops else None
        made = op is not None and op.syntax and op.fn is function and op.results[0] is value
        return op if made else None

    def truth(self, value: Operand) -> Operand:
        if value in self.bools or (isinstance(value, Const) and isinstance(value.value, bool)):
            return value
        return self.test(builtins.bool, value)

    def check(self, slot: int) -> Operand:
        """The local in `slot`, bound or an UnboundLocalError."""
        value = self.locals[slot]
        if value in self.unbound:
            name = self.names[slot]
            value = self.locals[slot] = self.syntax(primitives.check_bound, value, Const(name))
            value.name = name
        return value

    @property
    def unit(self) -> int:
        """Where the instruction is in the code."""
        return self._unit

    def name(self, index: int) -> Const:
        return Const(self.code.co_names[index])

    def pop(self, n: int) -> list[Operand]:
        """The topmost n, deepest first."""
        if not n:
            return []
        taken = self.stack[-n:]
        del self.stack[-n:]
        return taken

    def unsupported(self, construct: str) -> UnsupportedSyntax:
        filename, function, line, *_ = self.position()
        return UnsupportedSyntax(construct, filename, line, function)

    def position(self) -> Position:
        if self._at != self._unit or self._position is None:
            self._at = self._unit
            code = self.code
            here = (code.co_filename, code.co_qualname, *self._positions[self._unit], False)
            self._position = tuple.__new__(Position, here)
        return self._position


def empty_graph(code: CodeType, namespace: dict[str, Any] | None) -> Graph:
    """What `code` is lifted into."""
    return Graph(
        code.co_qualname,
        Signature.of(code),
        cellnames=code.co_freevars,
        namespace=namespace,
        code=code,
        filename=code.co_filename,
        line=code.co_firstlineno,
    )


def slot_names(code: CodeType) -> list[str]:
    """The names of the slots: locals, then cells that are no locals, then the closure."""
    local = code.co_varnames
    return [*local, *(c for c in code.co_cellvars if c not in local), *code.co_freevars]
