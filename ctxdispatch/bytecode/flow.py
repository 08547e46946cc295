"""Instructions and basic blocks of a code object, before anything is known of what they do.

Offsets count code units (two bytes). Only what the entry reaches is kept, in reverse postorder: a span comes
after all its predecessors but those of back edges, and a span with a back edge into it knows which locals the
loop stores.
"""

from __future__ import annotations

import dis
from collections.abc import Callable, Iterator
from types import CodeType
from typing import NamedTuple

from ctxdispatch.ir.analysis import depth_first

EXTENDED_ARG = dis.EXTENDED_ARG
CACHE = dis.opmap["CACHE"]

ENDS = frozenset(
    dis.opmap[name]
    for name in (
        "RETURN_VALUE",
        "RETURN_CONST",
        "RAISE_VARARGS",
        "RERAISE",
        "JUMP_FORWARD",
        "JUMP_BACKWARD",
        "JUMP_BACKWARD_NO_INTERRUPT",
    )
    if name in dis.opmap
)
"""What never goes on to the next instruction."""

JUMPS = {
    op: -1 if dis._is_backward_jump(op) else 1  # type: ignore[attr-defined]
    for op in dis.hasjrel
    if op < 256
}
"""Which way the argument of a jump counts."""

BRANCHES = frozenset(JUMPS) - {dis.opmap["END_ASYNC_FOR"]}
"""Where control may go to the target. (END_ASYNC_FOR has one, if at all, for monitors: where the loop was
left.)"""

STORES: dict[str, Callable[[int], tuple[int, ...]]] = {
    "STORE_FAST": lambda arg: (arg,),
    "DELETE_FAST": lambda arg: (arg,),
    "MAKE_CELL": lambda arg: (arg,),
    "LOAD_FAST_AND_CLEAR": lambda arg: (arg,),
    "STORE_FAST_LOAD_FAST": lambda arg: (arg >> 4,),
    "STORE_FAST_STORE_FAST": lambda arg: (arg >> 4, arg & 15),
}
"""The slots that an instruction stores."""

STORES_OF = {dis.opmap[name]: slots for name, slots in STORES.items() if name in dis.opmap}
CLEARS = frozenset(dis.opmap[n] for n in ("DELETE_FAST", "LOAD_FAST_AND_CLEAR") if n in dis.opmap)


class Instruction(NamedTuple):
    """`arg` of a jump is its target. `unit` is where its position is found, behind any EXTENDED_ARG."""

    start: int
    opcode: int
    arg: int
    unit: int
    end: int


class Span:
    """A basic block of instructions. `stores` is None where no back edge leads to."""

    __slots__ = ("start", "instructions", "successors", "predecessors", "index", "stores")

    def __init__(self, instructions: list[Instruction]) -> None:
        self.start = instructions[0].start
        self.instructions = instructions
        self.successors: list[Span] = []
        self.predecessors: list[Span] = []
        self.index = -1
        self.stores: set[int] | None = None

    @property
    def end(self) -> int:
        return self.instructions[-1].end

    def targets(self) -> Iterator[int]:
        last = self.instructions[-1]
        if last.opcode in BRANCHES:
            yield last.arg
        if last.opcode not in ENDS:
            yield last.end


def decode(code: CodeType) -> list[Instruction]:
    """All instructions: EXTENDED_ARG folded in, inline caches skipped, jump targets absolute."""
    raw = code.co_code
    opcodes, args = raw[::2], raw[1::2]
    found = []
    unit, count = 0, len(opcodes)
    while unit < count:
        start, high = unit, 0
        while opcodes[unit] == EXTENDED_ARG:
            high = (high | args[unit]) << 8
            unit += 1
        opcode, arg, at = opcodes[unit], high | args[unit], unit
        unit += 1
        while unit < count and opcodes[unit] == CACHE:
            unit += 1
        way = JUMPS.get(opcode)
        found.append(Instruction(start, opcode, unit + way * arg if way else arg, at, unit))
    return found


def spans(instructions: list[Instruction]) -> list[Span]:
    """The reachable basic blocks in reverse postorder, the entry first."""
    everything = _split(instructions)
    for span in everything.values():
        span.successors = [everything[t] for t in span.targets() if t in everything]
    # jumps before what comes next, so that the order follows the source
    order = depth_first(everything[0], {s: s.successors[::-1] for s in everything.values()})
    for index, span in enumerate(order):
        span.index = index
        for successor in span.successors:
            successor.predecessors.append(span)
    for span in order:
        for successor in span.successors:
            if successor.index <= span.index:
                _close_loop(successor, span)
    return order


def cleared(order: list[Span]) -> set[int]:
    """The slots that may become unbound again."""
    return {i.arg for span in order for i in span.instructions if i.opcode in CLEARS}


def _split(instructions: list[Instruction]) -> dict[int, Span]:
    leaders = set()
    for i in instructions:
        if i.opcode in BRANCHES:
            leaders.add(i.arg)
            leaders.add(i.end)
        elif i.opcode in ENDS:
            leaders.add(i.end)
    starts = [k for k, i in enumerate(instructions) if k == 0 or i.start in leaders]
    cuts = zip(starts, [*starts[1:], len(instructions)])
    return {instructions[a].start: Span(instructions[a:b]) for a, b in cuts}


def _close_loop(header: Span, latch: Span) -> None:
    """What is stored on the ways from `header` to `latch` and back."""
    stores = header.stores = set() if header.stores is None else header.stores
    seen, work = {header, latch}, [latch]
    for span in (header, latch):
        stores |= _stores(span)
    while work:
        span = work.pop()
        for predecessor in () if span is header else span.predecessors:
            if predecessor not in seen:
                seen.add(predecessor)
                stores |= _stores(predecessor)
                work.append(predecessor)


def _stores(span: Span) -> set[int]:
    of = STORES_OF
    return {slot for i in span.instructions if i.opcode in of for slot in of[i.opcode](i.arg)}
