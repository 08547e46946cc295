"""CPython 3.11: what its opcodes mean (LIFT) and how the IR is spelled in them (EMIT)."""

from __future__ import annotations

import operator

from ctxdispatch.bytecode import callops, displayops, frameops, stackops
from ctxdispatch.bytecode.dialect import Dialect, FrameLocals, Symbolic, format_value, no_parts
from ctxdispatch.bytecode.machine import Handler
from ctxdispatch.ir import primitives

# -- LIFT: opname -> handler -----------------------------------------------------------------------

LIFT: dict[str, Handler] = {
    **stackops.SHARED,
    **displayops.SHARED,
    **callops.SHARED,
    "LOAD_FAST": stackops.load_fast_check,
    "LOAD_CLOSURE": callops.load_closure,
    "LOAD_ATTR": callops.load_attr,
    "LOAD_METHOD": callops.load_method,
    "PRECALL": stackops.nop,
    "KW_NAMES": callops.kw_names,
    "UNARY_POSITIVE": stackops.unary(operator.pos),
    "COMPARE_OP": stackops.compare_op(0),
    "FOR_ITER": stackops.for_iter([]),
    "SEND": stackops.send(receiver_goes=True),
    "POP_JUMP_FORWARD_IF_TRUE": stackops.pop_jump_if_true,
    "POP_JUMP_FORWARD_IF_FALSE": stackops.pop_jump_if_false,
    "POP_JUMP_FORWARD_IF_NONE": stackops.pop_jump_if_none,
    "POP_JUMP_FORWARD_IF_NOT_NONE": stackops.pop_jump_if_not_none,
    "POP_JUMP_BACKWARD_IF_TRUE": stackops.pop_jump_if_true,
    "POP_JUMP_BACKWARD_IF_FALSE": stackops.pop_jump_if_false,
    "POP_JUMP_BACKWARD_IF_NONE": stackops.pop_jump_if_none,
    "POP_JUMP_BACKWARD_IF_NOT_NONE": stackops.pop_jump_if_not_none,
    "JUMP_IF_TRUE_OR_POP": stackops.jump_if_true_or_pop,
    "JUMP_IF_FALSE_OR_POP": stackops.jump_if_false_or_pop,
    "FORMAT_VALUE": displayops.format_value,
    "LIST_TO_TUPLE": stackops.unary(primitives.list_to_tuple),
}

FRAME: dict[str, Handler] = {
    "FOR_ITER": frameops.for_iter([]),
    "SEND": frameops.send(receiver_goes=True),
}

# -- EMIT ------------------------------------------------------------------------------------------


def _call(count: int, names: tuple[str, ...]) -> tuple[Symbolic, ...]:
    call: tuple[Symbolic, ...] = (("PRECALL", count), ("CALL", count))
    return (("KW_NAMES", names), *call) if names else call


TESTS = ("TRUE", "FALSE", "NONE", "NOT_NONE")

LOCALS = FrameLocals(writable=False)

EMIT = Dialect(
    null_first=True,
    call=_call,
    attribute=(0, 0),
    compare=(0, 0),
    compare_mask=False,
    exhausted=(),
    forward={f"POP_JUMP_IF_{t}": f"POP_JUMP_FORWARD_IF_{t}" for t in TESTS},
    backward={f"POP_JUMP_IF_{t}": f"POP_JUMP_BACKWARD_IF_{t}" for t in TESTS},
    truth=(),
    positive=("UNARY_POSITIVE", 0),
    to_tuple=("LIST_TO_TUPLE", 0),
    load_check="LOAD_FAST",
    format=format_value,
    function=no_parts,
    merge_below=1,
    or_pop=True,
    slices=False,
    return_const=False,
)
