"""CPython 3.12: what its opcodes mean (LIFT) and how the IR is spelled in them (EMIT)."""

from __future__ import annotations

import operator

from ctxdispatch.bytecode import callops, displayops, frameops, stackops
from ctxdispatch.bytecode.dialect import Dialect, FrameLocals, Symbolic, format_value, no_parts
from ctxdispatch.bytecode.machine import ITEM, ITERATOR, Handler
from ctxdispatch.ir import primitives

INTRINSICS = {5: stackops.unary(operator.pos), 6: stackops.unary(primitives.list_to_tuple)}

# -- LIFT: opname -> handler -----------------------------------------------------------------------

LIFT: dict[str, Handler] = {
    **stackops.SHARED,
    **displayops.SHARED,
    **callops.SHARED,
    "LOAD_FAST": stackops.load_fast,
    "LOAD_FAST_CHECK": stackops.load_fast_check,
    "LOAD_FAST_AND_CLEAR": stackops.load_fast_and_clear,
    "LOAD_CLOSURE": callops.load_closure,
    "LOAD_ATTR": callops.load_attr_or_method,
    "LOAD_SUPER_ATTR": callops.load_super_attr,
    "KW_NAMES": callops.kw_names,
    "COMPARE_OP": stackops.compare_op(4),
    "BINARY_SLICE": stackops.binary_slice,
    "STORE_SLICE": stackops.store_slice,
    # An exhausted FOR_ITER goes to END_FOR, which pops the iterator and what would be the item.
    "FOR_ITER": stackops.for_iter([ITERATOR, ITEM]),
    "SEND": stackops.send(receiver_goes=False),
    "END_FOR": stackops.pops(2),
    "POP_JUMP_IF_TRUE": stackops.pop_jump_if_true,
    "POP_JUMP_IF_FALSE": stackops.pop_jump_if_false,
    "POP_JUMP_IF_NONE": stackops.pop_jump_if_none,
    "POP_JUMP_IF_NOT_NONE": stackops.pop_jump_if_not_none,
    "RETURN_CONST": stackops.return_const,
    "FORMAT_VALUE": displayops.format_value,
    "CALL_INTRINSIC_1": stackops.select(INTRINSICS),
}

FRAME: dict[str, Handler] = {
    "FOR_ITER": frameops.for_iter([ITERATOR, ITEM]),
    "SEND": frameops.send(receiver_goes=False),
    "LOAD_ATTR": frameops.load_attr_or_method,
    "CALL_INTRINSIC_1": frameops.intrinsic("CALL_INTRINSIC_1", 1, INTRINSICS),
    "CALL_INTRINSIC_2": frameops.intrinsic("CALL_INTRINSIC_2", 2, {}),
}

# -- EMIT ------------------------------------------------------------------------------------------


def _call(count: int, names: tuple[str, ...]) -> tuple[Symbolic, ...]:
    return (("KW_NAMES", names), ("CALL", count)) if names else (("CALL", count),)


LOCALS = FrameLocals(writable=False)

EMIT = Dialect(
    null_first=True,
    call=_call,
    attribute=(1, 1),
    compare=(4, 0),
    compare_mask=True,
    exhausted=(("END_FOR", 0),),
    forward={},
    backward={},
    truth=(),
    positive=("CALL_INTRINSIC_1", 5),
    to_tuple=("CALL_INTRINSIC_1", 6),
    load_check="LOAD_FAST_CHECK",
    format=format_value,
    function=no_parts,
    merge_below=1,
)
