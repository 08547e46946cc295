"""What is changed in place while tangents are pushed along.

The tangent of a container is a container of its form, which is changed as it is changed. So whatever may
hold, under any name and at any depth, an object that is given something that varies, has a tangent itself.
So have arrays that are followed (`programs/followed.py`; `arrays.py` says what happens to them). What has no
tangent of its form, or is changed in a way that has no counterpart, is refused where it stands, whether or
not the op's own result is read.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping

from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Graph, Iterate, Op, Return
from ctxdispatch.ir.rewrite import definitions
from ctxdispatch.ir.values import Const, Operand, Value, hashable
from ctxdispatch.passes import types as T
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.forward.arrays import Arrays, has_store
from ctxdispatch_contexts.forward.dual import Dual
from ctxdispatch_contexts.forward.structural import is_helper, is_structural
from ctxdispatch_contexts.programs.activity import NO_PARTS, carries, useful_values, varied_values
from ctxdispatch_contexts.programs.aliases import (
    GLOBAL,
    NAMESPACES,
    NOTHING,
    Sites,
    is_outside,
    keeps_nothing,
)
from ctxdispatch_contexts.programs.apart import Strangers
from ctxdispatch_contexts.programs.changes import changed, may_change_unseen, may_rebind, spread
from ctxdispatch_contexts.programs.errors import OWN_FILES
from ctxdispatch_contexts.programs.followed import name_updates, parts
from ctxdispatch_contexts.programs.following import find_followed
from ctxdispatch_contexts.programs.methods import Method, join_methods
from ctxdispatch_contexts.programs.operands import INPLACE, row_for
from ctxdispatch_contexts.programs.prepare import OURS
from ctxdispatch_contexts.programs.sources import NAMESPACE as SOURCES
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
        roots: list[Operand] = []
        self.stores = [op for _, op in graph.ops() if changed(op) is not None]
        any_ = _any_to_look_at(graph, self.stores, has_form)
        if any_:
            self._name_arrays()
            self.lost = LostStores(graph, self.varied, inner=inner)
            roots = self._follow()
        roots += self._out_of_sight()
        useful = useful_values(graph, self.varied, (v for v in roots if isinstance(v, Value)), self.part_of)
        self.active = (self.varied & useful) - _items_alone(graph, self.varied)
        if any_:
            self._follow_arrays(tested)
        self.active -= set(graph.params) - set(seeds) - set(self.given)
        if any_:
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
                return [operand for op in stores if self._ours(op) for operand in op.operands()]
            self.varied |= varied_values(self.graph, [*self.varied, *more], self.part_of) | set(more)

    def _follow_arrays(self, tested: bool) -> None:
        graph, objects, order = self.graph, self.lost.objects, self.lost.order
        self.strangers = Strangers(graph, objects) if tested else None
        found = find_followed(
            graph, objects, order, self.active, self.part_of, self.strangers, self._only_reads, has_store
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

    def _ours(self, op: Op) -> Sites:
        """What is made here, or given with a tangent, and read for the result's sake."""
        sites = self.lost.objects.of(_target(op))
        if any(is_outside(s) and s not in self.seeds for s in sites):
            return NOTHING
        return sites & frozenset(self.lost.needed.sites)

    def _out_of_sight(self) -> list[Operand]:
        """Results of calls whose callees only run time knows: they may be called for what they change, which
        is found out when their derivatives are called."""
        unknown = (op for _, op in self.graph.ops() if spread(op).fn is None or _may_change_spread(op))
        return [r for op in unknown if self._gives(op) for r in op.results]

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
        target = changed(op)
        if self.arrays is not None and op in self.arrays.followed.stores:
            return False
        if op.fn is primitives.store_global or isinstance(target, Const):
            return self.lost.lost(op)
        if target is None or not self._concerns(op, target):
            return False
        if may_rebind(op) and not self.active.isdisjoint(op.results):
            return False  # it is differentiated as a call
        if not self._follows(op) or (self.lost.put_under_name(op, target) and self.lost.lost(op)):
            return True
        stored = any(a in self.varied for a in op.args[1:])
        return stored and not self._is_followed(op, target)

    def _concerns(self, op: Op, target: Operand) -> bool:
        """Something that varies is put into the target, or may be in it."""
        if self._gives(op):
            return True
        sites = self._loosely(self.lost.objects.of(target))
        return any(not sites.isdisjoint(self._loosely(self.lost.objects.of(v))) for v in self.active)

    def _loosely(self, sites: Sites) -> Sites:
        return self.lost.objects.loose(sites)

    def _is_followed(self, op: Op, target: Operand) -> bool:
        """It has a tangent, and so has all that may be the same; or it is not read again."""
        if self._ours(op):
            return target in self.active
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
            not (isinstance(user, Op) and changed(user) is operand) and order.after(here, place)
            for place, user in self.lost.uses[operand]
            if user is not store
        )


def _items_alone(graph: Graph, varied: set[Value]) -> set[Value]:
    """Items that are stored to, of iterators that do not vary themselves: nothing to take a tangent from."""
    loops = [b.terminator for b in graph.blocks if isinstance(b.terminator, Iterate)]
    return {loop.body.target.params[0] for loop in loops if loop.iterator not in varied}


READ_ONCE = frozenset({
    reversed, iter, len, zip, enumerate, operator.getitem, tuple, list, bool, primitives.cell_get,
    primitives.list_to_tuple, primitives.unpack,
})  # fmt: skip
"""They give items of a list, or what a cell holds; the list itself has no other name then."""


FINDS = (None, primitives.load_global, primitives.cell_get, getattr, operator.getitem, *NAMESPACES)
"""They give what may have been there before."""

CALLS = SOURCES["__name__"]
"""The module that the programs of single calls are said to stand in."""


def _any_to_look_at(graph: Graph, stores: list[Op], has_form: Callable[[Op], bool]) -> bool:
    """Whether something may be changed by another name than that by which it is read. (The lists that sweeps
    keep have one name: to look at them all takes long.)"""
    space = str((graph.namespace or {}).get("__name__", ""))
    if any(op.fn is primitives.store_global for _, op in graph.ops()):
        return True
    if space == CALLS and not any(map(_is_of_users, stores)):
        there = {*graph.params, *(r for _, op in graph.ops() if op.fn in FINDS for r in op.results)}
        return any(isinstance(_target(op), Const) or _target(op) in there for op in stores)
    if space.startswith(OURS) and space != CALLS:
        return False  # the rules of this package have one name for what they change
    if any(op.fn in INPLACE for op in stores if hashable(op.fn)):
        return True  # what it changes has no tangent yet, if only what is added varies
    shared = {
        a
        for block in graph.blocks
        for op in block.ops
        for i, a in enumerate(op.operands())
        if not (op.fn in READ_ONCE if hashable(op.fn) else False)
        and not (changed(op) is a and op.args.count(a) == 1)
    }
    shared |= {a for block in graph.blocks for edge in block.edges() for a in edge.args}
    shared |= {block.terminator.value for block in graph.blocks if isinstance(block.terminator, Return)}
    fresh = {
        op.result
        for _, op in graph.ops()
        if op.fn in (primitives.build_list, primitives.make_cell) and op.results
    }
    return any(not has_form(op) or _target(op) not in fresh or _target(op) in shared for op in stores)


def _is_of_users(op: Op) -> bool:
    """It stands in code of theirs, which the call has become: there, things have other names too."""
    return op.pos is not None and not op.pos.filename.startswith(OWN_FILES)


def _may_change_spread(op: Op) -> bool:
    return op.fn is primitives.call_ex and may_change_unseen(op)


def _given_to(graph: Graph, varied: set[Value]) -> set[Value]:
    """Callees that something that varies is given to: methods may keep it."""
    return {
        op.callee
        for _, op in graph.ops()
        if isinstance(op.callee, Value) and not varied.isdisjoint(op.args)  # type: ignore[arg-type]
    }


def _target(op: Op) -> Operand:
    target = changed(op)
    assert target is not None
    return target
