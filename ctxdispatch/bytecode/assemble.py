"""The assembler: a list of instructions <-> the byte strings of a code object.

Here an instruction is `(opcode, argument, position)`: no EXTENDED_ARG, no inline caches, and the argument
of a jump is the *index* of its target in the list. Invariant: `encode(decode(code))` gives back the bytes
of every code object that CPython's own compiler makes (but for an EXTENDED_ARG that it leaves although
the argument shrank)."""

from __future__ import annotations

import dis
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import accumulate
from opcode import _inline_cache_entries  # type: ignore[attr-defined]
from types import CodeType
from typing import NamedTuple

from ctxdispatch.bytecode import flow

Pos = tuple[int | None, int | None, int | None, int | None]
"""Line, end line, column, end column, as in `co_positions`."""

NOWHERE: Pos = (None, None, None, None)

Instr = tuple[int, int, Pos]


class Handler(NamedTuple):
    """Exceptions raised from `start` up to `end` (indices) go to `target` with the stack cut to `depth`."""

    start: int
    end: int
    target: int
    depth: int
    lasti: bool = False


def _cache_units(opcode: int) -> int:
    table = _inline_cache_entries
    found: int = table.get(dis.opname[opcode], 0) if isinstance(table, dict) else table[opcode]
    return found


CACHES = [_cache_units(opcode) for opcode in range(256)]
RETURN_GENERATOR = dis.opmap["RETURN_GENERATOR"]
PADDING = [bytes(2 * n) for n in CACHES]


# -- decoding --------------------------------------------------------------------------------------


def decode(code: CodeType) -> tuple[list[Instr], list[Handler]]:
    """Instructions, with jump targets as indices, and exception handlers of a code object."""
    found = flow.decode(code)
    index = {i.start: k for k, i in enumerate(found)}
    positions = list(code.co_positions())
    instrs = [
        (i.opcode, index[i.arg] if i.opcode in flow.JUMPS else i.arg, positions[i.unit]) for i in found
    ]
    index[len(code.co_code) // 2] = len(instrs)
    handlers = [
        Handler(index[e.start // 2], index[e.end // 2], index[e.target // 2], e.depth, e.lasti)
        for e in dis._parse_exception_table(code)  # type: ignore[attr-defined]
    ]
    return instrs, handlers


# -- encoding --------------------------------------------------------------------------------------


class Assembled(NamedTuple):
    code: bytes
    linetable: bytes
    exceptiontable: bytes


def shifted(instrs: list[Instr], by: int) -> list[Instr]:
    """Jump targets count from the prologue."""
    return [(op, arg + by, pos) if op in flow.JUMPS else (op, arg, pos) for op, arg, pos in instrs]


def encode(instrs: Sequence[Instr], firstline: int, handlers: Iterable[Handler] = ()) -> Assembled:
    sizes = [_units(arg) + CACHES[op] for op, arg, _ in instrs]
    args = [arg for _, arg, _ in instrs]
    offsets = _relax(instrs, args, sizes)
    table = b"".join(_handler(h, offsets) for h in handlers)
    return Assembled(_bytes(instrs, args), _locations(instrs, sizes, firstline), table)


def _units(arg: int) -> int:
    """Of the instruction with its EXTENDED_ARGs."""
    return 1 if arg < 0x100 else 2 if arg < 0x10000 else 3 if arg < 0x1000000 else 4


def _relax(instrs: Sequence[Instr], args: list[int], sizes: list[int]) -> list[int]:
    """Make jumps relative, growing them until the distances fit. Returns the offsets, in units."""
    ways = flow.JUMPS
    jumps = [(k, ways[op], target) for k, (op, target, _) in enumerate(instrs) if op in ways]
    for k, _, _ in jumps:
        sizes[k] = 1 + CACHES[instrs[k][0]]
    while True:
        offsets = [0, *accumulate(sizes)]
        stable = True
        for k, way, target in jumps:
            arg = args[k] = way * (offsets[target] - offsets[k + 1])
            size = _units(arg) + CACHES[instrs[k][0]]
            if size > sizes[k]:
                sizes[k], stable = size, False
        if stable:
            return offsets


def _bytes(instrs: Sequence[Instr], args: list[int]) -> bytes:
    out = bytearray()
    padding = PADDING
    for (opcode, _, _), arg in zip(instrs, args, strict=True):
        if arg > 0xFF:
            out += _extended(arg)
            arg &= 0xFF
        out.append(opcode)
        out.append(arg)
        out += padding[opcode]
    return bytes(out)


def _extended(arg: int) -> bytes:
    return b"".join(bytes((flow.EXTENDED_ARG, arg >> 8 * k & 0xFF)) for k in range(_units(arg) - 1, 0, -1))


# -- the location table (Objects/locations.md) -----------------------------------------------------

NO_COLUMNS, LONG, NONE = 13, 14, 15


def _locations(instrs: Sequence[Instr], sizes: list[int], firstline: int) -> bytes:
    out = bytearray()
    line = firstline
    for pos, units in _runs(instrs, sizes):
        while units > 0:
            line = _location(out, pos, min(units, 8), line)
            units -= 8
    return bytes(out)


def _runs(instrs: Sequence[Instr], sizes: list[int]) -> Iterator[tuple[Pos, int]]:
    """Neighbours of one position together."""
    last, units = instrs[0][2], 0
    for (_, _, pos), size in zip(instrs, sizes, strict=True):
        if pos is not last and pos != last:
            yield last, units
            last, units = pos, 0
        units += size
    yield last, units


def _location(out: bytearray, pos: Pos, units: int, before: int) -> int:
    """Append one entry; the line that the next one counts from."""
    line, end_line, column, end_column = pos
    head = 0x80 | units - 1
    if line is None:
        out.append(head | NONE << 3)
        return before
    delta = line - before
    if column is None or end_column is None:
        out.append(head | NO_COLUMNS << 3)
        _signed(out, delta)
    elif end_line == line and delta == 0 and column < 80 and 0 <= end_column - column < 16:
        out += bytes((head | column >> 3 << 3, (column & 7) << 4 | end_column - column))
    elif end_line == line and 0 <= delta < 3 and column < 128 and end_column < 128:
        out += bytes((head | 10 + delta << 3, column, end_column))
    else:
        out.append(head | LONG << 3)
        _signed(out, delta)
        for number in ((end_line or line) - line, column + 1, end_column + 1):
            _varint(out, number)
    return line


def _signed(out: bytearray, number: int) -> None:
    _varint(out, -number << 1 | 1 if number < 0 else number << 1)


def _varint(out: bytearray, number: int) -> None:
    while number > 63:
        out.append(number & 63 | 64)
        number >>= 6
    out.append(number)


# -- the exception table (Objects/exception_handling_notes.txt) ------------------------------------


def _handler(h: Handler, offsets: list[int]) -> bytes:
    start, end = offsets[h.start], offsets[h.end]
    numbers = (start, end - start, offsets[h.target], h.depth << 1 | h.lasti)
    first, *rest = (_big_endian(n) for n in numbers)
    return bytes((first[0] | 128, *first[1:])) + b"".join(rest)


def _big_endian(number: int) -> bytes:
    digits = [number & 63]
    while number := number >> 6:
        digits.append(number & 63 | 64)
    return bytes(digits[::-1])


# -- the stack -------------------------------------------------------------------------------------


@cache
def effect(opcode: int, arg: int, jump: bool) -> int:
    if opcode == RETURN_GENERATOR:
        return 1  # what the generator is first sent, which not all versions count
    return dis.stack_effect(opcode, arg if opcode >= dis.HAVE_ARGUMENT else None, jump=jump)


def stack_size(instrs: Sequence[Instr], handlers: Sequence[Handler] = ()) -> int:
    """The greatest depth on any path from the start."""
    work = [(0, 0)] + [(h.target, h.depth + h.lasti + 1) for h in handlers]
    seen = bytearray(len(instrs))
    deepest = 1
    while work:
        at, depth = work.pop()
        deepest = max(deepest, depth)
        while not seen[at]:
            seen[at] = 1
            opcode, arg, _ = instrs[at]
            if opcode in flow.BRANCHES:
                work.append((arg, depth + effect(opcode, 0, True)))
            if opcode in flow.ENDS:
                break
            depth += effect(opcode, arg, False)
            if depth > deepest:
                deepest = depth
            at += 1
    return deepest
