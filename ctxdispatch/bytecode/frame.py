"""Lifting in frame form (`ir.frames`): any code object, whatever it is the code of.

    FrameMachine.run     spans as they are reached; the first edge into a span says what its stack looks like

The handlers are those of the SSA form, but for what reads and writes variables, and for the instructions that
have a meaning in their frame alone. Stack entries that are no objects (NULL, what an exhausted loop leaves)
are *markers*: they keep their place on the machine's stack and are no values.
"""

from __future__ import annotations

import dis
from bisect import bisect_right
from collections.abc import Callable
from types import CodeType
from typing import Any

from ctxdispatch.bytecode import flow, frameops, tables
from ctxdispatch.bytecode.flow import Instruction
from ctxdispatch.bytecode.machine import Machine, State, empty_graph, slot_names
from ctxdispatch.bytecode.sites import SITE, folded, lift_in_frame
from ctxdispatch.bytecode.stackops import unsupported
from ctxdispatch.ir.frames import Frame, Handler
from ctxdispatch.ir.graph import Block, Edge, Graph, Jump, Op
from ctxdispatch.ir.values import Operand, Position, Value


def lift_frame(code: CodeType, namespace: dict[str, Any] | None = None) -> Graph:
    """The graph of any code object in frame form; `namespace`, where it is known, is what its global names
    mean."""
    graph = empty_graph(code, namespace)
    graph.frame = Frame(code, {name: Value(name) for name in code.co_cellvars})
    FrameMachine(code, graph).lift()
    return graph


class _Region:
    """Where an exception of some instructions goes."""

    __slots__ = ("target", "depth", "lasti")

    def __init__(self, target: int, depth: int, lasti: bool) -> None:
        self.target, self.depth, self.lasti = target, depth, lasti


class FrameMachine(Machine):
    """A `Machine` whose variables stay in their slots."""

    def __init__(self, code: CodeType, graph: Graph) -> None:
        super().__init__(code, graph, HANDLERS)
        assert graph.frame is not None
        self.hides_frame = False
        self.moved: Position | None = None  # where operands were copied or swapped last, for the next op
        self._spans: dict[int, list[Instruction]] = {}
        self._regions: dict[int, _Region] = {}
        self._entries: dict[int, tuple[Block, State]] = {}
        self._work: list[int] = []
        cells: dict[str, Operand] = dict(graph.frame.cells)
        self.locals = [cells.get(name, UNUSED) for name in slot_names(code)[: self.frees]] + [*graph.cells]

    def lift(self) -> None:
        instructions, self.sites = folded(self.code, flow.decode(self.code))
        start = self._prologue(instructions)
        self._spans, self._regions = _split(self.code, [i for i in instructions if i.start >= start])
        self._entries[start] = (self.graph.entry, [])
        self._work = [start]
        while self._work:
            self._execute_from(self._work.pop())
        self.graph.blocks = [block for _, (block, _) in sorted(self._entries.items(), key=_start)]
        for number, block in enumerate(self.graph.blocks):
            block.name = f"b{number}"

    def _prologue(self, instructions: list[Instruction]) -> int:
        """What comes before the first RESUME is no op: it is the same whatever the program is."""
        frame = self.graph.frame
        assert frame is not None
        for instruction in instructions:
            if instruction.opcode == RESUME:
                return instruction.start
            position = self._positions[instruction.unit]
            frame.prologue.append((instruction.opcode, instruction.arg, position))
        return 0

    def _execute_from(self, start: int) -> None:
        block, shape = self._entries[start]
        instructions = self._spans[start]
        self.moved = None
        self.block, self.stack, self.next = block, list(shape), instructions[-1].end
        region = self._regions.get(start)
        if region is not None:
            block.handler = self._handler(region, shape)
        handlers = self.handlers
        self._span = instructions
        for _, opcode, arg, self._unit, _ in instructions:
            handlers[opcode](self, arg)
        if self.block.terminator is None:
            self.end(Jump(self.edge(self.next), self.moved))

    def op(self, callee: Operand, args: list[Operand], syntax: bool, kwnames: tuple[str, ...] = ()) -> Op:
        op = super().op(callee, args, syntax, kwnames)
        op.moves, self.moved = self.moved, None
        return op

    def outlives_line(self) -> bool:
        """Whether what is pushed here still lies there when another line is reached, as tracers see it, or
        the end of the block."""
        line = self._positions[self._unit][0]
        depth = 1
        for _, opcode, arg, unit, _ in self._span[bisect_right(self._span, self._unit, key=_unit) :]:
            if None is not self._positions[unit][0] != line:
                return True
            effect = dis.stack_effect(opcode, arg if opcode >= dis.HAVE_ARGUMENT else None, jump=False)
            depth += effect
            if depth < 1 or (depth == 1 and effect <= 0 and opcode not in LEAVES_NOTHING):
                return False  # taken, or another value is in its place
        return True

    # -- edges ---------------------------------------------------------------------------------------

    def edge(self, target: int, stack: State | None = None) -> Edge:
        state = self.stack if stack is None else stack
        block, shape = self._entry(target, state)
        assert len(shape) == len(state), "stacks of different depth meet"
        return Edge(block, [operand for operand in state if operand not in MARKERS])

    def edge_with(self, target: int, stack: State, given: Value, *, first: bool = False) -> Edge:
        """An edge whose terminator gives one value more, which lies on top of `stack`."""
        known = target in self._entries
        block, _ = self._entry(target, [*stack, given])
        if first and not known:
            block.params.insert(0, block.params.pop())
        return Edge(block, [operand for operand in stack if operand not in MARKERS])

    def _entry(self, target: int, state: State) -> tuple[Block, State]:
        entry = self._entries.get(target)
        if entry is None:
            block = Block()
            shape = [self._param(block, operand) for operand in state]
            entry = self._entries[target] = (block, shape)
            self._work.append(target)
        return entry

    def _param(self, block: Block, operand: Operand) -> Operand:
        if operand in MARKERS:
            return operand
        param = Value(operand.name if isinstance(operand, Value) else "")
        block.params.append(param)
        return param

    def _handler(self, region: _Region, shape: State) -> Handler:
        kept = shape[: region.depth]
        given: State = [Value("lasti"), Value("exc")] if region.lasti else [Value("exc")]
        block, _ = self._entry(region.target, [*kept, *given])
        return Handler(Edge(block, [operand for operand in kept if operand not in MARKERS]), region.lasti)


def _unit(instruction: Instruction) -> int:
    return instruction.unit


def _start(entry: tuple[int, Any]) -> int:
    return entry[0]


# -- spans -----------------------------------------------------------------------------------------


def _split(
    code: CodeType, instructions: list[Instruction]
) -> tuple[dict[int, list[Instruction]], dict[int, _Region]]:
    """Spans of instructions, cut also where an exception would go elsewhere; and where that is, by span."""
    leaders = {instructions[0].start}
    for i in instructions:
        if i.opcode in flow.BRANCHES:
            leaders.add(i.arg)
            leaders.add(i.end)
        elif i.opcode in flow.ENDS:
            leaders.add(i.end)
    regions: dict[int, _Region] = {}
    table = dis._parse_exception_table(code) if code.co_exceptiontable else ()  # type: ignore[attr-defined]
    for entry in table:
        leaders.update((entry.start // 2, entry.end // 2, entry.target // 2))
    spans: dict[int, list[Instruction]] = {}
    current: list[Instruction] = []
    for i in instructions:
        if i.start in leaders:
            current = spans[i.start] = []
        current.append(i)
    for entry in table:
        region = _Region(entry.target // 2, entry.depth, entry.lasti)
        for start in spans:
            if entry.start // 2 <= start < entry.end // 2:
                regions[start] = region
    return spans, regions


RESUME = dis.opmap["RESUME"]
MARKERS = frameops.MARKERS
LEAVES_NOTHING = frozenset(
    dis.opmap[name] for name in ("STORE_FAST", "STORE_NAME", "STORE_GLOBAL", "STORE_DEREF", "POP_TOP", "NOP")
)
UNUSED = frameops.UNUSED


def _table() -> list[Callable[[Any, int], None]]:
    table = tables.LIFT | frameops.SHARED | tables.FRAME | {SITE: lift_in_frame}
    return [table.get(name, unsupported(name)) for name in dis.opname]


HANDLERS = _table()


