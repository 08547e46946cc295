"""Which objects the values of a graph may be: a points-to analysis, insensitive to order.

An object is the op that made it, a parameter for what the caller gave there, or GLOBAL for whatever else was
there before. (Two of these may be one: see `Objects.loose`.) `of` gives the objects
that a value may be (an array's views are that array), `held` those that an object may have as items,
attributes or contents. Values of immutable types are no objects. Whatever a callee is not known to do, it may
do.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator
from itertools import compress, count
from types import SimpleNamespace
from typing import Any

import numpy as np

from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Block, Graph, Iterate, Op
from ctxdispatch.ir.values import UNDEF, Const, Operand, Value, hashable
from ctxdispatch.passes import effects
from ctxdispatch.passes import types as T
from ctxdispatch.passes.resolve import is_code
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.derivatives.table import elementwise, vjp_rule
from ctxdispatch_contexts.programs.activity import STORES, has_zero_derivative, passed
from ctxdispatch_contexts.programs.out_of_sight import runs_python
from ctxdispatch_contexts.programs.special_methods import (
    looked_at,
    looks_at_items,
    runs_method,
    runs_method_of,
)

GLOBAL = "global"
Sites = frozenset[Any]
NOTHING: Sites = frozenset()

MAKES = frozenset({
    primitives.build_tuple, primitives.build_list, primitives.build_map, primitives.build_set,
    primitives.make_cell, primitives.make_function, object.__new__, SimpleNamespace,
})  # fmt: skip
"""A new object that holds the operands."""

COPIES = frozenset({
    primitives.list_to_tuple, list, tuple, dict, set, sorted, list.copy, dict.copy, tuple.__new__,
})  # fmt: skip
"""A new object that holds what the operands hold."""

ITERATES = frozenset({reversed, iter, enumerate, zip, dict.items, dict.values, dict.keys})
"""A new object that gives what the operands hold, when it is asked."""

READS = frozenset({
    operator.getitem, getattr, primitives.cell_get, dict.get, next, primitives.unpack, primitives.unpack_ex,
    list.pop, dict.pop,
})  # fmt: skip
"""Something that the first operand holds; of an array, a view."""

DEFAULTS = {getattr: 2, dict.get: 2, dict.pop: 2, next: 1}
"""Where they have the operand that they give if there is nothing to read."""

NAMESPACES = (globals, vars, locals)
"""They give dicts that are there already, of variables and attributes."""

NEW_ARRAYS = frozenset(
    getattr(np, name)
    for name in (
        "zeros ones empty full arange linspace eye identity array zeros_like ones_like empty_like full_like "
        "copy concatenate stack vstack hstack dot matmul outer sum mean prod max min var std where einsum "
        "tensordot argsort sort"
    ).split()
) | frozenset(getattr(np.ndarray, name) for name in "copy astype sum mean dot max min prod flatten".split())


_copying: set[Any] = set()


def assume_copying(*functions: Any) -> None:
    """Each gives a new container that holds what its operands hold, or nothing."""
    _copying.update(functions)


_giving: set[Any] = set()


def assume_giving(*functions: Any) -> None:
    """Each gives its first operand, or something new without parts."""
    _giving.update(functions)


_reading: set[Any] = set()


def assume_reading(*functions: Any) -> None:
    """Each gives something that its first operand holds, or nothing."""
    _reading.update(functions)


def keeps_nothing(function: Any) -> bool:
    """One of those of which it is known what they give."""
    return hashable(function) and (function in _giving or function in _reading)


class Objects:
    """The analysis of one graph. Within it a set of objects is an int, bit i for the object number i."""

    def __init__(self, graph: Graph) -> None:
        self._sites: list[Any] = []
        self._number: dict[Any, int] = {}
        self._held: list[int] = []
        self._looks_at: list[int] = []
        self._arrays = 0
        self._growth = 0
        self._holding = 0  # how often an object was found to hold, or to look at, more
        self._reach: dict[int, tuple[int, int]] = {}
        self._in: dict[int, tuple[int, int]] = {}
        self._named: dict[int, Sites] = {0: NOTHING}
        self._loose: dict[Sites, Sites] = {}
        self._apart: set[Value] = set()
        self._of: dict[Value, int] = {}
        self._start(graph)
        before = -1
        while before != self._growth:
            before = self._growth
            for block in graph.blocks:
                self._block(block)

    def of(self, operand: Operand) -> Sites:
        return self._sets(self._bits(operand))

    def reach(self, operand: Operand) -> Sites:
        """The objects that `operand` may be or hold, at any depth."""
        return self._sets(self._closure(self._bits(operand)))

    def loose(self, sites: Sites) -> Sites:
        """With one thing from outside there may be any other, but for those that lie apart."""
        if sites not in self._loose:
            named = [GLOBAL if is_outside(s) and s not in self._apart else s for s in sites]
            self._loose[sites] = frozenset(named)
        return self._loose[sites]

    def runs_method(self, op: Op) -> bool:
        """It runs a special method of an operand, or of what that holds, which is written in Python."""
        if runs_method(op):
            return True
        if not looks_at_items(op):
            return False
        seen = [self._closure(self._bits(a)) for a in looked_at(op)]
        held = (_class_of(self._sites[i]) for bits in seen for i in _numbers(bits))
        return runs_method_of(op, [cls for cls in held if cls is not None])

    def lie_apart(self, params: Iterable[Value]) -> None:
        """Each of these arrays has its memory for itself."""
        self._apart.update(params)
        self._loose.clear()

    # -- sets of objects -------------------------------------------------------------------------------------

    def _start(self, graph: Graph) -> None:
        self._global = self._bit(GLOBAL)
        self._held[0] = self._global
        self._of.update(dict.fromkeys(graph.cells, self._global))
        for param in graph.params:
            self._held[self._bit(param).bit_length() - 1] = self._bit(param)
            if not _immutable(param):
                self._of[param] = self._bit(param)
            if isinstance(param.type, T.ArrayOf):
                self._arrays |= self._bit(param)

    def _bit(self, site: Any) -> int:
        if site not in self._number:
            self._number[site] = len(self._sites)
            self._sites.append(site)
            self._held.append(0)
            self._looks_at.append(0)
            if isinstance(site, Op) and len(site.results) == 1 and _is_of_numbers(site.results[0]):
                self._arrays |= 1 << self._number[site]
        return 1 << self._number[site]

    def _sets(self, bits: int) -> Sites:
        if bits not in self._named:
            self._named[bits] = frozenset(self._sites[i] for i in _numbers(bits))
        return self._named[bits]

    def _bits(self, operand: Operand) -> int:
        if isinstance(operand, Value):
            return self._of.get(operand, 0)
        plain = operand is UNDEF or is_code(operand.value) or _immutable(operand)
        return 0 if plain else self._global

    def _closure(self, start: int) -> int:
        holding, found = self._reach.get(start, (-1, 0))
        if holding == self._holding:
            return found
        found, ahead = 0, start
        while ahead:
            found |= ahead
            next_ = 0
            for i in _numbers(ahead):
                next_ |= self._held[i] | self._looks_at[i]
            ahead = next_ & ~found
        self._reach[start] = self._holding, found
        return found

    def _items(self, operand: Operand) -> int:
        bits = self._bits(operand)
        holding, found = self._in.get(bits, (-1, 0))
        if holding == self._holding:
            return found
        for i in _numbers(bits):
            found |= self._held[i]
        self._in[bits] = self._holding, found
        return found

    # -- the fixpoint ----------------------------------------------------------------------------------------

    def _block(self, block: Block) -> None:
        for op in block.ops:
            self._op(op)
        if isinstance(block.terminator, Iterate):
            iterator = block.terminator.iterator
            self._raise(block.terminator.body.target.params[0], self._items(iterator))
        for edge in block.edges():
            for param, arg in passed(block.terminator, edge):
                self._raise(param, self._bits(arg))

    def _raise(self, value: Value, bits: int) -> None:
        old = self._of.get(value, 0)
        if bits & ~old and not _immutable(value):
            self._of[value] = old | bits
            self._growth += 1

    def _grow(self) -> None:
        self._growth += 1
        self._holding += 1

    def _hold(self, holders: int, bits: int) -> None:
        for i in _numbers(holders & ~self._arrays):
            if bits & ~self._held[i]:
                self._held[i] |= bits
                self._grow()

    def _op(self, op: Op) -> None:
        fn = op.fn if hashable(op.fn) else None
        if self.runs_method(op):
            self._unknown(op)
        elif fn in STORES or fn is operator.setitem:
            for operand in op.args[1:]:
                self._hold(self._bits(op.args[0]), self._bits(operand) | self._items(operand))
        elif fn in MAKES or fn in COPIES or fn in ITERATES or fn in _copying:
            self._make(op, fn)
        elif fn in _giving:
            self._give(op, self._bits(op.args[0]) | self._bit(op))
        elif fn in READS or fn in _reading:
            self._read(op, fn)
        elif (fn in NEW_ARRAYS or elementwise(fn) is not None) and not _may_share(op):
            self._make(op, list)  # of sequences, the sum holds their items
        elif (vjp_rule(fn) is not None or has_zero_derivative(fn)) and not _is_helper(fn):
            self._view(op)
        else:
            self._unknown(op)

    def _make(self, op: Op, fn: Any) -> None:
        made = self._bit(op)
        for i, operand in enumerate(op.args):
            named = i >= len(op.args) - len(op.kwnames)
            if fn in MAKES or named or T.cls_of(operand_type(operand)) not in (list, tuple, dict):
                self._hold(made, self._bits(operand))
            if fn not in MAKES:
                self._hold(made, self._items(operand))
            if fn in ITERATES and self._bits(operand) & ~self._looks_at[self._number[op]]:
                self._looks_at[self._number[op]] |= self._bits(operand)
                self._grow()
        self._give(op, made)

    def _read(self, op: Op, fn: Any) -> None:
        cls = T.cls_of(operand_type(op.args[0]))
        if cls is np.ndarray and fn is operator.getitem and copies_by_index(operand_type(op.args[1])):
            self._make(op, list)
            return
        given = self._bits(op.args[0]) if cls in (None, np.ndarray) else 0
        if cls is not np.ndarray:
            given |= self._items(op.args[0])
        if isinstance(op.args[0], Const) and is_code(op.args[0].value):
            given |= self._global  # of a module, class or function
        if fn is getattr and names_dict(op.args[1]):
            given |= self._bits(op.args[0])  # what is in an object's dict the object has
        for default in op.args[DEFAULTS.get(fn, len(op.args)) :]:
            given |= self._bits(default)
        part = len(op.args) > 1 and (fn is operator.getitem or fn in _reading)
        if fn is primitives.unpack_ex or (part and T.cls_of(operand_type(op.args[1])) in (None, slice)):
            given |= self._bit(op)  # a part of a sequence; the list of `a, *b = ..`
            self._hold(self._bit(op), self._items(op.args[0]))
        self._give(op, given)

    def _view(self, op: Op) -> None:
        """A function of NumPy: a new array or a view, or a list of such."""
        given = self._bit(op)
        for operand in op.args:
            self._hold(self._bit(op), self._bits(operand) | self._items(operand))
            if T.cls_of(operand_type(operand)) not in (list, tuple, dict):
                given |= self._bits(operand)
        self._give(op, given)

    def _unknown(self, op: Op) -> None:
        seen = 0
        for operand in op.operands():
            seen |= self._bits(operand)
        seen = self._closure(seen)
        self._hold(self._bit(op), seen)
        runs = self.runs_method(op) or runs_python(op)
        if runs:
            self._hold(seen, seen)
        if runs or op.fn in NAMESPACES:
            self._give(op, self._global)
        self._give(op, seen | self._bit(op))

    def _give(self, op: Op, bits: int) -> None:
        for result in op.results:
            self._raise(result, bits)


def _class_of(site: Any) -> Any:
    """Of an object made by the program, or given to it; None where that is not known."""
    value = site.results[0] if isinstance(site, Op) and len(site.results) == 1 else site
    return T.cls_of(value.type) if isinstance(value, Value) and value.type is not None else None


def _is_of_numbers(value: Value) -> bool:
    """An array that holds no objects."""
    return isinstance(value.type, T.ArrayOf) and value.type.dtype.kind != "O"


def _numbers(bits: int) -> Iterator[int]:
    """Of the bits that are set: found one by one, or, where they lie close, all in one pass."""
    if bits.bit_count() * CLOSE < bits.bit_length():
        return _one_by_one(bits)
    return compress(count(), f"{bits:b}"[::-1].encode().translate(DIGITS))


CLOSE = 8
DIGITS = bytes.maketrans(b"01", b"\0\1")


def _one_by_one(bits: int) -> Iterator[int]:
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


def _may_share(op: Op) -> bool:
    """The new array may be an operand after all, or a view of one."""
    return "copy" in op.kwnames or op.fn in (np.real, np.einsum) or len(op.args) > MOST_OF_ASTYPE


MOST_OF_ASTYPE = 5
"""x.astype(dtype, order, casting, subok, copy): with more, `copy` is among them."""


def copies_by_index(index: T.Type) -> bool:
    """An array indexed with it is certainly copied: there is an array of positions, or a mask, in it."""
    if isinstance(index, T.TupleOf):
        return any(map(copies_by_index, index.items))
    return (isinstance(index, T.ArrayOf) and bool(index.dims)) or isinstance(index, T.ListOf)


def names_dict(name: Operand) -> bool:
    """It may be `__dict__`."""
    return not isinstance(name, Const) or name.value == "__dict__"


def is_outside(site: Any) -> bool:
    """It was there before the program began."""
    return site is GLOBAL or isinstance(site, Value)


def _is_helper(fn: Any) -> bool:
    """What programs of ours call may give an operand, or a part of one."""
    return str(getattr(fn, "__module__", "")).startswith("ctxdispatch_contexts.")


def _immutable(operand: Operand) -> bool:
    type_ = operand_type(operand)
    return type_ is not T.Never and effects.immutable(type_)


__all__ = [
    "GLOBAL", "Objects", "Sites", "assume_copying", "assume_giving", "assume_reading", "copies_by_index",
    "is_outside", "keeps_nothing",
]  # fmt: skip
