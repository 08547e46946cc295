"""Calls that stay calls and are *contained*: all code that they run has been looked at, and it

  reads     what it is given, and nothing that could be stored to elsewhere: no variables, no attributes of
            modules and classes
  changes   nothing that was there before the call
  keeps     nothing: what the call gives may be, or hold, what it was given

So neither the program nor its sweep find anything else after such a call than before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import FunctionType
from typing import TYPE_CHECKING, Any

from ctxdispatch.facts import ATTRIBUTES
from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Graph, Iterate, Op, Return
from ctxdispatch.ir.leaves import is_ours
from ctxdispatch.ir.values import UNDEF, Const, Operand
from ctxdispatch.passes import effects
from ctxdispatch.passes import types as T
from ctxdispatch.passes.resolve import is_code
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.programs.aliases import Objects, is_outside
from ctxdispatch_contexts.programs.changes import (
    changed_objects,
    may_change_unseen,
    moves_iterator,
    sets_name,
)
from ctxdispatch_contexts.programs.lifting import is_installed
from ctxdispatch_contexts.programs.out_of_sight import has_effect

if TYPE_CHECKING:
    from ctxdispatch_contexts.programs.prepare import Prepared


def is_contained(prepared: Prepared) -> bool:
    """Of a function, prepared: a call of it is. (What is `unset` or `promised` rests on its objects.)"""
    graph = prepared.graph
    if any(op.contained is not None and op.result.type is T.Never for _, op in graph.ops()):
        return True  # what the function gives that it calls is not known yet: it is asked again
    if prepared.foreign or prepared.unset or prepared.promised or not all(map(_is_fixed, _constants(graph))):
        return False
    objects = Objects(graph)
    return all(op.contained is not None or _stays_within(op, graph, objects) for _, op in graph.ops())


def may_be_contained(function: FunctionType) -> bool:
    """It is the user's, and what a call need not give is always the same."""
    if is_ours(function.__module__) or is_installed(function.__code__):
        return False
    defaults = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    return all(_is_fixed(Const(value)) for value in defaults)


def contained_with(op: Op, operands: Iterable[Operand]) -> tuple[T.Type, ...] | None:
    """`Op.contained` of what stands in for `op`, and has these operands of its first."""
    if op.contained is None:
        return None
    known = dict(zip(op.args, op.contained))
    return tuple([known.get(a) or operand_type(a) for a in operands])


def _stays_within(op: Op, graph: Graph, objects: Objects) -> bool:
    if may_change_unseen(op) or objects.runs_method(op) or has_effect(op):
        return False
    taken = op.fn not in primitives.UNPACKING and moves_iterator(objects, op)
    if taken or sets_name(op) or any(map(is_outside, changed_objects(objects, op))):
        return False
    variable = op.fn in ATTRIBUTES and isinstance(op.args[0], Const)  # of a module or class
    return not variable and not any(a in graph.cells for a in op.operands())


def _constants(graph: Graph) -> Iterator[Operand]:
    for block in graph.blocks:
        for op in block.ops:
            yield from op.args
        for edge in block.edges():
            yield from edge.args
        if isinstance(block.terminator, Return):
            yield block.terminator.value
        elif isinstance(block.terminator, Iterate):
            yield block.terminator.iterator


def _is_fixed(operand: Operand) -> bool:
    """No constant that holds what may change meanwhile."""
    if not isinstance(operand, Const) or operand is UNDEF:
        return True
    value: Any = operand.value
    return is_code(value) or effects.immutable(T.type_of(value))
