"""Handlers: displays, unpacking, f-strings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ctxdispatch.bytecode.machine import NULL, Handler, Machine
from ctxdispatch.ir import primitives
from ctxdispatch.ir.values import Const, Operand, Value

# -- displays --------------------------------------------------------------------------------------


def build(function: Callable[..., Any], width: int = 1) -> Handler:
    def handler(m: Machine, arg: int) -> None:
        m.stack.append(m.syntax(function, *m.pop(arg * width)))

    return handler


def build_const_key_map(m: Machine, arg: int) -> None:
    *values, keys = m.pop(arg + 1)
    assert isinstance(keys, Const)
    pairs = [operand for key, value in zip(keys.value, values) for operand in (Const(key), value)]
    m.stack.append(m.syntax(primitives.build_map, *pairs))


def add_to(function: Callable[..., Any], width: int = 1) -> Handler:
    """Into the container that is `arg` deep, below what is added."""

    def handler(m: Machine, arg: int) -> None:
        added = m.pop(width)
        m.syntax(function, m.stack[-arg], *added)

    return handler


def list_extend(m: Machine, arg: int) -> None:
    """`[1, 2, 3]` is compiled to an empty list that is extended by a constant: a display again."""
    items, target = m.stack.pop(), m.stack[-arg]
    display = m.just_made(target, primitives.build_list)
    if display is not None and isinstance(items, Const) and type(items.value) is tuple:
        display.args += [Const(item) for item in items.value]
    else:
        m.syntax(primitives.list_extend, target, items)


def dict_merge(m: Machine, arg: int) -> None:
    """The callable below is there for the message: above or below a NULL, or below what stands for it in code
    that we wrote."""
    other = m.stack.pop()
    function = m.stack[-arg - 2]
    if function is NULL or (isinstance(function, Const) and function.value is None):
        function = m.stack[-arg - 3]
    m.syntax(primitives.dict_merge, m.stack[-arg], other, function)


def unpack_sequence(m: Machine, arg: int) -> None:
    _unpack(m, primitives.unpack, [Const(arg)], arg)


def unpack_ex(m: Machine, arg: int) -> None:
    before, after = arg & 0xFF, arg >> 8
    _unpack(m, primitives.unpack_ex, [Const(before), Const(after)], before + 1 + after)


def _unpack(m: Machine, function: Callable[..., Any], counts: list[Operand], n: int) -> None:
    op = m.op(Const(function), [m.stack.pop(), *counts], True)
    op.results = [Value() for _ in range(n)]
    m.stack += op.results[::-1]


# -- f-strings -------------------------------------------------------------------------------------

CONVERSIONS = [Const(None), Const(str), Const(repr), Const(ascii)]


def format_value(m: Machine, arg: int) -> None:
    """Bits 0 and 1 are the conversion, bit 2 is set where there is a format."""
    spec = m.pop(1) if arg & 4 else []
    conversion = [CONVERSIONS[arg & 3]] if arg else []
    m.stack.append(m.syntax(primitives.format_value, m.stack.pop(), *conversion, *spec))


def format_simple(m: Machine, arg: int) -> None:
    format_value(m, 0)


def format_with_spec(m: Machine, arg: int) -> None:
    format_value(m, 4)


def convert_value(m: Machine, arg: int) -> None:
    m.stack.append(m.syntax(CONVERSIONS[arg].value, m.stack.pop()))


#: By opname, where all versions agree.
SHARED: dict[str, Handler] = {
    "BUILD_TUPLE": build(primitives.build_tuple),
    "BUILD_LIST": build(primitives.build_list),
    "BUILD_SET": build(primitives.build_set),
    "BUILD_MAP": build(primitives.build_map, width=2),
    "BUILD_STRING": build(primitives.build_string),
    "BUILD_CONST_KEY_MAP": build_const_key_map,
    "LIST_APPEND": add_to(primitives.list_append),
    "SET_ADD": add_to(primitives.set_add),
    "MAP_ADD": add_to(primitives.map_add, width=2),
    "LIST_EXTEND": list_extend,
    "SET_UPDATE": add_to(primitives.set_update),
    "DICT_UPDATE": add_to(primitives.dict_update),
    "DICT_MERGE": dict_merge,
    "UNPACK_SEQUENCE": unpack_sequence,
    "UNPACK_EX": unpack_ex,
}
