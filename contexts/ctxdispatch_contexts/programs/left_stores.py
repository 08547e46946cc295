"""What programs leave in objects that outlive them: such stores are told to those who follow it.

    setattr(%m, 'last', %v)         is followed by         leave(names, where, %v)
    setitem(%buffer, %i, %v)        the last thing is      leave(names, where, %buffer)

A later run takes what it reads for constants, but for what an earlier one has left (`recording/left.py`).
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from typing import Any

from ctxdispatch.facts import SETS_ATTRIBUTE, says
from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Graph, Op, Return
from ctxdispatch.ir.values import Const, Operand, Position, Value
from ctxdispatch.passes import types as T
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.programs import left_names
from ctxdispatch_contexts.programs.activity import ZERO_BY_RULE, carries, is_numeric
from ctxdispatch_contexts.programs.aliases import GLOBAL, NOTHING, Objects, Sites, is_outside
from ctxdispatch_contexts.programs.changes import changed, may_change_unseen
from ctxdispatch_contexts.programs.containers import DISPLAYS
from ctxdispatch_contexts.programs.mode import recording
from ctxdispatch_contexts.programs.operands import numeric
from ctxdispatch_contexts.programs.order import uses
from ctxdispatch_contexts.programs.other_names import unfit
from ctxdispatch_contexts.programs.zeros import as_given


@says(raises=False, effect=True)
def leave(names: left_names.Names, at: Position | None, *values: Any) -> None:
    """They have been put where later runs may find them, under these names."""
    _stored()(names, at, values)


@functools.cache
def _stored() -> Callable[..., None]:
    return recording("left").leave_stored  # type: ignore[no-any-return]


ZERO_BY_RULE.update((leave, as_given))


def tell_stores(graph: Graph, varied: Set[Value], objects: Objects) -> None:
    """In place. `varied`: what depends on what is differentiated. UnsupportedSyntax where what is stored
    holds other things, too: a run that is recorded knows what."""
    makers = _displays(graph)
    arrays: dict[Value, Op] = {}
    for block in graph.blocks:
        ops: list[Op] = []
        for op in block.ops:
            ops.append(op)
            targets = _targets(op)
            sites = [s for target in targets for s in objects.of(target) if is_outside(s)]
            given = [a for a in op.args if a in varied and a not in targets]
            if not given or not (sites or any(isinstance(target, Const) for target in targets)):
                continue
            if any(isinstance(operand_type(target), T.ArrayOf) for target in targets):
                arrays.update((s, op) for s in sites if s in graph.params)
            else:
                ops.append(_leave(op, *_numbers(graph, op, given, varied, makers)))
        block.ops = ops
    ends = [block for block in graph.blocks if isinstance(block.terminator, Return)] if arrays else []
    for block in ends:
        block.ops += [_leave(op, array) for array, op in arrays.items()]


def _displays(graph: Graph) -> dict[Value, Op]:
    """What makes tuples, and lists and dicts that are only stored once."""
    found = {op.results[0]: op for _, op in graph.ops() if op.fn in DISPLAYS}
    used = Counter(operand for operand, _, _ in uses(graph) if operand in found) if found else Counter()
    return {v: op for v, op in found.items() if op.fn is primitives.build_tuple or used[v] == 1}


def _targets(op: Op) -> Sequence[Operand]:
    return op.args[:1] if op.fn in (primitives.store_global, primitives.cell_set) else changed(op)


def _numbers(
    graph: Graph, store: Op, given: Sequence[Operand], varied: Set[Value], makers: Mapping[Value, Op]
) -> Iterator[Operand]:
    """The numbers and arrays that vary, of what is stored."""
    for operand in given:
        if is_numeric(operand_type(operand)) or operand_type(operand) is T.Any:
            yield operand
        elif operand in makers:
            inside = [a for a in makers[operand].args if a in varied]  # type: ignore[index]
            yield from _numbers(graph, store, inside, varied, makers)
        else:
            raise unfit(graph, store, _UNTOLD)


_UNTOLD = (
    "an object, list or dict that holds what is differentiated, given to another that was there before,",
    "give it the numbers and arrays themselves",
)


def _leave(op: Op, *values: Operand) -> Op:
    return Op(Const(leave), [Const(frozenset(_names(op))), Const(op.pos), *values], [Value()], (), op.pos)


def _names(op: Op) -> list[left_names.Name]:
    name = op.args[1].value if len(op.args) > 2 and isinstance(op.args[1], Const) else None
    if type(name) is not str:
        return []
    if op.fn in SETS_ATTRIBUTE:
        return [left_names.attribute(name, T.cls_of(operand_type(op.args[0])))]
    if op.fn is primitives.store_global:
        return [left_names.variable(name, "" if op.pos is None else op.pos.filename)]
    return [left_names.item(name)]


# -- what was given ------------------------------------------------------------------------------------------


def stored_to(graph: Graph, wrt: Sequence[Value], objects: Objects) -> list[Value]:
    """The parameters that hold others to which the graph, a primal, may store."""
    held = [p for p in wrt if carries(p.type) and not numeric(p.type)]
    stored = NOTHING.union(*[_stored_to(objects, op) for _, op in graph.ops()]) if held else NOTHING
    return [p for p in held if GLOBAL in stored or not stored.isdisjoint(objects.reach(p))]


def keep_given(graph: Graph, stored: Sequence[Value]) -> dict[Value, Value]:
    """In place: what these parameters hold when the run begins. Gradients have the structure of what was
    given. (It moves the ops of the entry: what knows their places is not asked any more.)"""
    copies = {p: Value(f"{p.name}_given") for p in stored}
    graph.entry.ops[:0] = [Op(Const(as_given), [p], [copies[p]]) for p in copies]
    return copies


def _stored_to(objects: Objects, op: Op) -> Sites:
    """What `op` may store to, of what was there before."""
    if may_change_unseen(op) or objects.runs_method(op):
        return NOTHING.union(*map(objects.reach, op.operands()), [GLOBAL])
    targets = [t for t in changed(op) if not numeric(operand_type(t))]
    return frozenset(site for t in targets for site in objects.of(t) if is_outside(site))


__all__ = ["keep_given", "leave", "stored_to", "tell_stores"]
