"""Which ops of a program remember what was found: they become sites (`ir.sites`), each with a place.

Where the program runs in SSA form, or was rewritten for one instance beforehand, nothing is remembered: the
same methods give the ops that a site stands for.
"""

from __future__ import annotations

from typing import Any

from ctxdispatch.dispatch import memory
from ctxdispatch.dispatch.hooks import told
from ctxdispatch.dispatch.overdub import resolve, select
from ctxdispatch.dispatch.places import call_at, resolve_at, select_at, stacked_at
from ctxdispatch.dispatch.plan import Plan
from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Graph, Op
from ctxdispatch.ir.sites import CELL, CONTEXT, Site, without_memory
from ctxdispatch.ir.values import Const, Operand, Position, Reread, Value


class Sites:
    """Those of one graph for a class with this plan. `ctx` is the operand that is the context."""

    def __init__(self, graph: Graph, plan: Plan, ctx: Operand, remembers: bool) -> None:
        self.plan = plan
        self.ctx = ctx
        self.remembers = remembers
        self._cell = Value("places")
        self._count = 0
        self._cells = dict(zip(graph.cells, graph.cellnames))

    def add_to(self, graph: Graph) -> None:
        """Give `graph` the hidden cell that holds what the code remembers."""
        if self._count:
            assert graph.frame is not None
            graph.cellnames = (*graph.cellnames, graph.cellnames[-1].replace(CONTEXT, CELL))
            graph.cells.append(self._cell)
            graph.frame.sites = self._count

    # -- of this context ---------------------------------------------------------------------------

    def resolve(self, callee: Operand, made: Op | None, target: Value, pos: Position | None) -> list[Op]:
        """What finds the target for a callee, which `made` has made."""
        bound = made is not None and type(made.fn) is Site and made.fn.is_wide and self.remembers
        return self._op(Site(resolve_at, resolve, self._next, bound=bound), [callee], [target], pos)

    def method(self, read: Op, name: str, results: list[Value]) -> list[Op]:
        """The same in place of `read`, of the attribute that is called. With two `results`, the second is
        what hooks are told."""
        site = Site(resolve_at, resolve, self._next, attribute=name, told=told if results[1:] else None)
        return self._op(site, read.args[:1], results, read.pos)

    def select(self, op: Op) -> list[Op]:
        site = Site(select_at, select, self._next, op.fn, len(op.args))
        if op.fn not in memory.GUARDED or op.fn in self.plan.ruled or site.count > 2:
            return without_memory(site, [self.ctx], op.args, op.results, op.pos)
        return self._op(site, op.args, op.results, op.pos)

    def call(self, op: Op, name: Any) -> list[Op]:
        """Of a builtin whose handler goes by the class of an argument; nothing where it is another.
        `name` is the global one that is called, if it is one."""
        if not self.remembers or op.fn is primitives.call_ex or op.bare or op.kwnames or len(op.results) != 1:
            return []
        row = memory.by_class(name, len(op.args))
        if row is None or id(row.f) in self.plan.callees:
            return []
        site = Site(call_at, resolve, self._next, count=1 + len(op.args), calls=True, alike=row.alike)
        return self._op(site, [op.callee, *op.args], op.results, op.pos)

    # -- of contexts further in --------------------------------------------------------------------

    def stacked(self, op: Op, name: Any) -> list[Op]:
        """Such a site as one that remembers what holds for this context too: that nobody has a say in the
        operation, or the call of the global `name`. Nothing where this one has."""
        inner: Site = op.fn
        if not self.remembers or self._has_a_say(inner, name):
            return []
        (own, *within), operands = op.args[: inner.depth], op.args[inner.depth :]
        place, count, operation = self._next, inner.count, inner.operation
        site = Site(
            stacked_at, resolve, place, operation, count, calls=inner.calls, alike=inner.alike, inner=inner
        )
        return self._op(site, [*within, own, *operands], op.results, op.pos)

    def _has_a_say(self, inner: Site, name: Any) -> bool:
        if not inner.calls:
            return self.plan.rules_or_hooks(inner.operation)
        row = memory.by_class(name, inner.count - 1)
        return self.plan.hooked or (row is not None and id(row.f) in self.plan.callees)

    def without_memory(self, op: Op) -> list[Op]:
        """What such a site does."""
        (own, *within), operands = op.args[: op.fn.depth], op.args[op.fn.depth :]
        ops: list[Op] = []
        contexts: list[Operand] = []
        for cell in (*within, own):
            name = CONTEXT + self._cells[cell].removeprefix(CELL)  # type: ignore[index]
            its = next(c for c, known in self._cells.items() if known == name)
            ctx = Reread(its, "ctx")
            contexts.append(ctx)
            ops.append(Op(Const(primitives.cell_get), [its, Const(name), Const(True)], [ctx], syntax=True))
        return ops + without_memory(op.fn, contexts, operands, op.results, op.pos)

    # ----------------------------------------------------------------------------------------------

    @property
    def _next(self) -> int:
        """The place of the next site."""
        return self._count + 1

    def _op(
        self, site: Site, operands: list[Operand], results: list[Value], pos: Position | None
    ) -> list[Op]:
        if not self.remembers:
            return without_memory(site, [self.ctx], operands, results, pos)
        self._count = site.place
        return [Op(Const(site), [self._cell, *operands], results, pos=pos, syntax=True)]
