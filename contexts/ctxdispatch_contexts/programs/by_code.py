"""Items that Python code of the user's gives: of what C code goes through (`zip(obj, xs)`), of loops.

    class Rows:                       zip(Rows(x), w)     for row in Rows(x)     math.fsum(Rows(x))
        def __next__(self): ...

A derivative program does not follow code that C code runs. So one where what varies comes in that way is
refused where the items are taken, and is recorded. Where such code can be part of the program (a loop over an
object whose `__iter__` returns a list's iterator), it is by then.
"""

from __future__ import annotations

import builtins
import numbers
import operator
from collections.abc import Container, Iterator, Sequence
from typing import Any

from ctxdispatch.dispatch.reach import lookup, special
from ctxdispatch.facts import fact_of
from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Graph, Iterate, Op
from ctxdispatch.ir.leaves import is_ours
from ctxdispatch.ir.values import Const, Operand, Value, hashable
from ctxdispatch.ir.watching import UNDISPATCHED
from ctxdispatch.passes import types as T
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.derivatives.table import lowering, vjp_rule
from ctxdispatch_contexts.programs.errors import MissingRuleError, Refusal, user_position
from ctxdispatch_contexts.programs.kinds import is_sealed
from ctxdispatch_contexts.programs.opaque_values import has_fields


def refuse_items_by_code(graph: Graph, active: Container[Value], varied: Container[Value]) -> None:
    """In place: before what takes such items of an object that depends on what is differentiated; and before
    what looks into one whose numbers are out of sight."""
    made = {r for _, op in graph.ops() if op.fn is builtins.iter for r in op.results}
    for block in graph.blocks:
        block.ops = [
            each for op in block.ops for each in (*_sealed(op, active, varied), *_refusals(op, active), op)
        ]
        end = block.terminator
        if isinstance(end, Iterate) and end.iterator in active and end.iterator not in made:
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


def _looks_at_objects(function: Any) -> bool:
    """Not at what is in them."""
    fact = fact_of(function)
    if function in (builtins.isinstance, builtins.type, builtins.setattr):
        return True
    return fact is not None and fact.needless and fact.gives is bool


def _sealed(op: Op, active: Container[Value], varied: Container[Value]) -> Iterator[Op]:
    """What is made of such an operand is not known; if it is made of integers, these have no derivative."""
    if _looks_at_objects(op.fn):
        return
    if op.fn is builtins.slice and not op.syntax and any(a in varied for a in op.args):
        yield Op(Const(Refusal(MissingRuleError, SEALED, op)), [*op.args], [Value()], (), op.pos)
        return
    for operand in op.args:
        cls = T.cls_of(operand_type(operand)) if operand in varied else None
        if cls is None or not is_sealed(cls) or (op.fn is builtins.getattr and has_fields(cls)):
            continue
        if operand in active or issubclass(cls, numbers.Number):
            yield Op(Const(Refusal(MissingRuleError, SEALED, op)), [*op.args], [Value()], (), op.pos)
            return


SEALED = (
    "an object among ({operands}) holds numbers out of sight, whose derivative would be lost; give it numbers"
)


def _refusal(op: Op, args: Sequence[Operand]) -> Op:
    return Op(Const(Refusal(MissingRuleError, MESSAGE, op)), [*args], [Value()], (), op.pos)


BY = (
    "are given by Python code of its class (`__iter__`, `__next__`, `__getitem__`), which is not followed "
    "here; give it a method that returns a list of them, and go through that"
)
MESSAGE = f"items of an object among ({{operands}}) {BY}"


def _gone_through(op: Op) -> Sequence[Operand]:
    if op.fn is builtins.next:  # on the iterator that it is given
        return ()
    if op.fn is operator.setitem:
        return op.args[2:] if T.cls_of(operand_type(op.args[1])) is slice else ()
    fact = fact_of(op.fn)
    if fact is not None:
        return fact.iterates.of(op.args, op.kwnames)
    rule = hashable(op.fn) and (vjp_rule(op.fn) or lowering(op.fn))
    return op.args[: len(op.args) - len(op.kwnames)] if rule else ()


def check_items(items: Any) -> None:
    """MissingRuleError where code of the user's gives them: the program goes on with items of C code."""
    if gives_by_code(type(items)):
        raise MissingRuleError(
            f"items of an object of the class {type(items).__name__}, only known at run time, {BY}",
            user_position(),
        )


check_items.__dict__[UNDISPATCHED] = True
_OF_ANY = (
    builtins.iter, builtins.zip, builtins.map, builtins.filter, primitives.list_extend, list.extend,
    builtins.dict, primitives.dict_update, primitives.dict_merge,
)  # fmt: skip
"""Programs do these to whatever is gone through."""


def gives_by_code(cls: type | None) -> bool:
    """Whether Python code of the user's says what the items of its instances are."""
    if cls is None or is_ours(cls.__module__):
        return False
    if lookup(cls, "__iter__") is None:
        return special(cls, "__getitem__") is not None
    return special(cls, "__iter__") is not None or special(cls, "__next__") is not None
