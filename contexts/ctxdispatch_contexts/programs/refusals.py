"""What is said where an op cannot be differentiated: why, and what to write instead.

`{operands}` in a message stands for what the user wrote for the operands, and their types, which are known
when it is raised.
"""

from __future__ import annotations

import operator
from types import FunctionType
from typing import Any

import numpy as np

from ctxdispatch.facts import INPLACE, READS, RUNS_TEXT, fact_of
from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Op
from ctxdispatch.ir.values import Const, Operand, hashable
from ctxdispatch_contexts.programs.derived import entry_of, makes_derivatives
from ctxdispatch_contexts.programs.errors import MissingRuleError, MutationError, Refusal, described

REMEDY = "give it one with `custom_rule`, or keep its arguments out of the derivative with `stop_gradient`"

STORES_IN_PLACE = frozenset({operator.setitem, operator.delitem, *INPLACE})


def refusal_of(op: Op, *, in_place: bool = False) -> Refusal:
    """What is called in place of `op`, for which there is no rule, or which must not change what it does
    `in_place`."""
    if in_place or (hashable(op.fn) and op.fn in STORES_IN_PLACE):
        return Refusal(MutationError, mutation_message(op), op)
    return Refusal(MissingRuleError, missing_message(op), op)


def looks_at_frame(op: Op) -> bool:
    """It reads variables that are not among its operands."""
    return op.fn is locals or op.fn in RUNS_TEXT or (op.fn is vars and not op.args)


def refusal_of_frame(op: Op) -> Refusal:
    return Refusal(MissingRuleError, _frame_message(op), op)


def _frame_message(op: Op) -> str:
    why = "it reads variables by name, out of sight"
    return f"{op.fn.__name__} has no derivative rule: {why}; write its code out, or {REMEDY}"


def refuse_floats(arg: Any, refuse: Refusal) -> None:
    """Indices, shapes and flags have no cotangent; what has floats in it should have one."""
    if _has_floats(arg):
        refuse(arg)


def _has_floats(arg: Any) -> bool:
    if isinstance(arg, (list, tuple)):
        return any(map(_has_floats, arg))
    if isinstance(arg, np.ndarray):
        return arg.dtype.kind in "fc"
    return isinstance(arg, (float, complex, np.inexact))


def no_cotangent(op: Op, operand: Operand) -> str:
    at = op.args.index(operand) - len(op.args) + len(op.kwnames)
    which = repr(op.kwnames[at]) if at >= 0 else str(at + len(op.args) - len(op.kwnames))
    return (
        f"{described(op.fn)} has no derivative with respect to its argument {which} ({{operands}}); keep "
        "that one out of the derivative with `stop_gradient`, or give the function a rule with `custom_rule`"
    )


def mutation_message(op: Op) -> str:
    """Why the store `op` is refused, and what to write instead; the types of its operands are filled in."""
    if op.fn is primitives.cell_set:
        return (
            "a variable that an inner function reads, and that depends on what is differentiated, is "
            "assigned where the derivative does not follow it (a function that calls itself, or one kept in "
            "a list); give the inner function what it needs as arguments, or make it a function of the module"
        )
    if op.fn is primitives.store_global:
        name = op.args[1].value if isinstance(op.args[1], Const) else ""
        return (
            f"the global variable {name!r} is given a value that depends on what is differentiated, and may "
            "be read again before the end; return the value, or pass `stop_gradient(...)` of it on"
        )
    if op.fn is setattr and all(isinstance(a, Const) for a in op.args[:2]):
        owner, name = (a.value for a in op.args[:2])  # type: ignore[union-attr]
        return (
            f"the attribute {name!r} of {described(owner)} is given a value that depends on what is "
            "differentiated, and may be read again before the end; return the value, or assign "
            "`stop_gradient(...)` of it"
        )
    fact = fact_of(op.fn)
    if fact is not None and not fact.known:
        return (
            f"{store_name(op)} may change, or keep, differentiated data ({{operands}}) out of sight; go "
            "through the data itself (`for v in x`), by operations on arrays and numbers"
        )
    return (
        f"{store_name(op)} changes differentiated data ({{operands}}) in place, where the derivative does "
        "not follow it; build a new value (`x = x + y`, `np.where`, `np.sort`, `sorted`, `np.concatenate`), "
        "and return what is kept for later besides (`has_aux=True`)"
    )


def store_name(op: Op) -> str:
    fn = op.fn
    if fn is None:
        return UNSEEN
    if fn in INPLACE:
        return f"in-place operator {fn.__name__}"
    return _STORE_NAMES.get(fn) or described(_called(fn))


def _called(fn: Any) -> Any:
    """What the user calls there: a function of ours may be the derivative of it."""
    entry = entry_of(fn) if type(fn) is FunctionType else None
    return fn if entry is None else getattr(entry.source, "callee", fn)


UNSEEN = "a call of what only run time knows"

_STORE_NAMES = {
    operator.setitem: "item assignment",
    operator.delitem: "item deletion",
    setattr: "attribute assignment",
    object.__setattr__: "attribute assignment",
    primitives.list_append: "list.append",
    primitives.list_extend: "list.extend",
    primitives.map_add: "item assignment",
    primitives.cell_set: "assignment",
}


def missing_message(op: Op) -> str:
    if makes_derivatives(op.fn):
        return unknown_message(op.fn)
    if op.fn in (*READS, iter, *primitives.UNPACKING):
        return f"{described(op.fn)} of ({{operands}}) has no derivative rule; {REMEDY}"
    name = "this callee" if op.fn is None else described(op.fn)
    return f"{name} has no derivative rule for ({{operands}}); {REMEDY}"


def unknown_message(fn: Any) -> str:
    """Of `grad` and its like, and of gradients."""
    return (
        f"{described(fn)} is given a function, or an option, that is not known before run time; make it "
        "where it is given, or give a function of the module, and write options out"
    )
