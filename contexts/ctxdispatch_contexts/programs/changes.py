"""What an op changes in place: the one place that says so."""

from __future__ import annotations

import operator
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Op
from ctxdispatch.ir.values import Const, Operand, hashable
from ctxdispatch.passes import outputs
from ctxdispatch.passes import types as T
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.programs.activity import STORES
from ctxdispatch_contexts.programs.aliases import NOTHING, Objects, Sites
from ctxdispatch_contexts.programs.methods import Method
from ctxdispatch_contexts.programs.operands import INPLACE
from ctxdispatch_contexts.programs.out_of_sight import runs_python
from ctxdispatch_contexts.programs.stand_ins import call_behind

INPLACE_NAMES = frozenset(f"__{f.__name__}__" for f in INPLACE)

MUTATORS = frozenset({
    operator.setitem, operator.delitem, setattr, delattr, object.__setattr__, type.__setattr__,
    np.ndarray.sort,
    np.ndarray.fill, np.ndarray.put, np.ndarray.partition, np.ndarray.resize, np.ndarray.setfield,
    np.ndarray.byteswap, np.copyto, np.put, np.place, np.putmask, np.put_along_axis, np.fill_diagonal,
    np.random.shuffle, np.add.at, list.insert, list.pop, list.remove, list.sort, list.reverse, list.clear,
    list.__setitem__, list.__iadd__, dict.update, dict.pop, dict.popitem, dict.clear, dict.setdefault,
    dict.__setitem__, dict.__delitem__, dict.__ior__, list.__delitem__, list.__imul__, set.add, set.update,
    np.ndarray.__setitem__, np.ndarray.__delitem__,
    *(vars(np.ndarray)[name] for name in INPLACE_NAMES if name in vars(np.ndarray)),
})  # fmt: skip
"""They change their first argument, and have no pullback."""

NAMES = frozenset(f.__name__ for f in MUTATORS) | {"append", "extend", "shuffle", "appendleft"}
"""Methods of objects of unknown class that change them."""

_UFUNC_METHODS = ("at",)


_changing: dict[Any, int] = {}


def assume_changing(*functions: Any, at: int = 0) -> None:
    """Each changes its argument at this position."""
    _changing.update(dict.fromkeys(functions, at))


def changes_argument(function: Any) -> bool:
    """It is one of these."""
    return function in _changing


def changed(op: Op) -> tuple[Operand, ...]:
    """The operands that `op` is known to change in place; of a tuple of arrays to write into, the tuple."""
    op = call_behind(op)
    fn = op.fn
    if not op.args or not hashable(fn):
        return ()
    if fn in _changing:
        return (op.args[_changing[fn]],)
    return outs_of(op) or (op.args[:1] if _changes_first(op) else ())


def _changes_first(op: Op) -> bool:
    fn = op.fn
    if fn in INPLACE:
        return not _rebinds(op)
    if fn in STORES or fn in MUTATORS:
        return True
    if isinstance(fn, Method):
        return fn.name in NAMES
    if outputs.may_overwrite(fn, len(op.args) - len(op.kwnames), op.kwnames):
        return True
    return getattr(fn, "__name__", "") in ("at", "shuffle") and not runs_python(op)


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
    if op.fn is not primitives.call_ex:
        return False
    fn = spread(op).fn
    return hashable(fn) and (fn in MUTATORS or fn in INPLACE or fn in STORES or outputs.takes_out(fn))


def may_change_unseen(op: Op) -> bool:
    """It runs Python code, or spreads its operands over what changes one: `changed` does not tell which."""
    return isinstance(spread(op).fn, Method) or _runs_unseen(op)


def _runs_unseen(op: Op) -> bool:
    """The same but for methods of objects of unknown class: those are differentiated as calls, and run time
    refuses the ones that change what they are given."""
    return runs_python(spread(op)) or may_change_spread(op)


def data_changed(objects: Objects, op: Op, *, unseen: bool) -> Sites:
    """The objects of which `op` changes what a sweep may have to read as it was, or (`unseen`) may change it
    out of sight."""
    if unseen and _runs_unseen(op):
        return objects.loose(NOTHING.union(*map(objects.reach, op.operands())))
    return objects.loose(changed_objects(objects, op)) if changed(op) and changes_data(op) else NOTHING


def sets_name(op: Op) -> bool:
    """It sets or deletes an attribute of a class, module or function, or of what may be one."""
    if op.fn not in (setattr, delattr, object.__setattr__, type.__setattr__):
        return False
    cls = T.cls_of(operand_type(op.args[0]))
    return cls is None or issubclass(cls, (type, ModuleType, FunctionType))


def outs_of(op: Op) -> tuple[Operand, ...]:
    """The arrays, or tuples of such, that NumPy is told to write its results into, by name or by position."""
    positional = len(op.args) - len(op.kwnames)
    at = outputs.out_at(op.fn)
    most = op.fn.nout if isinstance(op.fn, np.ufunc) else 1
    outs = [] if at is None else op.args[at : min(at + most, positional)]
    if "out" in op.kwnames:
        outs = [op.args[positional + op.kwnames.index("out")]]
    return tuple([out for out in outs if not (isinstance(out, Const) and out.value is None)])


def out_of(op: Op) -> Operand | None:
    """The first array, or tuple of such, that NumPy is told to write into."""
    return next(iter(outs_of(op)), None)


def _rebinds(op: Op) -> bool:
    """`a += b` on what cannot change gives a new value."""
    type_ = operand_type(op.args[0])
    cls = T.cls_of(type_)
    numbers = isinstance(type_, T.OneOf)
    return numbers or (
        cls is not None and issubclass(cls, (int, float, complex, str, bytes, tuple, np.generic))
    )


def may_rebind(op: Op) -> bool:
    """`a += b` with an `a` of unknown class: only run time can tell whether it changes."""
    op = call_behind(op)
    return op.fn in INPLACE and T.cls_of(operand_type(op.args[0])) is None


def changes_data(op: Op) -> bool:
    """Of attributes, cells and dicts the sweep has remembered the entries themselves."""
    if op.fn in (
        setattr,
        delattr,
        object.__setattr__,
        primitives.cell_set,
        primitives.map_add,
        primitives.dict_update,
    ):
        return False
    return T.cls_of(operand_type(op.args[0])) is not dict


__all__ = [
    "MUTATORS", "assume_changing", "changed", "changed_objects", "changes_argument", "changes_data",
    "data_changed", "may_change_unseen", "may_rebind", "out_of", "spread",
]  # fmt: skip
