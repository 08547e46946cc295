"""Handlers of the frame form: variables, exceptions, generators, names of class bodies and modules.

They come on top of the SSA form's (`stackops callops displayops`). What has a meaning apart from its frame is
an op like any other; the rest is an `ir.frames.Instruction`.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ctxdispatch.bytecode import callops, displayops
from ctxdispatch.bytecode.machine import ITEM, ITERATOR, NULL, Handler, Machine
from ctxdispatch.ir import frames, primitives
from ctxdispatch.ir.frames import Instruction
from ctxdispatch.ir.graph import Delegate, Iterate, Jump, Reraise, Return
from ctxdispatch.ir.values import Const, MethodName, Operand, Value

if TYPE_CHECKING:
    from ctxdispatch.bytecode.frame import FrameMachine

UNUSED = Const("a variable in its slot")
MARKERS: frozenset[Operand] = frozenset({NULL, ITERATOR, ITEM})
"""Stack entries that are no objects."""

# -- instructions ----------------------------------------------------------------------------------

Argument = Callable[[Machine, int], Any]


def number(m: Machine, arg: int) -> int:
    return arg


def name(m: Machine, arg: int) -> str:
    return m.code.co_names[arg]


def variable(m: Machine, arg: int) -> Any:
    """Its name; of a cell the value that stands for it: one of the frame and one of the closure may have one
    name."""
    cell = m.locals[arg]
    return cell if isinstance(cell, Value) else m.names[arg]


def raw(opname: str, pops: int, pushes: int, argument: Argument = number) -> Handler:
    """One instruction that takes `pops` operands and leaves `pushes` results."""

    def handler(m: Machine, arg: int) -> None:
        write(m, Instruction(opname, argument(m, arg)), m.pop(pops), pushes)

    return handler


def check(opname: str, pops: int) -> Handler:
    """One that leaves its operands, and a bool on top of them."""
    inner = raw(opname, pops, pops + 1)

    def handler(m: Machine, arg: int) -> None:
        inner(m, arg)
        m.bools.add(m.stack[-1])

    return handler


def write(m: Machine, callee: Any, args: list[Operand], pushes: int) -> None:
    """The first result is the one on top."""
    op = m.op(Const(callee), args, True)
    op.results = [Value() for _ in range(pushes)]
    m.stack += op.results[::-1]


# -- variables and the stack -----------------------------------------------------------------------


def load_const(m: FrameMachine, arg: int) -> None:
    push_constant(m, m.code.co_consts[arg])


def push_constant(m: FrameMachine, value: Any) -> None:
    constant = Const(value, m.position())
    if m.outlives_line():
        write(m, frames.load_constant, [constant], 1)
    else:
        m.stack.append(constant)


def load(function: Callable[..., Any]) -> Handler:
    def handler(m: Machine, arg: int) -> None:
        target = slot(m, arg)
        closes = type(target) is Value and function is not frames.take_local
        op = m.op(Const(frames.load_closure if closes else function), [target], True)
        op.results[0].name = m.names[arg]
        m.stack.append(op.results[0])

    return handler


def store_fast(m: Machine, arg: int) -> None:
    write(m, frames.store_local, [slot(m, arg), m.stack.pop()], 0)


def delete_fast(m: Machine, arg: int) -> None:
    write(m, frames.delete_local, [slot(m, arg)], 0)


def slot(m: Machine, arg: int) -> Operand:
    """A variable by its name; one that closures share by the value that stands for its cell."""
    known = variable(m, arg)
    return known if isinstance(known, Value) else Const(known)


def copy(m: FrameMachine, arg: int) -> None:
    m.moved = m.position()
    value = m.stack[-arg]
    again = isinstance(value, Const) and value not in MARKERS
    m.stack.append(Const(value.value, m.moved) if again else value)  # type: ignore[union-attr]


def swap(m: FrameMachine, arg: int) -> None:
    m.moved = m.position()
    stack = m.stack
    stack[-1], stack[-arg] = stack[-arg], stack[-1]


def pop_top(m: Machine, arg: int) -> None:
    value = m.stack.pop()
    if value not in MARKERS:
        write(m, frames.drop, [value], 0)


# -- control flow ----------------------------------------------------------------------------------


def jump(quiet: bool = False) -> Handler:
    return lambda m, target: m.end(Jump(m.edge(target), m.position(), quiet, spelled=True))


def pop_jump(if_true: bool) -> Handler:
    """Where the version jumps on exact bools: the compiler has seen to that."""

    def handler(m: Machine, target: int) -> None:
        then, orelse = (target, m.next) if if_true else (m.next, target)
        m.branch(m.stack.pop(), then, orelse)

    return handler


def to_bool(m: Machine, arg: int) -> None:
    m.stack.append(m.test(builtins.bool, m.stack.pop()))


EXACT_JUMPS: dict[str, Handler] = {
    "TO_BOOL": to_bool,
    "POP_JUMP_IF_TRUE": pop_jump(True),
    "POP_JUMP_IF_FALSE": pop_jump(False),
}


def for_iter(leftover: list[Operand]) -> Handler:
    """`leftover`: what the instructions at the loop's end pop in the place of the exhausted iterator."""

    def handler(m: FrameMachine, target: int) -> None:
        iterator = m.stack[-1]
        done = m.edge(target, m.stack[:-1] + leftover)
        body = m.edge_with(m.next, m.stack, Value(), first=True)
        m.end(Iterate(iterator, body, done, m.position()))

    return handler  # type: ignore[return-value]


def send(receiver_goes: bool) -> Handler:
    """`receiver_goes`: from the stack, where it has returned."""

    def handler(m: FrameMachine, target: int) -> None:
        value, below = m.stack[-1], m.stack[:-1]
        yielded = m.edge_with(m.next, below, Value())
        done = m.edge_with(target, below[: len(below) - receiver_goes], Value())
        m.end(Delegate(below[-1], value, yielded, done, m.position()))

    return handler  # type: ignore[return-value]


def return_value(m: Machine, arg: int) -> None:
    m.end(Return(m.stack.pop(), m.position()))


def return_const(m: Machine, arg: int) -> None:
    m.end(Return(Const(m.code.co_consts[arg], m.position()), m.position()))


def reraise(m: Machine, arg: int) -> None:
    """`arg`: how deep below the exception lies what tells where it was raised."""
    lasti = m.stack[-1 - arg] if arg else None
    kept = tuple(operand for operand in m.stack[:-1] if operand not in MARKERS)
    m.end(Reraise(m.stack[-1], lasti, kept, m.position()))


# -- calls -----------------------------------------------------------------------------------------


def load_method(m: Machine, arg: int) -> None:
    owner = m.stack.pop()
    name = MethodName(m.code.co_names[arg])
    m.stack += (NULL, m.syntax(builtins.getattr, owner, name))


def load_attr_or_method(m: Machine, arg: int) -> None:
    (load_method if arg & 1 else callops.load_attr)(m, arg >> 1)


def load_super_attr(m: Machine, arg: int) -> None:
    """Bit 0: a method; bit 1: `super` was written with its two arguments."""
    write(m, Instruction("LOAD_SUPER_ATTR", (m.code.co_names[arg >> 2], arg & 2)), m.pop(3), 1)
    if arg & 1:
        m.stack.insert(-1, NULL)


#: By opname, where all versions agree.
SHARED: dict[str, Handler] = {
    "NOP": raw("NOP", 0, 0),
    "RESUME": raw("RESUME", 0, 0),
    "LOAD_CONST": load_const,  # type: ignore[dict-item]
    "LOAD_FAST": load(frames.load_local),
    "LOAD_FAST_CHECK": load(frames.load_local_checked),
    "LOAD_FAST_AND_CLEAR": load(frames.take_local),
    "LOAD_CLOSURE": load(frames.load_closure),
    "MAKE_CELL": raw("MAKE_CELL", 0, 0, variable),
    "LIST_EXTEND": displayops.add_to(primitives.list_extend),
    "STORE_FAST": store_fast,
    "DELETE_FAST": delete_fast,
    "POP_TOP": pop_top,
    "COPY": copy,  # type: ignore[dict-item]
    "SWAP": swap,  # type: ignore[dict-item]
    "JUMP_FORWARD": jump(),
    "JUMP_BACKWARD": jump(),
    "JUMP_BACKWARD_NO_INTERRUPT": jump(quiet=True),
    "RETURN_VALUE": return_value,
    "RETURN_CONST": return_const,
    "LOAD_METHOD": load_method,
    "LOAD_SUPER_ATTR": load_super_attr,
    "LOAD_BUILD_CLASS": raw("LOAD_BUILD_CLASS", 0, 1),
    "LOAD_ASSERTION_ERROR": raw("LOAD_ASSERTION_ERROR", 0, 1),
    # exceptions
    "PUSH_EXC_INFO": raw("PUSH_EXC_INFO", 1, 2),
    "POP_EXCEPT": raw("POP_EXCEPT", 1, 0),
    "CHECK_EXC_MATCH": raw("CHECK_EXC_MATCH", 2, 2),
    "CHECK_EG_MATCH": raw("CHECK_EG_MATCH", 2, 2),
    "PREP_RERAISE_STAR": raw("PREP_RERAISE_STAR", 2, 1),
    "RERAISE": reraise,
    "BEFORE_WITH": raw("BEFORE_WITH", 1, 2),
    "BEFORE_ASYNC_WITH": raw("BEFORE_ASYNC_WITH", 1, 2),
    "WITH_EXCEPT_START": raw("WITH_EXCEPT_START", 4, 5),
    # generators and coroutines
    "YIELD_VALUE": raw("YIELD_VALUE", 1, 1),
    "GET_YIELD_FROM_ITER": raw("GET_YIELD_FROM_ITER", 1, 1),
    "GET_AWAITABLE": raw("GET_AWAITABLE", 1, 1),
    "GET_AITER": raw("GET_AITER", 1, 1),
    "GET_ANEXT": raw("GET_ANEXT", 1, 2),
    "END_ASYNC_FOR": raw("END_ASYNC_FOR", 2, 0),
    "END_SEND": raw("END_SEND", 2, 1),
    "CLEANUP_THROW": raw("CLEANUP_THROW", 3, 2),
    "ASYNC_GEN_WRAP": raw("ASYNC_GEN_WRAP", 1, 1),
    # class bodies and modules
    "LOAD_NAME": raw("LOAD_NAME", 0, 1, name),
    "STORE_NAME": raw("STORE_NAME", 1, 0, name),
    "DELETE_NAME": raw("DELETE_NAME", 0, 0, name),
    "LOAD_LOCALS": raw("LOAD_LOCALS", 0, 1),
    "LOAD_CLASSDEREF": raw("LOAD_CLASSDEREF", 0, 1, variable),
    "LOAD_FROM_DICT_OR_DEREF": raw("LOAD_FROM_DICT_OR_DEREF", 1, 1, variable),
    "LOAD_FROM_DICT_OR_GLOBALS": raw("LOAD_FROM_DICT_OR_GLOBALS", 1, 1, name),
    "SETUP_ANNOTATIONS": raw("SETUP_ANNOTATIONS", 0, 0),
    "IMPORT_STAR": raw("IMPORT_STAR", 1, 0),
    "PRINT_EXPR": raw("PRINT_EXPR", 1, 0),
    # match, which looks at its subject where that lies
    "GET_LEN": raw("GET_LEN", 1, 2),
    "MATCH_SEQUENCE": check("MATCH_SEQUENCE", 1),
    "MATCH_MAPPING": check("MATCH_MAPPING", 1),
    "MATCH_KEYS": raw("MATCH_KEYS", 2, 3),
    "MATCH_CLASS": raw("MATCH_CLASS", 3, 1),
}


def in_slot(opname: str, pops: int, pushes: int) -> Handler:
    """Of a variable of the program that holds a cell, as generated code has them: its slot is read as one."""
    inner, shared = raw(opname, pops, pushes, variable), callops.SHARED[opname]

    def handler(m: Machine, arg: int) -> None:
        (inner if m.locals[arg] is UNUSED else shared)(m, arg)

    return handler


SHARED |= {
    "LOAD_DEREF": in_slot("LOAD_DEREF", 0, 1),
    "STORE_DEREF": in_slot("STORE_DEREF", 1, 0),
    "DELETE_DEREF": in_slot("DELETE_DEREF", 0, 0),
}


def intrinsic(opname: str, pops: int, known: dict[int, Handler]) -> Handler:
    """CALL_INTRINSIC_1, CALL_INTRINSIC_2: those that are operators, and the rest."""
    other = raw(opname, pops, 1)

    def handler(m: Machine, arg: int) -> None:
        known.get(arg, other)(m, arg)

    return handler


