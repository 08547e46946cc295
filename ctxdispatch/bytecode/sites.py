"""Places in the code that remember what they found (`ir.sites.Site`).

A place is a pair in the list that a hidden cell of the function holds. An op that has one is spelled in the
interpreter's own instructions: after a test of identity, or of two types, what was found is there, without a
call. Where the test fails, the site's `slow` is called, which may fill the pair.

    no operation     %g = slow(%f, list, site)             where the pair is (%f, %g): %g
    an attribute     %g = slow(%x.name, list, site)        the same of a method and `self`, below which may
                                                           lie what hooks are told: the bound method
    an operation     %g = slow(%a, %b, list, site);        where the pair has the types of %a and %b:
                     %y = %g(%a, %b)                       the operation's own instruction
    a call           %g = slow(%f, %x, list, site);        where the pair is %f and the type of %x, the last
                     %y = %g(%x)                           argument (or all, where they are `alike`): %f(%x)

A site for several contexts has a pair in the list of the outermost; `slow` gets the lists of all.

`folded` finds them again in code that is lifted.
"""

from __future__ import annotations

import dis
import operator
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice
from types import CellType, CodeType
from typing import TYPE_CHECKING, Any

from ctxdispatch.bytecode import spelling
from ctxdispatch.bytecode.dialect import Symbolic
from ctxdispatch.bytecode.flow import Instruction
from ctxdispatch.bytecode.machine import NULL, slot_names
from ctxdispatch.bytecode.pool import Held
from ctxdispatch.bytecode.rows import Callee, Spelling, compare
from ctxdispatch.bytecode.tables import EMIT
from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Graph, Op
from ctxdispatch.ir.sites import CELL, CONTEXT, Site, without_memory
from ctxdispatch.ir.values import Const, Operand, Value

if TYPE_CHECKING:
    from ctxdispatch.bytecode.assemble import Pos
    from ctxdispatch.bytecode.link import Linker
    from ctxdispatch.bytecode.schedule import Schedule

Code = list[Symbolic]
Cells = Sequence[Operand]
"""A site's own first, then from the inside out."""


class Label:
    """A place in the code of one site: the argument of a jump, and an instruction that is none."""


# -- the row ----------------------------------------------------------------------------


def spell(op: Op, site: Schedule) -> Spelling:
    found: Site = op.fn
    cells, operands = op.args[: found.depth], op.args[found.depth :]
    if not found.is_wide:
        return Spelling([*operands], (("SITE", (cells, found)),))
    if op.results[0] in site.wide:
        callee = [Callee(operands[0])] if found.bound else operands
        return Spelling([*callee], (("SITE", (cells, found)),), len(op.results))
    narrow = Site(found.slow, found.plain, found.place)  # not only called: a bound method
    read = (("LOAD_BOUND", found.attribute),) if found.attribute else ()
    kept = (("COPY", 1),) if found.told else ()
    return Spelling([*operands], (*read, *kept, ("SITE", (cells, narrow))), len(op.results))


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


def write(linker: Linker, name: str, arg: tuple[Cells, Site], pos: Pos) -> None:
    """Into `linker.instrs`."""
    code = _code(*arg)
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


def _code(cells: Cells, site: Site) -> Code:
    if site.operation is not None:
        return _guarded(cells, site)
    if site.calls:
        return _called(cells, site)
    cell = cells[0]
    if not site.is_wide:
        return _resolve(cell, site)
    read: Code = [("LOAD_METHOD", site.attribute)] if site.attribute else []
    return read + (_method_before(cell, site) if EMIT.null_first else _method_after(cell, site))


def _method_after(cell: Operand, site: Site) -> Code:
    """LOAD_METHOD leaves a callable, and `self` or NULL above it."""
    found = Label()
    return [
        *(_told_after(site) if site.told else ()),
        *_known(cell, site),  # f, self or NULL, target, callee
        ("COPY", 4), ("IS_OP", 0), _jump("POP_JUMP_IF_TRUE", found),
        ("POP_TOP", None),
        *_callable(site.slow), ("COPY", 4), ("LOAD_DEREF", cell), ("LOAD_CONST", site), *EMIT.call(3, ()),
        ("LABEL", found), ("SWAP", 3), ("POP_TOP", None),
    ]  # fmt: skip


def _told_after(site: Site) -> Code:
    """What hooks are told, below the two."""
    method, end = Label(), Label()
    return [
        *_test_cell(method),
        ("COPY", 1), ("PUSH_NULL", None), ("JUMP_FORWARD", end),
        ("LABEL", method),
        *_callable(site.told), ("COPY", 3), ("LOAD_DEREF", METHOD), *EMIT.call(2, ()), ("SWAP", 2),
        *_take_cell(),
        ("LABEL", end),
    ]  # fmt: skip


def _method_before(cell: Operand, site: Site) -> Code:
    """LOAD_METHOD leaves a method, or NULL, and above it `self`, or what is called."""
    method, end = Label(), Label()
    kept, told = [], []
    if site.told:  # what hooks are told, below the two
        kept = [("COPY", 1)]
        told = [*_callable(site.told), ("LOAD_DEREF", METHOD), ("COPY", 4), *EMIT.call(2, ()), ("SWAP", 2)]
    return [
        ("SWAP", 2), *_test_cell(method),
        *kept, ("PUSH_NULL", None), ("SWAP", 2),
        *_resolve(cell, site), ("JUMP_FORWARD", end),
        ("LABEL", method), *told, *_take_cell(),
        *_resolve(cell, site), ("SWAP", 2),
        ("LABEL", end),
    ]  # fmt: skip


def _test_cell(full: Label) -> Code:
    """Put what is on top, NULL or not, into the cell, and go to `full` where it was an object. No instruction
    tells NULL from one, but a cell takes either, and those without content are equal."""
    empty: Code = [("LOAD_CONST", EMPTY), ("LOAD_BOUND", "value")]
    compared: Code = [(EMIT.load_closure, METHOD), *empty, compare(operator.eq)]
    store = [(name, METHOD) for name in EMIT.into_cell]
    return [*store, *compared, _jump("POP_JUMP_IF_FALSE", full)]


def _take_cell() -> Code:
    return [("LOAD_DEREF", METHOD), ("DELETE_DEREF", METHOD)]


METHOD = "$method"
"""The cell for it, which each call of the function makes: nothing is in it but between two instructions."""

EMPTY = Held(CellType())


def has_method_cell(graph: Graph) -> bool:
    """Whether the code of sites stores into `METHOD`."""
    if not any(name.startswith(CELL) for name in graph.cellnames):
        return False
    wide = (op.fn for _, op in graph.ops() if type(op.fn) is Site and op.fn.is_wide)
    return any(EMIT.null_first or site.told for site in wide)


def _resolve(cell: Operand, site: Site) -> Code:
    found = Label()
    return [
        *_known(cell, site),  # f, target, callee
        ("COPY", 3), ("IS_OP", 0), _jump("POP_JUMP_IF_TRUE", found),
        ("POP_TOP", None),
        *_callable(site.slow), ("COPY", 3), ("LOAD_DEREF", cell), ("LOAD_CONST", site), *EMIT.call(3, ()),
        ("LABEL", found), ("SWAP", 2), ("POP_TOP", None),
    ]  # fmt: skip


def _guarded(cells: Cells, site: Site) -> Code:
    count = site.count
    other, two, end = Label(), Label(), Label()
    first = _is_of_known_type(count + 4, other)
    second = _is_of_known_type(4, two) if count == 2 else [("POP_TOP", None)]
    return [
        *_known(cells[0], site),  # the operands, type of the second, type of the first
        *first, *second,
        *_native(site.operation, count), ("JUMP_FORWARD", end),
        ("LABEL", other), ("POP_TOP", None), ("LABEL", two),
        *_slow(cells, site),
        *_below(count), *EMIT.call(count - 1, ()),  # the first operand in the place of `self`
        ("LABEL", end),
    ]  # fmt: skip


def _called(cells: Cells, site: Site) -> Code:
    """The first argument is in the place of `self`."""
    count = site.count
    other, two, end = Label(), Label(), Label()
    call = EMIT.call(count - 2, ())
    others: Code = []
    for depth in range(count + 3, 5, -1) if site.alike else ():
        others += ("COPY", 1), *_is_of_known_type(depth, other)
    return [
        *_known(cells[0], site),  # callee, arguments, type of the last, callee that is known
        ("COPY", count + 2), ("IS_OP", 0), _jump("POP_JUMP_IF_FALSE", other),
        *others, *_is_of_known_type(4, two),
        *call, ("JUMP_FORWARD", end),
        ("LABEL", other), ("POP_TOP", None), ("LABEL", two),
        *_slow(cells, site),
        ("SWAP", count + 1), ("POP_TOP", None), *call,
        ("LABEL", end),
    ]  # fmt: skip


def _slow(cells: Cells, site: Site) -> Code:
    """Of the operands on top, and the lists from the inside out."""
    own, *inner = cells
    lists: Code = [("LOAD_DEREF", cell) for cell in (*inner, own)]
    call = EMIT.call(site.count + len(lists) + 1, ())
    operands: Code = [("COPY", site.count + 2)] * site.count
    return [*_callable(site.slow), *operands, *lists, ("LOAD_CONST", site), *call]


def _known(cell: Operand, site: Site) -> Code:
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
"""No instruction that is decoded has this name: it stands for a folded site, whose number is the argument."""

OPCODE = dis.opmap[SITE]

Found = tuple[list[int], Site]
"""The slots of the cells, and the site."""


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
        own = first.arg
        site, loads = _site(code, waiting)
        before, after = _around(site)
        *_, last = islice(waiting, after)
        if before:
            first = left[-before]
            del left[-before:]
        left.append(Instruction(first.start, OPCODE, len(found), first.unit, last.end))
        found.append(([own, *loads[len(loads) - site.depth : -1]], site))
    return left, found


def _site(code: CodeType, instructions: Iterator[Instruction]) -> tuple[Site, list[int]]:
    """The site, and the slots of cells that are read before it."""
    loads = []
    for each in instructions:
        if each.opcode == LOAD_DEREF:
            loads.append(each.arg)
        if each.opcode == LOAD_CONST and type(code.co_consts[each.arg]) is Site:
            return code.co_consts[each.arg], loads
    raise AssertionError("a site without its constant")


def _around(site: Site) -> tuple[int, int]:
    """How many instructions come before that which loads the list first, and after that which first loads the
    site."""
    cells = [Value() for _ in range(site.depth)]
    code = [instruction for instruction in _code(cells, site) if instruction[0] != "LABEL"]
    return code.index(("LOAD_DEREF", cells[0])), len(code) - 1 - code.index(("LOAD_CONST", site))


def lift_in_frame(m: Any, number: int) -> None:
    """The site as it is."""
    slots, site = m.sites[number]
    op = m.op(Const(site), [*(m.locals[slot] for slot in slots), *_operands(m, site)], True)
    op.results = _results(site)
    _push(m, site, op.results)


def lift_plain(m: Any, number: int) -> None:
    """What it does, without memory."""
    (own, *inner), site = m.sites[number]
    contexts: list[Operand] = []
    for slot in (*inner, own):
        name = CONTEXT + m.names[slot].removeprefix(CELL)
        cell = m.locals[m.names.index(name)]
        contexts.append(m.syntax(primitives.cell_get, cell, Const(name), Const(True)))
    results = _results(site)
    m.block.ops += without_memory(site, contexts, _operands(m, site), results, m.position())
    _push(m, site, results)


def _operands(m: Any, site: Site) -> list[Operand]:
    return [operand for operand in m.pop(2) if operand is not NULL] if site.bound else m.pop(site.count)


def _results(site: Site) -> list[Value]:
    return [Value() for _ in range(2 if site.told else 1)]


def _push(m: Any, site: Site, results: list[Value]) -> None:
    """A callable that `self` or NULL may lie beside has its other place, as LOAD_METHOD leaves it."""
    value, *told = results
    m.stack += (*told, NULL, value) if site.is_wide else (value,)


LOAD_DEREF, LOAD_CONST = dis.opmap["LOAD_DEREF"], dis.opmap["LOAD_CONST"]
