"""What an op does besides computing its result. Asked after inference; an op without types may do anything.

    pure(f, types)       no effect, and runs none of the user's code; the result may be a new object
    may_raise(f, types)  (of a pure call) some operands of these types make it raise
    removable(op)        nobody can tell if an unused op is not done: pure, and does not raise
    movable(op)          removable, and computes the same wherever its operands are known
    writes(f, types)     it may change an array, list or object that something else reads

Two things are let go: warnings of NumPy (and errors that `np.errstate` makes of them), and an int beyond
1e308 that meets a float. Shapes that do not go together in an unused result: see `conform`.
"""

from __future__ import annotations

import operator
import types as pytypes
from collections.abc import Sequence
from typing import Any as Anything

import numpy as np

from ctxdispatch.ir import primitives as prim
from ctxdispatch.ir.graph import Op
from ctxdispatch.ir.values import Value, hashable
from ctxdispatch.passes import numpy_types, outputs, python_types
from ctxdispatch.passes.pure import PureFunction
from ctxdispatch.passes.raising import may_raise
from ctxdispatch.passes.types import (
    Any,
    ArrayOf,
    Bound,
    Held,
    IterOf,
    Known,
    ListOf,
    Never,
    OneOf,
    TupleOf,
    Type,
    cls_of,
    is_literal,
    operand_type,
)

LIST_WRITES = frozenset(
    {
        *(prim.list_append, prim.list_extend, list.append, list.extend, list.insert, list.pop, list.clear),
        *(list.reverse, list.remove),
    }
)
"""They change the list that is their first argument, and nothing else."""

OTHER_WRITES = frozenset(
    {
        *(setattr, delattr, operator.setitem, operator.delitem, print, next),
        *(prim.store_global, prim.delete_global, prim.cell_set, prim.cell_delete),
        *(prim.set_add, prim.map_add, prim.set_update, prim.dict_update, prim.dict_merge),
        *(f for f in python_types.INPLACE),
    }
)
"""Calls with a known result and an effect."""

ANY_OPERANDS = frozenset(
    {
        *(prim.build_tuple, prim.build_list, prim.make_cell, prim.make_function),
        *(operator.is_, operator.is_not),
        *(type, id, callable, slice, object),
    }
)
"""Pure whatever their operands are: they do not look into them."""

READS_NAMES = frozenset({prim.load_global, prim.cell_get, getattr})
"""Pure where inference has found a type: for then a guard, or the operand's class, vouches for it."""

_SHALLOW = {len, bool, operator.not_, operator.truth, iter, list, tuple, reversed, prim.list_to_tuple}
"""Look at the container, not at its items."""

IMMUTABLE = (
    *(int, float, complex, bool, str, bytes, range, slice),
    *(pytypes.NoneType, pytypes.EllipsisType, np.dtype),
)


# -- types ---------------------------------------------------------------------------------------------------


def plain(type_: Type) -> bool:
    """Operators and functions of builtins and NumPy on it run none of the user's code."""
    if isinstance(type_, ArrayOf):
        return type_.dtype.kind in numpy_types.KINDS
    if isinstance(type_, (TupleOf, ListOf, IterOf)):
        items = type_.items if isinstance(type_, TupleOf) else (type_.item,)
        return all(map(plain, items)) and getattr(type_, "plain", True)
    return immutable(type_)


def immutable(type_: Type) -> bool:
    """A value of this type never changes."""
    if isinstance(type_, TupleOf):
        return all(map(immutable, type_.items))
    if isinstance(type_, Known):
        return (
            is_literal(type_.value)
            or isinstance(type_.value, (*_FIXED, *IMMUTABLE))
            or _known_class(type_.value)
        )
    cls = cls_of(type_)
    return (
        type_ is Never
        or isinstance(type_, OneOf)
        or cls in numpy_types.SCALARS
        or cls in IMMUTABLE
        or cls in _FIXED
        or (cls is not None and _dtype_class(cls))
    )


_FIXED = (np.ufunc, pytypes.ModuleType)


def _known_class(value: Anything) -> bool:
    return isinstance(value, type) and (python_types.builtin(value) or value in numpy_types.SCALARS)


def _dtype_class(cls: type) -> bool:
    return issubclass(cls, np.dtype)


def holds_list(type_: Type) -> bool:
    """A list whose items' type is claimed can be reached through a value of this type."""
    if isinstance(type_, TupleOf):
        return any(map(holds_list, type_.items))
    return isinstance(type_, ListOf) or (isinstance(type_, Bound) and holds_list(type_.self))


def plain_container(type_: Type) -> bool:
    """Iterating over it runs none of the user's code."""
    return (isinstance(type_, IterOf) and type_.plain) or cls_of(type_) in (
        tuple,
        list,
        dict,
        range,
        str,
        np.ndarray,
    )


def keeps_lists(function: Anything, args: Sequence[Type]) -> bool:
    """The call puts nothing into any list, nor does it keep one."""
    if function in _OPENS_HELD and args and all(map(_opens_quietly, args)):
        return True
    if function in _HARMLESS:
        return True
    if function is next:
        return bool(args) and isinstance(args[0], IterOf) and args[0].plain
    if function in _KEEPS_LISTS and args:
        return cls_of(args[0]) is not None or isinstance(args[0], IterOf)
    if function in (*python_types.INPLACE, operator.setitem) and isinstance(args[0], ArrayOf):
        return all(map(plain, args))
    return pure(function, args)


_OPENS_HELD = {
    *(operator.getitem, getattr, iter, enumerate, zip, reversed, len, list, tuple),
    *(dict.values, dict.items, dict.keys, dict.get, prim.list_extend),
}
"""They run none of the user's code on what an argument holds."""

_HARMLESS: set[Anything] = set()


def _opens_quietly(type_: Type) -> bool:
    if isinstance(type_, IterOf):
        return type_.plain
    return isinstance(type_, Held) or plain(type_) or cls_of(type_) in (list, tuple, dict)


def assume_harmless(function: Anything) -> None:
    """`function` changes nothing that the program can see, whatever it is called with."""
    _HARMLESS.add(function)


_REMOVABLE: set[Anything] = set()


def assume_removable(*functions: Anything) -> None:
    """Calls of these whose results nobody reads can go, whatever the arguments are."""
    _REMOVABLE.update(functions)
    _HARMLESS.update(functions)


_KEEPS_LISTS = {list.pop, list.clear, list.reverse}
MAKES_LIST = frozenset({prim.build_list, list, sorted, list.copy, operator.add})
CONTAINS_OPERANDS = frozenset({prim.build_map, prim.build_set, prim.make_function})


LOOKS_AT = frozenset(
    {prim.build_tuple, len, bool, operator.not_, operator.truth, operator.is_, operator.is_not, type}
)
"""Calls whose results share nothing with their operands, or (`build_tuple`) are seen through."""


def reads_list(callee: Type, args: Sequence[Type]) -> bool:
    """A call of NumPy on a list of arrays: its result is no list, even where its type is not known."""
    return isinstance(callee, Known) and callee.value in numpy_types.RULES and all(map(plain, args))


# -- purity --------------------------------------------------------------------------------------------------


def pure(function: Anything, args: Sequence[Type]) -> bool:
    """The call has no effect and runs none of the user's code."""
    if isinstance(function, PureFunction):
        return True
    try:
        if function in ANY_OPERANDS:
            return True
        if function in LIST_WRITES or function in OTHER_WRITES:
            return function in python_types.INPLACE and immutable(args[0]) and all(map(plain, args))
        known = function in python_types.RULES or function in numpy_types.RULES
    except TypeError:  # not hashable
        return False
    if function is issubclass:
        return all(isinstance(a, Known) and type(a.value) is type for a in args)
    if function in _SHALLOW:
        return all(plain(a) or cls_of(a) in (list, tuple, dict) for a in args)
    if function is operator.getitem and isinstance(args[0], (TupleOf, ListOf)):
        return plain(args[1])
    if function in (operator.getitem, iter, enumerate, len) and isinstance(args[0], Held):
        return args[0].cls in (list, dict, tuple) and all(map(plain, args[1:]))
    return known and all(map(plain, args))


# -- ops -----------------------------------------------------------------------------------------------------


def call_of(op: Op) -> tuple[Anything, tuple[Type, ...]] | None:
    """The function that `op` calls and the types of its arguments, through a bound method; None if not
    known."""
    callee = operand_type(op.callee)
    args = tuple([operand_type(a) for a in op.args])
    if isinstance(callee, Bound):
        return callee.function, (callee.self, *args)
    return (callee.value, args) if isinstance(callee, Known) else None


def op_is_pure(op: Op) -> bool:
    """No effect, and none of the user's code runs."""
    call = call_of(op)
    return call is not None and _is_pure(op, *call)


def _is_pure(op: Op, function: Anything, args: tuple[Type, ...]) -> bool:
    if not hashable(function):
        return False
    if function in READS_NAMES:
        return _vouched(op)
    if function in (prim.unpack, prim.unpack_ex):
        return plain(args[0]) or isinstance(args[0], TupleOf)
    if op.kwnames and not _NOT_PLAIN.isdisjoint(op.kwnames):
        return False
    if not pure(function, args) or _takes_items(function, args):
        return False
    return _result_known(op, function) and not _writes_into(op, function, len(args))


def _takes_items(function: Anything, args: tuple[Type, ...]) -> bool:
    """From an iterator, which is another one afterwards."""
    return function not in _LAZY and any(isinstance(a, IterOf) for a in args)


_LAZY = {iter, enumerate, zip, *ANY_OPERANDS, bool, operator.not_, operator.truth}
"""They take nothing from an iterator that they are given."""


_NOT_PLAIN = {"out", "key", "where"}
"""Keywords of arrays to write into, and of functions that are called."""


def _writes_into(op: Op, function: Anything, n: int) -> bool:
    """np.add(a, b, out)"""
    at = outputs.out_at(function) if n > 1 else None
    positional = n - len(op.kwnames)
    return (at is not None and positional > at) or outputs.may_overwrite(function, positional, op.kwnames)


def _result_known(op: Op, function: Anything) -> bool:
    """Where no rule applied (odd keyword arguments, ranks that do not fit) nothing is promised."""
    return function in ANY_OPERANDS or all(r.type is not None and r.type is not Any for r in op.results)


def _vouched(op: Op) -> bool:
    return op.result.type is not None and op.result.type is not Any


def _may_raise(op: Op, function: Anything, args: tuple[Type, ...]) -> bool:
    """Of an op that is pure."""
    if function is prim.cell_get and isinstance(op.args[0], Value):
        return True  # nothing may be in it yet, whatever is put there; what comes later `cells` has taken out
    if function in READS_NAMES:
        return not _vouched(op)
    if function is prim.unpack_ex:
        return True
    if function is prim.unpack:
        return not (isinstance(args[0], TupleOf) and len(op.results) == len(args[0].items))
    return may_raise(function, args)


def removable(op: Op) -> bool:
    if isinstance(op.fn, PureFunction) or (hashable(op.fn) and op.fn in _REMOVABLE):
        return True
    call = call_of(op)
    return call is not None and _is_pure(op, *call) and not _may_raise(op, *call)


def movable(op: Op) -> bool:
    return removable(op) and not makes_mutable(op) and all(immutable(operand_type(a)) for a in op.args)


def makes_mutable(op: Op) -> bool:
    """Two runs give two objects that can be told apart by changing one."""
    return not all(isinstance(r, Value) and r.type is not None and immutable(r.type) for r in op.results)


def writes(op: Op) -> bool:
    """May change an array or an object that other ops read. Appending to a list of the program's is none."""
    call = call_of(op)
    if call is None:
        return True
    if hashable(call[0]) and (call[0] in LIST_WRITES or call[0] in (prim.cell_set, prim.store_global, print)):
        return call[0] is print and not all(map(plain, call[1]))
    return not op_is_pure(op)
