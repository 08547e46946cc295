"""What is changed in place while tangents are pushed along.

The tangent of a container is a container of its form, which is changed as it is changed. So whatever may
hold, under any name and at any depth, an object that is given something that varies, has a tangent itself.
So have arrays that are followed (`programs/followed.py`; `arrays.py` says what happens to them). What has no
tangent of its form, or is changed in a way that has no counterpart, is refused where it stands, whether or
not the op's own result is read.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Mapping
from types import FunctionType, MethodType

from ctxdispatch.facts import fact_of
from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Graph, Iterate, Op
from ctxdispatch.ir.rewrite import definitions
from ctxdispatch.ir.values import Const, Operand, Value, hashable
from ctxdispatch.passes import types as T
from ctxdispatch.passes.resolve import class_attribute
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.forward.arrays import Arrays, has_store
from ctxdispatch_contexts.forward.dual import Dual
from ctxdispatch_contexts.forward.structural import is_helper, is_structural
from ctxdispatch_contexts.programs.activity import NO_PARTS, carries, useful_values, varied_values
from ctxdispatch_contexts.programs.aliases import (
    GLOBAL,
    NOTHING,
    Sites,
    is_outside,
    keeps_nothing,
)
from ctxdispatch_contexts.programs.apart import Strangers
from ctxdispatch_contexts.programs.changes import changed, changed_objects, may_change_unseen, may_rebind
from ctxdispatch_contexts.programs.followed import name_updates, parts
from ctxdispatch_contexts.programs.following import Stored, find_followed
from ctxdispatch_contexts.programs.forwarding import place_of
from ctxdispatch_contexts.programs.fresh_objects import is_fresh
from ctxdispatch_contexts.programs.methods import Method, join_methods
from ctxdispatch_contexts.programs.operands import row_for
from ctxdispatch_contexts.programs.out_of_sight import runs_python
from ctxdispatch_contexts.programs.stand_ins import stands_in
from ctxdispatch_contexts.reverse.stores import LostStores


class Stores:
    """`active`: the values that have tangents, where the parameters `seeds` have; `arrays`: those that are
    stored to and followed; `refused`: the ops that are not allowed. `has_form(op)`: the op can be done to
    tangents. `inner`: what was there before is read afterwards. `tested`: it can be tested at the entry that
    arguments lie apart. Methods are joined to their calls, and updated arrays have one name, in place."""

    def __init__(
        self, graph: Graph, seeds: list[Value], has_form: Callable[[Op], bool], *, inner: bool, tested: bool
    ) -> None:
        self.graph, self.seeds, self.has_form = graph, seeds, has_form
        self.refused: set[Op] = set()
        self.arrays: Arrays | None = None
        self.strangers: Strangers | None = None
        self.part_of: Mapping[Value, Value] = NO_PARTS
        self.varied = varied_values(graph, seeds)
        join_methods(graph, self.varied | _given_to(graph, self.varied))
        self.uses = Counter(a for _, op in graph.ops() for a in op.args)
        self.stores = [op for _, op in graph.ops() if changed(op)]
        self._name_arrays()
        self.lost = LostStores(graph, self.varied, inner=inner)
        roots = [*self._follow(), *self._out_of_sight(), *self._taken()]
        useful = useful_values(graph, self.varied, (v for v in roots if isinstance(v, Value)), self.part_of)
        self.active = (self.varied & useful) - _items_alone(graph, self.varied)
        self._follow_arrays(tested)
        self.active -= set(graph.params) - set(seeds) - set(self.given)
        self.refused.update(op for _, op in graph.ops() if self._is_refused(op))

    def _name_arrays(self) -> None:
        """What is stored to a part is stored to what it is a part of."""
        name_updates(self.graph)
        self.part_of = parts(self.graph)
        self.varied = varied_values(self.graph, self.seeds, self.part_of)

    @functools.cached_property
    def _machinery(self) -> set[Value]:
        """Contexts and the like: no part of what the user computes."""
        return {
            r
            for _, op in self.graph.ops()
            if str(getattr(op.fn, "__module__", "")).startswith("ctxdispatch_contexts") and op.fn is not Dual
            for r in op.results
        }

    def _follow(self) -> list[Operand]:
        """Track whatever may hold an object that is given something that varies. The operands of the ops that
        give."""
        while True:
            stores = [op for op in self.stores if self._follows(op) and self._gives(op)]
            sites = NOTHING.union(*[self._ours(op) for op in stores])
            more = [v for v in definitions(self.graph) if v not in self.varied and self._may_hold(v, sites)]
            more += self._unseen_items()
            if not more:
                kept = [op for op in stores if self._ours(op) or self._changes_alone(op)]
                return [operand for op in kept for operand in op.operands()]
            self.varied |= varied_values(self.graph, [*self.varied, *more], self.part_of) | set(more)

    def _follow_arrays(self, tested: bool) -> None:
        graph, objects, order = self.graph, self.lost.objects, self.lost.order
        self.strangers = Strangers(graph, objects) if tested else None
        found = find_followed(
            Stored(
                graph, objects, order, self.active, self.part_of, self.strangers, self._only_reads, has_store
            )
        )
        if found.stores:
            self.arrays = Arrays(graph, found, objects, order)

    def _only_reads(self, op: Op) -> bool:
        """It has a rule, and makes no container."""
        if self.has_form(op) or (is_helper(op) and not keeps_nothing(op.fn)):
            return False
        return row_for(op) is not None or is_structural(op)

    @property
    def given(self) -> list[Value]:
        """Arguments that are stored to, and followed, whether or not they have a tangent before."""
        return [] if self.arrays is None else self.arrays.followed.given

    def _follows(self, op: Op) -> bool:
        """It can be done to tangents, as far as is known before run time."""
        return self.has_form(op) or isinstance(op.fn, Method)

    def _gives(self, op: Op) -> bool:
        return not self.varied.isdisjoint(op.operands())  # type: ignore[arg-type]

    def _changes_alone(self, op: Op) -> bool:
        """It puts nothing that varies into a container that may have a tangent, which is changed with it."""
        return self.has_form(op) and self.varied.isdisjoint(op.args[1:])  # type: ignore[arg-type]

    def _ours(self, op: Op) -> Sites:
        """What is made here, or given with a tangent, and read for the result's sake."""
        sites = changed_objects(self.lost.objects, op)
        if any(is_outside(s) and s not in self.seeds for s in sites):
            return NOTHING
        return sites & frozenset(self.lost.needed.sites)

    def _out_of_sight(self) -> list[Operand]:
        """Results of calls of code out of sight: they may be called for what they change, which is found out
        when their derivatives are called."""
        unseen = (op for _, op in self.graph.ops() if may_change_unseen(op))
        return [r for op in unseen if self._gives(op) for r in op.results]

    def _taken(self) -> list[Operand]:
        """What is taken from iterators that vary: their tangents move on with them."""
        loops = (b.terminator for b in self.graph.blocks if isinstance(b.terminator, Iterate))
        items = [loop.body.target.params[0] for loop in loops if loop.iterator in self.varied]
        takers = (op for _, op in self.graph.ops() if self._takes(op))
        return [*items, *(r for op in takers for r in op.results)]

    def _takes(self, op: Op) -> bool:
        """It takes something from an iterator that varies."""
        likely = op.fn in GIVE_ITEMS if hashable(op.fn) else False
        return any(a in self.varied and (likely or _is_iterator(a)) for a in op.args)

    def _unseen_items(self) -> list[Value]:
        """Of containers that are empty as far as inference sees."""
        return [
            result
            for _, op in self.graph.ops()
            if self._gives(op)
            for result in op.results
            if result.type is T.Never and result not in self.varied
        ]

    def _may_hold(self, value: Value, sites: Sites) -> bool:
        if not carries(value.type) or GLOBAL in self.lost.objects.of(value) or value in self._machinery:
            return False
        return not sites.isdisjoint(self.lost.objects.reach(value))

    def _is_refused(self, op: Op) -> bool:
        if self.arrays is not None and op in self.arrays.followed.stores:
            return False
        if op.fn is primitives.store_global or any(isinstance(t, Const) for t in changed(op)):
            return self.lost.lost(op)
        return self._is_out_of_step(op) or any(self._is_refused_in(op, t) for t in changed(op))

    def _is_out_of_step(self, op: Op) -> bool:
        """It takes from an iterator, or keeps in C code, what varies, and its counterpart would not."""
        fact = fact_of(op.fn)
        if fact is not None and fact.iterates and fact.gives is bool:  # from an iterator; no tangent is left
            taken = any(a in self.active and _may_be_iterator(a) for a in op.args)
            return taken or self.lost.runs_lost_method(op)
        if op.fn is zip and any(a in self.active and _is_iterator(a) and self.uses[a] > 1 for a in op.args):
            return True  # how many items it takes depends on all operands, some of which have no tangents
        if runs_python(op) and _is_of_c(op) and not self.active.isdisjoint(op.operands()):  # type: ignore[arg-type]
            return True
        return self.lost.runs_lost_method(op) or self.lost.gives_address(op)

    def _is_refused_in(self, op: Op, target: Operand) -> bool:
        if not self._concerns(op):
            return False
        if may_rebind(op) and not self.active.isdisjoint(op.results):
            return False  # it is differentiated as a call
        if not self._follows(op) or (self.lost.put_under_name(op, target) and self.lost.lost(op)):
            return True
        if any(isinstance(s, Op) and self.lost.objects.makes_entry(s) for s in self.lost.objects.of(target)):
            return True  # the dict's tangent has no such entry
        stored = any(a in self.varied for a in op.args[1:])
        return stored and not self._is_followed(op, target)

    def _concerns(self, op: Op) -> bool:
        """Something that varies is put into what it changes, or may be in it."""
        if self._gives(op):
            return True
        sites = self._loosely(changed_objects(self.lost.objects, op))
        return any(not sites.isdisjoint(self._loosely(self.lost.objects.of(v))) for v in self.active)

    def _loosely(self, sites: Sites) -> Sites:
        return self.lost.objects.loose(sites)

    def _is_followed(self, op: Op, target: Operand) -> bool:
        """It has a tangent, and so has all that may be the same; or it is not read again."""
        if self._ours(op):
            return target in self.active
        if not self.lost.inner and (place := place_of(op)) is not None and not is_fresh(self.graph, op):
            return target not in self.active and not self.lost.attribute_is_read(op, place)
        sites = self._loosely(self.lost.objects.of(target))
        if not sites or (self.lost.inner and GLOBAL in sites):
            return False
        return not any(self._is_read(operand, sites, op) for operand in self.lost.uses)

    def _is_read(self, operand: Operand, sites: Sites, store: Op) -> bool:
        """`operand` may hold one of the objects, and is used after the store, for the result's sake."""
        if isinstance(operand_type(operand), T.ArrayOf) or sites.isdisjoint(
            self._loosely(self.lost.objects.reach(operand))
        ):
            return False
        order, here = self.lost.order, self.lost.order.place[store]
        return any(
            not (isinstance(user, Op) and operand in changed(user)) and order.after(here, place)
            for place, user in self.lost.uses[operand]
            if user is not store
        )


GIVE_ITEMS = (next, list, tuple, primitives.unpack, primitives.unpack_ex, list.extend, primitives.list_extend)
"""Of what they are given, which may be an iterator."""


def _may_be_iterator(operand: Operand) -> bool:
    return T.cls_of(operand_type(operand)) is None or _is_iterator(operand)


def _is_iterator(operand: Operand) -> bool:
    type_ = operand_type(operand)
    return isinstance(type_, T.IterOf) or hasattr(T.cls_of(type_), "__next__")


def _is_of_c(op: Op) -> bool:
    """What it calls has no Python code, and no rule that is found at run time."""
    fn = op.fn
    if fn is None or type(fn) in (FunctionType, MethodType) or stands_in(op):
        return False
    owner, names = (fn, ("__init__", "__new__")) if issubclass(type(fn), type) else (type(fn), ("__call__",))
    return not any(issubclass(type(class_attribute(owner, n)), (FunctionType, staticmethod)) for n in names)


def _items_alone(graph: Graph, varied: set[Value]) -> set[Value]:
    """Items that are stored to, of iterators that do not vary themselves: nothing to take a tangent from."""
    loops = [b.terminator for b in graph.blocks if isinstance(b.terminator, Iterate)]
    return {loop.body.target.params[0] for loop in loops if loop.iterator not in varied}


def _given_to(graph: Graph, varied: set[Value]) -> set[Value]:
    """Callees that something that varies is given to: methods may keep it."""
    return {
        op.callee
        for _, op in graph.ops()
        if isinstance(op.callee, Value) and not varied.isdisjoint(op.args)  # type: ignore[arg-type]
    }
