"""CPython 3.14: what its opcodes mean (LIFT) and how the IR is spelled in them (EMIT)."""

from __future__ import annotations

import operator
from typing import Any

from ctxdispatch.bytecode import callops, displayops, frameops, stackops
from ctxdispatch.bytecode.dialect import Dialect, FrameLocals, call_by_names, convert_and_format, parts_after
from ctxdispatch.bytecode.machine import ITEM, ITERATOR, NULL, Handler, Machine
from ctxdispatch.ir import frames, primitives
from ctxdispatch.ir.frames import Instruction, Place
from ctxdispatch.ir.values import Const

INTRINSICS = {5: stackops.unary(operator.pos), 6: stackops.unary(primitives.list_to_tuple)}

COMMON = (AssertionError, NotImplementedError, tuple, all, any)

NEVER = Const(False)
"""`f is all`, by which `all(... for ...)` is chosen to be a loop: the call does the same."""


def load_small_int(m: Machine, arg: int) -> None:
    m.stack.append(m.small_ints.setdefault(arg, Const(arg)))


def load_common_constant(m: Machine, arg: int) -> None:
    m.stack.append(Const(COMMON[arg]) if arg < 2 else NEVER)


def is_op(m: Machine, arg: int) -> None:
    if m.stack[-1] is NEVER:
        del m.stack[-2]
    else:
        stackops.is_op(m, arg)


def pop_jump_if_false(m: Machine, target: int) -> None:
    if m.stack[-1] is NEVER:
        m.stack.pop()
        m.goto(target)
    else:
        stackops.pop_jump_if_false(m, target)


def load_special(m: Machine, arg: int) -> None:
    m.stack += [callops.special(m, m.stack.pop(), frames.SPECIAL_METHODS[arg]), NULL]


def call_function_ex(m: Machine, arg: int) -> None:
    """With NULL for no keywords."""
    lower, upper = m.pop(2)
    none = NULL in (lower, upper)
    m.stack += [lower if upper is NULL else upper] if none else [lower, upper]
    callops.call_function_ex(m, int(not none))


# -- LIFT: opname -> handler -----------------------------------------------------------------------

LIFT: dict[str, Handler] = {
    **stackops.SHARED,
    **displayops.SHARED,
    **callops.SHARED,
    "NOT_TAKEN": stackops.nop,
    "LOAD_SMALL_INT": load_small_int,
    "LOAD_COMMON_CONSTANT": load_common_constant,
    "IS_OP": is_op,
    "LOAD_FAST": stackops.load_fast,
    "LOAD_FAST_BORROW": stackops.load_fast,
    "LOAD_FAST_CHECK": stackops.load_fast_check,
    "LOAD_FAST_AND_CLEAR": stackops.load_fast_and_clear,
    "LOAD_FAST_LOAD_FAST": stackops.two(stackops.load_fast, stackops.load_fast),
    "LOAD_FAST_BORROW_LOAD_FAST_BORROW": stackops.two(stackops.load_fast, stackops.load_fast),
    "STORE_FAST_LOAD_FAST": stackops.two(stackops.store_fast, stackops.load_fast),
    "STORE_FAST_STORE_FAST": stackops.two(stackops.store_fast, stackops.store_fast),
    "TO_BOOL": stackops.to_bool,
    "CALL_KW": callops.call_kw,
    "CALL_FUNCTION_EX": call_function_ex,
    "SET_FUNCTION_ATTRIBUTE": callops.set_function_attribute,
    "LOAD_ATTR": callops.load_attr_or_method,
    "LOAD_SUPER_ATTR": callops.load_super_attr,
    "LOAD_SPECIAL": load_special,
    "COMPARE_OP": stackops.compare_op(5, to_bool=16),
    "BINARY_SLICE": stackops.binary_slice,
    "STORE_SLICE": stackops.store_slice,
    # An exhausted FOR_ITER goes to END_FOR, POP_ITER, which pop what would be the item and the iterator.
    "FOR_ITER": stackops.for_iter([ITERATOR, ITEM]),
    "SEND": stackops.send(receiver_goes=False),
    "END_FOR": stackops.pops(1),
    "POP_ITER": stackops.pop_top,
    "POP_JUMP_IF_TRUE": stackops.pop_jump_if_true,
    "POP_JUMP_IF_FALSE": pop_jump_if_false,
    "POP_JUMP_IF_NONE": stackops.pop_jump_if_none,
    "POP_JUMP_IF_NOT_NONE": stackops.pop_jump_if_not_none,
    "CONVERT_VALUE": displayops.convert_value,
    "FORMAT_SIMPLE": displayops.format_simple,
    "FORMAT_WITH_SPEC": displayops.format_with_spec,
    "CALL_INTRINSIC_1": stackops.select(INTRINSICS),
}


def load_small_int_here(m: Any, arg: int) -> None:
    frameops.push_constant(m, arg)


def load_common_constant_here(m: Machine, arg: int) -> None:
    if arg < 2:
        frameops.write(m, Instruction("LOAD_COMMON_CONSTANT", arg), [], 1)
    else:
        frameops.write(m, frames.load_builtin, [Const(COMMON[arg])], 1)


def pop_iter(m: Machine, arg: int) -> None:
    value = m.stack.pop()
    if value is not ITERATOR:
        frameops.write(m, Instruction("POP_ITER"), [value], 0)


def load_special_here(m: Machine, arg: int) -> None:
    """A callable and NULL, or a method and `self`: one value, and a marker for its other place."""
    frameops.write(m, Instruction("LOAD_SPECIAL", frames.SPECIAL_METHODS[arg]), m.pop(1), 1)
    m.stack.append(NULL)


def with_except_start(m: Machine, arg: int) -> None:
    """It looks at what `load_special_here` left and, above, at where the exception was raised, the one
    before, and itself."""
    leave, _, *raised = m.stack[-5:]
    frameops.write(m, Instruction("WITH_EXCEPT_START"), [leave, *raised], 1)


def end_send(m: Machine, arg: int) -> None:
    frameops.write(m, Instruction("END_SEND", Place(m.unit)), m.pop(2), 1)


def end_async_for(m: Machine, target: int) -> None:
    """`target`: the END_SEND of the loop."""
    frameops.write(m, Instruction("END_ASYNC_FOR", Place(target)), m.pop(2), 0)


def build_interpolation(m: Machine, arg: int) -> None:
    """Bit 0: there is a format."""
    frameops.raw("BUILD_INTERPOLATION", 2 + (arg & 1), 1)(m, arg)


LOAD = frameops.SHARED["LOAD_FAST"]
BORROW = frameops.load(frames.load_local_borrowed)

FRAME: dict[str, Handler] = {
    "NOT_TAKEN": frameops.raw("NOT_TAKEN", 0, 0),
    "LOAD_SMALL_INT": load_small_int_here,
    "LOAD_COMMON_CONSTANT": load_common_constant_here,
    "IS_OP": stackops.is_op,
    "FOR_ITER": frameops.for_iter([ITERATOR, ITEM]),
    "POP_ITER": pop_iter,
    "SEND": frameops.send(receiver_goes=False),
    "END_SEND": end_send,
    "END_ASYNC_FOR": end_async_for,
    **frameops.EXACT_JUMPS,
    "LOAD_ATTR": frameops.load_attr_or_method,
    "LOAD_SPECIAL": load_special_here,
    "WITH_EXCEPT_START": with_except_start,
    "BUILD_TEMPLATE": frameops.raw("BUILD_TEMPLATE", 2, 1),
    "BUILD_INTERPOLATION": build_interpolation,
    "CALL_INTRINSIC_1": frameops.intrinsic("CALL_INTRINSIC_1", 1, INTRINSICS),
    "CALL_INTRINSIC_2": frameops.intrinsic("CALL_INTRINSIC_2", 2, {}),
    "LOAD_FAST_BORROW": BORROW,
    "LOAD_FAST_LOAD_FAST": stackops.two(LOAD, LOAD),
    "LOAD_FAST_BORROW_LOAD_FAST_BORROW": stackops.two(BORROW, BORROW),
    "STORE_FAST_LOAD_FAST": stackops.two(frameops.store_fast, LOAD),
    "STORE_FAST_STORE_FAST": stackops.two(frameops.store_fast, frameops.store_fast),
}

# -- EMIT ------------------------------------------------------------------------------------------

LOCALS = FrameLocals(writable=True)

EMIT = Dialect(
    null_first=False,
    call=call_by_names,
    call_ex=((("PUSH_NULL", None), ("CALL_FUNCTION_EX", 0)), (("CALL_FUNCTION_EX", 0),)),
    attribute=(1, 1),
    compare=(5, 16),
    compare_mask=True,
    subscript=("BINARY_OP", 26),
    exhausted=(("END_FOR", 0), ("POP_ITER", 0)),
    forward={},
    backward={},
    truth=(("TO_BOOL", 0),),
    positive=("CALL_INTRINSIC_1", 5),
    to_tuple=("CALL_INTRINSIC_1", 6),
    load_check="LOAD_FAST_CHECK",
    format=convert_and_format,
    function=parts_after(8, 16, 4, 2, 1),
    merge_below=2,
    load_closure="LOAD_FAST_BORROW",
    into_cell=("STORE_FAST", "MAKE_CELL"),
    return_const=False,
    const_keys=False,
    small_ints=256,
    common=COMMON,
    borrows=True,
    fused={
        ("LOAD_FAST", "LOAD_FAST"): "LOAD_FAST_LOAD_FAST",
        ("LOAD_FAST_BORROW", "LOAD_FAST_BORROW"): "LOAD_FAST_BORROW_LOAD_FAST_BORROW",
        ("STORE_FAST", "LOAD_FAST"): "STORE_FAST_LOAD_FAST",
        ("STORE_FAST", "STORE_FAST"): "STORE_FAST_STORE_FAST",
    },
)
