"""Pullbacks by the vjp rules of the derivative table: rule(g, y, *arguments) -> cotangents of the leading
parameters.

The rule is inlined where it comes down to one block. What it leaves to its caller is done here: arguments are
bound to its parameters (keywords may come in any order), numbers and lists become arrays where it takes
arrays, and cotangents get the dtype, and the class, of what they belong to.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ctxdispatch.ir.graph import Op
from ctxdispatch.ir.values import Const, Operand, Value
from ctxdispatch.passes import types as T
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.derivatives.linear import spread
from ctxdispatch_contexts.derivatives.table import array_arguments, mask_rule
from ctxdispatch_contexts.programs.errors import DerivativeError, Refusal
from ctxdispatch_contexts.programs.operands import leaf_class, rule_of
from ctxdispatch_contexts.programs.refusals import no_cotangent, refuse_floats
from ctxdispatch_contexts.programs.rules import as_array, call_rule, entry_of_tuple, rule_positions
from ctxdispatch_contexts.reverse import fitting, releasing
from ctxdispatch_contexts.reverse.adjoint import Adjoint
from ctxdispatch_contexts.reverse.bars import is_zero, may_be_none
from ctxdispatch_contexts.reverse.elementwise import cast
from ctxdispatch_contexts.reverse.through import as_one, is_factor, places


def reverse_structural(adjoint: Adjoint, op: Op) -> None:
    """Inline the vjp rule of `op` and pass on the cotangents that it gives."""
    g = adjoint.pullbacks.in_full(adjoint, op.result)
    if is_zero(g):
        return
    if may_be_none(g):
        g = adjoint.call(releasing.finish, g, adjoint.shaped(op.result))
        g = adjoint.call(fitting.or_zeros, g, adjoint.shaped(op.result))
    rule = rule_of(op)
    assert rule is not None
    given = op.args[:1] if op.fn is getattr else op.args
    args = [as_array(adjoint.build, op, i, adjoint.recall(a)) for i, a in enumerate(given)]
    if adjoint.masking and op.fn is not getattr:
        rule, args = mask_rule(op.fn) or rule, _with_ones(adjoint, op, args)
    result = call_rule(adjoint.build, rule, [g, adjoint.recall(op.result), *args], op.kwnames)
    for position, arg in rule_positions(rule, given, op.kwnames):
        if arg in adjoint.active:
            _pass_on(adjoint, op, result, position, arg)


def _with_ones(adjoint: Adjoint, op: Op, args: list[Operand]) -> list[Operand]:
    """The factors of a product as if they were 1."""
    at = places(rule_of(op), len(args), op.kwnames)
    return [_one(adjoint, a) if is_factor(op.fn, at[i]) else a for i, a in enumerate(args)]


def _one(adjoint: Adjoint, factor: Operand) -> Operand:
    if isinstance(factor, Const):
        return Const(as_one(factor.value))
    known = isinstance(operand_type(factor), T.ArrayOf)
    return adjoint.call(np.ones_like if known else as_one, factor, type=operand_type(factor))


def _pass_on(adjoint: Adjoint, op: Op, result: Operand, position: int, arg: Operand) -> None:
    cotangent = entry_of_tuple(adjoint.build, result, position)
    refusal = Refusal(DerivativeError, no_cotangent(op, arg), op, arg)
    if cotangent is None:
        adjoint.call(refuse_floats, adjoint.recall(arg), Const(refusal))
        return
    if isinstance(cotangent, Value) and position >= max(1, array_arguments(op.fn)) and op.fn is not getattr:
        last = adjoint.build.block.ops[-1]
        if cotangent in last.results and last.fn is operator.getitem and last.args[0] is result:
            last.args = [*last.args, adjoint.recall(arg), Const(refusal)]
            last.callee, last.syntax = Const(entry_or), False
    if not (isinstance(cotangent, Const) and cotangent.value is None):
        adjoint.add(arg, as_cotangent_of(adjoint, op, cotangent, arg))
        adjoint.pullbacks.mark_lazy(arg)


def entry_or(given: tuple[Any, ...], i: int, arg: Any, refuse: Refusal) -> Any:
    return given[i] if i < len(given) else refuse_floats(arg, refuse)


def as_cotangent_of(adjoint: Adjoint, op: Op, cotangent: Operand, arg: Operand) -> Operand:
    """A rule's cotangent has the shape of its argument; its dtype and class are made so here."""
    cotangent = _without_spread(adjoint, cotangent)
    mine, now = operand_type(arg), operand_type(cotangent)
    if not isinstance(cotangent, Value):
        return cotangent
    if isinstance(now, T.ArrayOf) and isinstance(mine, T.ArrayOf):
        return cotangent if now.dtype == mine.dtype else cast(adjoint, cotangent, mine, now)
    if isinstance(mine, T.ArrayOf) and now is T.Any and _one_dtype(op):
        cotangent.type = mine
        return cotangent
    if now == mine and isinstance(mine, T.Exact):
        return cotangent
    if isinstance(mine, T.ArrayOf) and leaf_class(now) not in (None, np.ndarray):
        return cotangent  # lazy
    typed = mine if isinstance(mine, (T.Exact, T.ArrayOf)) and leaf_class(mine) else T.Any
    return adjoint.call(fitting.fitted, cotangent, adjoint.shaped(arg), type=typed)


def _one_dtype(op: Op) -> bool:
    """All arrays of `op` and its result are of one dtype: then so are the cotangents."""
    found = {getattr(operand_type(a), "dtype", None) for a in (*op.args, op.result)} - {None}
    kinds = all(leaf_class(operand_type(a)) not in (int, bool, float, complex) for a in op.args)
    return len(found) == 1 and kinds and isinstance(operand_type(op.result), T.ArrayOf)


def _without_spread(adjoint: Adjoint, cotangent: Operand) -> Operand:
    """spread(g, shape, dtype) is g, lazily."""
    ops = adjoint.build.block.ops
    if (
        ops
        and cotangent in ops[-1].results
        and ops[-1].fn is spread
        and operand_type(ops[-1].args[0]) is not T.Any
    ):
        return ops.pop().args[0]
    return cotangent
