"""Which objects the values of a graph may be: a points-to analysis, insensitive to order.

An object is the op that made it, a parameter for what the caller gave there, or GLOBAL for whatever else was
there before. (Two of these may be one: see `Objects.loose`.) `of` gives the objects that a value may be (an
array's views are that array), `held` those that an object may have as items, attributes or contents. What is
of an immutable type is no object. Whatever a callee is not known to do, it may do.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable
from typing import Any

import numpy as np

from ctxdispatch.facts import NAMESPACES, Fact, Shares, fact_of
from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Block, Graph, Iterate, Op
from ctxdispatch.ir.values import UNDEF, Const, Operand, Value, hashable
from ctxdispatch.passes import effects
from ctxdispatch.passes import types as T
from ctxdispatch.passes.resolve import is_code
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.derivatives.table import elementwise, vjp_rule
from ctxdispatch_contexts.programs.activity import has_zero_derivative, passed
from ctxdispatch_contexts.programs.bits import numbers_in
from ctxdispatch_contexts.programs.containers import (
    copies_by_index,
    copies_items,
    gives_new_inside,
    is_of_numbers,
)
from ctxdispatch_contexts.programs.entries_made import makes_entries, makes_new
from ctxdispatch_contexts.programs.out_of_sight import runs_python
from ctxdispatch_contexts.programs.results import (
    calls_later,
    computes,
    gives_later,
    is_in_place,
    makes,
    makes_array,
    may_be,
    may_share,
)
from ctxdispatch_contexts.programs.special_methods import opened, python_class, runs_method, runs_method_of

GLOBAL = "global"
Sites = frozenset[Any]
NOTHING: Sites = frozenset()


def keeps_nothing(function: Any) -> bool:
    """It is known what it gives, and that is all that it does with its operands."""
    fact = fact_of(function)
    return fact is not None and fact.known and not fact.keeps


class Objects:
    """The analysis of one graph. Within it a set of objects is an int, bit i for the object number i."""

    def __init__(self, graph: Graph) -> None:
        self._sites: list[Any] = []
        self._number: dict[Any, int] = {}
        self._python_classes: dict[int, type] = {}
        self._held: list[int] = []
        self._looks_at: list[int] = []
        self._arrays = self._making = 0
        self._growth = 0
        self._holding = 0  # how often an object was found to hold, or to look at, more
        self._reach: dict[int, tuple[int, int]] = {}
        self._in: dict[int, tuple[int, int]] = {}
        self._named: dict[int, Sites] = {0: NOTHING}
        self._loose: dict[Sites, Sites] = {}
        self._apart: set[Value] = set()
        self._of: dict[Value, int] = {}
        self._seen: dict[Op, tuple[int, ...]] = {}
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
        return runs_method(op) or runs_method_of(op, self.classes_in(op))

    def classes_in(self, op: Op) -> list[type]:
        """Of what it looks at in its operands: those that may have methods written in Python."""
        if not self._python_classes:
            return []
        found = functools.reduce(operator.or_, (self._closure(self._bits(a)) for a in opened(op)), 0)
        return [cls for i, cls in self._python_classes.items() if found >> i & 1]

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
            if (cls := python_class(site)) is not None:
                self._python_classes[len(self._sites)] = cls
            self._sites.append(site)
            self._held.append(0)
            self._looks_at.append(0)
            if isinstance(site, Op) and len(site.results) == 1 and is_of_numbers(site.results[0]):
                self._arrays |= 1 << self._number[site]
            if makes_entries(site):
                self._making |= 1 << self._number[site]
        return 1 << self._number[site]

    def _sets(self, bits: int) -> Sites:
        if bits not in self._named:
            self._named[bits] = frozenset(self._sites[i] for i in numbers_in(bits))
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
            for i in numbers_in(ahead):
                next_ |= self._held[i] | self._looks_at[i]
            ahead = next_ & ~found
        self._reach[start] = self._holding, found
        return found

    def _items(self, operand: Operand) -> int:
        bits = self._bits(operand)
        holding, found = self._in.get(bits, (-1, 0))
        if holding == self._holding:
            return found
        for i in numbers_in(bits):
            found |= self._held[i]
        self._in[bits] = self._holding, found
        return found

    # -- the fixpoint ----------------------------------------------------------------------------------------

    def _block(self, block: Block) -> None:
        for op in block.ops:
            seen = (self._holding, *map(self._bits, op.operands()))
            if self._seen.get(op) != seen:  # or there is nothing more that it could give
                self._seen[op] = seen
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
        for i in numbers_in(holders & ~self._arrays):
            if bits & ~self._held[i]:
                self._held[i] |= bits
                self._grow()

    def _op(self, op: Op) -> None:
        fact, fn = fact_of(op.fn), op.fn if hashable(op.fn) else None
        if computes(op, fact):  # by far the most ops do
            self._give(op, self._bits(op.args[0]) if is_in_place(op) else self._bit(op))
        elif self.runs_method(op):
            self._unknown(op, runs=True)
        elif fact is not None and fact.known:
            self._known(op, fact)
        elif elementwise(fn) is not None and not may_share(op):
            self._make(op)
        elif (vjp_rule(fn) is not None or has_zero_derivative(fn)) and not _is_helper(fn):
            self._view(op)
        else:
            self._unknown(op)
        if op.fn not in _READS and gives_new_inside(op, fact):
            self._hold(self._bit(op), self._bit(op))  # one site for all of it

    def _known(self, op: Op, fact: Fact) -> None:
        self._keep(op, fact)
        if copies_items(op):
            self._give(op, self._bit(op) | self._shared(op, Shares.COPIES, op.args[0]))
        elif calls_later(op, fact):  # of `iter`, too: its row is that of callables and of iterators
            self._unknown(op)
        elif op.fn in _READS or (_is_helper(op.fn) and fact.may_share(Shares.ITEM, 0)):
            self._read(op, fact)
        elif makes_array(op, fact) and not may_share(op):
            self._make(op)  # of sequences, the sum holds their items
        else:
            given = self._bit(op) if makes(fact) else 0
            for shares, operands in fact.result:
                for operand in operands.of(op.args, op.kwnames):
                    given |= self._shared(op, shares, operand)
            self._give(op, given)

    def _keep(self, op: Op, fact: Fact) -> None:
        for target in fact.stores.of(op.args, op.kwnames):
            for operand in fact.keeps.of(op.args, op.kwnames):
                self._hold(self._bits(target), self._bits(operand) | self._items(operand))

    def _shared(self, op: Op, shares: Shares, operand: Operand) -> int:
        """What the result may be, by one of its sources."""
        holds = T.cls_of(operand_type(operand)) in (list, tuple, dict)
        bits = self._bits(operand)
        if shares is Shares.ITSELF:
            return bits if may_be(op, operand) else 0
        if shares is Shares.ITEM:
            return self._items(operand) | (0 if holds else bits)
        made = self._bit(op)
        if shares is Shares.HOLDS or not holds:
            self._hold(made, bits)
        if shares is not Shares.HOLDS:
            self._hold(made, self._items(operand))
        if shares is Shares.COPIES and gives_later(op):
            self._look(op, bits)
        return 0 if shares is not Shares.VIEW or holds else bits

    def _look(self, op: Op, bits: int) -> None:
        """It gives what the operand holds when it is asked."""
        number = self._number[op]
        if bits & ~self._looks_at[number]:
            self._looks_at[number] |= bits
            self._grow()

    def _make(self, op: Op) -> None:
        made = self._bit(op)
        for i, operand in enumerate(op.args):
            named = i >= len(op.args) - len(op.kwnames)
            if effects.plain(operand_type(operand)) and T.cls_of(operand_type(operand)) is np.ndarray:
                continue  # its numbers are copied
            if named or T.cls_of(operand_type(operand)) not in (list, tuple, dict):
                self._hold(made, self._bits(operand))
            self._hold(made, self._items(operand))
        self._give(op, made)

    def _read(self, op: Op, fact: Fact) -> None:
        fn = op.fn
        cls = T.cls_of(operand_type(op.args[0]))
        if cls is np.ndarray and fn is operator.getitem and copies_by_index(operand_type(op.args[1])):
            self._make(op)
            return
        given = self._bits(op.args[0]) if cls in (None, np.ndarray) else 0
        if cls is not np.ndarray:
            given |= self._items(op.args[0]) | self._entry_made(op)
        if isinstance(op.args[0], Const) and is_code(op.args[0].value):
            given |= self._global  # of a module, class or function
        if fn is getattr and names_dict(op.args[1]):
            given |= self._bits(op.args[0])  # what is in an object's dict the object has
        for shares, operands in fact.result:
            for other in operands.of(op.args, op.kwnames) if shares is Shares.ITSELF else ():
                given |= self._bits(other)
        part = len(op.args) > 1 and (fn is operator.getitem or _is_helper(fn))
        if fn is primitives.unpack_ex or (part and T.cls_of(operand_type(op.args[1])) in (None, slice)):
            given |= self._bit(op)  # a part of a sequence; the list of `a, *b = ..`
            self._hold(self._bit(op), self._items(op.args[0]))
        self._give(op, given)

    def makes_entry(self, op: Op) -> bool:
        """Reading one makes it, in a dict of a class with `__missing__` that has none."""
        return op.fn is operator.getitem and bool(self._bits(op.args[0]) & self._making)

    def _entry_made(self, op: Op) -> int:
        if not self.makes_entry(op):
            return 0
        owners, made = self._bits(op.args[0]), self._bit(op)
        if not all(makes_new(self._sites[i]) for i in numbers_in(owners & self._making)):
            made |= self._closure(owners) | self._global  # whatever the function has
        self._hold(owners | made, made)  # what it holds itself is not known either
        return made

    def _view(self, op: Op) -> None:
        """A function of NumPy: a new array or a view, or a list of such."""
        given = self._bit(op)
        for operand in op.args:
            self._hold(self._bit(op), self._bits(operand) | self._items(operand))
            if T.cls_of(operand_type(operand)) not in (list, tuple, dict):
                given |= self._bits(operand)
        self._give(op, given)

    def _unknown(self, op: Op, *, runs: bool = False) -> None:
        seen = 0
        for operand in op.operands():
            seen |= self._bits(operand)
        seen = self._closure(seen)
        self._hold(self._bit(op), seen)
        runs = runs or runs_python(op)
        if runs:
            self._hold(seen, seen)
        if runs or op.fn in NAMESPACES:
            self._give(op, self._global)
        self._give(op, seen | self._bit(op))

    def _give(self, op: Op, bits: int) -> None:
        for result in op.results:
            self._raise(result, bits)


_READS = (operator.getitem, getattr, primitives.cell_get, primitives.unpack, primitives.unpack_ex)
"""Something that the first operand holds; of an array, a view."""


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


__all__ = ["GLOBAL", "Objects", "Sites", "is_outside", "keeps_nothing"]
