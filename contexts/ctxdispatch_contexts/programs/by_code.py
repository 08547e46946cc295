"""Items that Python code of the user's gives: of what C code goes through (`zip(obj, xs)`), of loops.

    class Rows:                       zip(Rows(x), w)     for row in Rows(x)     math.fsum(Rows(x))
        def __next__(self): ...

A derivative program does not follow code that C code runs. So one where what varies comes in that way is
refused where the items are taken, and is recorded. Where such code can be part of the program (a loop over an
object whose `__iter__` returns a list's iterator), it is by then.
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Container, Iterator, Sequence
from typing import Any

from ctxdispatch.dispatch.protocols.callbacks import CALLBACKS, ORDERS
from ctxdispatch.dispatch.protocols.iteration import ITERABLES, Iterables
from ctxdispatch.dispatch.reach import lookup, special
from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Graph, Iterate, Op
from ctxdispatch.ir.values import Const, Operand, Value, hashable
from ctxdispatch.passes import types as T
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.derivatives.table import lowering, vjp_rule
from ctxdispatch_contexts.programs.errors import MissingRuleError, Refusal
from ctxdispatch_contexts.programs.objects import unpacked

_FIRST = Iterables(0, 1)
_SECOND = Iterables(1, 2)
_THROUGH: dict[Any, Iterables] = {
    **ITERABLES,
    **{f: row.iterables for f, row in CALLBACKS.items()},
    **{f: row.items for f, row in ORDERS.items()},
    **dict.fromkeys(
        (builtins.iter, builtins.sum, builtins.any, builtins.all, builtins.dict, unpacked), _FIRST
    ),
    **dict.fromkeys((dict.update, primitives.dict_update, primitives.dict_merge, operator.iadd), _SECOND),
}
"""Which operands are gone through."""

OURS = ("ctxdispatch.", "ctxdispatch_contexts.")


def refuse_items_by_code(graph: Graph, varied: Container[Value]) -> None:
    """In place: before what takes such items of an object that depends on what is differentiated."""
    for block in graph.blocks:
        block.ops = [each for op in block.ops for each in (*_refusals(op, varied), op)]
        end = block.terminator
        if isinstance(end, Iterate) and _gives_by_code(end.iterator, varied):
            loop = Op(Const(builtins.next), [end.iterator], [Value()], (), _place(graph, end.iterator))
            block.ops.append(_refusal(loop, loop.args))


def _place(graph: Graph, iterator: Operand) -> Any:
    """Where the iterator comes from: a loop's end has no position."""
    return next((op.pos for _, op in graph.ops() if iterator in (*op.results, *op.args)), None)


def _refusals(op: Op, varied: Container[Value]) -> Iterator[Op]:
    through = [a for a in _gone_through(op) if _gives_by_code(a, varied)]
    if through:
        yield _refusal(op, op.args)


def _refusal(op: Op, args: Sequence[Operand]) -> Op:
    return Op(Const(Refusal(MissingRuleError, MESSAGE, op)), [*args], [Value()], (), op.pos)


MESSAGE = (
    "items of ({operands}) are taken that Python code of an object's class gives (`__iter__`, `__next__`, "
    "`__getitem__`), which is not followed here; give a list of them"
)


def _gone_through(op: Op) -> Sequence[Operand]:
    given = op.args[: len(op.args) - len(op.kwnames)]
    if not hashable(op.fn):
        return ()
    if op.fn is operator.setitem:
        return given[2:] if T.cls_of(operand_type(given[1])) is slice else ()
    row = _THROUGH.get(op.fn)
    if row is not None:
        return given[row.first : row.last]
    return given if vjp_rule(op.fn) or lowering(op.fn) else ()


def _gives_by_code(operand: Operand, varied: Container[Value]) -> bool:
    return operand in varied and gives_by_code(T.cls_of(operand_type(operand)))


def gives_by_code(cls: type | None) -> bool:
    """Whether Python code of the user's says what the items of its instances are."""
    if cls is None or cls.__module__.startswith(OURS):
        return False
    if lookup(cls, "__iter__") is None:
        return special(cls, "__getitem__") is not None
    return special(cls, "__iter__") is not None or special(cls, "__next__") is not None
