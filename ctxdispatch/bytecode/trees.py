"""Ops on the VM stack: expression trees, written backwards.

`work` holds what is still to be pushed below what has been written; an operand whose op is the one right
before is written in its place, everything else is loaded. Invariant: ops run in the order in which they
stand in the block. So an op may be an operand's tree only if no other op stands between, or if those are
written as whole statements above the operand, on the stack where it waits.

A value with several uses is stored and loaded again at its first one, unless something on the left of
that use, which will be pushed earlier, needs it too."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ctxdispatch.bytecode.assemble import NOWHERE, Pos
from ctxdispatch.bytecode.layout import Base, Layout, is_check
from ctxdispatch.bytecode.rows import NULL, STORED, Callee, Push, head, is_name
from ctxdispatch.bytecode.slots import SymbolicAt
from ctxdispatch.bytecode.spelling import spell
from ctxdispatch.bytecode.threads import Threads
from ctxdispatch.ir.graph import Block, Op
from ctxdispatch.ir.values import Const, Operand, Position, Value

Work = tuple[Push | None, Pos]
"""None: the op before is a statement."""


LOOKED_THROUGH = 50
"""With more than so much that waits to be written nobody looks whether it is a certain value: the time for
large expressions would grow with the square of their size."""


class Trees:
    """The state of writing one block. `_out` is what has been written, last instruction first."""

    def __init__(self, layout: Layout, namespace: Any, filename: str, line: int) -> None:
        self.layout = layout
        self.namespace = namespace
        self.filename = filename
        self._threads = Threads(layout)
        self._pos: Pos = (line, line, 0, 0)  # until an op says where it is
        self._base: Base = ()
        self._ops: list[Op] = []
        self._cursor = 0  # ops before it are not written yet
        self._index: dict[Value, int] = {}  # of the op whose one result it is
        self._made: dict[Value, int] = {}  # of the op that makes it
        self._out: list[SymbolicAt] = []
        self._work: list[Work] = []

    def _begin(self, block: Block) -> None:
        self._ops, self._cursor = self._threads.ops(block), len(block.ops)
        self._index = {op.results[0]: k for k, op in enumerate(self._ops) if len(op.results) == 1}
        self._made = {r: k for k, op in enumerate(self._ops) for r in op.results}
        self._base, self._out, self._work = self.layout.base[block], [], []

    def _write_ops(self) -> None:
        self._drain()
        while self._cursor:
            self._work.append((None, NOWHERE))
            self._drain()

    def position(self, pos: Position | None) -> Pos:
        """What has no place in this file is where its surroundings are."""
        if pos is not None and pos.filename == self.filename and pos.line is not None:
            self._pos = (pos.line, pos.end_line, pos.column, pos.end_column)
        return self._pos

    # -- ops ---------------------------------------------------------------------------------------

    def peek(self, operand: Operand) -> Op | None:
        if isinstance(operand, Value) and self._adjacent(operand) and self.layout.uses[operand] == 1:
            return self._ops[self._cursor - 1]
        return None

    def skip(self) -> None:
        self._cursor -= 1

    def is_threaded(self, op: Op) -> bool:
        return op in self._threads.made

    def lies_below(self, operand: Operand, depth: int) -> bool:
        """Whether it is what will be pushed so far below what is pushed next."""
        if len(self._work) < depth or self._work[-depth][0] is not operand:
            return False
        if isinstance(operand, Value):
            self.layout.uses[operand] -= 1
        return True

    def resident(self, operand: Operand) -> int:
        """Only for statements: their base, and operands that wait below them."""
        base = self._base
        if operand not in base:
            return 0
        waiting = sum(_pushed(item) for item, _ in self._work)
        return len(base) - base.index(operand) + waiting

    def _adjacent(self, value: Value) -> bool:
        return self._cursor > 0 and self._index.get(value, -1) == self._cursor - 1

    def _drain(self) -> None:
        work, out = self._work, self._out
        while work:
            item, pos = work.pop()
            if isinstance(item, Value):
                self._value(item, pos)
            elif isinstance(item, Const):
                out.append(("LOAD_CONST", item.value, pos))
            elif item is None:
                self._statement()
            elif isinstance(item, Callee):
                self._callee(item.operand, pos)
            else:
                out.append((*item, pos))

    def _value(self, value: Value, pos: Pos) -> None:
        at = self._index.get(value, -1)
        if at < 0 or at >= self._cursor:
            self._load(value, pos)
        elif at == self._cursor - 1:
            self._last(value, pos)
        elif self.layout.uses[value] == 1 and self._may_wait(at):
            self._work += [(value, pos), (None, NOWHERE)]
        else:
            self._load(value, pos)

    def _last(self, value: Value, pos: Pos) -> None:
        """The op right before makes it."""
        op = self._ops[self._cursor - 1]
        work = self._work
        if self.layout.uses[value] == 1:
            self._nest(op)
        elif work and work[-1][0] is value and self.layout.uses[value] == 2:
            self._out.append(("COPY", 1, pos))
            work.pop()
            self._nest(op)
        elif not self._waited_for(value):
            if not is_check(op):
                self._out += [("LOAD_FAST", value, pos), ("STORE_FAST", value, self.position(op.pos))]
            self._nest(op)
        else:
            self._load(value, pos)

    def _waited_for(self, value: Value) -> bool:
        if len(self._work) > LOOKED_THROUGH:
            return True
        return any(v is value or (isinstance(v, Callee) and v.operand is value) for v, _ in self._work)

    def _may_wait(self, at: int) -> bool:
        """Whether what is made at `at` may lie on the stack while the ops after it run: nothing that is
        pushed below it comes from them."""
        if len(self._work) > LOOKED_THROUGH:
            return False
        for item, _ in self._work:
            value = item.operand if isinstance(item, Callee) else item
            if isinstance(value, Value) and at <= self._made.get(value, -1) < self._cursor:
                return False
        return True

    def _nest(self, op: Op) -> None:
        """Write `op`, which leaves its result on the stack."""
        self.skip()
        pos = self.position(op.pos)
        if is_check(op):
            self._check(op, pos)
            return
        spelling = spell(op, self)
        if spelling.results == STORED:
            self._out.append(("LOAD_FAST", op.result, pos))
        elif spelling.results == 0:
            self._out.append(("LOAD_CONST", None, pos))
        self._spelled(spelling.pushes, spelling.code, pos)

    def _statement(self) -> None:
        op = self._ops[self._cursor - 1]
        self.skip()
        pos = self.position(op.pos)
        if is_check(op):
            if op.args[0] not in self.layout.aliases:
                self._out.append(("POP_TOP", op.result, pos))
                self._check(op, pos)
            return
        spelling = spell(op, self)
        if spelling.results > 0:
            for result in op.results[::-1]:
                self._drop(result, pos)
            if not op.results:
                self._out.append(("POP_TOP", None, pos))
        elif spelling.results == 0 and op.results and self.layout.uses[op.result]:
            self._out += [("STORE_FAST", op.result, pos), ("LOAD_CONST", None, pos)]
        self._spelled(spelling.pushes, spelling.code, pos)

    def _spelled(self, pushes: Iterable[Push], code: Iterable[tuple[str, Any]], pos: Pos) -> None:
        aliases = self.layout.aliases
        for name, arg in reversed([*code]):
            self._out.append((name, aliases.get(arg, arg) if isinstance(arg, Value) else arg, pos))
        self._work += [(push, pos) for push in pushes]

    def _callee(self, callee: Operand, pos: Pos) -> None:
        """An attribute that only this call wants is a method."""
        op = self.peek(callee)
        if op and op.syntax and op.fn is getattr and len(op.args) == 2 and is_name(op.args[1]):
            self.skip()
            at = self.position(op.pos)
            self._out.append(("LOAD_METHOD", op.args[1].value, at))  # type: ignore[union-attr]
            self._work.append((op.args[0], at))
        else:
            self._work += [(push, pos) for push in head(callee)]

    # -- slots -------------------------------------------------------------------------------------

    def _load(self, operand: Operand, pos: Pos) -> None:
        if isinstance(operand, Const):
            self._out.append(("LOAD_CONST", operand.value, pos))
        else:
            self._out.append(("LOAD_FAST", self._source(operand), pos))

    def _check(self, op: Op, pos: Pos) -> None:
        """What was checked once is bound."""
        if op.args[0] in self.layout.aliases:
            self._load(op.result, pos)
        else:
            self._out.append(("CHECK", (op.args[0], op.args[1].value), pos))  # type: ignore[union-attr]

    def _drop(self, value: Value, pos: Pos) -> None:
        self._out.append(self._dropped(value, pos))

    def _dropped(self, value: Value, pos: Pos) -> SymbolicAt:
        return ("STORE_FAST", value, pos) if self.layout.uses[value] else ("POP_TOP", None, pos)

    def _source(self, operand: Operand) -> Operand:
        return self.layout.aliases.get(operand, operand) if isinstance(operand, Value) else operand


def _pushed(item: Push | None) -> int:
    """How many places it takes on the stack."""
    if isinstance(item, Callee):
        return 2
    return int(item is NULL or isinstance(item, (Value, Const)))
