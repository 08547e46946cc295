"""Forward derivatives taken within a program that is itself differentiated: see `programs/derived.py`.

jvp(f, (x, y), (dx, None))                    pushforward(f, (0,))(x, y, dx)
overdub(DualContext(), f, Dual(x, dx), y)     Dual(*pushforward(f, (0,))(x, y, dx))
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from ctxdispatch.ir.graph import Block, Graph, Op
from ctxdispatch.ir.values import Const, Operand, Value
from ctxdispatch.passes import types as T
from ctxdispatch.passes.cells import items_of
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.forward.api import jvp, pushforward
from ctxdispatch_contexts.forward.context import DualContext
from ctxdispatch_contexts.forward.dual import Dual
from ctxdispatch_contexts.programs.derived import is_known, overdub_of, spelled_out


class Before:
    """Inserts ops before `op`."""

    def __init__(self, block: Block, op: Op) -> None:
        self.block, self.op = block, op

    def __call__(
        self, callee: Any, *args: Operand, syntax: bool = False, kwnames: tuple[str, ...] = ()
    ) -> Value:
        result = Value()
        at = next(i for i, other in enumerate(self.block.ops) if other is self.op)
        called = callee if isinstance(callee, Value) else Const(callee)
        self.block.ops.insert(at, Op(called, list(args), [result], kwnames, self.op.pos, syntax))
        return result


@spelled_out(jvp)
def _jvp(prepared: Any, block: Block, op: Op) -> bool:
    return push_call(prepared, block, op, lambda before, f, wrt: before(pushforward, f, *wrt))


Push = Callable[[Before, Operand, tuple[Const, Const]], Value]


def push_call(prepared: Any, block: Block, op: Op, push: Push) -> bool:
    """fn(f, primals, tangents)      push(f, which move, how many there are)(*primals, *their tangents)"""
    if len(op.args) != 3 or op.kwnames or not is_known(op.args[0], prepared):
        return False
    primals, tangents = (items_of(a, prepared.maker) for a in op.args[1:])
    if primals is None or tangents is None or len(primals) != len(tangents):
        return False
    wrt = tuple(i for i, d in enumerate(tangents) if not (isinstance(d, Const) and d.value is None))
    made = push(Before(block, op), op.args[0], (Const(wrt), Const(len(primals))))
    op.callee, op.args, op.syntax = made, [*primals, *(tangents[i] for i in wrt)], False
    return True


@overdub_of(DualContext)
def _overdub(prepared: Any, block: Block, op: Op, f: Operand, args: list[Operand], context: Any) -> bool:
    if not is_known(f, prepared):
        return False
    before = Before(block, op)
    wrt = tuple(i for i, a in enumerate(args) if T.cls_of(operand_type(a)) is Dual)
    values = [_part(prepared.graph, before, a, "value") if i in wrt else a for i, a in enumerate(args)]
    tangents = [_part(prepared.graph, before, args[i], "partials") for i in wrt]
    push = before(pushforward, f, Const(wrt), Const(len(args)))
    pair = before(push, *values, *tangents)
    y, dy = (before(operator.getitem, pair, Const(i), syntax=True) for i in (0, 1))
    op.callee, op.args, op.syntax = Const(Dual), [y, dy], False
    return True


def _part(graph: Graph, before: Before, dual: Operand, name: str) -> Operand:
    """The attribute: what the Dual was made of, where that is in sight."""
    made_here = any(dual in op.results and op.fn is object.__new__ for op in before.block.ops)
    given = [(block, found) for block, op in graph.ops() if (found := _given(op, dual, name)) is not None]
    if made_here and len(given) == 1 and given[0][0] is before.block:
        return given[0][1]
    return before(getattr, dual, Const(name), syntax=True)


def _given(op: Op, dual: Operand, name: str) -> Operand | None:
    """What `op` makes this attribute of `dual`."""
    if op.fn is Dual.__init__ and op.args[0] is dual and not op.kwnames:
        return op.args[1 + Dual.__slots__.index(name)]
    stores = op.fn is setattr and op.args[0] is dual and isinstance(op.args[1], Const)
    return op.args[2] if stores and op.args[1].value == name else None  # type: ignore[union-attr]
