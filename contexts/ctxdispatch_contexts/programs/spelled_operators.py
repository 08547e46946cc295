"""Operators on objects of the user's, spelled as what they mean there.

a += b        a.__iadd__(b); where the class has none: a = a + b
a != b        not a == b, where neither class says what it is
x not in a    not x in a
if a, not a   a.__bool__(), or len(a) != 0
"""

from __future__ import annotations

import builtins
import functools
import inspect
import operator
from collections.abc import Sequence
from types import BuiltinFunctionType, FunctionType
from typing import TYPE_CHECKING, Any

from ctxdispatch.dispatch.reach import HEAPTYPE
from ctxdispatch.facts import INPLACE
from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Block, Graph, Op
from ctxdispatch.ir.rewrite import substitute
from ctxdispatch.ir.values import Const, Operand, Value
from ctxdispatch.passes import types as T
from ctxdispatch.passes.guards import ABSENT, AttrIs, ClassHolds, Guard
from ctxdispatch.passes.inline import emit_before
from ctxdispatch.passes.python_types import extends
from ctxdispatch.passes.resolve import class_attribute
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.programs.declined import by_left_alone
from ctxdispatch_contexts.programs.objects import REFLECTED, has_other, method_of_type

if TYPE_CHECKING:
    from ctxdispatch_contexts.programs.prepare import Prepared


def spell_out_operator(prepared: Prepared, block: Block, op: Op) -> bool:
    """In place; whether it was one."""
    if op.kwnames or not op.args or not op.results:
        return False
    if op.fn in INPLACE:
        return _in_place(prepared, op)
    if op.fn in _OPPOSITES:
        return _opposite(prepared, block, op)
    return op.fn in _TRUTH and _truth(prepared, op)


# -- of what cannot change, and of lists ---------------------------------------------------------------------


def plain_operator(op: Op) -> None:
    """`a += b` on what cannot change is `a = a + b`, and `pow(base=a, exp=b)` is `pow(a, b)`."""
    _by_position(op)
    fn = op.fn
    cls = T.cls_of(operand_type(op.args[0])) if fn in INPLACE else None
    if cls is not None and issubclass(cls, (*_FIXED, *_scalars())):
        op.callee = Const(INPLACE[fn])


_FIXED = (int, float, complex, bool, str, bytes, tuple, frozenset)


def _by_position(op: Op) -> None:
    """The operands of a builtin whose signature says in which order."""
    if not op.kwnames or type(op.fn) is not BuiltinFunctionType or op.fn.__module__ != "builtins":
        return
    names = _positions(op.fn)[: len(op.args)]
    n = len(op.args) - len(op.kwnames)
    given = dict(zip((*names[:n], *op.kwnames), op.args))
    if given.keys() == {*names} and len(names) == len(op.args):
        op.args, op.kwnames = [given[name] for name in names], ()


@functools.cache
def _positions(fn: Any) -> tuple[str, ...]:
    """The names of parameters that may be given by position as well as by name, and numbers for those before;
    none where there are others."""
    try:
        parameters = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):
        return ()
    by_place = all(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)
    of_place = (f"{i}" if p.kind is p.POSITIONAL_ONLY else p.name for i, p in enumerate(parameters))
    return tuple(of_place) if by_place else ()


def extends_list(graph: Graph, op: Op) -> bool:
    """`xs += ys` of lists. True where something was changed."""
    if op.fn is not operator.iadd or not extends(*map(operand_type, op.args)):
        return False
    substitute(graph, {op.result: op.args[0]})
    op.callee, op.results, op.syntax = Const(list.extend), [Value()], False
    return True


@functools.cache
def _scalars() -> tuple[type, ...]:
    import numpy as np

    return (np.generic,)


# -- in place ------------------------------------------------------------------------------------------------


def _in_place(prepared: Prepared, op: Op) -> bool:
    """On an object whose class has Python methods for it, or for the operator itself."""
    name = f"__{op.fn.__name__.rstrip('_')}__"
    cls = T.cls_of(operand_type(op.args[0]))
    if cls is None or has_other(operand_type(op.args[0]), name):
        return False
    own, binary = class_attribute(cls, name), INPLACE[op.fn]
    if type(own) is FunctionType:
        op.args = [Const(own), Const(binary), *op.args]
        op.callee, op.syntax = Const(by_left_alone), False
    elif own is None and method_of_type(operand_type(op.args[0]), REFLECTED[binary][0]) is not None:
        op.callee = Const(binary)
    else:
        return False
    prepared.assume_all([AttrIs(cls, name, own)] if own is not None else _lacks(cls, name))
    return True


def _lacks(cls: type, name: str) -> list[Guard]:
    """Neither the class nor what it comes of has it."""
    return [ClassHolds(each, name, ABSENT) for each in cls.__mro__ if each.__flags__ & HEAPTYPE]


# -- what is true where another is not -----------------------------------------------------------------------


_OPPOSITES = {operator.ne: operator.eq, primitives.not_contains: operator.contains}


def _opposite(prepared: Prepared, block: Block, op: Op) -> bool:
    asked = _OPPOSITES[op.fn]
    if asked is operator.eq:
        classes = [T.cls_of(operand_type(a)) for a in op.args]
        if not _say_nothing(prepared, classes, "__ne__") or not any(_has(a, "__eq__") for a in op.args):
            return False
    elif not _has(op.args[0], "__contains__"):
        return False
    found = emit_before(block, op)(asked, *op.args)
    op.callee, op.args, op.syntax = Const(operator.not_), [found], True
    return True


def _say_nothing(prepared: Prepared, classes: Sequence[type | None], name: str) -> bool:
    """They have what every object has."""
    common = getattr(object, name)
    for cls in classes:
        if cls is None or class_attribute(cls, name) is not common:
            return False
        prepared.assume(AttrIs(cls, name, common))
    return True


def _has(operand: Operand, name: str) -> bool:
    return method_of_type(operand_type(operand), name) is not None


# -- truth ---------------------------------------------------------------------------------------------------


_TRUTH = {builtins.bool: True, operator.truth: True, operator.not_: False}


def _truth(prepared: Prepared, op: Op) -> bool:
    cls = T.cls_of(operand_type(op.args[0]))
    if cls is None or len(op.args) != 1:
        return False
    for name, by in (("__bool__", by_bool), ("__len__", by_length)):
        found = class_attribute(cls, name)
        if type(found) is FunctionType:
            prepared.assume(AttrIs(cls, name, found))
            op.args = [Const(found), Const(_TRUTH[op.fn]), *op.args]
            op.callee, op.syntax = Const(by), False
            return True
        if has_other(operand_type(op.args[0]), name) or found is not None:
            return False
        prepared.assume_all(_lacks(cls, name))
    return False


def by_bool(method: Any, wanted: bool, a: Any) -> Any:
    found = method(a)
    if type(found) is not bool:
        raise TypeError(f"__bool__ should return bool, returned {type(found).__name__}")
    return found is wanted


def by_length(method: Any, wanted: bool, a: Any) -> Any:
    return (method(a) != 0) is wanted
