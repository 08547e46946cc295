"""Faithful emission of one block: its ops in their order, operands where the interpreter's stack has them.

The stack is a list of `Entry`s, each with the code that was written since the one below it was there. An op
takes its operands from the top; a constant or a NULL that belongs between them goes where its place in the
stack was last the top, as CPython's compiler would have put it. Only where operands do not lie as the op
wants them are they copied and swapped (`arrange`). So a block that nobody changed becomes the instructions
that it was lifted from.

Invariant: what the ops of a block take from the stack and leave there is what its parameters and the
arguments of its edges say; an op's instructions come after those of the op before.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Any

from ctxdispatch.bytecode import framerows
from ctxdispatch.bytecode.assemble import NOWHERE, Pos
from ctxdispatch.bytecode.framerows import Grown, Plain
from ctxdispatch.bytecode.rows import NULL, Callee, Push
from ctxdispatch.bytecode.slots import SymbolicAt
from ctxdispatch.bytecode.tables import EMIT
from ctxdispatch.ir import primitives
from ctxdispatch.ir.frames import Instruction
from ctxdispatch.ir.graph import Graph, Op
from ctxdispatch.ir.values import Const, Operand, Position, Reread, Value

FAR = 1 << 30

Reads = dict[Operand, int]
"""How often each operand is still read; 0 where it has no entry."""

CALLEES = (Callee, Plain)


class Entry:
    """One value on the stack, in two places if `wide`: a callable and its NULL, or a method and `self`.
    `fixed`: nothing can be put below it any more. `low`: how far down its code looks."""

    __slots__ = ("value", "code", "fixed", "low", "wide")

    def __init__(
        self,
        value: Value | None,
        code: list[SymbolicAt],
        fixed: bool = False,
        wide: bool = False,
        low: int = FAR,
    ) -> None:
        self.value = value
        self.code = code
        self.fixed = fixed
        self.wide = wide
        self.low = low

    @property
    def width(self) -> int:
        return 2 if self.wide else 1


class Schedule:
    """Writes the ops of one block. `left` counts what is still going to be read of each value; `wide` holds
    the values that go from block to block as callables, and whether they may be methods; `owned` has the
    loads that do not lend; `exported` what other blocks read from variables."""

    def __init__(self, entries: list[Entry], left: Reads, wide: dict[Operand, bool], graph: Graph) -> None:
        self.entries = [Entry(None, [], fixed=True), *entries]
        self.left = left
        self.wide = wide
        self.owned: Set[Op] = frozenset()
        self.exported: Set[Any] = frozenset()
        self.graph = graph
        self.namespace = graph.namespace
        self._before: tuple[Op, list[Entry]] | None = None  # the last op, and the entries that it took
        self._position: Position | None = None
        self._pos: Pos = NOWHERE

    @property
    def code(self) -> list[SymbolicAt]:
        return [instruction for entry in self.entries for instruction in entry.code]

    # -- ops -----------------------------------------------------------------------------------------

    def write(self, op: Op) -> None:
        left = self.left
        left[op.callee] -= 1
        for operand in op.args:
            left[operand] -= 1
        pos = self.position(op.pos)
        spelling = framerows.spell(op, self)
        taken, whole = self.take(spelling.pushes, pos if op.moves is None else self.position(op.moves))
        code: list[SymbolicAt] = []
        low = FAR
        for entry in taken:
            code += entry.code
            low = entry.low if entry.low < low else low
        if isinstance(spelling, Grown):
            at = self.index(spelling.target)
            code.append((spelling.name, self.height(at), pos))
            self._leave(op, 0, Entry(None, code, low=min(low, at)), pos)
        else:
            code += [(name, arg, pos) for name, arg in spelling.code]
            fixed = bool(taken) and taken[0].fixed
            wide = False
            if type(op.fn) in framerows.OF_FRAME:
                low = 0 if framerows.looks_down(op) else low
                wide = framerows.is_wide(op, self)
            elif op.fn is primitives.import_from and not spelling.pushes:
                low = len(self.entries) - 1  # it looks at the module, which stays there
            self._leave(op, spelling.results, Entry(None, code, fixed, low=low), pos, wide)
        self._before = None if whole is None else (op, whole)

    def _leave(self, op: Op, count: int, made: Entry, pos: Pos, wide: bool = False) -> None:
        """The results of `op` on the stack, the first on top, which may be `wide`."""
        if not count:
            self.append(made.code, made.low)
            if op.results and self.left[op.results[0]] and type(op.results[0]) is not Reread:
                self.entries.append(Entry(op.results[0], [("LOAD_CONST", None, pos)]))
            return
        made.value = op.results[-1]
        self.entries.append(made)
        for result in op.results[-2::-1]:
            self.entries.append(Entry(result, [], True, low=made.low))
        self.entries[-1].wide = wide
        if type(op.fn) is Instruction:
            return  # what it leaves, others may look at where it lies
        while (top := self.entries[-1]).value in op.results and not self.left[top.value]:
            self.entries.pop()
            kept = top.value in self.exported
            gone: list[SymbolicAt] = [("POP_TOP", None, pos)] * top.width
            self.append([*top.code, *([("STORE_FAST", top.value, pos)] if kept else gone)], top.low)

    def append(self, code: list[SymbolicAt], low: int = FAR) -> None:
        """What leaves the stack as it is."""
        top = self.entries[-1]
        top.code += code
        top.low = min(top.low, low)

    def position(self, pos: Position | None) -> Pos:
        if pos is not self._position:
            self._position = pos
            self._pos = NOWHERE if pos is None else (pos.line, pos.end_line, pos.column, pos.end_column)
        return self._pos

    # -- what rows ask (`rows.Site`) -----------------------------------------------------------------

    def peek(self, operand: Operand) -> Op | None:
        before = self._before
        if before is None or self.left[operand]:
            return None
        op = before[0]
        alone = len(op.results) == 1 and op.results[0] is operand is self.entries[-1].value
        return op if alone else None

    def skip(self) -> None:
        assert self._before is not None
        self.entries.pop()
        self.entries += self._before[1]
        self._before = None

    def is_threaded(self, op: Op) -> bool:
        return False

    def lies_below(self, operand: Operand, depth: int) -> bool:
        return False

    def resident(self, operand: Operand) -> int:
        return 0

    def index(self, operand: Operand) -> int:
        """Where among the entries; 0 where it is not."""
        entries = self.entries
        for k in range(len(entries) - 1, 0, -1):
            if entries[k].value is operand:
                return k
        return 0

    def height(self, start: int) -> int:
        """The places from entry `start` to the top."""
        return sum(entry.width for entry in self.entries[start:])

    # -- operands ------------------------------------------------------------------------------------

    def take(self, pushes: Sequence[Push], pos: Pos) -> tuple[list[Entry], list[Entry] | None]:
        """Take what is to be pushed from the stack: entries whose code puts it there; and those that were
        taken, if that can be undone."""
        if not pushes:
            return [], []
        left = self.left
        dying = []
        for push in pushes:
            value = push.operand if type(push) in CALLEES else push  # type: ignore[union-attr]
            if type(value) is Value and not left[value]:
                dying.append(value)
        count = len(dying)
        top = self.entries[len(self.entries) - count :] if 0 < count < len(self.entries) else []
        if [entry.value for entry in top] == dying:
            found = top if dying == pushes else self.in_place(pushes, top, pos)
            if found is not None:
                del self.entries[len(self.entries) - count :]
                return found, top
        from ctxdispatch.bytecode.arrange import arranged

        return [arranged(self, pushes, pos)], None

    def in_place(
        self, pushes: Sequence[Push], top: list[Entry], pos: Pos, low: int = FAR
    ) -> list[Entry] | None:
        """The entries at the top with what comes between them; None where something would have to go below
        what is there already. What comes after them looks down as far as `low`."""
        found: list[Entry] = []
        waiting: list[SymbolicAt] = []
        height, looks = 0, FAR  # the places filled so far, how far down `waiting` looks
        base = len(self.entries) - len(top)
        for push in pushes:
            entry = top[len(found)] if len(found) < len(top) else None
            if entry is not None and push is entry.value and not waiting:
                found.append(entry)
                height += entry.width
                continue
            if entry is None or operand_of(push) is not entry.value:
                code, reach = self._pushed(push, base, height, pos)
                waiting += code
                height += 1 + (type(push) in CALLEES)
                looks = min(looks, reach)
                continue
            below, above = self._beside(push, entry, pos)
            if waiting or below:
                place = base + len(found)
                if entry.fixed or low < place or any(e.low < place for e in top[len(found) :]):
                    return None
                code = [*_moved(waiting, pos, entry), *below, *entry.code]
                entry = Entry(entry.value, code, entry.fixed, entry.wide, min(looks, entry.low))
            found.append(entry)
            height += entry.width + len(below) + len(above)
            waiting, looks = above, FAR
        if waiting:
            if low < base + len(found):
                return None
            found.append(Entry(None, waiting, low=looks))
        return found

    def _pushed(self, push: Push, base: int, height: int, pos: Pos) -> tuple[list[SymbolicAt], int]:
        """A constant, or a copy of what stays on the stack below entry `base`, `height` places above which
        are filled."""
        operand = operand_of(push)
        at = self.index(operand) if type(operand) is Value else 0
        if not at:
            return self.made(push, pos), FAR
        depth = sum(entry.width for entry in self.entries[at:base]) + height
        copy: SymbolicAt = ("COPY", depth, pos)
        if not isinstance(push, Callee | Plain):
            return [copy], at
        if self.entries[at].wide:
            return [copy, copy], at
        null: SymbolicAt = (*NULL, pos)
        return ([null, ("COPY", depth + 1, pos)] if EMIT.null_first else [copy, null]), at

    def _beside(self, push: Push, entry: Entry, pos: Pos) -> tuple[list[SymbolicAt], list[SymbolicAt]]:
        """The NULL that goes with a callable, below and above it."""
        if type(push) not in CALLEES or entry.wide:
            return [], []
        if isinstance(push, Callee) and framerows.becomes_method(entry.code):
            return [], []
        where = entry.code[0 if EMIT.null_first else -1][2] if entry.code else pos
        null: list[SymbolicAt] = [(*NULL, where)]
        return (null, []) if EMIT.null_first else ([], null)

    def made(self, push: Push, pos: Pos) -> list[SymbolicAt]:
        """The code of what is pushed without having been on the stack."""
        operand = operand_of(push)
        if operand is None:
            return [(*push, pos)]  # type: ignore[misc]
        if isinstance(operand, Const):
            at = pos if operand.pos is None else self.position(operand.pos)
            code: list[SymbolicAt] = [("LOAD_CONST", operand.value, at)]
        elif isinstance(operand, Reread):
            code = [("LOAD_DEREF", operand.cell, pos)]
        else:
            code = [("LOAD_FAST", operand, pos)]  # a value of another block: a variable of our own
        if type(push) in CALLEES:
            null: list[SymbolicAt] = [(*NULL, pos)]
            return null + code if EMIT.null_first else code + null
        return code

    # -- the end of the block ------------------------------------------------------------------------

    def settle(self, wanted: Sequence[Operand], pos: Pos, low: int = FAR) -> bool:
        """Make the stack hold `wanted`, from the bottom, without moving anything; False where that cannot
        be."""
        values = [v for v in wanted if type(v) is Value]
        entries = self.entries[1:]
        if len(entries) != len(values) or any(e.value is not v for e, v in zip(entries, values)):
            return False
        found = self.in_place([self.passed(v) for v in wanted], entries, pos, low)
        if found is not None:
            self.entries[1:] = found
        return found is not None

    def widen(self, wanted: Sequence[Operand], pos: Pos) -> None:
        """Put a NULL beside what the target calls, where it lies, before anything is moved."""
        entries = self.entries[1:]
        callees = self.wide.keys() & {*wanted}
        values: list[Any] = [entry.value for entry in entries]
        pushes = [self.passed(value) if value in callees else value for value in values]
        found = self.in_place(pushes, entries, pos)
        if found is None:
            return
        for entry in found:
            entry.wide = entry.wide or entry.value in callees
        if found and found[-1].value is None:
            nulls = found.pop()
            found[-1].code += nulls.code
        self.entries[1:] = found

    def passed(self, operand: Operand) -> Any:
        """An argument of an edge, with its NULL where the target calls it."""
        methods = self.wide.get(operand)
        if methods is None:
            return operand
        return Callee(operand) if methods else Plain(operand)


def _moved(code: list[SymbolicAt], pos: Pos, entry: Entry) -> list[SymbolicAt]:
    """What is put before the code of `entry` belongs to that line: a tracer must not see the op's line
    first."""
    if not entry.code:
        return code
    line = entry.code[0][2]
    return [(name, arg, line if at is pos else at) for name, arg, at in code]


def operand_of(push: Push) -> Operand | None:
    """What is pushed, if it is no bare instruction."""
    if isinstance(push, Value | Const):
        return push
    return push.operand if type(push) in CALLEES else None  # type: ignore[union-attr]
