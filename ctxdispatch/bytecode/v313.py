"""CPython 3.13: what its opcodes mean (LIFT) and how the IR is spelled in them (EMIT)."""

from __future__ import annotations

import operator

from ctxdispatch.bytecode import callops, displayops, frameops, stackops
from ctxdispatch.bytecode.dialect import Dialect, FrameLocals, call_by_names, convert_and_format, parts_after
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
    "LOAD_FAST_LOAD_FAST": stackops.two(stackops.load_fast, stackops.load_fast),
    "STORE_FAST_LOAD_FAST": stackops.two(stackops.store_fast, stackops.load_fast),
    "STORE_FAST_STORE_FAST": stackops.two(stackops.store_fast, stackops.store_fast),
    "TO_BOOL": stackops.to_bool,
    "CALL_KW": callops.call_kw,
    "SET_FUNCTION_ATTRIBUTE": callops.set_function_attribute,
    "LOAD_ATTR": callops.load_attr_or_method,
    "LOAD_SUPER_ATTR": callops.load_super_attr,
    "COMPARE_OP": stackops.compare_op(5, to_bool=16),
    "BINARY_SLICE": stackops.binary_slice,
    "STORE_SLICE": stackops.store_slice,
    # An exhausted FOR_ITER goes to END_FOR, POP_TOP, which pop what would be the item and the iterator.
    "FOR_ITER": stackops.for_iter([ITERATOR, ITEM]),
    "SEND": stackops.send(receiver_goes=False),
    "END_FOR": stackops.pops(1),
    "POP_JUMP_IF_TRUE": stackops.pop_jump_if_true,
    "POP_JUMP_IF_FALSE": stackops.pop_jump_if_false,
    "POP_JUMP_IF_NONE": stackops.pop_jump_if_none,
    "POP_JUMP_IF_NOT_NONE": stackops.pop_jump_if_not_none,
    "RETURN_CONST": stackops.return_const,
    "CONVERT_VALUE": displayops.convert_value,
    "FORMAT_SIMPLE": displayops.format_simple,
    "FORMAT_WITH_SPEC": displayops.format_with_spec,
    "CALL_INTRINSIC_1": stackops.select(INTRINSICS),
}

LOAD = frameops.SHARED["LOAD_FAST"]

FRAME: dict[str, Handler] = {
    "FOR_ITER": frameops.for_iter([ITERATOR, ITEM]),
    "SEND": frameops.send(receiver_goes=False),
    **frameops.EXACT_JUMPS,
    "LOAD_ATTR": frameops.load_attr_or_method,
    "CALL_INTRINSIC_1": frameops.intrinsic("CALL_INTRINSIC_1", 1, INTRINSICS),
    "CALL_INTRINSIC_2": frameops.intrinsic("CALL_INTRINSIC_2", 2, {}),
    "LOAD_FAST_LOAD_FAST": stackops.two(LOAD, LOAD),
    "STORE_FAST_LOAD_FAST": stackops.two(frameops.store_fast, LOAD),
    "STORE_FAST_STORE_FAST": stackops.two(frameops.store_fast, frameops.store_fast),
}

# -- EMIT ------------------------------------------------------------------------------------------

LOCALS = FrameLocals(writable=True, mixes_cells=True)

EMIT = Dialect(
    null_first=False,
    call=call_by_names,
    attribute=(1, 1),
    compare=(5, 16),
    compare_mask=True,
    exhausted=(("END_FOR", 0), ("POP_TOP", None)),
    forward={},
    backward={},
    truth=(("TO_BOOL", 0),),
    positive=("CALL_INTRINSIC_1", 5),
    to_tuple=("CALL_INTRINSIC_1", 6),
    load_check="LOAD_FAST_CHECK",
    format=convert_and_format,
    function=parts_after(8, 4, 2, 1),
    merge_below=2,
    load_closure="LOAD_FAST",
    fused={
        ("LOAD_FAST", "LOAD_FAST"): "LOAD_FAST_LOAD_FAST",
        ("STORE_FAST", "LOAD_FAST"): "STORE_FAST_LOAD_FAST",
        ("STORE_FAST", "STORE_FAST"): "STORE_FAST_STORE_FAST",
    },
)
