"""What a program reads where a test says that something is equal, and only there.

    v = m.value if p[0] == m.t else compute(p)        the names `m` and `value`

An arm that computes with what depends on what is differentiated is none of those: it says what the function
is at that point. One that only reads what was there before gives what an earlier call may have left.
"""

from __future__ import annotations

import dis
import functools
import types
from typing import NamedTuple

from ctxdispatch.ir.values import Position


class Arm(NamedTuple):
    """Names of attributes and variables from outside; those of local variables."""

    outside: frozenset[str] = frozenset()
    local: frozenset[str] = frozenset()


@functools.lru_cache(512)
def arm(code: types.CodeType, at: Position, truth: bool) -> Arm:
    """Where the test at `at`, by itself, is `truth`."""
    by_offset = {each.offset: each for each in dis.get_instructions(code)}
    after = [offset for offset in by_offset if offset > _last_at(by_offset, at)]
    branch = next((by_offset[o] for o in after if _is_branch(by_offset[o])), None)
    if branch is None or not _last_at(by_offset, at):
        return Arm()
    jump, ahead = int(branch.argval), _next(by_offset, branch.offset)
    ways = (jump, ahead) if ("IF_TRUE" in branch.opname) == truth else (ahead, jump)
    only = _reached(by_offset, ways[0]) - _reached(by_offset, ways[1])
    found = [by_offset[offset] for offset in only]
    return Arm(_names(found, _OUTSIDE), _names(found, ("LOAD_FAST",)))


def _last_at(by_offset: dict[int, dis.Instruction], at: Position) -> int:
    """The offset of the last instruction of what stands there, the jump aside."""
    place = (at.line, at.end_line, at.column, at.end_column)
    found = (o for o, each in by_offset.items() if _place(each) == place and not _is_branch(each))
    return max(found, default=0)


def _place(each: dis.Instruction) -> tuple[int | None, ...]:
    p = each.positions
    return () if p is None else (p.lineno, p.end_lineno, p.col_offset, p.end_col_offset)


def _is_branch(each: dis.Instruction) -> bool:
    return "IF_TRUE" in each.opname or "IF_FALSE" in each.opname


def _next(by_offset: dict[int, dis.Instruction], offset: int) -> int:
    return min((o for o in by_offset if o > offset), default=offset)


def _reached(by_offset: dict[int, dis.Instruction], start: int) -> set[int]:
    found, waiting = set[int](), [start]
    while waiting:
        offset = waiting.pop()
        if offset not in found and offset in by_offset:
            found.add(offset)
            each = by_offset[offset]
            jumps = each.opcode in dis.hasjrel or each.opcode in dis.hasjabs
            waiting += [int(each.argval)] if jumps else []
            ends = each.opname.startswith(("RETURN", "RAISE", "RERAISE")) or each.opname in _ALWAYS
            waiting += [] if ends else [_next(by_offset, offset)]
    return found


_ALWAYS = ("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT", "JUMP_ABSOLUTE")
_OUTSIDE = ("LOAD_ATTR", "LOAD_GLOBAL", "LOAD_DEREF", "LOAD_NAME")


def _names(found: list[dis.Instruction], of: tuple[str, ...]) -> frozenset[str]:
    read = [each.argval for each in found if each.opname.startswith(of)]
    return frozenset(name for names in read for name in (names if type(names) is tuple else (names,)))
