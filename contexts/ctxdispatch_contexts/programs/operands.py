"""What is known of the operands of an op, and which entry of the derivative table is for it."""

from __future__ import annotations

import builtins
import math
from functools import partial
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from ctxdispatch.dispatch.reach import HEAPTYPE
from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Block, Op
from ctxdispatch.ir.values import Const, hashable
from ctxdispatch.passes import transfer
from ctxdispatch.passes import types as T
from ctxdispatch.passes.inline import emit_before
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.derivatives.namespaces import CMATH, MATH, NUMPY
from ctxdispatch_contexts.derivatives.table import (
    Elementwise,
    array_arguments,
    array_parameters,
    attribute_rule,
    elementwise,
    is_of_ufunc,
    takes,
    vjp_rule,
)
from ctxdispatch_contexts.programs.activity import may_turn
from ctxdispatch_contexts.programs.kinds import is_subclass


def infer_op(op: Op) -> T.Type:
    """The type of one op's result."""
    split = len(op.args) - len(op.kwnames)
    types = tuple(map(operand_type, op.args))
    return transfer.call(op.fn, types[:split], dict(zip(op.kwnames, types[split:], strict=True)))


def numeric(type_: T.Type | None) -> bool:
    """Of numbers and arrays that carry derivatives: tangents and cotangents of such values add with `+`."""
    match type_:
        case T.ArrayOf():
            return type_.dtype.kind in "fc"
        case T.Exact(cls):
            return issubclass(cls, (float, complex, np.inexact))
        case T.OneOf(classes):
            return any(numeric(T.Exact(cls)) for cls in classes)
    return False


def leaf_class(type_: T.Type) -> type | None:
    """The class of a number or array type, else None."""
    if isinstance(type_, T.OneOf):
        return next((c for c in type_.classes if c not in (int, float, bool)), float)
    cls = T.cls_of(type_)
    if cls is None or not issubclass(cls, (int, float, complex, np.number, np.bool_, np.ndarray)):
        return None
    if isinstance(type_, T.Exact) and issubclass(cls, np.ndarray):
        return None  # rank and dtype unknown; operators of a subclass may be its own (np.matrix)
    return cls


def row_for(op: Op) -> Elementwise | None:
    """The row that differentiates `op`: all operands numbers or arrays of known type, no keywords."""
    row = elementwise(op.fn)
    if row is None or op.kwnames or len(op.args) != len(row.params) or may_turn(op):
        return None
    return row if all(leaf_class(operand_type(a)) for a in op.args) else None


def make_arrays(block: Block, op: Op) -> bool:
    """Lists and tuples among the operands of an elementwise operation, as the arrays that NumPy makes of
    them: of ufuncs in any case, of operators beside an array. True where there were some."""
    row = elementwise(op.fn)
    if row is None or len(op.args) - len(op.kwnames) != len(row.params):
        return False
    types = [operand_type(a) for a in op.args[: len(row.params)]]
    lists = [i for i, t in enumerate(types) if T.cls_of(t) in (list, tuple)]
    if not lists or not (type(op.fn) is np.ufunc or any(T.cls_of(t) is np.ndarray for t in types)):
        return False
    emit = emit_before(block, op, syntax=False)
    for i in lists:
        op.args[i] = emit(np.asarray, op.args[i])
    return True


def make_lists(block: Block, op: Op) -> bool:
    """What an iterator gives, as a list, where a list is extended by it, or the rule is for sequences. True
    where there was some."""
    first = _EXTENDED.get(op.fn, 0 if _adds_up(op.fn) else None) if hashable(op.fn) else None
    iterators = [] if first is None else [i for i, a in enumerate(op.args) if i >= first and is_iterator(a)]
    emit = emit_before(block, op, syntax=False)
    for i in iterators:
        op.args[i] = emit(builtins.list, op.args[i])
    return bool(iterators)


_EXTENDED = {primitives.list_extend: 1, list.extend: 1}


def _adds_up(fn: Any) -> bool:
    """A function of numbers' module that goes through its operands."""
    return fn in (math.fsum, math.dist) or getattr(fn, "__module__", None) == "statistics"


def is_iterator(operand: Any) -> bool:
    """It has items, and no length."""
    type_ = operand_type(operand)
    return isinstance(type_, T.IterOf) or (T.cls_of(type_) is not None and _gives_items(T.cls_of(type_)))


def _gives_items(cls: Any) -> bool:
    return cls.__module__ == "builtins" and hasattr(cls, "__next__")


def namespace(op: Op) -> dict[str, Any]:
    row = elementwise(op.fn)
    if row is not None and row.library:
        return NUMPY
    classes = [leaf_class(operand_type(a)) for a in op.args]
    if all(cls in (int, float, bool) for cls in classes):
        result = leaf_class(operand_type(op.result))
        return CMATH if result is complex else MATH
    if all(cls in (int, float, bool, complex) for cls in classes):
        return CMATH
    return NUMPY


def rule_of(op: Op) -> FunctionType | None:
    """The vjp rule of what `op` does."""
    if op.fn is getattr:
        return _rule_of_attribute(op)
    try:
        rule = vjp_rule(op.fn)
    except TypeError:
        return None
    if rule is None or (op.kwnames and is_of_ufunc(op.fn) and not takes(rule, op.kwnames)):
        return None
    if any(is_function(a) or is_of_subclass(operand_type(a)) for a in op.args):
        return None  # rules call none (np.pad with one as mode), and compute with plain arrays
    return rule  # type: ignore[return-value]


def is_of_subclass(type_: T.Type) -> bool:
    """Of arrays whose operators may be Python code (np.matrix), which rules compute with."""
    if isinstance(type_, T.TupleOf):
        return any(map(is_of_subclass, type_.items))
    if isinstance(type_, T.ListOf):
        return is_of_subclass(type_.item)
    return is_subclass(T.cls_of(type_))


def is_function(operand: Any) -> bool:
    """Python code that a callee is given to call."""
    cls = T.cls_of(operand_type(operand))
    return cls is not None and issubclass(cls, (FunctionType, MethodType, partial))


def _rule_of_attribute(op: Op) -> FunctionType | None:
    cls = leaf_class(operand_type(op.args[0]))
    name = op.args[1]
    if cls is None or not isinstance(name, Const) or len(op.args) != 2:
        return None
    if callable(getattr(cls, name.value, None)):
        return None  # a method: its rule is for its calls
    return attribute_rule(cls, name.value)  # type: ignore[return-value]


def means_array(op: Op, i: int) -> bool:
    """Argument i is an array by nature, given by position or by name: a list there means one."""
    first = len(op.args) - len(op.kwnames)
    if op.fn is getattr:
        return False
    return i < array_arguments(op.fn) if i < first else op.kwnames[i - first] in array_parameters(op.fn)


def applies(op: Op) -> bool:
    """The arguments that the rule takes for arrays are arrays or numbers (or displays of such), and known to
    be."""
    if op.fn is builtins.sum:  # it adds lists as `+` does; of no arrays it is the number that it begins with
        return _has_leaves(operand_type(op.args[0])) and op.result.type is not T.Any
    arrays = op.args[:1] if op.fn is getattr else op.args[: array_arguments(op.fn) or 1]
    return all(_array_like(operand_type(a)) for a in arrays)


def may_apply(op: Op, certain: bool) -> bool:
    """With `certain` false this is run time: the rule takes what it gets."""
    return applies(op) or not (certain or _is_of_code(op))


def _is_of_code(op: Op) -> bool:
    """What the rule takes for an array is a class, or an object of one written in Python: its own code says
    what is done."""
    cls = T.cls_of(operand_type(op.args[0])) if op.args else None
    own = cls is not None and (issubclass(cls, type) or bool(cls.__flags__ & HEAPTYPE))
    return own and not issubclass(cls, (np.ndarray, list, tuple, dict, int, float, complex))  # type: ignore[arg-type]


def _has_leaves(items: T.Type) -> bool:
    if isinstance(items, T.TupleOf):
        return all(leaf_class(item) is not None for item in items.items)
    return leaf_class(items.item if isinstance(items, T.ListOf) else items) is not None


def _array_like(type_: T.Type) -> bool:
    if isinstance(type_, T.Known) and isinstance(type_.value, str):
        return True  # the subscripts of an einsum
    if isinstance(type_, T.TupleOf):
        return all(map(_array_like, type_.items))
    if isinstance(type_, T.ListOf):
        return _array_like(type_.item)
    return leaf_class(type_) is not None
