"""What the transform emits for safety, and what only the finished graph shows to be superfluous.

bar + zero                  is bar, now that all merges are known
zero into a merge           is 0.0 where cotangents add with `+`, else None
full(bar, v)                is bar, where no 0.0 can have reached it
a saved list, never read    is not saved
"""

from __future__ import annotations

import operator
from collections.abc import Container, Iterator
from types import FunctionType
from typing import Any

import numpy as np

from ctxdispatch.facts import PRODUCTS
from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Block, Graph, Iterate, Op
from ctxdispatch.ir.prune import prune
from ctxdispatch.ir.rewrite import Use, substitute, uses
from ctxdispatch.ir.values import Const, Operand, Value, hashable
from ctxdispatch.passes import types as T
from ctxdispatch.passes.buffers import makes_new
from ctxdispatch.passes.dce import dce
from ctxdispatch.passes.pure import PureFunction
from ctxdispatch_contexts import derivatives
from ctxdispatch_contexts.derivatives.table import linearity
from ctxdispatch_contexts.programs import budget
from ctxdispatch_contexts.programs.activity import passed
from ctxdispatch_contexts.programs.operands import numeric
from ctxdispatch_contexts.programs.primitive import Primitive
from ctxdispatch_contexts.reverse import cotangents, fitting, releasing
from ctxdispatch_contexts.reverse.adjoint import Adjoint
from ctxdispatch_contexts.reverse.bars import NONE, ZERO, is_zero
from ctxdispatch_contexts.reverse.delivering import deliver
from ctxdispatch_contexts.reverse.structural import entry_or

LINEAR = frozenset({
    *PRODUCTS, operator.neg, operator.matmul, np.add.reduce, fitting.full, fitting.unbroadcast,
    cotangents.times, cotangents.kept, operator.getitem, entry_or,
})  # fmt: skip
"""Zero for a zero first operand."""

PARTS = ("T", "mT", "real", "imag")
"""Attributes that are zero for a zero."""

_GOING_THROUGH = (zip, iter)

DELIVERS = frozenset({releasing.finish, releasing.released, releasing.own, releasing.number})
"""What the caller gets is never the internal zero."""

FULLS = (fitting.full, fitting.full_result)


def tidy(adjoint: Adjoint) -> None:
    """In place, on the finished graph."""
    graph = adjoint.graph
    prune(graph)
    while _drop_zeros(graph):
        budget.check()
        prune(graph)
    _settle_zeros(adjoint)
    _drop_fulls(graph)
    dce(graph)
    while _narrow(graph):
        dce(graph)
    _lower_rewinds(graph)
    _own_entries(graph)
    prune(graph)


# -- zeros ---------------------------------------------------------------------------------------------------


def _drop_zeros(graph: Graph) -> bool:
    replaced: dict[Value, Operand] = {}
    made = {op.result for _, op in graph.ops() if op.fn is primitives.make_function}
    for block in graph.blocks:
        block.ops = [op for op in block.ops if not _is_trivial(op, replaced, made)]
    substitute(graph, replaced)
    return bool(replaced)


def _is_trivial(op: Op, replaced: dict[Value, Operand], made: Container[Operand]) -> bool:
    """The op adds nothing to a cotangent, or scales nothing. `made`: functions that are made in the graph."""
    args = [replaced.get(a, a) if isinstance(a, Value) else a for a in op.args]
    if not any(map(is_zero, args)):
        return False
    if op.fn is operator.iadd and is_zero(args[1]):
        replaced[op.result] = args[0]  # of a shadow
        return True
    if op.fn is operator.add or op.fn is cotangents.accumulate:
        replaced[op.result] = args[1] if is_zero(args[0]) else args[0]
        return True
    if op.fn is primitives.unpack:
        replaced.update(dict.fromkeys(op.results, ZERO))
        return True
    if op.fn is getattr and getattr(op.args[1], "value", None) in PARTS:
        replaced[op.result] = ZERO
        return True
    if op.fn in _GOING_THROUGH or op.callee in made:  # of a rule, which is linear in the cotangent
        replaced[op.result] = ZERO
        return True
    if hashable(op.fn) and _is_zero(op.fn, list(map(is_zero, args)), list(map(_is_number_zero, args))):
        replaced[op.result] = ZERO
        return True
    return False


def _is_number_zero(operand: Operand) -> bool:
    """The zero of `np.where(inside, g, 0.0)`."""
    return isinstance(operand, Const) and type(operand.value) is float and operand.value == 0.0


def _is_zero(fn: Any, zeros: list[bool], numbers: list[bool]) -> bool:
    """Of a function of which some arguments are zero."""
    if fn in LINEAR or _is_of_rules(fn):
        return zeros[0]
    if fn in DELIVERS:
        return False
    if isinstance(fn, Primitive):
        return bool(fn.linear) and all(zeros[i] for i in fn.linear)
    rule = linearity(fn)
    if rule is None:
        return False
    at = [i for i in rule.positions if i < len(zeros)]
    found = [zeros[i] for i in at]
    return any(found) and (not rule.joint or all(zeros[i] or numbers[i] for i in at))


def _is_of_rules(fn: Any) -> bool:
    """A rule, or what rules are written with: linear in the cotangent, which comes first."""
    return type(fn) is FunctionType and str(fn.__module__).startswith(_RULES)


_RULES = f"{derivatives.__name__}."


def _settle_zeros(adjoint: Adjoint) -> None:
    variable_of, used = adjoint.build.variable_of, uses(adjoint.graph)
    for block in adjoint.graph.blocks:
        for edge in block.edges():
            params = edge.target.params[len(edge.target.params) - len(edge.args) :]
            for position, (param, arg) in enumerate(zip(params, edge.args, strict=True)):
                if is_zero(arg):
                    edge.args[position] = _zero_of(variable_of.get(param), used[param])
        for op in block.ops:
            zero = Const(0.0) if isinstance(op.fn, Primitive) else NONE
            op.args = [zero if is_zero(a) else a for a in op.args]
    numbers = [op for _, op in adjoint.graph.ops() if op.fn is releasing.number]
    substitute(adjoint.graph, {op.result: Const(0.0) if op.args[0] is NONE else op.args[0] for op in numbers})


def _zero_of(variable: Any, used: list[Use]) -> Const:
    primal = variable[1] if isinstance(variable, tuple) else None
    collected = all(isinstance(u.user, Op) and u.user.fn is primitives.list_append for u in used)
    return Const(0.0) if isinstance(primal, Value) and numeric(primal.type) and not collected else NONE


# -- shapes --------------------------------------------------------------------------------------------------


def _drop_fulls(graph: Graph) -> None:
    """`full` stays, as `expand`, where a merge may give the 0.0 that stands for zeros, or 1.0 for ones."""
    maybe = _maybe_scalar(graph)
    replaced: dict[Value, Operand] = {}
    for block in graph.blocks:
        kept = []
        for op in block.ops:
            if op.fn in FULLS and op.args[0] not in maybe and op.args[0] is not NONE:
                replaced[op.result] = op.args[0]
                continue
            if op.fn in FULLS:
                op.callee = Const(fitting.expand)
            kept.append(op)
        block.ops = kept
    substitute(graph, replaced)


def _maybe_scalar(graph: Graph) -> set[Operand]:
    pairs = [pair for b in graph.blocks for e in b.edges() for pair in passed(b.terminator, e)]
    found: set[Operand] = {p for p, a in pairs if isinstance(a, Const) and type(a.value) is float}
    size = -1
    while size != len(found):
        size = len(found)
        found.update(p for p, a in pairs if a in found)
    return found


# -- saved lists ---------------------------------------------------------------------------------------------


def _rewinds(graph: Graph) -> Iterator[tuple[Block, Iterate, Op, Op]]:
    """Each reversed loop: (its header, the terminator, the call of `rewind`, the unpacking of the items)."""
    makers = {op.result: op for _, op in graph.ops() if op.fn is cotangents.rewind}
    for block in graph.blocks:
        terminator = block.terminator
        if isinstance(terminator, Iterate) and terminator.iterator in makers:
            start = terminator.body.target
            unpack = next(op for op in start.ops if op.args and op.args[0] is start.params[0])
            yield block, terminator, makers[terminator.iterator], unpack


def _narrow(graph: Graph) -> bool:
    """Leave out the lists whose entries nobody reads; one stays to count the iterations."""
    used = uses(graph)
    changed = False
    for _, _, call, unpack in _rewinds(graph):
        read = [i for i, twin in enumerate(unpack.results) if used[twin]] or [0]
        if len(read) < len(unpack.results):
            call.args = [call.args[i] for i in read]
            unpack.results = [unpack.results[i] for i in read]
            unpack.args[1] = Const(len(read))
            changed = True
    return changed


def _lower_steps(graph: Graph) -> None:
    for block in graph.blocks:
        for at, op in reversed(list(enumerate(block.ops))):
            if op.fn is cotangents.steps:
                count = Value("steps")
                block.ops.insert(at, Op(Const(range), op.args, [count], (), op.pos))
                op.callee, op.args, op.syntax = Const(iter), [count], True


def _lower_rewinds(graph: Graph) -> None:
    _lower_steps(graph)
    for _, terminator, call, unpack in list(_rewinds(graph)):
        home = next(b for b, op in graph.ops() if op is call)
        at = next(i for i, op in enumerate(home.ops) if op is call)
        backwards = [Op(Const(reversed), [kept], [Value()], (), call.pos) for kept in call.args]
        start = terminator.body.target
        if len(backwards) == 1:
            home.ops[at : at + 1] = backwards
            terminator.iterator = backwards[0].result
            start.params[0] = unpack.results[0]
            start.ops.remove(unpack)
        else:
            home.ops[at:at] = backwards
            call.callee, call.args = Const(zip), [op.result for op in backwards]


# -- ownership -----------------------------------------------------------------------------------------------


def _own_entries(graph: Graph) -> None:
    """An entry that was computed for it alone may be added to in place; a gradient that was need not be
    copied."""
    used = uses(graph)
    makers = {r: op for _, op in graph.ops() for r in op.results}
    deliver(graph, used, makers, lambda operand: _is_own(operand, used, makers))
    replaced: dict[Value, Operand] = {}
    for _, op in graph.ops():
        if op.fn is cotangents.add_entry and _is_own(op.args[2], used, makers):
            op.callee = Const(cotangents.add_own_entry)
        elif op.fn is releasing.own and _is_own(op.args[0], used, makers):
            replaced[op.result] = op.args[0]
        elif op.fn is releasing.own:
            op.callee = Const(np.array)
    substitute(graph, replaced)


def _is_own(operand: Operand, used: Any, makers: dict[Value, Op]) -> bool:
    """A new array that is read only here."""
    maker = makers.get(operand) if isinstance(operand, Value) else None
    if maker is None or len(used[operand]) != 1 or not hashable(maker.fn):  # type: ignore[index]
        return False
    type_ = operand.type  # type: ignore[union-attr]
    new = makes_new(maker) or _is_own_item(maker, used, makers)
    return new and isinstance(type_, T.ArrayOf) and bool(type_.dims)


def _is_own_item(reading: Op, used: Any, makers: dict[Value, Op]) -> bool:
    """The one read of an item of a tuple of new arrays."""
    made = makers.get(reading.args[0]) if reading.fn is operator.getitem else None  # type: ignore[arg-type]
    if made is None or not isinstance(made.fn, PureFunction):
        return False
    reads = [use.user for use in used[made.result]]
    index = reading.args[1]
    same = [r for r in reads if not isinstance(r, Op) or r.fn is not operator.getitem or _index(r) is None]
    return not same and isinstance(index, Const) and [_index(r) for r in reads].count(index.value) == 1


def _index(op: Any) -> int | None:
    return op.args[1].value if isinstance(op.args[1], Const) else None
