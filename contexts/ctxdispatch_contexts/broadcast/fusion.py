"""Fusion: a chain of elementwise operations on arrays is one kernel (Revels et al. 2018, equation 2).

    %a = neg(%x); %b = exp(%a); %c = add(1.0, %b); %y = truediv(1.0, %c)      ->      %y = fused(%x)

An operation joins those that read its result, if they all are of one kernel and nothing is changed in place
in between. So every kernel has one result, and what it computes on the way is never stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ctxdispatch.ir.graph import Block, Graph, Op, positional
from ctxdispatch.ir.rewrite import uses
from ctxdispatch.ir.values import Const, Operand, Value, hashable
from ctxdispatch.passes import effects
from ctxdispatch.passes import types as T
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.broadcast.errors import KernelError
from ctxdispatch_contexts.broadcast.hoist import kind_of, numeric
from ctxdispatch_contexts.broadcast.instructions import CASTS, ROUNDING, SPELLED, instruction
from ctxdispatch_contexts.broadcast.kernel import Kernel, Options, finish
from ctxdispatch_contexts.broadcast.scalars import set_outputs

MIN_OPS = 3
"""Shorter chains are left to NumPy."""

OPTIONS = Options()


def fuse(graph: Graph) -> None:
    """Put kernels in the place of chains, in place."""
    for block, chain in chains(graph):
        kernel, operands = _kernel(chain)
        if kernel is not None and _same_type(kernel, operands, chain[-1]):
            _replace(block, chain, kernel, operands)


def has_chains(graph: Graph) -> bool:
    return bool(chains(graph))


# -- finding -------------------------------------------------------------------------------------------------


def chains(graph: Graph) -> list[tuple[Block, list[Op]]]:
    """Those that are long enough: their ops in order, the last of which gives the result."""
    used = uses(graph)
    found = []
    for block in graph.blocks:
        for stretch in _stretches(block):
            found += [(block, chain) for chain in _in_stretch(stretch, used) if len(chain) >= MIN_OPS]
    return found


def _stretches(block: Block) -> list[list[Op]]:
    """The ops between those that change something."""
    parts: list[list[Op]] = [[]]
    for op in block.ops:
        if effects.writes(op):
            parts.append([])
        else:
            parts[-1].append(op)
    return parts


def _in_stretch(ops: Sequence[Op], used: Any) -> list[list[Op]]:
    taken: set[Op] = set()
    found = []
    for op in reversed(ops):
        if op not in taken and is_elementwise(op) and operand_type(op.result).dtype.kind == "f":  # type: ignore[attr-defined]
            chain = _grown(op, ops, used)
            taken |= set(chain)
            found.append(chain)
    return found


def _grown(last: Op, ops: Sequence[Op], used: Any) -> list[Op]:
    """`last`, and what only leads to it."""
    chain = {last}
    for op in reversed(ops[: ops.index(last)]):
        if is_elementwise(op) and used[op.result] and all(use.user in chain for use in used[op.result]):
            chain.add(op)
    return [op for op in ops if op in chain]


def is_elementwise(op: Op) -> bool:
    """An array of numbers, each computed from those at its place."""
    if op.kwnames or len(op.results) != 1 or not hashable(op.fn) or op.fn in CASTS or op.fn in ROUNDING:
        return False
    type_ = op.result.type
    if not isinstance(type_, T.ArrayOf) or type_.dtype.kind not in "fiub" or not type_.dims:
        return False
    known = instruction(op.fn) is not None or (op.fn in SPELLED and len(op.args) == SPELLED_ARGUMENTS)
    return known and all(map(_is_operand, op.args)) and not _may_not_fit(op)


def _may_not_fit(op: Op) -> bool:
    """A whole number of Python's meets an array of short ones: NumPy raises where it does not fit."""
    types = [T.widen(operand_type(a)) for a in op.args]
    short = any(isinstance(t, T.ArrayOf) and t.dtype.kind in "iu" and t.dtype.itemsize < 8 for t in types)
    return short and any(t == T.Exact(int) for t in types)


SPELLED_ARGUMENTS = 3
"""np.clip(x, low, high) alone: others give tuples."""


def _is_operand(operand: Operand) -> bool:
    type_ = T.widen(operand_type(operand))
    if isinstance(type_, T.ArrayOf):
        return type_.dtype.kind in "fiub" and type_.dtype.itemsize <= 8
    return numeric(type_)


# -- replacing -----------------------------------------------------------------------------------------------


def _kernel(chain: Sequence[Op]) -> tuple[Kernel | None, list[Value]]:
    """The kernel, None where there is no such, and its operands."""
    inside = {op.result for op in chain}
    operands = list(dict.fromkeys(
        a for op in chain for a in op.args if isinstance(a, Value) and a not in inside
    ))  # fmt: skip
    kinds = [_kind(a) for a in operands]
    graph = Graph(f"fused_{len(chain)}", positional(len(operands)))
    values: dict[Operand, Operand] = dict(zip(operands, graph.params, strict=True))
    for op in chain:
        values[op.result] = y = Value()
        args = [values.get(a, a) for a in op.args]
        graph.entry.ops.append(Op(op.callee, args, [y], (), op.pos, op.syntax))  # type: ignore[list-item]
    set_outputs(graph.entry, [values[chain[-1].result]])
    try:
        finish(graph, kinds)
    except KernelError:
        return None, operands
    return Kernel(graph, kinds, False, graph.name, OPTIONS), operands


def _kind(operand: Value) -> type:
    type_ = operand.type
    return kind_of(T.Exact(type_.dtype.type) if isinstance(type_, T.ArrayOf) else type_)


def _same_type(kernel: Kernel, operands: Sequence[Value], last: Op) -> bool:
    """It gives what NumPy gives."""
    try:
        found = kernel.result_type([operand_type(a) for a in operands])
    except KernelError:
        return False
    return isinstance(found, T.ArrayOf) and found.dtype == last.result.type.dtype


def _replace(block: Block, chain: Sequence[Op], kernel: Kernel, operands: list[Value]) -> None:
    last = chain[-1]
    last.callee, last.args, last.syntax = Const(kernel), list(operands), False
    gone = set(chain[:-1])
    block.ops = [op for op in block.ops if op not in gone]
