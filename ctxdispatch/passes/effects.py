"""What an op does besides computing its result. Asked after inference; an op without types may do anything.

    pure(f, types)       no effect, and runs none of the user's code; the result may be a new object
    may_raise(f, types)  (of a pure call) some operands of these types make it raise
    removable(op)        nobody can tell if an unused op is not done: pure, and does not raise
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

from ctxdispatch.facts import DICT_VIEWS, IDENTITY, INPLACE, TRUTH, Fact, fact_of, operands
from ctxdispatch.facts.arity import fits
from ctxdispatch.ir import primitives as prim
from ctxdispatch.ir.graph import Op
from ctxdispatch.ir.values import Value, hashable
from ctxdispatch.passes import numpy_types, outputs, python_types, samples
from ctxdispatch.passes.expected import Unexpected
from ctxdispatch.passes.held import holds_list
from ctxdispatch.passes.named_tuples import names_of
from ctxdispatch.passes.pure import PureFunction
from ctxdispatch.passes.raising import fails, may_raise
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


def is_write(function: Anything) -> bool:
    """A call with an effect, whatever it is given: on an operand, or seen elsewhere. NumPy's functions write
    where they are told to (`_writes_into`)."""
    row = fact_of(function)
    if row is None or function is np.nan_to_num:
        return False
    return function is next or (row.out is None and bool(row.stores.positions)) or function is print


def writes_list(function: Anything) -> bool:
    """It changes the list that is its first argument, and nothing else."""
    if function in (prim.list_append, prim.list_extend):
        return True
    row = fact_of(function) if getattr(function, "__objclass__", None) is list else None
    if row is None or row.stores != _FIRST or row.calls:
        return False
    return not function.__name__.startswith("__")


_FIRST = operands("0")

ANY_OPERANDS = frozenset(
    {
        *(prim.build_tuple, prim.build_list, prim.make_cell, prim.make_function),
        *IDENTITY,
        *(type, id, callable, slice, object),
    }
)
"""Pure whatever their operands are: they do not look into them."""

READS_NAMES = frozenset(
    {prim.load_global, prim.cell_get, prim.special_method, prim.import_name, prim.import_from, getattr}
)
"""Pure where inference has found a type: for then a guard, or the operand's class, vouches for it."""

_SHALLOW = {*TRUTH, len, bool, iter, list, tuple, reversed, prim.list_to_tuple}
"""Look at the container, not at its items."""

IMMUTABLE = (
    *(int, float, complex, bool, str, bytes, range, slice),
    *(pytypes.NoneType, pytypes.EllipsisType, np.dtype),
)


# -- types ---------------------------------------------------------------------------------------------------


def plain(type_: Type) -> bool:
    """Operators and functions of builtins and NumPy on it run none of the user's code."""
    if isinstance(type_, ArrayOf):
        return type_.dtype.kind in samples.KINDS
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
            or issubclass(type(type_.value), (*_FIXED, *IMMUTABLE))
            or _known_class(type_.value)
        )
    cls = cls_of(type_)
    return (
        type_ is Never
        or isinstance(type_, OneOf)
        or cls in samples.SCALARS
        or cls in IMMUTABLE
        or cls in _FIXED
        or (cls is not None and _dtype_class(cls))
    )


_FIXED = (np.ufunc, pytypes.ModuleType)


def _known_class(value: Anything) -> bool:
    return issubclass(type(value), type) and (python_types.builtin(value) or value in samples.SCALARS)


def _dtype_class(cls: type) -> bool:
    return issubclass(cls, np.dtype)


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
    if function in (operator.contains, prim.not_contains) and _looks_for_text(*args):
        return True
    known = fact_of(function)
    if known is not None and (known.quiet or _looks_in_vain(known, args)):
        return True
    if known is not None and known.repeats and _draws(known, args):
        return True
    if function is next:
        return bool(args) and isinstance(args[0], IterOf) and args[0].plain
    if known is not None and _takes_away(known):
        return bool(args) and cls_of(args[0]) is not None and all(map(plain, args[1:]))
    if known is not None and _stores_numbers(known, args):
        return all(map(plain, args))
    return pure(function, args)


_OPENS_HELD = {
    *(operator.getitem, getattr, iter, enumerate, zip, reversed, len, list, tuple),
    *(*DICT_VIEWS, dict.get, prim.list_extend),
}
"""They run none of the user's code on what an argument holds."""


def _looks_for_text(container: Type, key: Type) -> bool:
    """Among texts: the keys of a dict that are known."""
    named = isinstance(container, Held) and container.cls is dict and container.item is None
    return named and cls_of(key) is str


def _draws(row: Fact, args: Sequence[Type]) -> bool:
    """It asks a clock, or makes or changes a generator of random numbers, and that is all."""
    if not row.known or row.keeps or row.calls:
        return False
    generators = [a for a in row.stores.of(args) if cls_of(a) in _GENERATORS]
    return generators == row.stores.of(args) and all(plain(a) or a in generators for a in args)


_GENERATORS = (np.random.Generator, np.random.RandomState)


def _looks_in_vain(row: Fact, args: Sequence[Type]) -> bool:
    """It does no more than look at operands that have no methods of the user's, nor has what they hold, and
    no lists go by it."""
    looked = args if row.looks.names else row.looks.of(args)
    through = row.iterates.of(args)
    quiet = all(plain(a) or (isinstance(a, Known) and type(a.value) in _FUNCTIONS) for a in looked)
    if not quiet or not all(map(plain, (*row.inside.of(args), *through))):
        return False
    changes = row.keeps or row.calls or row.effect or row.stores.of(args)
    return not (changes or any(isinstance(a, IterOf) for a in through) or any(map(holds_list, args)))


_FUNCTIONS = (pytypes.FunctionType, pytypes.BuiltinFunctionType, np.ufunc)


def _takes_away(row: Fact) -> bool:
    return row.stores == _FIRST and not (row.keeps or row.calls or row.looks.has(0))


def _stores_numbers(row: Fact, args: Sequence[Type]) -> bool:
    """It changes elements of arrays, and nothing else."""
    stored = row.stores.of(args)
    if row.layout or row.calls or row.effect or not row.known:
        return False
    return bool(stored) and all(isinstance(a, ArrayOf) for a in stored)


def _opens_quietly(type_: Type) -> bool:
    if isinstance(type_, IterOf):
        return type_.plain
    return isinstance(type_, Held) or plain(type_) or cls_of(type_) in (list, tuple, dict)


CONTAINS_OPERANDS = frozenset({prim.build_map, prim.build_set, prim.make_function})


LOOKS_AT = IDENTITY | TRUTH | {prim.build_tuple, len, bool, type}
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
            return function is not type or len(args) == 1  # else it makes a class
        if function is tuple.__new__:
            made = isinstance(args[0], Known) and bool(names_of(args[0].value))
            return made and isinstance(args[1], TupleOf)
        if is_write(function):
            return function in INPLACE and immutable(args[0]) and all(map(plain, args))
        known = function in python_types.RULES or function in numpy_types.RULES
    except TypeError:  # not hashable
        return False
    if function is isinstance:
        return len(args) == 2 and python_types.asks_no_class(*args)
    if function is issubclass:
        return all(isinstance(a, Known) and type(a.value) is type for a in args)
    if function in _SHALLOW:
        return all(plain(a) or cls_of(a) in (list, tuple, dict) for a in args)
    if function is operator.getitem and isinstance(args[0], (TupleOf, ListOf)):
        return plain(args[1])
    if function in _OPENS_HELD and args and isinstance(args[0], Held):
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
    if op.tested or not (hashable(function) and is_called_rightly(op, function, len(args))):
        return False
    if function in READS_NAMES:
        return _vouched(op)
    if function in prim.UNPACKING:
        return plain(args[0]) or isinstance(args[0], TupleOf)
    if op.kwnames and not _NOT_PLAIN.isdisjoint(op.kwnames):
        return False
    if not pure(function, args) or _takes_items(function, args):
        return False
    return _result_known(op, function) and not _writes_into(op, function, len(args))


def is_called_rightly(op: Op, function: Anything, n: int) -> bool:
    """Else it raises, and nothing else is known of it."""
    return op.syntax or fits(function, n, op.kwnames)


def _takes_items(function: Anything, args: tuple[Type, ...]) -> bool:
    """From an iterator, which is another one afterwards."""
    return function not in _LAZY and any(isinstance(a, IterOf) for a in args)


_LAZY = ANY_OPERANDS | TRUTH | {iter, enumerate, zip, bool}
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
    if isinstance(op.fn, Unexpected):
        return False  # what reads it comes later
    known = fact_of(op.fn)
    if known is not None and known.needless:
        return is_called_rightly(op, op.fn, len(op.args))
    if isinstance(op.fn, PureFunction):
        return True
    call = call_of(op)
    if call is None or not _is_pure(op, *call) or _may_raise(op, *call):
        return False
    return not (op.caught and _fails(op, *call))


def fails_on_some(op: Op) -> bool:
    """A removable op raises on operands that do not go together, or of some values."""
    call = call_of(op)
    return call is not None and _fails(op, *call)


def _fails(op: Op, function: Anything, args: tuple[Type, ...]) -> bool:
    if hashable(function) and function in READS_NAMES:
        return False
    conforms = op.fn in numpy_types.OPERATORS and len({*op.args}) == 1
    return not conforms and fails(function, args, op.kwnames)


def makes_mutable(op: Op) -> bool:
    """Two runs give two objects that can be told apart by changing one."""
    return not all(isinstance(r, Value) and r.type is not None and immutable(r.type) for r in op.results)


def writes(op: Op) -> bool:
    """May change an array or an object that other ops read. Appending to a list of the program's is none."""
    call = call_of(op)
    if call is None:
        return True
    if hashable(call[0]) and (writes_list(call[0]) or call[0] in (prim.cell_set, prim.store_global, print)):
        return call[0] is print and not all(map(plain, call[1]))
    return not op_is_pure(op)
