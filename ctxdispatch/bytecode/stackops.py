"""Handlers: locals, the stack, jumps, operators, subscripts."""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable
from opcode import _nb_ops, cmp_op  # type: ignore[attr-defined]
from typing import Any

from ctxdispatch.bytecode.machine import NULL, Handler, Machine
from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Branch, Edge, Iterate, Raise, Return
from ctxdispatch.ir.operators import COMPARISONS
from ctxdispatch.ir.values import UNDEF, Const, Operand, Value

NONE = Const(None)

# -- locals and the stack --------------------------------------------------------------------------


def nop(m: Machine, arg: int) -> None:
    pass


def load_const(m: Machine, arg: int) -> None:
    m.stack.append(m.consts[arg])


def load_fast(m: Machine, arg: int) -> None:
    """Where the compiler has proved that the local is bound."""
    m.stack.append(m.locals[arg])


def load_fast_check(m: Machine, arg: int) -> None:
    m.stack.append(m.check(arg))


def load_fast_and_clear(m: Machine, arg: int) -> None:
    m.stack.append(m.locals[arg])
    m.locals[arg] = UNDEF


def store_fast(m: Machine, arg: int) -> None:
    value = m.locals[arg] = m.stack.pop()
    if isinstance(value, Value) and not value.name:
        value.name = m.names[arg]


def delete_fast(m: Machine, arg: int) -> None:
    m.check(arg)
    m.locals[arg] = UNDEF


def two(first: Handler, second: Handler) -> Handler:
    """A fused pair: the arguments are the two halves of a byte."""

    def handler(m: Machine, arg: int) -> None:
        first(m, arg >> 4)
        second(m, arg & 15)

    return handler


def pop_top(m: Machine, arg: int) -> None:
    m.stack.pop()


def pops(n: int) -> Handler:
    def handler(m: Machine, arg: int) -> None:
        m.pop(n)

    return handler


def push_null(m: Machine, arg: int) -> None:
    m.stack.append(NULL)


def copy(m: Machine, arg: int) -> None:
    m.stack.append(m.stack[-arg])


def swap(m: Machine, arg: int) -> None:
    stack = m.stack
    stack[-1], stack[-arg] = stack[-arg], stack[-1]


# -- control flow ----------------------------------------------------------------------------------


def jump(m: Machine, target: int) -> None:
    m.goto(target)


def pop_jump_if_true(m: Machine, target: int) -> None:
    m.branch(m.truth(m.stack.pop()), target, m.next)


def pop_jump_if_false(m: Machine, target: int) -> None:
    m.branch(m.truth(m.stack.pop()), m.next, target)


def pop_jump_if_none(m: Machine, target: int) -> None:
    m.branch(m.test(operator.is_, m.stack.pop(), NONE), target, m.next)


def pop_jump_if_not_none(m: Machine, target: int) -> None:
    m.branch(m.test(operator.is_, m.stack.pop(), NONE), m.next, target)


def jump_if_true_or_pop(m: Machine, target: int) -> None:
    _jump_or_pop(m, target, if_true=True)


def jump_if_false_or_pop(m: Machine, target: int) -> None:
    _jump_or_pop(m, target, if_true=False)


def _jump_or_pop(m: Machine, target: int, if_true: bool) -> None:
    cond = m.truth(m.stack[-1])
    jumps = m.edge(target)
    m.stack.pop()
    goes_on = m.edge(m.next)
    then, orelse = (jumps, goes_on) if if_true else (goes_on, jumps)
    m.end(Branch(cond, then, orelse, m.position()))


def get_iter(m: Machine, arg: int) -> None:
    m.stack.append(m.syntax(builtins.iter, m.stack.pop()))


def for_iter(leftover: list[Operand]) -> Handler:
    """`leftover`: what stands in the place of the iterator where it is exhausted."""

    def handler(m: Machine, target: int) -> None:
        _iterate(m, target, m.stack[:-1] + leftover)

    return handler


def send(receiver_goes: bool) -> Handler:
    """`yield from` in a generator that is sent None: a loop. `receiver_goes`: from the stack, at its end."""

    def handler(m: Machine, target: int) -> None:
        sent = m.stack.pop()
        _iterate(m, target, [*m.stack[: len(m.stack) - receiver_goes], sent])

    return handler


def _iterate(m: Machine, target: int, after: list[Operand]) -> None:
    """Over the iterator on top of the stack; `after`: what the stack is where it is exhausted."""
    item, body = Value(), m.graph.new_block()
    body.params.append(item)
    done = m.edge(target, after)
    m.end(Iterate(m.stack[-1], Edge(body), done, m.position()))
    m.block = body
    m.stack.append(item)
    m.goto(m.next)


def end_send(m: Machine, arg: int) -> None:
    del m.stack[-2]


def return_value(m: Machine, arg: int) -> None:
    m.end(Return(m.stack.pop(), m.position()))


def return_const(m: Machine, arg: int) -> None:
    m.end(Return(m.consts[arg], m.position()))


def raise_varargs(m: Machine, arg: int) -> None:
    exc, cause = [*m.pop(arg), None, None][:2]
    m.end(Raise(exc, cause, m.position()))


# -- operators -------------------------------------------------------------------------------------

NB_FUNCTIONS = {
    "ADD": "add",
    "AND": "and_",
    "FLOOR_DIVIDE": "floordiv",
    "LSHIFT": "lshift",
    "MATRIX_MULTIPLY": "matmul",
    "MULTIPLY": "mul",
    "OR": "or_",
    "POWER": "pow",
    "REMAINDER": "mod",
    "RSHIFT": "rshift",
    "SUBTRACT": "sub",
    "TRUE_DIVIDE": "truediv",
    "XOR": "xor",
}


def _binary_function(name: str) -> Callable[..., Any]:
    if name == "NB_SUBSCR":
        return operator.getitem
    *inplace, kind = name.removeprefix("NB_").partition("INPLACE_")
    plain = NB_FUNCTIONS[kind or inplace[0]]
    function: Callable[..., Any] = getattr(operator, "i" + plain.rstrip("_") if kind else plain)
    return function


BINARY = [_binary_function(name) for name, _ in _nb_ops]
COMPARE = [
    dict(zip(("<", "<=", "==", "!=", ">", ">="), COMPARISONS))[sign]
    for sign in cmp_op
]


def unary(function: Callable[..., Any]) -> Handler:
    def handler(m: Machine, arg: int) -> None:
        m.stack.append(m.syntax(function, m.stack.pop()))

    return handler


def unary_not(m: Machine, arg: int) -> None:
    """`not bool(x)`, as some versions spell it, is `not x`: unless a local holds that bool."""
    value = m.stack.pop()
    op = m.just_made(value, builtins.bool)
    if op is not None and value not in m.locals + m.stack:
        value = m.block.ops.pop().args[0]
    m.stack.append(m.test(operator.not_, value))


def select(handlers: dict[int, Handler]) -> Handler:
    """Intrinsics: the argument says which."""

    def handler(m: Machine, arg: int) -> None:
        handlers.get(arg, unsupported("type parameters"))(m, arg)

    return handler


def unsupported(construct: str) -> Handler:
    def handler(m: Machine, arg: int) -> None:
        raise m.unsupported(construct)

    return handler


def to_bool(m: Machine, arg: int) -> None:
    m.stack.append(m.truth(m.stack.pop()))


def binary_op(m: Machine, arg: int) -> None:
    a, b = m.pop(2)
    m.stack.append(m.syntax(BINARY[arg], a, b))


def compare_op(shift: int, to_bool: int = 0) -> Handler:
    """`to_bool`: the bit of the argument that asks for an exact bool."""

    def handler(m: Machine, arg: int) -> None:
        a, b = m.pop(2)
        result: Operand = m.syntax(COMPARE[arg >> shift], a, b)
        m.stack.append(m.truth(result) if arg & to_bool else result)

    return handler


def is_op(m: Machine, arg: int) -> None:
    a, b = m.pop(2)
    m.stack.append(m.test(operator.is_not if arg else operator.is_, a, b))


def contains_op(m: Machine, arg: int) -> None:
    item, container = m.pop(2)
    m.stack.append(m.test(primitives.not_contains if arg else operator.contains, container, item))


# -- subscripts ------------------------------------------------------------------------------------


def binary_subscr(m: Machine, arg: int) -> None:
    container, key = m.pop(2)
    m.stack.append(m.syntax(operator.getitem, container, key))


def store_subscr(m: Machine, arg: int) -> None:
    value, container, key = m.pop(3)
    m.syntax(operator.setitem, container, key, value)


def delete_subscr(m: Machine, arg: int) -> None:
    m.syntax(operator.delitem, *m.pop(2))


def build_slice(m: Machine, arg: int) -> None:
    m.stack.append(m.syntax(builtins.slice, *m.pop(arg)))


def binary_slice(m: Machine, arg: int) -> None:
    build_slice(m, 2)
    binary_subscr(m, arg)


def store_slice(m: Machine, arg: int) -> None:
    build_slice(m, 2)
    store_subscr(m, arg)


#: By opname, where all versions agree.
SHARED: dict[str, Handler] = {
    "CACHE": nop,
    "NOP": nop,
    "RESUME": nop,
    "COPY_FREE_VARS": nop,
    "LOAD_CONST": load_const,
    "STORE_FAST": store_fast,
    "DELETE_FAST": delete_fast,
    "POP_TOP": pop_top,
    "PUSH_NULL": push_null,
    "COPY": copy,
    "SWAP": swap,
    "JUMP_FORWARD": jump,
    "JUMP_BACKWARD": jump,
    "JUMP_BACKWARD_NO_INTERRUPT": jump,
    "GET_YIELD_FROM_ITER": get_iter,
    "END_SEND": end_send,
    "GET_ITER": get_iter,
    "RETURN_VALUE": return_value,
    "RAISE_VARARGS": raise_varargs,
    "UNARY_NEGATIVE": unary(operator.neg),
    "UNARY_INVERT": unary(operator.invert),
    "UNARY_NOT": unary_not,
    "BINARY_OP": binary_op,
    "IS_OP": is_op,
    "CONTAINS_OP": contains_op,
    "BINARY_SUBSCR": binary_subscr,
    "STORE_SUBSCR": store_subscr,
    "DELETE_SUBSCR": delete_subscr,
    "BUILD_SLICE": build_slice,
}
