"""Instructions of the frame form that run Python code, spelled out as the calls that they are.

    %v, %exit = before_with(%m)      %enter, %exit = with_methods(%m); %v = %enter()
    %y, %x = match_sequence(%x)      %y = matching.match_sequence(%x)
    .. = with_except_start(%exit, .., %e)                 %a = exit_arguments(%e); %r = %exit(*%a)
    %y = load_super_attr[name](super, %C, %x)     %s = super_object(super, %C, %x); %y = getattr(%s, name)

    %i = get_awaitable(%x)           %a = awaited(%x); %i = get_awaitable(%a)
    %i = get_yield_from_iter(%x)     %d = delegated(%x); %i = get_yield_from_iter(%d)

So entering, leaving and `super().name` are dispatched like any other call or attribute. What patterns ask,
and what is awaited or delegated to, is spelled out for a class that names the function in its `intercepts`.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Any

from ctxdispatch.ir import matching, primitives
from ctxdispatch.ir.frames import Instruction
from ctxdispatch.ir.graph import Graph, Op
from ctxdispatch.ir.own_builtins import own as __builtins__  # type: ignore[no-redef]  # noqa: F401
from ctxdispatch.ir.rewrite import substitute
from ctxdispatch.ir.values import Const, Operand, Value

Renamed = dict[Value, Operand]


def spell_out(graph: Graph, asked: Container[Any], calls: bool) -> None:
    """In place."""
    renamed: Renamed = {}
    for block in graph.blocks:
        block.ops = [new for op in block.ops for new in _spelled(op, renamed, asked, calls)]
    substitute(graph, renamed)


def is_spelled_out(op: Op, asked: Container[Any], calls: bool) -> bool:
    """`asked`: the syntax that is dispatched; `calls`: whether calls are."""
    if type(op.fn) is not Instruction:
        return False
    return (calls and op.fn.name in _ROWS) or _FOR_THE_ASKING.get(op.fn.name) in asked


def _spelled(op: Op, renamed: Renamed, asked: Container[Any], calls: bool) -> list[Op]:
    if not is_spelled_out(op, asked, calls):
        return [op]
    if op.fn.name in AWAITED:
        return _awaited(op)
    return _ROWS.get(op.fn.name, _pattern)(op, renamed)


def _before(methods: Callable[[Any], tuple[Any, Any]]) -> Callable[[Op, Renamed], list[Op]]:
    def row(op: Op, renamed: Renamed) -> list[Op]:
        value, leave = op.results
        pair, enter = Value("methods"), Value("enter")
        return [
            Op(Const(methods), [*op.args], [pair], pos=op.pos),
            Op(Const(primitives.unpack), [pair, Const(2)], [enter, leave], pos=op.pos, syntax=True),
            Op(enter, [], [value], pos=op.pos),
        ]

    return row


def _except(op: Op, renamed: Renamed) -> list[Op]:
    """The instruction leaves its operands, and the result on top of them."""
    result, *left = op.results
    renamed.update(zip(left, reversed(op.args)))
    leave, exc = op.args[0], op.args[-1]
    args = Value("args")
    return [
        Op(Const(primitives.exit_arguments), [exc], [args], pos=op.pos),
        Op(Const(primitives.call_ex), [leave, args], [result], pos=op.pos, syntax=True),
    ]


def _super(op: Op, renamed: Renamed) -> list[Op]:
    name, two = op.fn.arg
    proxy = Value("super")
    return [
        Op(Const(primitives.super_object), [*op.args, Const(bool(two))], [proxy], pos=op.pos),
        Op(Const(getattr), [proxy, Const(name)], op.results, pos=op.pos, syntax=True),
    ]


def _pattern(op: Op, renamed: Renamed) -> list[Op]:
    result, *left = op.results
    renamed.update(zip(left, reversed(op.args)))
    args = [*op.args]
    if op.fn.name == "MATCH_CLASS":
        args.insert(2, Const(op.fn.arg))
    return [Op(Const(PATTERNS[op.fn.name]), args, [result], pos=op.pos, syntax=True)]


def _awaited(op: Op) -> list[Op]:
    """The instruction is given what a context has in the place of its operand."""
    value = Value("awaited")
    before = Op(Const(AWAITED[op.fn.name]), [*op.args], [value], pos=op.pos, syntax=True)
    op.args = [value]
    return [before, op]


AWAITED: dict[str, Any] = {
    "GET_AWAITABLE": primitives.awaited,
    "GET_AITER": primitives.gone_through,
    "GET_YIELD_FROM_ITER": primitives.delegated,
}

PATTERNS: dict[str, Any] = {
    "MATCH_SEQUENCE": matching.match_sequence,
    "MATCH_MAPPING": matching.match_mapping,
    "MATCH_KEYS": matching.match_keys,
    "MATCH_CLASS": matching.match_class,
}

_FOR_THE_ASKING = PATTERNS | AWAITED

_ROWS: dict[str, Callable[[Op, Renamed], list[Op]]] = {
    "BEFORE_WITH": _before(primitives.with_methods),
    "BEFORE_ASYNC_WITH": _before(primitives.async_with_methods),
    "WITH_EXCEPT_START": _except,
    "LOAD_SUPER_ATTR": _super,
}

HELPERS = (
    primitives.with_methods,
    primitives.async_with_methods,
    primitives.exit_arguments,
    primitives.super_object,
)
"""They run nothing of the user's; nobody is told of them."""
