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
from ctxdispatch.passes.effects import changes_uncopied
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.programs.activity import STORES
from ctxdispatch_contexts.programs.aliases import runs_python
from ctxdispatch_contexts.programs.methods import Method
from ctxdispatch_contexts.programs.operands import INPLACE
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


def changed(op: Op) -> Operand | None:
    """The operand that `op` changes in place, if any."""
    op = call_behind(op)
    fn = op.fn
    if not op.args or getattr(type(fn), "__hash__", None) is None:
        return None
    if fn in _changing:
        return op.args[_changing[fn]]
    out = out_of(op)
    if out is not None:
        return out
    if fn in INPLACE:
        return None if _rebinds(op) else op.args[0]
    if fn in STORES or fn in MUTATORS or changes_uncopied(op):
        return op.args[0]
    if isinstance(fn, Method):
        return op.args[0] if fn.name in NAMES else None
    return op.args[0] if getattr(fn, "__name__", "") in ("at", "shuffle") and not runs_python(op) else None


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
    return runs_python(spread(op)) or may_change_spread(op)


def sets_name(op: Op) -> bool:
    """It sets or deletes an attribute of a class, module or function, or of what may be one."""
    if op.fn not in (setattr, delattr, object.__setattr__, type.__setattr__):
        return False
    cls = T.cls_of(operand_type(op.args[0]))
    return cls is None or issubclass(cls, (type, ModuleType, FunctionType))


def out_of(op: Op) -> Operand | None:
    """The array that NumPy is told to write its result into, by name or by position."""
    positional = len(op.args) - len(op.kwnames)
    at = outputs.out_at(op.fn)
    if "out" in op.kwnames:
        out: Operand = op.args[positional + op.kwnames.index("out")]
    elif at is not None and positional > at:
        out = op.args[at]
    else:
        return None
    return None if isinstance(out, Const) and out.value is None else out


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
    "MUTATORS", "assume_changing", "changed", "changes_argument", "changes_data", "may_change_unseen",
    "may_rebind", "out_of", "spread",
]  # fmt: skip
