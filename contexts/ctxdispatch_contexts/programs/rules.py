"""Derivative rules as IR: lifted once, specialised on the types of their arguments, inlined where they are
asked for."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np

from ctxdispatch.bytecode.errors import UnsupportedSyntax
from ctxdispatch.bytecode.lift import lift
from ctxdispatch.ir import primitives
from ctxdispatch.ir.builder import Builder
from ctxdispatch.ir.graph import Block, Graph, Op, Return
from ctxdispatch.ir.leaves import is_leaf
from ctxdispatch.ir.prune import prune
from ctxdispatch.ir.rewrite import clone
from ctxdispatch.ir.values import Const, Operand, Value
from ctxdispatch.passes import types as T
from ctxdispatch.passes.fold import fold
from ctxdispatch.passes.infer import infer
from ctxdispatch.passes.inline import BindError, bind
from ctxdispatch.passes.lengths import plain
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.derivatives import lowerings
from ctxdispatch_contexts.derivatives.table import linearity, vjp_rule
from ctxdispatch_contexts.programs.no_derivative import placed, stand_at
from ctxdispatch_contexts.programs.operands import infer_op, leaf_class, means_array

PACKAGE = "ctxdispatch_contexts.derivatives"

RULES = str(Path(lowerings.__file__).parent)
"""Where their files are."""


def specialised(rule: FunctionType, types: Sequence[T.Type]) -> Graph | None:
    """`rule` as one block of IR for arguments of these types, or None where it stays a call."""
    return _specialised(rule, tuple(map(_lasting, types)))


def _lasting(type_: T.Type) -> T.Type:
    """Of the user's own objects the class alone: graphs of rules are kept."""
    type_ = plain(type_)
    mine = isinstance(type_, T.Known) and not is_leaf(type_.value)
    return T.Exact(type(type_.value)) if mine else type_  # type: ignore[attr-defined]


@lru_cache(maxsize=4096)
def _specialised(rule: FunctionType, types: tuple[T.Type, ...]) -> Graph | None:
    try:
        graph = clone(_lifted(rule))
    except UnsupportedSyntax:
        return None
    for _ in range(8):
        inference = infer(graph, types, cells=rule.__closure__ or ())
        fold(graph, inference)
        prune(graph)
        if len(graph.blocks) != 1:
            return None
        if not _inline_helpers(graph):
            break
    return graph if isinstance(graph.entry.terminator, Return) else None


@lru_cache(maxsize=4096)
def _lifted(rule: FunctionType) -> Graph:
    return lift(rule)


def _inline_helpers(graph: Graph) -> bool:
    """Splice in the package's own helper functions, those that come down to one block."""
    changed = False
    out: list[Op] = []
    renamed: dict[Value, Operand] = {}
    for op in graph.entry.ops:
        op.args = [renamed.get(a, a) if isinstance(a, Value) else a for a in op.args]
        body = _helper(op, out)
        if body is None:
            out.append(op)
        else:
            renamed[op.result] = body
            changed = True
    graph.entry.ops = out
    if changed:
        _rename_return(graph.entry, renamed)
    return changed


def _rename_return(block: Block, renamed: dict[Value, Operand]) -> None:
    terminator = block.terminator
    assert isinstance(terminator, Return)
    while isinstance(terminator.value, Value) and terminator.value in renamed:
        terminator.value = renamed[terminator.value]
    for op in block.ops:
        op.args = [renamed.get(a, a) if isinstance(a, Value) else a for a in op.args]


def _helper(op: Op, out: list[Op]) -> Operand | None:
    fn = op.fn
    if type(fn) is not FunctionType or not (fn.__module__ or fn.__globals__["__name__"]).startswith(PACKAGE):
        return None
    if vjp_rule(fn) is not None:
        return None  # a primitive: it fills an array that it has made
    args = _bound(fn, op.args, op.kwnames, out)
    if args is None:
        return None
    body = specialised(fn, list(map(operand_type, args)))
    return None if body is None else splice_into(out, body, args, op.pos)


def _bound(
    fn: FunctionType, args: Sequence[Operand], kwnames: tuple[str, ...], out: list[Op]
) -> list[Operand] | None:
    def emit(callee: Any, *operands: Operand) -> Operand:
        result = Value()
        result.type = _collected(callee, operands)
        out.append(Op(Const(callee), list(operands), [result], syntax=True))
        return result

    try:
        return bind(_lifted(fn).signature, args, kwnames, fn.__defaults__, fn.__kwdefaults__, emit)
    except (BindError, UnsupportedSyntax):
        return None


def _collected(callee: Any, operands: Sequence[Operand]) -> T.Type:
    if callee is primitives.build_tuple:
        return T.TupleOf(tuple(map(operand_type, operands)))
    return T.Exact(dict)


def splice_into(out: list[Op], body: Graph, args: Sequence[Operand], pos: Any) -> Operand:
    """Append a copy of the one block of `body` to `out`; what it returns."""
    mapped: dict[Value, Operand] = dict(zip(body.params, args, strict=True))
    for op in body.entry.ops:
        results = [Value(r.name, None if r.type is None else plain(r.type)) for r in op.results]
        operands = [mapped.get(a, a) if isinstance(a, Value) else a for a in op.args]
        callee = mapped.get(op.callee, op.callee) if isinstance(op.callee, Value) else op.callee
        added = Op(callee, operands, results, op.kwnames, pos, op.syntax)
        stand_at(added, pos)
        out.append(added)
        mapped.update(zip(op.results, results, strict=True))
    terminator = body.entry.terminator
    assert isinstance(terminator, Return)
    value = terminator.value
    return mapped.get(value, value) if isinstance(value, Value) else value


def call_rule(
    build: Builder, rule: Callable[..., Any], args: Sequence[Operand], kwnames: tuple[str, ...] = ()
) -> Operand:
    """Emit rule(*args): inlined where it comes down to one block, else as a call."""
    if type(rule) is FunctionType:
        bound = _bound(rule, args, kwnames, build.block.ops)
        if bound is not None:
            body = specialised(rule, list(map(operand_type, bound)))
            if body is not None:
                return splice_into(build.block.ops, body, bound, build.pos)
    return build.call(placed(rule, build), *args, kwnames=kwnames)


@lru_cache(maxsize=4096)
def arity(rule: Callable[..., Any]) -> int | None:
    """How many cotangents `rule` returns at the most; None where its code does not say."""
    if type(rule) is not FunctionType:
        return None
    try:
        graph = _lifted(rule)
    except UnsupportedSyntax:
        return None
    length = {
        op.result: len(op.args) for _, op in graph.ops() if op.fn is primitives.build_tuple and op.results
    }
    ends = [b.terminator.value for b in graph.blocks if isinstance(b.terminator, Return)]
    known = bool(ends) and all(v in length for v in ends)
    return max(length[v] for v in ends) if known else None  # type: ignore[index]


def items_of(build: Builder, operand: Operand, n: int) -> list[Operand]:
    """The first n entries of a tuple that a rule or pullback returned, None for those it does not have."""
    return [entry or Const(None) for entry in (entry_of_tuple(build, operand, i) for i in range(n))]


def item_of(build: Builder, operand: Operand, i: int) -> Operand:
    """Item i of a tuple that has one."""
    found = entry_of_tuple(build, operand, i)
    assert found is not None
    return found


def entry_of_tuple(build: Builder, operand: Operand, i: int) -> Operand | None:
    """Entry i; free of charge where the tuple was built right here. None where it certainly has no such
    entry."""
    for op in reversed(build.block.ops):
        if isinstance(operand, Value) and operand in op.results and op.fn is primitives.build_tuple:
            return op.args[i] if i < len(op.args) else None
    if isinstance(operand, Const):
        found = operand.value or ()
        return Const(found[i]) if i < len(found) else None
    return build.call(operator.getitem, operand, Const(i), syntax=True, type=T.Any)


# -- the arguments of a rule ---------------------------------------------------------------------------------


def rule_positions(
    rule: FunctionType, args: list[Operand], kwnames: tuple[str, ...]
) -> list[tuple[int, Operand]]:
    """Which entry of the rule's tuple belongs to which argument of the call: one that it does not have, for
    what its `**kwargs` take."""
    code = rule.__code__
    names = code.co_varnames[2 : code.co_argcount + code.co_kwonlyargcount]
    n = len(args) - len(kwnames)
    star = bool(code.co_flags & inspect.CO_VARARGS)
    found = [(i, a) for i, a in enumerate(args[:n]) if star or i < len(names)]
    at = {name: i for i, name in enumerate(names)}
    return found + [(at.get(k, len(names)), a) for k, a in zip(kwnames, args[n:], strict=True)]


_FEW_BITS = frozenset(map(np.dtype, ("i1", "i2", "i4", "u1", "u2", "u4")))
_WHOLE = np.dtype(np.int64)
_NO_ARRAYS = (int, float, complex, bool, list, tuple)


def as_array(build: Builder, op: Op, i: int, arg: Operand) -> Operand:
    """An argument as the rule takes it. Whole numbers of few bits would be all that it computes in."""
    type_ = operand_type(arg)
    if not means_array(op, i):
        return arg
    if isinstance(type_, T.ArrayOf) and type_.dtype in _FEW_BITS and linearity(op.fn) is None:
        return build.call(np.ndarray.astype, arg, Const(_WHOLE), type=T.ArrayOf(_WHOLE, type_.dims))
    classes = type_.classes if isinstance(type_, T.OneOf) else {leaf_class(type_), T.cls_of(type_)}
    if classes.isdisjoint(_NO_ARRAYS):
        return arg
    if isinstance(arg, Const):
        return Const(np.asarray(arg.value))
    value = build.call(np.asarray, arg)
    value.type = infer_op(build.block.ops[-1])
    return value
