"""The names in functions that a scalar program has taken in: what they stand for, and which guards say so.

Numbers and arrays stay reads, which the host does before the kernel; functions, modules and classes are
constants, and so are objects, whose attributes are read like variables.
"""

from __future__ import annotations

import builtins
import functools
from abc import ABCMeta
from collections.abc import Callable, Mapping
from types import CellType as CellOf
from types import FunctionType, MemberDescriptorType, MethodType, ModuleType
from typing import Any

import numpy as np

from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Block, Graph, Op
from ctxdispatch.ir.rewrite import substitute
from ctxdispatch.ir.values import Const, Operand, Value
from ctxdispatch.ir.wrappers import called, is_bound, is_wrapper, parts
from ctxdispatch.passes import types as T
from ctxdispatch.passes.guards import AttrIs, AttrType, CellIs, CellType, ClassHolds, Guard, PathIs, PathType
from ctxdispatch.passes.held import has_plain_dict
from ctxdispatch.passes.inline import emit_before
from ctxdispatch.passes.resolve import (
    call_guard,
    class_attribute,
    is_code,
    is_data_descriptor,
    property_getter,
)
from ctxdispatch.passes.types import is_literal, operand_type
from ctxdispatch_contexts.derivatives.namespaces import is_of_ours
from ctxdispatch_contexts.programs.errors import Opaque
from ctxdispatch_contexts.programs.objects import open_wrapper
from ctxdispatch_contexts.programs.targets import read_method

Assume = Callable[[Guard], None]

UNKNOWN: Any = object()


def resolve_names(graph: Graph, assume: Assume, cells: Mapping[Value, CellOf]) -> bool:
    """Put constants in the place of names, in place; whether there were any. `cells`: the graph's own."""
    mapping: dict[Value, Operand] = {}
    for block in graph.blocks:
        for op in block.ops:
            found = _resolved(op, assume, cells)
            if found is not None:
                mapping[op.result] = found
        block.ops = [op for op in block.ops if not (op.results and op.result in mapping)]
    substitute(graph, mapping)
    return bool(mapping)


def _resolved(op: Op, assume: Assume, cells: Mapping[Value, CellOf]) -> Const | None:
    args = [cells.get(a) or _constant(a) if isinstance(a, Value) else a.value for a in op.args]
    if op.kwnames or any(a is UNKNOWN for a in args):
        return None
    if op.fn is primitives.load_global:
        return _global(op, args[0], args[1], assume)
    if op.fn is read_method and args[1] in getattr(args[0], "__dict__", ()):
        return None  # it raises: the class's method was taken already
    if op.fn in (getattr, read_method) and len(args) == 2:
        return _attribute(op, args[0], args[1], assume)
    if op.fn is primitives.cell_get:
        return _cell(op, args[0], assume)
    return None


def _constant(value: Value) -> Any:
    """What it is, where guards say so."""
    type_ = operand_type(value)
    return type_.value if isinstance(type_, T.Known) else UNKNOWN


def _global(op: Op, namespace: dict[str, Any], name: str, assume: Assume) -> Const | None:
    value = namespace.get(name, vars(builtins).get(name, UNKNOWN))
    if value is UNKNOWN:
        return None
    if is_of_ours(namespace):
        return Const(value)
    path = (name,)
    return _found(op, value, assume, lambda t: PathType(namespace, path, t), PathIs(namespace, path, value))


def _cell(op: Op, cell: Any, assume: Assume) -> Const | None:
    try:
        value = cell.cell_contents
    except ValueError:
        return None
    return _found(op, value, assume, lambda t: CellType(cell, t), CellIs(cell, value))


def _found(
    op: Op, value: Any, assume: Assume, typed: Callable[[T.Type], Guard], same: Guard
) -> Const | None:
    """Numbers and arrays are read on every call, and only their type is taken for granted."""
    if type(value) in (int, float, bool, np.ndarray) or isinstance(value, np.generic):
        if op.result.type in (None, T.Any):
            op.result.type = T.type_of(value)
            assume(typed(op.result.type))
        return None
    assume(same)
    return Const(value)


# -- attributes ----------------------------------------------------------------------------------------------


def _attribute(op: Op, owner: Any, name: str, assume: Assume) -> Const | None:
    """Of a module or a class, or of an object whose attributes are found without running code. A property's
    getter is called, and taken in."""
    if issubclass(type(owner), ModuleType) and owner.__name__ in CONSTANT and hasattr(owner, name):
        return Const(getattr(owner, name))  # math.pi and the like
    if not issubclass(type(owner), (ModuleType, type)):
        getter = property_getter(T.Exact(type(owner)), name)
        if getter is not None:
            op.callee, op.args, op.syntax = Const(getter[0]), [Const(owner)], False
            assume(getter[1])
            return None
    if not _is_plain(owner, name):
        return None
    value = getattr(owner, name)
    if is_bound(value):
        return _bound(owner, name, value, assume)
    if not _is_lasting(value):
        return None
    return _found(op, value, assume, lambda t: AttrType(owner, name, t), AttrIs(owner, name, value))


def _bound(owner: Any, name: str, method: Any, assume: Assume) -> Const:
    """A decorated method, another object each time: it is what the class and the decorator make it."""
    cls = owner if issubclass(type(owner), type) else type(owner)
    home = next(c for c in cls.__mro__ if name in vars(c))
    assume(ClassHolds(home, name, vars(home)[name]))
    for part, value in parts(method._self_parent).items():
        assume(AttrIs(method._self_parent, part, value))
    return Const(method)


CONSTANT = ("math", "cmath", "numpy")


def _is_plain(owner: Any, name: str) -> bool:
    """Reading the attribute runs no code of the user's, and finds something."""
    cls = type(owner)
    if issubclass(type(owner), (ModuleType, type)):
        return cls in (ModuleType, type, ABCMeta) and hasattr(owner, name)
    computed = class_attribute(cls, "__getattribute__") is not object.__getattribute__
    if computed or type(cls) not in (type, ABCMeta):
        return False
    found = class_attribute(cls, name)
    if type(found) is MemberDescriptorType:  # a slot
        return hasattr(owner, name)
    if found is None or not is_data_descriptor(found):
        if name in getattr(owner, "__dict__", ()) or type(found) in METHODS or is_wrapper(type(found)):
            return True
        return found is not None and not hasattr(found, "__get__")
    return False


METHODS = (FunctionType, classmethod, staticmethod)


def _is_lasting(value: Any) -> bool:
    """A number, an array, or what a program may take as it is: code, a choice (a string, None), an object
    whose attributes are read one by one. What a list or dict holds may change."""
    return (
        is_code(value)
        or is_literal(value)
        or type(value) in (MethodType, functools.partial, np.ndarray)
        or isinstance(value, np.generic)
        or has_plain_dict(value, type(value))
    )


# -- callees -------------------------------------------------------------------------------------------------


def see_through(block: Block, op: Op, assume: Assume) -> None:
    """A call of a method, a partial, or an object with a `__call__` is one of a function, in place. The
    keywords of a partial are variables: they may be assigned to."""
    while open_wrapper(assume, block, op):
        pass
    callee = op.fn
    if type(callee) is MethodType:
        op.callee, op.args, op.syntax = Const(callee.__func__), [Const(callee.__self__), *op.args], False
    elif type(callee) is functools.partial:
        emit, names = emit_before(block, op), [k for k in callee.keywords if k not in op.kwnames]
        given = [emit(primitives.load_global, Const(callee.keywords), Const(name)) for name in names]
        op.args = [*map(Const, callee.args), *op.args, *given]
        op.callee, op.kwnames, op.syntax = Const(callee.func), (*op.kwnames, *names), False
    elif not isinstance(callee, Opaque) and has_plain_dict(callee, type(callee)):
        function = called(type(callee))
        if function is None:
            return
        assume(call_guard(type(callee)))
        op.callee, op.args, op.syntax = Const(function), [Const(callee), *op.args], False
    else:
        return
    see_through(block, op, assume)
