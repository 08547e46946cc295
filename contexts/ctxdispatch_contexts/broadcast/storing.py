"""Partial derivatives that are stored in the forward sweep, in the place of recomputing them in the reverse.

    %y = k(%a, %b)       ->      %t = partials(%a, %b)                                 t = (y, dy/da, dy/db)
                                 %y = storing(%t, %t[1], %t[2], %a, %b)
                                 ..; bar(a), bar(b) = products of bar(y) with %t[1], %t[2], in one pass

More bytes, and no second evaluation: for kernels that are expensive. The items are read before the sweep,
which does not keep y then.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from ctxdispatch.ir.graph import Block, Graph, Op, positional
from ctxdispatch.ir.values import Const, Operand, Value
from ctxdispatch.passes import types as T
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.broadcast.kernel import Kernel, finish
from ctxdispatch_contexts.broadcast.rules import call_kernel
from ctxdispatch_contexts.broadcast.scalars import set_outputs
from ctxdispatch_contexts.forward import Before
from ctxdispatch_contexts.programs.activity import active_values
from ctxdispatch_contexts.programs.primitive import Primitive
from ctxdispatch_contexts.programs.scaling import typed
from ctxdispatch_contexts.reverse import before_sweep, cotangents_of, fit_cotangent, is_zero


@before_sweep
def store_partials(graph: Graph, seeds: Sequence[Value]) -> None:
    """Rewrite the calls of kernels whose partial derivatives are to be stored, in place."""
    calls = [(block, op) for block, op in graph.ops() if _stores(op)]
    active = active_values(graph, list(seeds)) if calls else set()
    for block, op in calls:
        kernel = op.fn
        moving = [i for i, a in enumerate(op.args) if a in active and kernel.kinds[i] is float]
        wrt = kernel.moved_by(moving)
        if wrt:
            _store(block, op, Storing(kernel, wrt))


def _stores(op: Op) -> bool:
    return isinstance(op.fn, Kernel) and op.fn.options.partials == "store" and not op.fn.several


def _store(block: Block, op: Op, storing: Storing) -> None:
    before = Before(block, op)
    t = before(storing.partials, *op.args)
    t.type = storing.partials.result_type([T.widen(operand_type(a)) for a in op.args])
    items = [before(operator.getitem, t, Const(i), syntax=True) for i in range(1, len(storing.wrt) + 1)]
    for i, item in enumerate(items, start=1):
        item.type = t.type.items[i] if isinstance(t.type, T.TupleOf) else T.Any
    op.callee, op.args = Const(storing), [t, *items, *op.args]


class Storing(Primitive):
    """(t, its items but the first, operands) -> y, where t is (y, its partial derivatives with respect to the
    parameters `wrt`)."""

    def __init__(self, kernel: Kernel, wrt: Sequence[int]) -> None:
        self.kernel, self.wrt = kernel, tuple(wrt)
        self.partials = kernel.partials(wrt)
        self.__name__ = f"storing_{kernel.name}"

    def __call__(self, t: Any, *others: Any) -> Any:
        return t[0]

    def result_type(self, args: Sequence[T.Type]) -> T.Type:
        return self.kernel.result_type(args[1 + len(self.wrt) :])

    def reverse(self, adjoint: Any, op: Op) -> None:
        """In one pass over what was stored. Whoever differentiates the sweep finds the kernel of the partial
        derivatives."""
        n = len(self.wrt)
        (g,) = cotangents_of(adjoint, op, None)
        stored, operands = op.args[1 : n + 1], op.args[n + 1 :]
        op.callee, op.args, op.syntax = Const(operator.getitem), [op.args[0], Const(0)], True
        if is_zero(g):
            return
        found = call_kernel(adjoint.build, _scaling(self.kernel, n), [g, *map(adjoint.recall, stored)])
        for place, i in enumerate(self.wrt):
            part = typed(adjoint.build, operator.getitem, found, Const(place))
            adjoint.add(operands[i], fit_cotangent(adjoint, part, operands[i], op.result))


def _scaling(kernel: Kernel, n: int) -> Kernel:
    """(g, p1 .. pn) -> g * p1, .., g * pn, linear in g."""

    def make() -> Kernel:
        graph = Graph("scaling", positional(n + 1))
        g, *partials = graph.params
        block = graph.entry
        products: list[Operand] = [Value() for _ in partials]
        block.ops = [
            Op(Const(operator.mul), [g, p], [y], (), None, True)  # type: ignore[list-item]
            for p, y in zip(partials, products, strict=True)
        ]
        set_outputs(block, products)
        finish(graph, [float] * (n + 1))
        made = Kernel(graph, [float] * (n + 1), True, f"scaling_{kernel.name}", kernel.options)
        made.linear = (0,)
        return made

    return kernel.derive(("scaling", n), make)
