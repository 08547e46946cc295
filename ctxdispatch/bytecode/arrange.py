"""Operands that do not lie on the stack as an op, or an edge, wants them: copied and swapped, but
never by way of a variable: a place may hold NULL, which variables of CPython 3.11 do not give back.

The stack is taken as *places*: a value's, two of a wide one's (`Beside` is the one that is not its own), and
on the side of what is wanted also constants and instructions that push something.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ctxdispatch.bytecode.assemble import Pos
from ctxdispatch.bytecode.framerows import Plain
from ctxdispatch.bytecode.rows import NULL, Callee, Push
from ctxdispatch.bytecode.schedule import FAR, Entry, Schedule, operand_of
from ctxdispatch.bytecode.shuffle import Move, Stack, shuffle
from ctxdispatch.bytecode.slots import SymbolicAt
from ctxdispatch.bytecode.tables import EMIT
from ctxdispatch.ir.values import Operand, Value

Place = Any


class Beside:
    """The other place of a wide entry: NULL or a method."""

    __slots__ = ("value",)

    def __init__(self, value: Value | None) -> None:
        self.value = value


class Pushed:
    """An instruction that pushes something."""

    __slots__ = ("push",)

    def __init__(self, push: Push) -> None:
        self.push = push


def arranged(s: Schedule, pushes: Sequence[Push], pos: Pos) -> Entry:
    """Take `pushes` from the stack; values that are read again are copied, the others go."""
    wide = {e.value for e in s.entries if e.wide}
    wanted: list[Place] = []
    for push in pushes:
        wanted += _flat(push, wide)
    first = min((at for at in map(s.index, _dying(s, wanted)) if at), default=len(s.entries))
    region = s.entries[first:]
    kept = [e for e in region if s.left[e.value]]  # type: ignore[index]
    beside: dict[Any, Beside] = {}
    start = places(region, beside)
    top = [beside.get(w.value, w) if isinstance(w, Beside) else w for w in wanted]
    moves, below, low = _moves(s, start, top, places(kept, beside), first, pos)
    kept.sort(key=lambda entry: below.index(entry.value))
    code = [instruction for entry in region for instruction in entry.code] + moves
    fixed = bool(region) and region[0].fixed
    low = min([low, *(entry.low for entry in region)])
    del s.entries[first:]
    for entry in kept:
        s.entries.append(Entry(entry.value, code, fixed, entry.wide, low))
        code, fixed = [], True
    return Entry(None, code, fixed, low=low)


def rearranged(s: Schedule, now: list[Place], wanted: Sequence[Operand], pos: Pos) -> list[SymbolicAt]:
    """The code on an edge that makes `wanted` of the stack, the places of which are `now`."""
    have = {w.value: w for w in now if isinstance(w, Beside)}
    goal: list[Place] = []
    for operand in wanted:
        flat = _flat(s.passed(operand), set(have))
        goal += [have.get(w.value, w) if isinstance(w, Beside) else w for w in flat]
    return _moves(s, now, goal, [], len(s.entries), pos)[0]


def places(entries: Sequence[Entry], beside: dict[Any, Beside]) -> list[Place]:
    found: list[Place] = []
    for entry in entries:
        pair: list[Place] = [entry.value]
        if entry.wide:
            other = beside.setdefault(entry.value, Beside(entry.value))
            pair = [other, entry.value] if EMIT.null_first else [entry.value, other]
        found += pair
    return found


def _flat(push: Push, wide: set[Any]) -> list[Place]:
    operand = operand_of(push)
    if operand is None:
        return [Pushed(push)]
    if not isinstance(push, Callee | Plain):
        return [operand]
    other = Beside(operand) if operand in wide else Pushed(NULL)  # type: ignore[arg-type]
    return [other, operand] if EMIT.null_first else [operand, other]


def _dying(s: Schedule, wanted: list[Place]) -> list[Operand]:
    return [w for w in wanted if type(w) is Value and not s.left[w]]


def _moves(
    s: Schedule, start: list[Place], top: list[Place], kept: list[Place], first: int, pos: Pos
) -> tuple[list[SymbolicAt], list[Place], int]:
    """The code that brings `top` to the top; what lies below it then, which is `kept`; how far down it
    looks."""
    numbers: dict[int, int] = {}
    things: list[Place] = []
    for thing in (*start, *top):
        if id(thing) not in numbers:
            numbers[id(thing)] = len(things)
            things.append(thing)
    low = first if start else FAR
    moves, stack = _found(start, top, kept, numbers)
    code: list[SymbolicAt] = []
    height = len(start)
    for name, arg in moves:
        if name == "PUSH":
            pushed, reach = _push(s, things[arg], first, height, pos)
            code += pushed
            low = min(low, reach)
        else:
            code.append((name, arg or None, pos))
        height += CHANGES[name]
    return code, [things[k] for k in stack[: len(kept)]], low


def _found(
    start: list[Place], top: list[Place], kept: list[Place], numbers: dict[int, int]
) -> tuple[tuple[Move, ...], Stack]:
    """What is kept may lie in any order, unless that takes two places of one value apart."""
    begin, end, rest = (tuple(numbers[id(place)] for place in places) for places in (start, top, kept))
    found = shuffle(begin, end, frozenset(rest))
    return found if _whole(found[1], kept, numbers) else shuffle(begin, (*rest, *end), frozenset())


def _whole(stack: tuple[int, ...], kept: list[Place], numbers: dict[int, int]) -> bool:
    """Whether the two places of what is kept are side by side."""
    for place in kept:
        if isinstance(place, Beside):
            at, own = stack.index(numbers[id(place)]), stack.index(numbers[id(place.value)])
            if own - at != (1 if EMIT.null_first else -1):
                return False
    return True


CHANGES = {"SWAP": 0, "POP_TOP": -1, "COPY": 1, "PUSH": 1}


def _push(s: Schedule, thing: Place, first: int, height: int, pos: Pos) -> tuple[list[SymbolicAt], int]:
    """A constant, an instruction's result, or a copy of what lies below entry `first`."""
    if isinstance(thing, Pushed):
        return s.made(thing.push, pos), FAR
    at = s.index(thing) if type(thing) is Value else 0
    if at and at < first:
        depth = sum(entry.width for entry in s.entries[at:first]) + height
        return [("COPY", depth, pos)], at
    return s.made(thing, pos), FAR
