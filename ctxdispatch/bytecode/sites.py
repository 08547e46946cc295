"""Places in the code that remember what they found (`ir.sites.Site`).

A place is a pair in the list that a hidden cell of the function holds. An op that has one is spelled in the
interpreter's own instructions: after a test of identity, or of two types, what was found is there, without a
call. Where the test fails, the site's `slow` is called, which may fill the pair.

    no operation     %g = slow(%f, list, site)             where the pair is (%f, %g): %g
    an operation     %g = slow(%a, %b, list, site);        where the pair has the types of %a and %b:
                     %y = %g(%a, %b)                       the operation's own instruction

`folded` finds them again in code that is lifted.
"""

from __future__ import annotations

import dis
from collections.abc import Iterator
from functools import cache
from itertools import islice
from types import CodeType
from typing import TYPE_CHECKING, Any

from ctxdispatch.bytecode import spelling
from ctxdispatch.bytecode.dialect import Symbolic
from ctxdispatch.bytecode.flow import Instruction
from ctxdispatch.bytecode.machine import slot_names
from ctxdispatch.bytecode.rows import Spelling
from ctxdispatch.bytecode.tables import EMIT
from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Const, Op, Operand, Value
from ctxdispatch.ir.sites import CELL, CONTEXT, Site, without_memory

if TYPE_CHECKING:
    from ctxdispatch.bytecode.assemble import Pos
    from ctxdispatch.bytecode.link import Linker
    from ctxdispatch.bytecode.schedule import Schedule

Code = list[Symbolic]


class Label:
    """A place in the code of one site: the argument of a jump, and an instruction that is none."""


# -- the row ----------------------------------------------------------------------------


def spell(op: Op, site: Schedule) -> Spelling:
    cell, *operands = op.args
    return Spelling([*operands], (("SITE", (cell, op.fn)),))


class _Nobody:
    """There is nothing before it."""

    def peek(self, operand: Any) -> None:
        return None


@cache
def _native(fn: Any, count: int) -> tuple[Symbolic, ...]:
    op = Op(Const(fn), [Value() for _ in range(count)], [Value()], syntax=True)
    found = spelling.ROWS[id(fn)](op, _Nobody())  # type: ignore[arg-type]
    assert found is not None and found.pushes == op.args
    return found.code


# -- instructions ----------------------------------------------------------------------------------


def write(linker: Linker, name: str, arg: tuple[Value, Site], pos: Pos) -> None:
    """Into `linker.instrs`."""
    cell, site = arg
    code = _resolve(cell, site) if site.operation is None else _guarded(cell, site)
    places: dict[Label, int] = {}
    waiting: list[tuple[int, Label]] = []
    for each, argument in code:
        if each == "LABEL":
            places[argument] = len(linker.instrs)
            continue
        if isinstance(argument, Label):
            waiting.append((len(linker.instrs), argument))
            argument = 0
        linker.instruction(each, argument, pos)
    for at, label in waiting:
        opcode, _, _ = linker.instrs[at]
        linker.instrs[at] = (opcode, places[label], pos)


def _resolve(cell: Value, site: Site) -> Code:
    found = Label()
    return [
        *_known(cell, site),  # f, target, callee
        ("COPY", 3), ("IS_OP", 0), _jump("POP_JUMP_IF_TRUE", found),
        ("POP_TOP", None),
        *_callable(site.slow), ("COPY", 3), ("LOAD_DEREF", cell), ("LOAD_CONST", site), *EMIT.call(3, ()),
        ("LABEL", found), ("SWAP", 2), ("POP_TOP", None),
    ]  # fmt: skip


def _guarded(cell: Value, site: Site) -> Code:
    count = site.count
    other, two, end = Label(), Label(), Label()
    first = _is_of_known_type(count + 4, other)
    second = _is_of_known_type(4, two) if count == 2 else [("POP_TOP", None)]
    return [
        *_known(cell, site),  # the operands, type of the second, type of the first
        *first, *second,
        *_native(site.operation, count), ("JUMP_FORWARD", end),
        ("LABEL", other), ("POP_TOP", None), ("LABEL", two),
        *_callable(site.slow), *([("COPY", count + 2)] * count),
        ("LOAD_DEREF", cell), ("LOAD_CONST", site), *EMIT.call(count + 2, ()),
        *_below(count), *EMIT.call(count - 1, ()),  # the first operand in the place of `self`
        ("LABEL", end),
    ]  # fmt: skip


def _known(cell: Value, site: Site) -> Code:
    return [("LOAD_DEREF", cell), ("LOAD_CONST", site.place), EMIT.subscript, ("UNPACK_SEQUENCE", 2)]


def _is_of_known_type(depth: int, otherwise: Label) -> Code:
    """Takes the known type from the top; the operand is so deep once `type` is there."""
    call = EMIT.call(1, ())
    jump = _jump("POP_JUMP_IF_FALSE", otherwise)
    return [*_callable(type), ("COPY", depth), *call, ("IS_OP", 0), jump]


def _callable(value: Any) -> Code:
    code: Code = [("PUSH_NULL", None), ("LOAD_CONST", value)]
    return code if EMIT.null_first else code[::-1]


def _below(count: int) -> Code:
    """What lies on top goes below the operands."""
    return [("SWAP", k) for k in range(count + 1, 1, -1)]


def _jump(name: str, label: Label) -> Symbolic:
    return (EMIT.forward.get(name, name), label)


# -- finding them again ------------------------------------------------------------------------------

SITE = "CACHE"
"""No instruction that is decoded has this name: it stands for a folded site. Its argument is the site's number."""

OPCODE = dis.opmap[SITE]

Found = tuple[int, Site]
"""The slot of the cell, and the site."""


def folded(code: CodeType, instructions: list[Instruction]) -> tuple[list[Instruction], list[Found]]:
    """Each site as one instruction, and the sites."""
    slots = {k for k, name in enumerate(slot_names(code)) if name.startswith(CELL)}
    if not slots:
        return instructions, []
    left: list[Instruction] = []
    found: list[Found] = []
    waiting = iter(instructions)
    for first in waiting:
        if first.opcode != LOAD_DEREF or first.arg not in slots:
            left.append(first)
            continue
        site = _site(code, waiting)
        *_, last = islice(waiting, _after(site))
        left.append(Instruction(first.start, OPCODE, len(found), first.unit, last.end))
        found.append((first.arg, site))
    return left, found


def _site(code: CodeType, instructions: Iterator[Instruction]) -> Site:
    for each in instructions:
        if each.opcode == LOAD_CONST and type(code.co_consts[each.arg]) is Site:
            return code.co_consts[each.arg]  # type: ignore[no-any-return]
    raise AssertionError("a site without its constant")


def _after(site: Site) -> int:
    """How many instructions come after that which loads the site."""
    if site.operation is None:
        return len(EMIT.call(3, ())) + 2
    count = site.count
    return len(EMIT.call(count + 2, ())) + count + len(EMIT.call(count - 1, ()))


def lift_in_frame(m: Any, number: int) -> None:
    """The site as it is."""
    slot, site = m.sites[number]
    m.stack.append(m.syntax(site, m.locals[slot], *m.pop(site.count)))


def lift_plain(m: Any, number: int) -> None:
    """What it does, without memory."""
    slot, site = m.sites[number]
    name = CONTEXT + m.names[slot].removeprefix(CELL)
    cell: Operand = m.locals[m.names.index(name)]
    ctx = m.syntax(primitives.cell_get, cell, Const(name), Const(True))
    operands = m.pop(site.count)
    result = Value()
    m.block.ops += without_memory(site.plain, site.operation, ctx, operands, [result], m.position())
    m.stack.append(result)


LOAD_DEREF, LOAD_CONST = dis.opmap["LOAD_DEREF"], dis.opmap["LOAD_CONST"]
