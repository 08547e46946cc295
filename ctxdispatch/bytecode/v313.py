"""CPython 3.13: what its opcodes mean (LIFT) and how the IR is spelled in them (EMIT)."""

from __future__ import annotations

import operator

from ctxdispatch.bytecode import callops, displayops, stackops
from ctxdispatch.bytecode.dialect import Dialect, Symbolic
from ctxdispatch.bytecode.machine import Handler
from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Const

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
    "FOR_ITER": stackops.for_iter([Const("iterator"), Const("item")]),
    "END_FOR": stackops.pops(1),
    "POP_JUMP_IF_TRUE": stackops.pop_jump_if_true,
    "POP_JUMP_IF_FALSE": stackops.pop_jump_if_false,
    "POP_JUMP_IF_NONE": stackops.pop_jump_if_none,
    "POP_JUMP_IF_NOT_NONE": stackops.pop_jump_if_not_none,
    "RETURN_CONST": stackops.return_const,
    "CONVERT_VALUE": displayops.convert_value,
    "FORMAT_SIMPLE": displayops.format_simple,
    "FORMAT_WITH_SPEC": displayops.format_with_spec,
    "CALL_INTRINSIC_1": stackops.select(
        {5: stackops.unary(operator.pos), 6: stackops.unary(primitives.list_to_tuple)}
    ),
}

# -- EMIT ------------------------------------------------------------------------------------------

def _call(count: int, names: tuple[str, ...]) -> tuple[Symbolic, ...]:
    return (("LOAD_CONST", names), ("CALL_KW", count)) if names else (("CALL", count),)


def _format(conversion: int, spec: bool) -> tuple[tuple[Symbolic, ...], tuple[Symbolic, ...]]:
    convert: tuple[Symbolic, ...] = (("CONVERT_VALUE", conversion),) if conversion else ()
    return convert, (("FORMAT_WITH_SPEC" if spec else "FORMAT_SIMPLE", 0),)


def _function(flags: int) -> tuple[Symbolic, ...]:
    parts = tuple(("SET_FUNCTION_ATTRIBUTE", flag) for flag in (8, 4, 2, 1) if flags & flag)
    return (("MAKE_FUNCTION", 0), *parts)


EMIT = Dialect(
    null_first=False,
    call=_call,
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
    format=_format,
    function=_function,
    merge_below=2,
    fused={
        ("LOAD_FAST", "LOAD_FAST"): "LOAD_FAST_LOAD_FAST",
        ("STORE_FAST", "LOAD_FAST"): "STORE_FAST_LOAD_FAST",
        ("STORE_FAST", "STORE_FAST"): "STORE_FAST_STORE_FAST",
    },
)
