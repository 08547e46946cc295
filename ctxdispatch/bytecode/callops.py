"""Handlers: names, attributes, calls, `super`, cells, functions, imports, `match`.

What CPython pushes for a call is a callable and NULL, or a callable and its first argument; in which order
depends on the version, and does not matter here.
"""

from __future__ import annotations

import builtins
from typing import Any

from ctxdispatch.bytecode.machine import NULL, Handler, Machine
from ctxdispatch.bytecode.pool import Held
from ctxdispatch.ir import matching, primitives
from ctxdispatch.ir.frames import SPECIAL_METHODS
from ctxdispatch.ir.values import UNDEF, Const, Operand

NONE = Const(None)

# -- names and attributes --------------------------------------------------------------------------


def push_callable(m: Machine, value: Operand) -> None:
    m.stack += (NULL, value)


def load_global(m: Machine, arg: int) -> None:
    value = m.syntax(primitives.load_global, m.namespace, m.name(arg >> 1))
    if m.hides_frame and m.code.co_names[arg >> 1] == "super":
        m.supers.add(value)
    if arg & 1:
        m.stack.append(NULL)
    m.stack.append(value)


def store_global(m: Machine, arg: int) -> None:
    m.syntax(primitives.store_global, m.namespace, m.name(arg), m.stack.pop())


def delete_global(m: Machine, arg: int) -> None:
    m.syntax(primitives.delete_global, m.namespace, m.name(arg))


def builtin(name: str) -> Handler:
    def handler(m: Machine, arg: int) -> None:
        m.stack.append(m.syntax(primitives.load_global, m.namespace, Const(name)))

    return handler


def load_assertion_error(m: Machine, arg: int) -> None:
    m.stack.append(Const(AssertionError))


def attribute(m: Machine, arg: int) -> Operand:
    owner = m.stack.pop()
    if isinstance(owner, Const) and type(owner.value) is Held:
        return Const(owner.value.value, owner.pos)
    return m.syntax(builtins.getattr, owner, m.name(arg))


def load_attr(m: Machine, arg: int) -> None:
    m.stack.append(attribute(m, arg))


def load_method(m: Machine, arg: int) -> None:
    push_callable(m, attribute(m, arg))


def load_attr_or_method(m: Machine, arg: int) -> None:
    (load_method if arg & 1 else load_attr)(m, arg >> 1)


def store_attr(m: Machine, arg: int) -> None:
    value, owner = m.pop(2)
    m.syntax(builtins.setattr, owner, m.name(arg), value)


def delete_attr(m: Machine, arg: int) -> None:
    m.syntax(builtins.delattr, m.stack.pop(), m.name(arg))


# -- calls -----------------------------------------------------------------------------------------


def kw_names(m: Machine, arg: int) -> None:
    m.kwnames = m.code.co_consts[arg]


def call(m: Machine, arg: int) -> None:
    args = m.pop(arg)
    kwnames, m.kwnames = m.kwnames, ()
    _call(m, args, kwnames)


def call_kw(m: Machine, arg: int) -> None:
    names = m.stack.pop()
    assert isinstance(names, Const)
    _call(m, m.pop(arg), names.value)


def _call(m: Machine, args: list[Operand], kwnames: tuple[str, ...]) -> None:
    lower, upper = m.pop(2)
    bare = lower is not NULL and upper is not NULL
    if upper is NULL:
        callee = lower
    elif lower is NULL:
        callee = upper
    else:
        callee, args = lower, [upper, *args]
    if not args and callee in m.supers:
        args = super_arguments(m)
    op = m.op(callee, args, False, kwnames)
    op.bare = bare
    m.stack.append(op.results[0])


def call_function_ex(m: Machine, arg: int) -> None:
    """Through `primitives.call_ex`: the op's callee takes the function as its first operand."""
    arguments = m.pop(1 + (arg & 1))
    lower, upper = m.pop(2)
    callee = lower if upper is NULL else upper
    m.stack.append(m.op(Const(primitives.call_ex), [callee, *arguments], False).results[0])


# -- with ------------------------------------------------------------------------------------------


def special(m: Machine, manager: Operand, name: str) -> Operand:
    return m.syntax(primitives.special_method, manager, Const(name))


def before_with(m: Machine, arg: int) -> None:
    """What leaves stays below what entering gives."""
    manager = m.stack.pop()
    enter, leave = (special(m, manager, name) for name in SPECIAL_METHODS[:2])
    m.stack += [leave, m.op(enter, [], False).results[0]]


# -- super -----------------------------------------------------------------------------------------


def means_super(m: Machine) -> bool:
    """Whether the global name `super` is the builtin. A rebound one gets no hidden arguments."""
    try:
        return primitives.load_global(m.namespace.value, "super") is builtins.super
    except NameError:
        return False


def super_arguments(m: Machine) -> list[Operand]:
    """What `super()` finds in the frame, which in transformed code is another one."""
    if "__class__" not in m.code.co_freevars or not m.code.co_argcount or not means_super(m):
        return []
    if m.locals[0] is UNDEF:
        return []
    load_deref(m, m.names.index("__class__", m.frees))
    (load_deref if m.names[0] in m.code.co_cellvars else _load_local)(m, 0)
    return m.pop(2)


def _load_local(m: Machine, arg: int) -> None:
    m.stack.append(m.locals[arg])


def load_super_attr(m: Machine, arg: int) -> None:
    """Bit 0: a method; bit 1: `super` was written with its two arguments."""
    function, *arguments = m.pop(3)
    given = arguments if arg & 2 or means_super(m) else []
    m.stack.append(m.op(function, given, False).results[0])
    (load_method if arg & 1 else load_attr)(m, arg >> 2)


# -- cells and functions ---------------------------------------------------------------------------


def make_cell(m: Machine, arg: int) -> None:
    content = m.locals[arg]
    cell = m.syntax(primitives.make_cell, *([] if content is UNDEF else [content]))
    cell.name = m.names[arg]
    m.locals[arg] = cell


def load_closure(m: Machine, arg: int) -> None:
    m.stack.append(m.locals[arg])


def load_deref(m: Machine, arg: int) -> None:
    m.stack.append(m.syntax(primitives.cell_get, *_cell(m, arg)))


def store_deref(m: Machine, arg: int) -> None:
    m.syntax(primitives.cell_set, m.locals[arg], m.stack.pop())


def delete_deref(m: Machine, arg: int) -> None:
    m.syntax(primitives.cell_delete, *_cell(m, arg))


def _cell(m: Machine, arg: int) -> list[Operand]:
    """The cell, its name and, for one of the closure, that it is free."""
    free: list[Operand] = [Const(True)] if arg >= m.frees else []
    return [m.locals[arg], Const(m.names[arg]), *free]


PARTS = {1: 2, 2: 3, 4: 4, 8: 5, 16: 6}
"""Per flag of a function's part the operand of `primitives.make_function` that it is."""


def make_function(m: Machine, arg: int) -> None:
    """The parts lie in the order of their flags below the code."""
    code = m.stack.pop()
    parts: list[Any] = [m.namespace, code, NONE, NONE, NONE, NONE]
    for flag in reversed(PARTS):
        if arg & flag:
            parts[PARTS[flag]] = m.stack.pop()
    m.stack.append(m.syntax(primitives.make_function, *parts))


def set_function_attribute(m: Machine, arg: int) -> None:
    """Always right behind MAKE_FUNCTION: the part joins its operands."""
    part, function = m.pop(2)
    op = m.block.ops[-1]
    assert op.results[0] is function
    op.args += [NONE] * (PARTS[arg] + 1 - len(op.args))
    op.args[PARTS[arg]] = part
    m.stack.append(function)


# -- imports ---------------------------------------------------------------------------------------


def import_name(m: Machine, arg: int) -> None:
    level, names = m.pop(2)
    m.stack.append(m.syntax(primitives.import_name, m.namespace, m.name(arg), names, level))


def import_from(m: Machine, arg: int) -> None:
    m.stack.append(m.syntax(primitives.import_from, m.stack[-1], m.name(arg)))


# -- match -----------------------------------------------------------------------------------------


def get_len(m: Machine, arg: int) -> None:
    m.stack.append(m.syntax(builtins.len, m.stack[-1]))


def match_sequence(m: Machine, arg: int) -> None:
    m.stack.append(m.test(matching.match_sequence, m.stack[-1]))


def match_mapping(m: Machine, arg: int) -> None:
    m.stack.append(m.test(matching.match_mapping, m.stack[-1]))


def match_keys(m: Machine, arg: int) -> None:
    m.stack.append(m.syntax(matching.match_keys, *m.stack[-2:]))


def match_class(m: Machine, arg: int) -> None:
    subject, cls, names = m.pop(3)
    m.stack.append(m.syntax(matching.match_class, subject, cls, Const(arg), names))


#: By opname, where all versions agree.
SHARED: dict[str, Handler] = {
    "LOAD_GLOBAL": load_global,
    "STORE_GLOBAL": store_global,
    "DELETE_GLOBAL": delete_global,
    "LOAD_BUILD_CLASS": builtin("__build_class__"),
    "LOAD_ASSERTION_ERROR": load_assertion_error,
    "STORE_ATTR": store_attr,
    "DELETE_ATTR": delete_attr,
    "CALL": call,
    "CALL_FUNCTION_EX": call_function_ex,
    "MAKE_CELL": make_cell,
    "LOAD_DEREF": load_deref,
    "STORE_DEREF": store_deref,
    "DELETE_DEREF": delete_deref,
    "MAKE_FUNCTION": make_function,
    "IMPORT_NAME": import_name,
    "IMPORT_FROM": import_from,
    "GET_LEN": get_len,
    "MATCH_SEQUENCE": match_sequence,
    "MATCH_MAPPING": match_mapping,
    "MATCH_KEYS": match_keys,
    "MATCH_CLASS": match_class,
    "BEFORE_WITH": before_with,
}
