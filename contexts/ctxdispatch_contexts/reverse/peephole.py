"""Spellings that NumPy runs faster. Of the sweep alone, where last bits and the sign of a zero are nobody's.

sin(x) that nobody reads           nothing, where cos(x) raises what it would
a @ b, both of rank 2              np.dot(a, b): the same product with less around it
add.reduce(-x, axis)               -add.reduce(x, axis): a smaller array to negate
reduce(x, 1, keepdims=True)        reduce(x, 1, None, None, True): half a microsecond of keywords
                                   (everywhere)
1.0 / s * e                        share(e, s), which `passes.shares` spells as the length of e asks for
share(e, sum(e))                   normalised(e), likewise
"""

from __future__ import annotations

import math
import operator
from collections.abc import Set
from typing import Any

import numpy as np

from ctxdispatch.ir.graph import Graph, Op
from ctxdispatch.ir.rewrite import uses
from ctxdispatch.ir.values import Const, Value
from ctxdispatch.passes import types as T
from ctxdispatch.passes.shares import normalised, share
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.programs.stored_arrays import stored_arrays

PARAMETERS = ("axis", "dtype", "out", "keepdims")
DEFAULTS: dict[str, Any] = {"axis": 0, "dtype": None, "out": None, "keepdims": False}


def improve(graph: Graph) -> None:
    used = uses(graph)
    for block in graph.blocks:
        block.ops = [op for op in block.ops if not _fails_with_its_partial(op, block.ops, used)]
    makers = {r: op for _, op in graph.ops() for r in op.results}
    stored = stored_arrays(graph)
    for block in graph.blocks:
        for op in list(block.ops):
            if op.reassoc and _reads_what_stays(op, makers, stored):
                _as_dot(op)
                _negate_late(block.ops, op, makers, used)
                _as_share(block.ops, op, makers, used)
            _positional(op)


def _reads_what_stays(op: Op, makers: dict[Value, Op], stored: Set[Value]) -> bool:
    """Neither its operands nor what they are made of is stored to: it may be read later."""
    made = [a for v in op.args if v in makers for a in makers[v].args]  # type: ignore[index]
    return not any(a in stored for a in (*op.args, *made))


def _fails_with_its_partial(op: Op, ops: list[Op], used: Any) -> bool:
    """An unread sin(x) beside a cos(x): both raise for the same x, so one of them does."""
    other = {math.sin: math.cos, math.cos: math.sin}.get(op.fn) if op.fn in (math.sin, math.cos) else None
    if other is None or used[op.result]:
        return False
    return any(o.fn is other and o.args[0] is op.args[0] for o in ops)


def _as_dot(op: Op) -> None:
    types = [operand_type(a) for a in op.args]
    if op.fn is operator.matmul and all(isinstance(t, T.ArrayOf) and len(t.dims) == 2 for t in types):
        op.callee, op.syntax = Const(np.dot), False


def _is_add_reduce(op: Op) -> bool:
    return getattr(op.fn, "__self__", None) is np.add and getattr(op.fn, "__name__", "") == "reduce"


def _negate_late(ops: list[Op], op: Op, makers: dict[Value, Op], used: Any) -> None:
    if not _is_add_reduce(op) or not isinstance(op.args[0], Value):
        return
    maker = makers.get(op.args[0])
    if maker is None or maker.fn is not operator.neg or len(used[maker.result]) != 1 or maker not in ops:
        return
    ops.remove(maker)
    op.args[0] = maker.args[0]
    total, op.results = op.results[0], [Value(op.result.name, op.result.type)]
    ops.insert(ops.index(op) + 1, Op(Const(operator.neg), [op.result], [total], (), op.pos, True, True))


def _as_share(ops: list[Op], op: Op, makers: dict[Value, Op], used: Any) -> None:
    """1.0 / s * e for a vector `e` and a NumPy number `s` of its dtype. A Python number raises at 0."""
    if op.fn is not operator.mul:
        return
    for inverse, e in (op.args, reversed(op.args)):
        maker = makers.get(inverse) if isinstance(inverse, Value) else None
        if maker is None or not maker.reassoc or maker not in ops or maker.fn is not operator.truediv:
            continue
        one, s = maker.args
        vector, number = operand_type(e), operand_type(s)
        if (
            (isinstance(one, Const) and one.value == 1.0)
            and len(used[maker.result]) == 1
            and isinstance(vector, T.ArrayOf)
            and len(vector.dims) == 1
            and vector.dtype.kind == "f"
            and number == T.Exact(vector.dtype.type)
        ):
            ops.remove(maker)
            op.callee, op.args, op.syntax = Const(share), [e, s], False
            _as_normalised(ops, op, makers, used)
            return


def _as_normalised(ops: list[Op], op: Op, makers: dict[Value, Op], used: Any) -> None:
    """share(e, sum(e)) with a sum that is read nowhere else."""
    e, s = op.args
    maker = makers.get(s) if isinstance(s, Value) else None
    if maker is None or maker not in ops or len(used[s]) != 1 or not _is_add_reduce(maker):
        return
    if len(maker.args) == 1 and maker.args[0] is e and not maker.kwnames:
        ops.remove(maker)
        op.callee, op.args = Const(normalised), [e]


def _positional(op: Op) -> None:
    """Keywords of a ufunc's reduce as positional arguments."""
    fn = op.fn
    if not op.kwnames or type(getattr(fn, "__self__", None)) is not np.ufunc or fn.__name__ != "reduce":
        return
    n = len(op.args) - len(op.kwnames)
    given = dict(zip(op.kwnames, op.args[n:], strict=True))
    if set(given) - set(PARAMETERS):
        return
    last = max(PARAMETERS.index(name) for name in given)
    op.args = op.args[:n] + [given.get(name, Const(DEFAULTS[name])) for name in PARAMETERS[n - 1 : last + 1]]
    op.kwnames = ()
