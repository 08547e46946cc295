"""What an op changes in place: the one place that says so."""

from __future__ import annotations

from collections.abc import Iterator
from types import FunctionType, ModuleType

import numpy as np

from ctxdispatch.facts import IMMUTABLE, INPLACE, SETS_ATTRIBUTE, Fact, fact_of, storing_methods
from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Op
from ctxdispatch.ir.values import Const, Operand, Value
from ctxdispatch.passes import outputs
from ctxdispatch.passes import types as T
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.programs.aliases import NOTHING, Objects, Sites, is_outside
from ctxdispatch_contexts.programs.methods import Method
from ctxdispatch_contexts.programs.out_of_sight import runs_python
from ctxdispatch_contexts.programs.stand_ins import call_behind


def changed(op: Op) -> tuple[Operand, ...]:
    """The operands that `op` is known to change in place; of a tuple of arrays to write into, the tuple."""
    op = call_behind(op)
    if isinstance(op.fn, Method):
        return op.args[:1] if op.fn.name in storing_methods() else ()
    fact = fact_of(op.fn)
    if fact is None or not fact.stores or _rebinds(op, fact):
        return outs_of(op)
    return (*outs_of(op), *_contents(op, fact))


def _contents(op: Op, fact: Fact) -> Iterator[Operand]:
    """Of ufuncs the operands after the inputs are in `outs_of`; NumPy's that overwrite only if told to."""
    if fact.out is None and (op.fn is not np.nan_to_num or _overwrites(op)):
        yield from (a for a in fact.stores._replace(names=()).of(op.args, op.kwnames))


def _overwrites(op: Op) -> bool:
    return outputs.may_overwrite(op.fn, len(op.args) - len(op.kwnames), op.kwnames)


def changed_objects(objects: Objects, op: Op) -> Sites:
    """The objects that `changed(op)` are; of a tuple, those in it."""
    return NOTHING.union(*[_in_place(objects, target) for target in changed(op)])


def _in_place(objects: Objects, target: Operand) -> Sites:
    return (objects.reach if T.cls_of(operand_type(target)) is tuple else objects.of)(target)


def spread(op: Op) -> Op:
    """Of `f(*args, **kwargs)` the call of f: of how many and which operands, only run time knows."""
    return Op(op.args[0], op.args[1:], [], (), op.pos) if op.fn is primitives.call_ex else op


def may_change_spread(op: Op) -> bool:
    """`f(*args, **kwargs)` where f changes an operand, or writes into the one that is named `out`."""
    fact = fact_of(spread(op).fn) if op.fn is primitives.call_ex else None
    return fact is not None and bool(fact.stores)


def may_change_unseen(op: Op) -> bool:
    """It runs Python code, or spreads its operands over what changes one: `changed` does not tell which."""
    return isinstance(spread(op).fn, Method) or _runs_unseen(op)


def _runs_unseen(op: Op) -> bool:
    """The same but for methods of objects of unknown class: those are differentiated as calls, and run time
    refuses the ones that change what they are given."""
    return runs_python(op) or runs_python(spread(op)) or may_change_spread(op)


def data_changed(objects: Objects, op: Op, *, unseen: bool) -> Sites:
    """The objects of which `op` changes what a sweep may have to read as it was, or (`unseen`) may change it
    out of sight."""
    if unseen and (_runs_unseen(op) or objects.runs_method(op)):
        return objects.loose(NOTHING.union(*map(objects.reach, op.operands())))
    return objects.loose(changed_objects(objects, op)) if changed(op) and changes_data(op) else NOTHING


def sets_name(op: Op) -> bool:
    """It sets or deletes an attribute of a class, module or function, or of what may be one."""
    if op.fn not in SETS_ATTRIBUTE:
        return False
    cls = T.cls_of(operand_type(op.args[0]))
    return cls is None or issubclass(cls, (type, ModuleType, FunctionType))


def outs_of(op: Op) -> tuple[Operand, ...]:
    """The arrays, or tuples of such, that NumPy is told to write its results into, by name or by position."""
    positional = len(op.args) - len(op.kwnames)
    at = outputs.out_at(op.fn)
    most = op.fn.nout if type(op.fn) is np.ufunc else 1
    outs = [] if at is None else op.args[at : min(at + most, positional)]
    if "out" in op.kwnames:
        outs = [op.args[positional + op.kwnames.index("out")]]
    return tuple([out for out in outs if not (isinstance(out, Const) and out.value is None)])


def out_of(op: Op) -> Operand | None:
    """The first array, or tuple of such, that NumPy is told to write into."""
    return next(iter(outs_of(op)), None)


def _rebinds(op: Op, fact: Fact) -> bool:
    """`a += b` on what cannot change gives a new value."""
    if fact.twin is None:
        return False
    type_ = operand_type(op.args[0])
    cls = T.cls_of(type_)
    fixed = cls is not None and issubclass(cls, (*IMMUTABLE, tuple, np.generic))
    return fixed or isinstance(type_, T.OneOf)


def may_rebind(op: Op) -> bool:
    """`a += b` with an `a` of unknown class: only run time can tell whether it changes."""
    op = call_behind(op)
    return op.fn in INPLACE and T.cls_of(operand_type(op.args[0])) is None


def changes_data(op: Op) -> bool:
    """Of attributes, cells and dicts the sweep has remembered the entries themselves."""
    if op.fn in SETS_ATTRIBUTE or op.fn in _SETS_ENTRY:
        return False
    return T.cls_of(operand_type(op.args[0])) is not dict


_SETS_ENTRY = (primitives.cell_set, primitives.map_add, primitives.dict_update)


def moves_iterator(objects: Objects, op: Op) -> bool:
    """It takes, or may have others take, items of an iterator that was there before."""
    fact = fact_of(op.fn)
    taken = op.args if op.fn is iter or fact is None else fact.iterates.of(op.args, op.kwnames)
    moved = [a for a in taken if isinstance(a, Value) and _may_move(a.type)]
    return any(is_outside(site) for a in moved for site in objects.of(a))


def _may_move(type_: T.Type) -> bool:
    """Whose items are gone when they are taken."""
    cls = T.cls_of(type_)
    return cls is None or hasattr(cls, "__next__")


__all__ = [
    "changed", "changed_objects", "changes_data",
    "data_changed", "may_change_unseen", "may_rebind",
    "moves_iterator", "out_of", "spread",
]  # fmt: skip
