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
from ctxdispatch.ir.watching import UNDISPATCHED
from ctxdispatch.passes import effects
from ctxdispatch.passes import types as T
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.derivatives.table import lowering, vjp_rule
from ctxdispatch_contexts.programs.errors import MissingRuleError, Refusal, user_position
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
    made = {r for _, op in graph.ops() if op.fn is builtins.iter for r in op.results}
    for block in graph.blocks:
        block.ops = [each for op in block.ops for each in (*_refusals(op, varied), op)]
        end = block.terminator
        if isinstance(end, Iterate) and end.iterator in varied and end.iterator not in made:
            block.ops += _of_loop(end.iterator, _place(graph, end.iterator))


def _of_loop(iterator: Operand, at: Any) -> list[Op]:
    if gives_by_code(T.cls_of(operand_type(iterator))):
        loop = Op(Const(builtins.next), [iterator], [Value()], (), at)
        return [_refusal(loop, loop.args)]
    return [_check(iterator, at)] if _is_unknown(iterator) else []


def _is_unknown(operand: Operand) -> bool:
    return operand_type(operand) is T.Any


def _check(operand: Operand, at: Any) -> Op:
    """At run time, of what is not known before."""
    return Op(Const(check_items), [operand], [], (), at)


def _place(graph: Graph, iterator: Operand) -> Any:
    """Where the iterator comes from: a loop's end has no position."""
    return next((op.pos for _, op in graph.ops() if iterator in (*op.results, *op.args)), None)


def _refusals(op: Op, varied: Container[Value]) -> Iterator[Op]:
    through = [a for a in _gone_through(op) if a in varied]
    if any(gives_by_code(T.cls_of(operand_type(a))) for a in through):
        yield _refusal(op, op.args)
    elif op.fn in _OF_ANY:
        yield from (_check(a, op.pos) for a in through if _is_unknown(a))


def _refusal(op: Op, args: Sequence[Operand]) -> Op:
    return Op(Const(Refusal(MissingRuleError, MESSAGE, op)), [*args], [Value()], (), op.pos)


BY = (
    "are given by Python code of its class (`__iter__`, `__next__`, `__getitem__`), which is not followed "
    "here; give it a method that returns a list of them, and go through that"
)
MESSAGE = f"items of an object among ({{operands}}) {BY}"


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


def check_items(items: Any) -> None:
    """MissingRuleError where code of the user's gives them: the program goes on with items of C code."""
    if gives_by_code(type(items)):
        raise MissingRuleError(
            f"items of an object of the class {type(items).__name__}, only known at run time, {BY}",
            user_position(),
        )


check_items.__dict__[UNDISPATCHED] = True
effects.assume_harmless(check_items)
_OF_ANY = (
    builtins.iter, builtins.zip, builtins.map, builtins.filter, primitives.list_extend, list.extend,
    builtins.dict, primitives.dict_update, primitives.dict_merge,
)  # fmt: skip
"""Programs do these to whatever is gone through."""


def gives_by_code(cls: type | None) -> bool:
    """Whether Python code of the user's says what the items of its instances are."""
    if cls is None or cls.__module__.startswith(OURS):
        return False
    if lookup(cls, "__iter__") is None:
        return special(cls, "__getitem__") is not None
    return special(cls, "__iter__") is not None or special(cls, "__next__") is not None
