"""Which objects the values of a graph may be: a points-to analysis, insensitive to order.

An object is the op that made it, a parameter for what the caller gave there, or GLOBAL for whatever else was
there before. (Two parameters, or a parameter and a global, may be one: see `loose`.) `of` gives the objects
that a value may be (an array's views are that array), `held` those that an object may have as items,
attributes or contents. Values of immutable types are no objects. Whatever a callee is not known to do, it may
do.
"""

from __future__ import annotations

import operator
from types import SimpleNamespace
from typing import Any

import numpy as np

from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import UNDEF, Block, Graph, Iterate, Op, Operand, Value, hashable
from ctxdispatch.passes import effects
from ctxdispatch.passes import types as T
from ctxdispatch.passes.resolve import is_code
from ctxdispatch_contexts.derivatives.table import elementwise, vjp_rule
from ctxdispatch_contexts.programs.activity import STORES, has_zero_derivative, passed
from ctxdispatch_contexts.programs.operands import operand_type

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

NEW_ARRAYS = frozenset(
    getattr(np, name)
    for name in (
        "zeros ones empty full arange linspace eye identity array zeros_like ones_like empty_like full_like "
        "copy concatenate stack vstack hstack dot matmul outer sum mean prod max min var std where einsum "
        "tensordot argsort sort"
    ).split()
) | frozenset(getattr(np.ndarray, name) for name in "copy astype sum mean dot max min prod flatten".split())


class Objects:
    """The analysis of one graph."""

    def __init__(self, graph: Graph) -> None:
        self._reach: dict[Sites, Sites] = {}
        self._of: dict[Value, Sites] = {p: frozenset({p}) for p in graph.params if not _immutable(p)}
        self._of.update(dict.fromkeys(graph.cells, frozenset({GLOBAL})))
        self._held: dict[Any, Sites] = {p: frozenset({p}) for p in graph.params}
        self._held[GLOBAL] = frozenset({GLOBAL})
        self._arrays = {p for p in graph.params if isinstance(p.type, T.ArrayOf)}
        self._looks_at: dict[Any, Sites] = {}
        self._grows = True
        while self._grows:
            self._grows = False
            for block in graph.blocks:
                self._block(block)

    def of(self, operand: Operand) -> Sites:
        if isinstance(operand, Value):
            return self._of.get(operand, NOTHING)
        plain = operand is UNDEF or is_code(operand.value) or _immutable(operand)
        return NOTHING if plain else frozenset({GLOBAL})

    def reach(self, operand: Operand) -> Sites:
        """The objects that `operand` may be or hold, at any depth."""
        start = self.of(operand)
        if self._grows:
            return self._closure(start)
        if start not in self._reach:
            self._reach[start] = self._closure(start)
        return self._reach[start]

    def _closure(self, start: Sites) -> Sites:
        found, work = set(), list(start)
        while work:
            site = work.pop()
            if site not in found:
                found.add(site)
                work += self._held.get(site, NOTHING) | self._looks_at.get(site, NOTHING)
        return frozenset(found)

    def _items(self, operand: Operand) -> Sites:
        return frozenset().union(*[self._held.get(site, NOTHING) for site in self.of(operand)])

    # -- the fixpoint ----------------------------------------------------------------------------------------

    def _block(self, block: Block) -> None:
        for op in block.ops:
            self._op(op)
        if isinstance(block.terminator, Iterate):
            iterator = block.terminator.iterator
            self._raise(block.terminator.body.target.params[0], self._items(iterator))
        for edge in block.edges():
            for param, arg in passed(block.terminator, edge):
                self._raise(param, self.of(arg))

    def _raise(self, value: Value, sites: Sites) -> None:
        old = self._of.get(value, NOTHING)
        if not _immutable(value) and not sites <= old:
            self._of[value] = old | sites
            self._grows = True

    def _hold(self, holder: Any, sites: Sites) -> None:
        old = self._held.get(holder, NOTHING)
        if holder not in self._arrays and not sites <= old:
            self._held[holder] = old | sites
            self._grows = True

    def _op(self, op: Op) -> None:
        fn = op.fn if hashable(op.fn) else None
        if fn in STORES or fn is operator.setitem:
            stored = [s for a in op.args[1:] for s in (self.of(a) | self._items(a))]
            for site in self.of(op.args[0]):
                self._hold(site, frozenset(stored))
        elif fn in MAKES or fn in COPIES or fn in ITERATES:
            self._make(op, fn)
        elif fn in READS:
            cls = T.cls_of(operand_type(op.args[0]))
            view = self.of(op.args[0]) if cls in (None, np.ndarray) else NOTHING
            self._give(op, view | (NOTHING if cls is np.ndarray else self._items(op.args[0])))
        elif fn in NEW_ARRAYS or elementwise(fn) is not None:
            self._make(op, list)  # of sequences, the sum holds their items
        elif vjp_rule(fn) is not None or has_zero_derivative(fn):
            self._view(op)
        else:
            self._unknown(op)

    def _make(self, op: Op, fn: Any) -> None:
        for operand in op.args:
            if fn in MAKES or T.cls_of(operand_type(operand)) not in (list, tuple, dict):
                self._hold(op, self.of(operand))
            if fn not in MAKES:
                self._hold(op, self._items(operand))
            if fn in ITERATES:
                self._looks_at[op] = self._looks_at.get(op, NOTHING) | self.of(operand)
        self._give(op, frozenset({op}))

    def _view(self, op: Op) -> None:
        """A function of NumPy: a new array or a view, or a list of such."""
        for operand in op.args:
            self._hold(op, self.of(operand) | self._items(operand))
        arrays = [self.of(a) for a in op.args if T.cls_of(operand_type(a)) not in (list, tuple, dict)]
        self._give(op, frozenset({op}).union(*arrays))

    def _unknown(self, op: Op) -> None:
        seen = frozenset().union(*[self.reach(a) for a in op.operands()])
        if runs_python(op):
            for site in seen:
                self._hold(site, seen)
            self._give(op, frozenset({GLOBAL}))
        self._give(op, seen | {op})

    def _give(self, op: Op, sites: Sites) -> None:
        for result in op.results:
            self._raise(result, sites)


def is_outside(site: Any) -> bool:
    """It was there before the program began."""
    return site is GLOBAL or isinstance(site, Value)


def loose(sites: Sites) -> frozenset[Any]:
    """With one thing from outside there may be any other."""
    return frozenset([GLOBAL if is_outside(site) else site for site in sites])


HARMLESS = {
    primitives.__name__,
    *(
        "functools logging warnings time io sys json builtins _operator operator math cmath numpy "
        "ctxdispatch ctxdispatch_contexts"
    ).split(),
}


def runs_python(op: Op) -> bool:
    """May run code that we do not see, which may keep its operands or change them."""
    fn = op.fn
    if fn is None:
        return True
    if hashable(fn) and (elementwise(fn) or vjp_rule(fn) or has_zero_derivative(fn)):
        return False
    owner = getattr(fn, "__objclass__", None) or getattr(fn, "__self__", None)  # list.append, tuple.__new__
    module = str(getattr(fn, "__module__", None) or getattr(owner, "__module__", ""))
    return module.split(".")[0] not in HARMLESS and module not in HARMLESS and not isinstance(fn, np.ufunc)


def _immutable(operand: Operand) -> bool:
    type_ = operand_type(operand)
    return type_ is not T.Never and effects.immutable(type_)


__all__ = ["GLOBAL", "Objects", "Sites", "is_outside", "loose", "runs_python"]
