"""How ops of the frame form are spelled: variables and instructions of the frame, what grows a container that
lies further down, calls. All else is spelled as ever (`spelling`)."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from ctxdispatch.bytecode import sites, spelling
from ctxdispatch.bytecode.callables import is_natively_wide
from ctxdispatch.bytecode.rows import GROWS, Callee, Spelling, is_none
from ctxdispatch.bytecode.slots import SymbolicAt
from ctxdispatch.bytecode.tables import EMIT
from ctxdispatch.ir import frames, primitives
from ctxdispatch.ir.frames import Instruction
from ctxdispatch.ir.graph import Op
from ctxdispatch.ir.sites import Site
from ctxdispatch.ir.values import Const, MethodName, Operand, Reread, Value

if TYPE_CHECKING:
    from ctxdispatch.bytecode.schedule import Schedule


class Plain(NamedTuple):
    """A callable with its NULL, which does not become a method."""

    operand: Operand


class Grown(NamedTuple):
    """What is added to a container that stays where it is: the instruction looks so far down."""

    pushes: list[Any]
    name: str
    target: Operand


Row = Callable[[Op, "Schedule"], Spelling]


def spell(op: Op, site: Schedule) -> Spelling | Grown:
    if op.results and type(op.results[0]) is Reread:
        return Spelling([], (), 0)
    callee = op.callee
    fn = callee.value if type(callee) is Const else None
    if type(fn) is Instruction:
        special = INSTRUCTIONS.get(fn.name)
        return special(op, site) if special else _instruction(op, site)
    if type(fn) is Site:
        return sites.spell(op, site)
    row = ROWS.get(id(fn))
    if row is not None:
        return row(op, site)
    if op.syntax and id(fn) in GROWS and site.index(op.args[0]) and site.left[op.args[0]]:
        grown = _grown(op, site)
        if grown is not None:
            return grown
    return _spell(op, site)


def _spell(op: Op, site: Schedule) -> Spelling:
    found = spelling.spell(op, site)
    if found.pushes and isinstance(found.pushes[0], Callee):
        return _call(op, found, site)
    return found


def is_wide(op: Op, site: Schedule) -> bool:
    """Whether its first result, the one on top, takes two places on the stack."""
    return is_natively_wide(op) and op.results[0] in site.wide


OF_FRAME = (Instruction, Site)
"""What `is_wide` and `looks_down` are about."""


def looks_down(op: Op) -> bool:
    """Whether its instruction looks at what lies below: nothing is put between."""
    return type(op.fn) is Instruction and op.fn.name == "WITH_EXCEPT_START"


# -- calls -----------------------------------------------------------------------------------------

METHODS = {"LOAD_BOUND": "LOAD_METHOD", "LOAD_SUPER_ATTR": "LOAD_SUPER_METHOD"}


def becomes_method(code: list[SymbolicAt]) -> bool:
    """Whether what `code` loads last is a method; it is then loaded for a call."""
    name = METHODS.get(code[-1][0]) if code else None
    if name is None:
        return False
    code[-1] = (name, code[-1][1], code[-1][2])
    return True


def _call(op: Op, found: Spelling, site: Schedule) -> Spelling:
    """A callable beside which no NULL can be put is called with its first argument in the place of `self`."""
    if not op.args:
        return found
    if not op.bare:
        at = site.index(op.callee)
        if not at or site.entries[at].wide or not _is_fixed(site, at):
            return found
    return Spelling([op.callee, *op.args], EMIT.call(len(op.args) - 1, op.kwnames), found.results)


def _is_fixed(site: Schedule, at: int) -> bool:
    """Whether the NULL of the callable in entry `at` has no place."""
    beside = at if EMIT.null_first else at + 1
    return beside < len(site.entries) and site.entries[beside].fixed


def call_ex(op: Op, site: Schedule) -> Spelling:
    arguments = op.args[1 : 2 if is_none(op.args[-1]) else 3]
    pushes: list[Any] = [Plain(op.args[0]), *arguments]
    return Spelling(pushes, EMIT.call_ex[len(arguments) - 1])


# -- containers ------------------------------------------------------------------------------------

GROWTH = {
    id(primitives.list_append): "LIST_APPEND",
    id(primitives.set_add): "SET_ADD",
    id(primitives.map_add): "MAP_ADD",
    id(primitives.list_extend): "LIST_EXTEND",
    id(primitives.set_update): "SET_UPDATE",
    id(primitives.dict_update): "DICT_UPDATE",
    id(primitives.dict_merge): "DICT_MERGE",
}


def _grown(op: Op, site: Schedule) -> Grown | None:
    if op.fn is not primitives.dict_merge:
        return Grown([*op.args[1:]], GROWTH[id(op.fn)], op.args[0])
    target, other, function = op.args
    at = site.index(target)
    if at < 3 or site.entries[at - 2].value is not function or not _is_starred(function, site):
        return None
    return Grown([other], "DICT_MERGE", target)


def _is_starred(function: Operand, site: Schedule) -> bool:
    """Whether it is called as f(*args), and so has its NULL where that instruction expects it."""
    return any(op.fn is primitives.call_ex and op.args[0] is function for _, op in site.graph.ops())


def import_from(op: Op, site: Schedule) -> Spelling:
    module, name = op.args
    assert isinstance(name, Const)
    if isinstance(module, Value) and site.entries[-1].value is module and site.left[module]:
        return Spelling([], (("IMPORT_FROM", name.value),))
    return spelling.spell(op, site)


# -- instructions of the frame ---------------------------------------------------------------------


def _instruction(op: Op, site: Schedule) -> Spelling:
    return Spelling([*op.args], ((op.fn.name, op.fn.arg),), len(op.results))


def load_special(op: Op, site: Schedule) -> Spelling:
    """What is not only called is a bound method."""
    if op.results[0] in site.wide:
        return Spelling([*op.args], (("LOAD_SPECIAL", frames.SPECIAL_METHODS.index(op.fn.arg)),))
    return Spelling([Callee(Const(primitives.special_method)), *op.args, Const(op.fn.arg)], EMIT.call(2, ()))


def with_except_start(op: Op, site: Schedule) -> Spelling:
    """Where what it calls is a callable and NULL, or a method and `self`: it looks at that and at what lies
    above."""
    if len(op.results) > 1:
        return _instruction(op, site)
    code, count = ("WITH_EXCEPT_START", 0), len(op.args)
    there = site.entries[-count:]
    if there[0].wide and all(e.value is a and site.left[a] for e, a in zip(there, op.args)):
        return Spelling([], (code,))
    pops = [("POP_TOP", None)] * (count + 1)
    pushes: list[Any] = [Plain(op.args[0]), *op.args[1:]]
    return Spelling(pushes, (code, ("SWAP", count + 2), *pops))


INSTRUCTIONS: dict[str, Row] = {"LOAD_SPECIAL": load_special, "WITH_EXCEPT_START": with_except_start}

# -- variables -------------------------------------------------------------------------------------


def variable(name: str, results: int = 1) -> Row:
    def row(op: Op, site: Schedule) -> Spelling:
        target, *values = op.args
        slot = target.value if isinstance(target, Const) else target
        return Spelling([*values], ((name, slot),), results)

    return row


def borrowed(op: Op, site: Schedule) -> Spelling:
    name = op.args[0].value  # type: ignore[union-attr]
    return Spelling([], (("LOAD_FAST" if op in site.owned else "LOAD_FAST_BORROW", name),))


def load_builtin(op: Op, site: Schedule) -> Spelling:
    value = op.args[0].value  # type: ignore[union-attr]
    known = [k for k, common in enumerate(EMIT.common) if common is value]
    return Spelling([], (("LOAD_COMMON_CONSTANT", known[0]) if known else ("LOAD_CONST", value),))


def get_attribute(op: Op, site: Schedule) -> Spelling:
    """LOAD_BOUND is LOAD_ATTR, unless it is called (`becomes_method`)."""
    if op.syntax and type(op.args[-1]) is MethodName:
        return Spelling(op.args[:1], (("LOAD_BOUND", op.args[1].value),))  # type: ignore[arg-type, union-attr]
    return _spell(op, site)


def load_constant(op: Op, site: Schedule) -> Spelling:
    return Spelling([*op.args], ())


def drop(op: Op, site: Schedule) -> Spelling:
    at = site.index(op.args[0])
    width = site.entries[at].width if at else 1
    return Spelling([*op.args], (("POP_TOP", None),) * width, 0)


ROWS: dict[int, Row] = {
    id(frames.load_local): variable("LOAD_FAST"),
    id(frames.load_local_checked): variable("LOAD_FAST_CHECK"),
    id(frames.load_local_borrowed): borrowed,
    id(frames.load_builtin): load_builtin,
    id(frames.take_local): variable("LOAD_FAST_AND_CLEAR"),
    id(frames.load_closure): variable(EMIT.load_closure),
    id(frames.store_local): variable("STORE_FAST", 0),
    id(frames.delete_local): variable("DELETE_FAST", 0),
    id(frames.load_constant): load_constant,
    id(frames.drop): drop,
    id(builtins.getattr): get_attribute,
    id(primitives.call_ex): call_ex,
    id(primitives.import_from): import_from,
}
