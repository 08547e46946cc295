"""Stores that the reverse sweep would not see: refused where they stand, never silently wrong.

Two things can go wrong when an object is changed:

  lost    differentiated data is put into an object, and read out of it again by another way than the value
          that was stored to: `rows[0].append(x); ... rows[0][0]`. The sweep knows cotangents by value, not by
          object.
  stale   an array is changed after a derivative was to remember it: `y = x * buf; buf[0] = 5.0`. The sweep
          would read what is in there by then.

What neither the result nor the sweep reads (counters, logs, caches) may be stored to as one likes.
"""

from __future__ import annotations

import functools
from collections.abc import Set
from types import FunctionType, MethodType, ModuleType
from typing import Any

from ctxdispatch.facts import NAMESPACES, SETS_ATTRIBUTE
from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Block, Graph, Iterate, Op, Return
from ctxdispatch.ir.values import Const, Operand, Value
from ctxdispatch.passes import types as T
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.programs.activity import PUTS, STORES, carries, passed, sets_entry
from ctxdispatch_contexts.programs.aliases import (
    GLOBAL,
    NOTHING,
    Objects,
    Sites,
    is_outside,
)
from ctxdispatch_contexts.programs.assigned import reads_changing_global
from ctxdispatch_contexts.programs.c_objects import ADDRESSES
from ctxdispatch_contexts.programs.changes import (
    changed,
    changed_objects,
    changes_data,
    may_change_unseen,
    may_rebind,
    sets_name,
)
from ctxdispatch_contexts.programs.forwarding import Place, opens_namespace, place_of
from ctxdispatch_contexts.programs.fresh_objects import is_fresh
from ctxdispatch_contexts.programs.order import Order, uses
from ctxdispatch_contexts.programs.other_names import classes_in
from ctxdispatch_contexts.programs.out_of_sight import runs_python
from ctxdispatch_contexts.programs.special_methods import may_store
from ctxdispatch_contexts.programs.stand_ins import stands_in

# -- what the result depends on ------------------------------------------------------------------------------


class Needed:
    """Values, and objects, that the result is computed from."""

    def __init__(self, graph: Graph, objects: Objects, *, all_outside: bool) -> None:
        self.objects = objects
        self.values: set[Value] = set()
        self.sites: set[Any] = {GLOBAL, *graph.params} if all_outside else set()
        self._outside = all_outside
        self.reads_anything = False
        """By code out of sight."""
        size = -1
        while size != len(self.values) + len(self.sites):
            size = len(self.values) + len(self.sites)
            for block in reversed(graph.blocks):
                self._block(block)

    def any(self, sites: Sites) -> bool:
        """One of them may be needed; what is outside may be anything outside."""
        return not self.sites.isdisjoint(sites) or (self._outside and any(map(is_outside, sites)))

    def _block(self, block: Block) -> None:
        if isinstance(block.terminator, Return):
            self._need(block.terminator.value)
        if isinstance(block.terminator, Iterate) and block.terminator.body.target.params[0] in self.values:
            self._need(block.terminator.iterator)
        for edge in block.edges():
            for param, arg in passed(block.terminator, edge):
                if param in self.values:
                    self._need(arg)
        for op in reversed(block.ops):
            needed = not self.values.isdisjoint(op.results)
            if needed and runs_python(op):
                self._outside = self.reads_anything = True
            if needed or self._stores(op):
                for operand in op.operands():
                    self._need(operand)

    def _stores(self, op: Op) -> bool:
        if self.objects.runs_method(op):
            return any(self.any(self.objects.reach(a)) for a in op.args)
        if changed(op) and stands_in(op):
            return any(self.any(self.objects.of(a)) for a in op.args)
        if changed(op):
            return self.any(changed_objects(self.objects, op))
        return may_change_unseen(op) and any(
            not self.sites.isdisjoint(self.objects.reach(a)) for a in op.operands()
        )

    def _need(self, operand: Operand) -> None:
        if isinstance(operand, Const) or (_may_carry(operand) and operand not in self.values):
            reached = self.objects.reach(operand)
            self.sites |= reached
            self._outside = self._outside or any(map(is_outside, reached))
            if isinstance(operand, Value):
                self.values.add(operand)


def _may_carry(value: Value) -> bool:
    """An item of a list that is empty as far as inference sees may come by an alias of it."""
    return value.type is T.Never or carries(value.type)


# -- lost ----------------------------------------------------------------------------------------------------


class LostStores:
    """Finds stores of differentiated data that the sweep would not see. What the analysis knows of the graph
    as it is now it finds out when a store is first asked about: before the graph is rewritten."""

    def __init__(
        self, graph: Graph, varied: set[Value], *, inner: bool, active: Set[Value] = frozenset()
    ) -> None:
        self.graph, self.varied, self.active, self.inner = graph, varied, active, inner
        self.objects = Objects(graph)
        self._before: dict[tuple[Op, Any], bool] = {}

    @functools.cached_property
    def order(self) -> Order:
        return Order(self.graph)

    @functools.cached_property
    def needed(self) -> Needed:
        return Needed(self.graph, self.objects, all_outside=self.inner)

    @functools.cached_property
    def uses(self) -> dict[Operand, list[tuple[tuple[Block, int], Any]]]:
        """Where what may be an object is used for the result's sake, or stored to."""
        found: dict[Operand, list[tuple[tuple[Block, int], Any]]] = {}
        for operand, place, user in uses(self.graph):
            if self.objects.of(operand) and self._is_needed(user):
                found.setdefault(operand, []).append((place, user))
        return found

    def _is_needed(self, user: Any) -> bool:
        if isinstance(user, Op):
            return not self.needed.values.isdisjoint(user.results) or bool(changed(user))
        return user is None or user in self.needed.values

    def lost(self, op: Op) -> bool:
        """Whether `op` stores differentiated data where the sweep does not find it again."""
        if op.fn is primitives.store_global:
            return op.args[2] in self.varied and (self.inner or self._name_is_read(op))
        targets = changed(op)
        if not targets or not any(a in self.varied for a in op.args):
            return bool(targets) and place_of(op) is None and self._is_hidden(op)
        if may_rebind(op) and not self.active.isdisjoint(op.results):
            return False  # it is differentiated as a call
        return any(self._is_lost_in(op, target) for target in targets)

    def _is_hidden(self, op: Op) -> bool:
        """A constant goes into an array that is differentiated by another name, and not by the one that is
        stored to: what `stop_gradient` gave of it."""
        sites = changed_objects(self.objects, op)
        return not self._varied_arrays.isdisjoint(sites) and self.needed.any(sites)

    @functools.cached_property
    def _varied_objects(self) -> Sites:
        return NOTHING.union(*map(self.objects.of, self.varied))

    @functools.cached_property
    def _given_by_name(self) -> set[int]:
        """Classes and other constants into which what is differentiated is stored, by identity."""
        given = [op for _, op in self.graph.ops() if any(a in self.varied for a in op.args)]
        targets = [target for op in given for target in changed(op)]
        return {id(target.value) for target in targets if isinstance(target, Const)}

    @functools.cached_property
    def _varied_arrays(self) -> Sites:
        return NOTHING.union(*[self.objects.of(v) for v in self.varied if isinstance(v.type, T.ArrayOf)])

    def _is_lost_in(self, op: Op, target: Operand) -> bool:
        if not self.inner and (place := place_of(op)) is not None and not is_fresh(self.graph, op):
            return self.attribute_is_read(op, place)
        if isinstance(target, Const) and not issubclass(type(target.value), (type, ModuleType, FunctionType)):
            return True  # an object that was there before, such as a default
        if isinstance(target, Const):
            return self.inner or self._name_is_read(op)
        if self.objects.runs_method(op):
            return any(self.needed.any(self.objects.loose(self.objects.reach(a))) for a in op.args)
        sites = self.objects.loose(changed_objects(self.objects, op))
        if stands_in(op):  # it changes tangents too
            sites = sites.union(*[self.objects.loose(self.objects.of(a)) for a in op.args])
        if not self.inner and self.put_under_name(op, target) and self._name_is_read(op):
            return True
        if not self.needed.any(sites):
            return False
        if not self._reversed(op) or self._holds_itself(op, target):
            return True
        if self.inner and GLOBAL in sites:
            return True
        return any(self._seen_elsewhere(op, target, site) for site in sites)

    def attribute_is_read(self, store: Op, place: Place) -> bool:
        """Afterwards, for the result's sake, otherwise than `forward_stores` has seen."""
        if self.needed.reads_anything or opens_namespace(self.graph):
            return True
        here, cls = self.order.place[store], T.cls_of(operand_type(store.args[0]))
        return any(
            _may_give(user, operand, place.name, cls) and self.order.after(here, at)
            for operand, places in self.uses.items()
            for at, user in places
        )

    def _holds_itself(self, op: Op, target: Operand) -> bool:
        """The object is put into itself, or into what it holds."""
        own = self.objects.loose(self.objects.of(target))
        given = [a for i, a in enumerate(op.args) if i != op.args.index(target)]
        return any(not own.isdisjoint(self.objects.reach(a)) for a in given)

    def put_under_name(self, op: Op, target: Operand) -> bool:
        """It may be a class, module or function, or the dict of one, that is stored to: what it is given is
        read by name."""
        if sets_name(op) and op.fn is not delattr:
            return True
        mapping = isinstance(target, Value) and T.cls_of(operand_type(target)) in (dict, None)
        maker = self._maker(target) if mapping else None  # type: ignore[arg-type]
        return maker is not None and (maker.fn in NAMESPACES or _reads_dict(maker))

    def _name_is_read(self, store: Op) -> bool:
        """What a variable of a module or an attribute of a class is set to: afterwards, here or by code that
        we do not see."""
        here = self.order.place[store]
        return any(
            self.order.after(here, self.order.place[op]) for _, op in self.graph.ops() if _may_read(op, store)
        )

    def _reversed(self, op: Op) -> bool:
        """The sweep has a form for this store."""
        if op.fn in SETS_ATTRIBUTE:  # what is deleted may be read off the class afterwards
            return len(op.args) == 3 and is_fresh(self.graph, op)
        return op.fn in PUTS or sets_entry(op)

    def _seen_elsewhere(self, store: Op, target: Operand, site: Any) -> bool:
        """The object is read after the store as another value that was there before it, or came from
        outside."""
        here = self.order.place[store]
        made = site if site is not GLOBAL else None
        for operand, places in self.uses.items():
            if operand is target or site not in self.objects.loose(self.objects.reach(operand)):
                continue
            if not self._independent(operand, here, site, made) and not self._given_before(store, site):
                continue
            if any(
                user is not store and self.order.after(here, place, made, operand) for place, user in places
            ):
                return True
        return False

    def _independent(self, operand: Operand, store: tuple[Block, int], site: Any, made: Any) -> bool:
        if isinstance(operand, Const):
            return True
        maker = self._maker(operand)
        if site is GLOBAL and (maker is None or maker.fn in (primitives.load_global, primitives.cell_get)):
            return True
        return self.order.after(self.order.place.get(operand, (self.graph.entry, -1)), store, made)

    def _given_before(self, store: Op, site: Any) -> bool:
        """Something else may hold the object when it is stored to."""
        if (store, site) not in self._before:
            here, made = self.order.place[store], site if site is not GLOBAL else None
            self._before[store, site] = any(
                site in given and op is not store and self.order.after(self.order.place[op], here, made)
                for op, given in self._gifts
            )
        return self._before[store, site]

    @functools.cached_property
    def _gifts(self) -> list[tuple[Op, Sites]]:
        """The ops that put objects into others, or have code out of sight keep them, and which objects."""
        found = []
        for _, op in self.graph.ops():
            targets = op.args[:1] if op.fn is primitives.cell_set else changed(op)
            if self.objects.makes_entry(op):
                found.append((op, frozenset((op,))))
            if targets or runs_python(op):
                given = [self.objects.reach(a) for a in op.operands() if a not in targets]
                found.append((op, self.objects.loose(frozenset().union(*given))))
        return found

    def _maker(self, value: Value) -> Op | None:
        block, index = self.order.place.get(value, (self.graph.entry, -1))
        return block.ops[index] if index >= 0 else None

    def changes_callers_array(self, op: Op) -> bool:
        """The caller may have remembered it."""
        if op.fn in STORES or not changed(op) or not changes_data(op):
            return False
        if not any(map(is_outside, changed_objects(self.objects, op))):
            return False
        return any(carries(operand_type(target)) for target in changed(op))

    def kept(self, op: Op) -> bool:
        """`op` calls code out of sight with differentiated data and with what the result is computed from: it
        may put the one into the other."""
        if self.runs_lost_method(op):
            return True
        if op.fn is primitives.load_global or not may_change_unseen(op):
            return False
        if not any(isinstance(a, Value) and a in self.varied for a in op.operands()):
            return False
        reached = (self.objects.reach(a) for a in op.operands())
        if any(map(self.needed.any, reached)) or self._changing_globals:
            return True
        return GLOBAL in self.needed.sites and _hides_code(op)

    def gives_address(self, op: Op) -> bool:
        """`a.ctypes`, of an array that is differentiated or read: C code may find it by its address."""
        if op.fn is not getattr or not isinstance(op.args[1], Const) or op.args[1].value not in ADDRESSES:
            return False
        sites = self.objects.of(op.args[0])
        return not self._varied_arrays.isdisjoint(sites) or self.needed.any(sites)

    def runs_lost_method(self, op: Op) -> bool:
        """`op` runs a special method of an object that holds what is differentiated, and is read again."""
        if not self.objects.runs_method(op):
            return False
        reached = [self.objects.reach(a) for a in op.operands()]
        if any(self.needed.any(sites) and not self._varied_arrays.isdisjoint(sites) for sites in reached):
            return True
        given = any(not self._varied_objects.isdisjoint(sites) for sites in reached)
        given = given or any(isinstance(a, Const) and id(a.value) in self._given_by_name for a in op.args)
        elsewhere = self.needed.reads_anything or GLOBAL in self.needed.sites
        if not given or not (elsewhere or any(map(self.needed.any, reached))):
            return False
        return may_store(op, self.objects.classes_in(op))

    @functools.cached_property
    def _changing_globals(self) -> bool:
        return reads_changing_global(self.graph)


def _may_give(user: Any, operand: Operand, name: str, cls: type | None) -> bool:
    """It may read the attribute of an object of the class: of the operand, or of what that leads to."""
    if isinstance(user, Op) and user.args[:1] == [operand] and (place := place_of(user)) is not None:
        same = place.name == name and T.cls_of(operand_type(operand)) is cls
        return user.args.count(operand) > 1 or (user.fn is getattr and same)
    return not {None, cls}.isdisjoint(classes_in(operand_type(operand)))


def _hides_code(op: Op) -> bool:
    """What is called has code that is not looked into: a function behind a cache, that of a metaclass."""
    return op.fn is not None and type(op.fn) not in (FunctionType, MethodType)


def _may_read(op: Op, store: Op) -> bool:
    """What `store` puts under a name."""
    if op.fn not in (primitives.load_global, getattr):
        return runs_python(op)
    name, stored = op.args[1], store.args[1]
    if isinstance(name, Const) and isinstance(stored, Const) and name.value != stored.value:
        return False  # (an update of a dict has no one name)
    return op.fn is primitives.load_global or _may_find(operand_type(op.args[0]), operand_type(store.args[0]))


def _reads_dict(op: Op) -> bool:
    return op.fn is getattr and isinstance(op.args[1], Const) and op.args[1].value == "__dict__"


def _may_find(owner: T.Type, holder: T.Type) -> bool:
    """An attribute of the owner may be one that the holder, a class or module, has."""
    if not isinstance(holder, T.Known) or owner is T.Any:
        return True
    if isinstance(owner, T.Known) and not issubclass(type(owner.value), type):
        return owner.value is holder.value
    cls = owner.value if isinstance(owner, T.Known) else T.cls_of(owner)
    return cls is None or holder.value in cls.__mro__


__all__ = ["LostStores"]
