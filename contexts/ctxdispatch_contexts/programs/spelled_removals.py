"""Lists that lose or move items, as new lists: so whoever follows what is read from lists and appended to
them follows these too, and the types of items stay with their places.

    y = xs.pop()        y = xs[-1];  ys = xs[:-1]       and xs is ys from here on
    xs.insert(0, v)     ys = [v] + xs
    xs.reverse()        ys = xs[::-1]
    del xs[0]           ys = xs[1:]

Of a list that is made here and that nobody else has by then; where control comes by once for each list, and
all that uses it afterwards has come by. (In a loop, each round would copy the list.)
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ctxdispatch.facts import Shares, fact_of, says
from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Block, Graph, Iterate, Op
from ctxdispatch.ir.registry import Registry
from ctxdispatch.ir.rewrite import Use, substitute, substitute_in, uses
from ctxdispatch.ir.values import Const, Operand, Value, hashable
from ctxdispatch.passes import types as T
from ctxdispatch.passes.inline import Emit, emit_before
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.programs.containers import CONTAINERS, copies_items
from ctxdispatch_contexts.programs.order import Order

Remade = tuple[Operand, Operand]
"""What the call gives, and the list afterwards."""
REMADE: Registry[Callable[..., Remade | None]] = Registry()


def spell_out_removals(graph: Graph) -> bool:
    """In place. Whether anything is changed."""
    found = [(block, op) for block, op in graph.ops() if hashable(op.fn) and op.fn in REMADE]
    remade = [op for block, op in found if _is_remade(graph, block, op)]
    return bool(remade)


def _is_remade(graph: Graph, block: Block, op: Op) -> bool:
    name = op.args[0] if op.args and not op.kwnames else None
    if not isinstance(name, Value) or T.cls_of(operand_type(name)) is not list:
        return False
    if not _is_passed_once(graph, op, name):
        return False
    found = REMADE[op.fn](emit_before(block, op), *op.args)
    if found is None:
        return False
    given, remade = found
    at = block.ops.index(op)
    after = Block()
    after.ops, after.terminator = block.ops[at + 1 :], block.terminator
    for each in (after, *_reached(block)):
        substitute_in(each, {name: remade})
    block.ops[at:], block.terminator = after.ops, after.terminator
    substitute(graph, dict.fromkeys(op.results, given))
    return True


def _reached(block: Block) -> Iterable[Block]:
    """From its end, but for itself."""
    seen, work = {block}, [block]
    while work:
        more = [b for b in work.pop().successors() if b not in seen]
        seen.update(more)
        work += more
    return seen - {block}


# -- where that is the same ----------------------------------------------------------------------------------


def _is_passed_once(graph: Graph, op: Op, name: Value) -> bool:
    """The list is new, nobody else has it before `op`, and what uses it after `op` has always come by."""
    order, used = Order(graph), uses(graph)
    place, here = order.place, order.place[op]
    at = place.get(name, (graph.entry, -1))
    maker = at[0].ops[at[1]] if at[1] >= 0 else None
    if maker is None or not _makes_list(maker) or order.after(here, here, maker):
        return False
    for use in used[name]:
        there = place.get(use.user, (use.block, len(use.block.ops)))
        if order.after(here, there, maker):
            if order.after(at, there, op):
                return False
        elif use.user is not op and order.after(there, here, maker):
            given = _given(use, name, used)
            if given is None or any(_may_go_on(order, used, each, here, maker) for each in given):
                return False
    return True


def _makes_list(op: Op) -> bool:
    if op.fn is operator.getitem:
        return copies_items(op)
    return op.fn in (primitives.build_list, builtins.list, list.copy, operator.add)


def _given(use: Use, name: Value, used: Mapping[Value, list[Use]]) -> list[Value] | None:
    """The results that may go on to give items of `name`; None where somebody may have it from here on."""
    op = use.user
    if not isinstance(op, Op):
        return None if hasattr(op, "target") else []
    if op.fn is getattr:  # of a method that is known meanwhile
        return None if any(used[r] for r in op.results) else []
    row = fact_of(op.fn)
    if row is None or not row.known or op.callee is name or name in row.keeps.of(op.args, op.kwnames):
        return None
    if op.fn is operator.getitem and T.cls_of(operand_type(op.args[1])) is int:
        return []
    shares = {s.shares for s in row.result if name in s.operands.of(op.args, op.kwnames)}
    goes_on = [r for r in op.results if T.cls_of(operand_type(r)) not in CONTAINERS]  # they have the items
    if Shares.HOLDS in shares or (Shares.ITSELF in shares and goes_on != op.results):
        return None
    return goes_on if shares & {Shares.ITSELF, Shares.COPIES} else []


def _may_go_on(order: Order, used: Any, iterator: Value, here: Any, maker: Op) -> bool:
    """It may give items after the change."""
    for use in used[iterator]:
        if order.after(here, (use.block, len(use.block.ops)), maker):
            return True
        if isinstance(use.user, Iterate):
            continue
        given = _given(use, iterator, used)
        if given is None or any(_may_go_on(order, used, each, here, maker) for each in given):
            return True
    return False


# -- what it is spelled as -----------------------------------------------------------------------------------


@REMADE.of(list.pop)
def _popped(emit: Emit, name: Operand, index: Operand = Const(-1)) -> Remade | None:  # noqa: B008
    if not isinstance(index, Const) or type(index.value) is not int:
        return None
    emit(check_popped, emit(len, name), index)
    return emit(operator.getitem, name, index), _without(emit, name, index.value)


@REMADE.of(operator.delitem)
def _deleted(emit: Emit, name: Operand, index: Operand) -> Remade | None:
    if not isinstance(index, Const) or type(index.value) is not int:
        return None
    emit(check_deleted, emit(len, name), index)
    return Const(None), _without(emit, name, index.value)


def _without(emit: Emit, name: Operand, index: int) -> Operand:
    if index in (0, -1):
        return _part(emit, name, slice(1, None) if index == 0 else slice(None, -1))
    rest = _part(emit, name, slice(None, index)), _part(emit, name, slice(index + 1, None))
    return emit(operator.add, *rest)


@REMADE.of(list.insert)
def _inserted(emit: Emit, name: Operand, index: Operand, item: Operand) -> Remade | None:
    if not isinstance(index, Const) or type(index.value) is not int:
        return None
    made = emit(primitives.build_list, item)
    if index.value == 0:
        return Const(None), emit(operator.add, made, name)
    first = emit(operator.add, _part(emit, name, slice(None, index.value)), made)
    return Const(None), emit(operator.add, first, _part(emit, name, slice(index.value, None)))


@REMADE.of(list.reverse)
def _turned_round(emit: Emit, name: Operand) -> Remade:
    return Const(None), _part(emit, name, slice(None, None, -1))


def _part(emit: Emit, name: Operand, part: slice) -> Operand:
    return emit(operator.getitem, name, Const(part))


@says()
def check_popped(length: int, index: int) -> None:
    """What `pop` raises where there is no such item."""
    if not -length <= index < length:
        [None][:length].pop(index)


@says()
def check_deleted(length: int, index: int) -> None:
    if not -length <= index < length:
        del [None][:length][index]


__all__ = ["spell_out_removals"]
