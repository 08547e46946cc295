"""Which arrays a derivative can follow through what is stored to them: see `followed.py`."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from typing import Any

import numpy as np

from ctxdispatch.facts import INPLACE, PRODUCTS, SUMS, VALUE_FREE, VIEWS
from ctxdispatch.ir.graph import Block, Graph, Iterate, Op
from ctxdispatch.ir.values import Const, Operand, Value, hashable
from ctxdispatch.passes import types as T
from ctxdispatch.passes.buffers import gives_new, makes_new
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.programs.activity import SCATTERS, has_zero_derivative, passed
from ctxdispatch_contexts.programs.aliases import Objects, Sites
from ctxdispatch_contexts.programs.apart import Strangers
from ctxdispatch_contexts.programs.changes import changed, changed_objects
from ctxdispatch_contexts.programs.containers import copies_by_index
from ctxdispatch_contexts.programs.followed import Followed, is_array, whole
from ctxdispatch_contexts.programs.order import Order, uses
from ctxdispatch_contexts.programs.overlapping import may_run_over

UPDATES = frozenset(f for f, plain in INPLACE.items() if plain in (*SUMS, *PRODUCTS))
"""In-place operators that derivatives have a form for."""

_OPERANDS = {**dict.fromkeys(UPDATES, 2), **dict.fromkeys((operator.setitem, *SCATTERS), 3)}
"""Of the stores that they have one for, how many operands."""

Place = tuple[Block, int]


@dataclass(frozen=True)
class Stored:
    """A graph, what is known of it, and what a mode can do. `strangers`: None where it cannot be tested at
    the entry that arguments lie apart. `reads(op)`: it has a rule that keeps none of its operands, though its
    result may be a view of one. `has_form(op)`: the store `op` has one."""

    graph: Graph
    objects: Objects
    order: Order
    active: Set[Value]
    part_of: Mapping[Value, Value]
    strangers: Strangers | None
    reads: Callable[[Op], bool]
    has_form: Callable[[Op], bool]


def find_followed(of: Stored) -> Followed:
    """What is followed in it; arguments among that lie apart in `of.objects` from then on."""
    found = Followed(of.part_of)
    search = _Search(of)
    for root, stores in search.stores.items():
        if search.is_followed(root):
            found.roots[root] = None
            found.stores.update(stores)
    found.given = [p for p in of.graph.params if p in found.roots]
    of.objects.lie_apart(found.given)
    return found


class _Search:
    """`stores`: root -> the stores to it that have a form; `others`: the ops that change something in a way
    that is not followed."""

    def __init__(self, of: Stored) -> None:
        self.of, self.objects, self.order, self.part_of = of, of.objects, of.order, of.part_of
        self.stores: dict[Value, list[Op]] = {}
        self.others: list[Op] = []
        for _, op in of.graph.ops():
            self._sort(op)

    @functools.cached_property
    def arguments(self) -> list[Value]:
        strangers = self.of.strangers
        return strangers.params if strangers is not None and strangers.known else []

    @functools.cached_property
    def makers(self) -> dict[Value, Op]:
        return {r: op for _, op in self.of.graph.ops() for r in op.results}

    @functools.cached_property
    def given(self) -> dict[Value, list[Operand]]:
        return _given(self.of.graph)

    @functools.cached_property
    def uses(self) -> list[tuple[Value, Place, Any]]:
        return [(a, place, user) for a, place, user in uses(self.of.graph) if isinstance(a, Value)]

    def _sort(self, op: Op) -> None:
        targets = changed(op)
        root = whole(targets[0], self.part_of) if targets and isinstance(targets[0], Value) else None
        if root is not None and root in self.of.active and self._has_form(op):
            self.stores.setdefault(root, []).append(op)
        elif targets:
            self.others.append(op)

    def _has_form(self, op: Op) -> bool:
        """And no index in it that may store, too."""
        return self.of.has_form(op) and not self.objects.runs_method(op)

    def is_followed(self, root: Value) -> bool:
        sites = self.objects.of(root)
        if not self._is_made_here(root, set()) or not all(map(self._is_array_of_ours, sites)):
            return False
        if any(not sites.isdisjoint(changed_objects(self.objects, op)) for op in self.others):
            return False
        if any(self._stores_itself(op, sites) for op in self.stores[root]):
            return False
        return not any(self._is_in_the_way(root, sites, *use) for use in self.uses)

    def _stores_itself(self, op: Op, sites: Sites) -> bool:
        """The value may lie in the array, and be written before it is read."""
        return may_run_over(op, self.makers) and not sites.isdisjoint(self.objects.of(op.args[-1]))

    def _is_array_of_ours(self, site: Any) -> bool:
        if isinstance(site, Value):
            return site in self.arguments
        return isinstance(site, Op) and (_makes(site) or _views(site))  # of which it may be a copy

    def _is_made_here(self, value: Operand, seen: set[Value]) -> bool:
        """An argument, or a new array on every path."""
        if not isinstance(value, Value) or not is_array(value):
            return False
        if value in self.arguments:
            return True
        if value in seen:
            return True
        seen.add(value)
        if value in self.makers:
            made = self.makers[value]
            return _makes(made) or (_views(made) and self._is_of_one_made_here(made.args[0], seen))
        given = self.given.get(value)
        return given is not None and all(self._is_made_here(a, seen) for a in given)

    def _is_of_one_made_here(self, operand: Operand, seen: set[Value]) -> bool:
        """Who reads that array after a store sees the store, and is in the way."""
        return operand not in self.arguments and self._is_made_here(operand, seen)

    def _is_in_the_way(self, root: Value, sites: Sites, operand: Value, place: Place, user: Any) -> bool:
        """This use may keep the array for later, or see a store to it by another name."""
        shared = sites & self.objects.of(operand)
        if not shared or (isinstance(user, Op) and _reads_no_data(user)):
            return False
        stores = [(op, self.order.place[op]) for op in self.stores[root]]
        if whole(operand, self.part_of) is not root:
            seen = [s for s in stores if any(self._sees(operand, s[1], place, site) for site in shared)]
            if seen:
                return True
        if user is None or isinstance(user, Value) or self._only_reads(user):
            return False
        return any(self.order.after(place, s, site) for _, s in stores for site in shared)

    def _only_reads(self, op: Op) -> bool:
        """It keeps none of its operands; its result may be a view of one."""
        if op.fn in (operator.getitem, getattr) or any(op in found for found in self.stores.values()):
            return True
        if not hashable(op.fn) or changed(op):
            return False
        return has_zero_derivative(op.fn) or makes_new(op) or self.of.reads(op)

    def _sees(self, operand: Value, store: Place, place: Place, site: Op) -> bool:
        """`operand`, which may be what `site` made, is there before the store and read after it."""
        there = self.order.place.get(operand)
        return (
            there is not None
            and self.order.after(there, store, site)
            and self.order.after(store, place, site, operand)
        )


def _given(graph: Graph) -> dict[Value, list[Operand]]:
    """What the edges pass for each block parameter. An item of an iterator is given by nobody."""
    given: dict[Value, list[Operand]] = {}
    items = set()
    for block in graph.blocks:
        if isinstance(block.terminator, Iterate):
            items.add(block.terminator.body.target.params[0])
        for edge in block.edges():
            for param, arg in passed(block.terminator, edge):
                given.setdefault(param, []).append(arg)
    return {param: args for param, args in given.items() if param not in items}


def _reads_no_data(op: Op) -> bool:
    """`x.shape`, `len(x)`: what no store changes."""
    if op.fn is getattr:
        return isinstance(op.args[1], Const) and op.args[1].value in _LAYOUT
    return hashable(op.fn) and op.fn in VALUE_FREE


_LAYOUT = ("shape", "ndim", "size", "dtype", "itemsize", "nbytes")


def _makes(op: Op) -> bool:
    """The result is a new array."""
    if op.fn is operator.getitem:
        return is_array(op.args[0]) and copies_by_index(operand_type(op.args[1]))
    return makes_new(op) or gives_new(op)


def _views(op: Op) -> bool:
    """The result is the first operand's elements in another shape or order, in its memory if need be."""
    if op.fn is getattr:
        return isinstance(op.args[1], Const) and op.args[1].value in _VIEWING and is_array(op.args[0])
    if op.fn is operator.getitem:
        return is_array(op.args[0])
    return hashable(op.fn) and op.fn in VIEWS and is_array(op.args[0])


_VIEWING = ("T", "mT", "real", "imag")


def stored_type(op: Op) -> T.Type:
    """Of what `op` stores into an array of floats or complex numbers, if it does so by a store that has a
    form; else Never."""
    if len(op.args) != _OPERANDS.get(op.fn) or op.kwnames or not is_of_floats(op.args[0]):
        return T.Never
    return operand_type(op.args[-1])


def stores_numbers(op: Op) -> bool:
    """It is such a store, of numbers that the array can hold."""
    return can_hold(op.args[0], stored_type(op)) if op.args else False


def can_hold(array: Operand, type_: T.Type) -> bool:
    """Numbers of this type, as they are."""
    return is_real(type_) or (_is_complex(type_) and _is_complex(operand_type(array)))


def is_of_floats(operand: Operand) -> bool:
    """An array of floats or complex numbers, no NumPy scalar."""
    return is_array(operand) and operand_type(operand).dtype.kind in "fc"  # type: ignore[attr-defined]


def _is_complex(type_: T.Type) -> bool:
    if isinstance(type_, T.ArrayOf):
        return type_.dtype.kind == "c"
    cls = T.cls_of(T.widen(type_))
    return cls is not None and issubclass(cls, (complex, np.complexfloating))


def is_real(type_: T.Type) -> bool:
    """Of real numbers and arrays of them."""
    if isinstance(type_, T.ArrayOf):
        return type_.dtype.kind in "fiub"
    cls = T.cls_of(T.widen(type_))
    return cls is not None and issubclass(cls, (int, float, np.integer, np.floating, np.bool_))


__all__ = [
    "UPDATES", "Stored", "can_hold", "find_followed", "is_of_floats", "is_real", "stored_type",
    "stores_numbers",
]  # fmt: skip
