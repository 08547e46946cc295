"""Lifting: a function's bytecode becomes an SSA graph.

    flow.decode, flow.spans     instructions and basic blocks
    Machine.run                 each instruction's handler (the version's LIFT table) writes ops
    prune                       superfluous parameters and blocks go

Invariant: a code object is lifted whole, or `UnsupportedSyntax` says what is in the way.
"""

from __future__ import annotations

import dis
import inspect
from types import CellType, CodeType, FunctionType
from typing import Any

from ctxdispatch.bytecode import flow, stackops, tables
from ctxdispatch.bytecode.errors import UnsupportedSyntax
from ctxdispatch.bytecode.machine import Handler, Machine, empty_graph
from ctxdispatch.bytecode.original import recall
from ctxdispatch.bytecode.sites import SITE, folded, lift_plain
from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Graph, Return
from ctxdispatch.ir.prune import prune
from ctxdispatch.ir.values import Const

ASYNC = inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR | inspect.CO_ITERABLE_COROUTINE
FUNCTION = inspect.CO_OPTIMIZED | inspect.CO_NEWLOCALS


def lift(function: FunctionType) -> Graph:
    """The graph of a Python function. Its parameters are the bound arguments in `signature` order."""
    return lift_code(function.__code__, function.__globals__, function.__closure__ or ())


def lift_code(
    code: CodeType, namespace: dict[str, Any], closure: tuple[CellType, ...] = (), *, handlers: bool = True
) -> Graph:
    """The graph of a function's code object; `namespace` is what its global names mean. The `closure` matters
    for generated code alone. Without `handlers` it is the graph of what runs where nothing is raised."""
    if is_generator(code):
        raise _refuse("generator function", code, code.co_firstlineno)
    return recall(code, closure, namespace) or _lift(code, namespace, HANDLERS, handlers)


def is_generator(code: CodeType) -> bool:
    """Of a generator function or expression."""
    return bool(code.co_flags & inspect.CO_GENERATOR) and not code.co_flags & ASYNC


def lift_generator(code: CodeType, namespace: dict[str, Any], *, handlers: bool = True) -> Graph:
    """The graph of what a generator does, from its first item to its end: a function that calls
    `primitives.yielded` with each item. For a consumer that sends nothing and asks for no result
    (`passes/generators.py`). Without `handlers` that of what it does where nothing is raised, also at its
    `yield`, and it is resumed until it ends (`passes/managers.py`)."""
    if not is_generator(code):
        raise ValueError(f"{code.co_qualname} is no generator")
    if _uses_result(flow.decode(code)):
        raise _refuse("the result of `yield from`", code, code.co_firstlineno)
    return _lift(code, namespace, GENERATOR, handlers)


def _lift(
    code: CodeType, namespace: dict[str, Any], handlers: list[Handler], refuse: bool = True
) -> Graph:
    if code.co_flags & ASYNC:
        raise _refuse("async", code, code.co_firstlineno)
    if code.co_flags & FUNCTION != FUNCTION:
        raise _refuse("class body or module", code, code.co_firstlineno)
    instructions, found = folded(code, flow.decode(code))
    order = flow.spans(instructions)
    if code.co_exceptiontable and refuse:
        _refuse_handlers(code, instructions, order)
    graph = empty_graph(code, namespace)
    machine = Machine(code, graph, handlers)
    machine.sites = found
    machine.run(order)
    return prune(graph)


# -- exception handlers ----------------------------------------------------------------------------

CONSTRUCTS = {
    "WITH_EXCEPT_START": "with",
    "CHECK_EG_MATCH": "try/except*",
    "CHECK_EXC_MATCH": "try/except",
    "POP_TOP": "try/except",
}
"""By which a handler is known: the first of these that it holds. A `finally` starts without any."""

HANDLER_ENDS = ("RERAISE", "POP_EXCEPT")


def _refuse_handlers(code: CodeType, instructions: list[flow.Instruction], order: list[flow.Span]) -> None:
    """Those that begin with PUSH_EXC_INFO. The others only restore a comprehension's variables and re-raise,
    or turn StopIteration into RuntimeError around a generator."""
    index = {i.start: k for k, i in enumerate(instructions)}
    for entry in dis._parse_exception_table(code):  # type: ignore[attr-defined]
        start, end, target = entry.start // 2, entry.end // 2, index[entry.target // 2]
        if _opname(instructions[target]) == "PUSH_EXC_INFO" and _reached(order, start, end):
            construct = _construct(instructions[target + 1 :])
            first = instructions[target] if construct == "with" else _statement(instructions, index[start])
            raise _refuse(construct, code, list(code.co_positions())[first.unit][0])


def _reached(order: list[flow.Span], start: int, end: int) -> bool:
    return any(span.start < end and span.end > start for span in order)


def _construct(handler: list[flow.Instruction]) -> str:
    for name in map(_opname, handler):
        if name in CONSTRUCTS:
            return CONSTRUCTS[name]
        if name in HANDLER_ENDS:
            break
    return "try/finally"


def _statement(instructions: list[flow.Instruction], k: int) -> flow.Instruction:
    """The NOP that `try:` leaves before its body, else the body."""
    return instructions[k - 1] if k and _opname(instructions[k - 1]) == "NOP" else instructions[k]


def _opname(instruction: flow.Instruction) -> str:
    return dis.opname[instruction.opcode]


def _refuse(construct: str, code: CodeType, line: int | None) -> UnsupportedSyntax:
    return UnsupportedSyntax(construct, code.co_filename, line, code.co_qualname)


# -- generators ------------------------------------------------------------------------------------


def _start(m: Machine, arg: int) -> None:
    """The value that the generator is first resumed with is popped next."""
    m.stack.append(_none(m))


def _yield(m: Machine, arg: int) -> None:
    m.syntax(primitives.yielded, m.stack.pop())
    m.stack.append(_none(m))


def _none(m: Machine) -> Const:
    """What the generator is sent: the code's own constant, as `yield from` begins with that."""
    return next((const for const in m.consts if const.value is None), Const(None))


def _uses_result(instructions: list[flow.Instruction]) -> bool:
    """Of `yield from`."""
    index = {i.start: k for k, i in enumerate(instructions)}
    ends = [index[i.arg] for i in instructions if _opname(i) == "SEND"]
    return any(_opname(instructions[k + (_opname(instructions[k]) == "END_SEND")]) != "POP_TOP" for k in ends)


def _finish(m: Machine, arg: int) -> None:
    m.end(Return(Const(None), m.position()))


GENERATORS: dict[str, Handler] = {
    "RETURN_GENERATOR": _start,
    "YIELD_VALUE": _yield,
    "RETURN_VALUE": _finish,
    "RETURN_CONST": _finish,
}


CONSTRUCT_OF = {
    "CALL_INTRINSIC_2": "type parameters",
    "GET_AITER": "async",
    "LOAD_FROM_DICT_OR_DEREF": "type parameters",
    "LOAD_FROM_DICT_OR_GLOBALS": "type parameters",
}
"""What the source calls an instruction that has no handler."""


def _by_opcode(table: dict[str, Handler]) -> list[Handler]:
    return [table.get(name, stackops.unsupported(CONSTRUCT_OF.get(name, name))) for name in dis.opname]


HANDLERS = _by_opcode(tables.LIFT | {SITE: lift_plain})
GENERATOR = _by_opcode(tables.LIFT | {SITE: lift_plain} | GENERATORS)
