"""What takes all items of an operand takes them from a list: whoever follows it need know of lists alone, and
the items are still there afterwards, which those of an iterator are not.

    dict(zip(a, b))       dict(list(zip(a, b)))
    xs.extend(mapping)    xs.extend(list(mapping))
    xs[i:j] = array       xs[i:j] = list(array)

Where taking the items runs no code of the user's: what that raises would come before `xs` has grown.

A list that is made, and appended to before anything else is done with it, is made of all that:

    xs = [a]; xs.append(b)      xs = [a, b]
"""

from __future__ import annotations

import builtins
import operator

from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Graph, Op
from ctxdispatch.ir.rewrite import uses
from ctxdispatch.ir.values import Operand, hashable
from ctxdispatch.passes import types as T
from ctxdispatch.passes.inline import emit_before
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.programs.containers import any_iterable

_TAKEN_FROM = {builtins.dict: 0, primitives.list_extend: 1, list.extend: 1, operator.setitem: 2}
"""Where they have the operand that is gone through."""


def spell_out_items(graph: Graph) -> bool:
    """In place. Whether anything is changed."""
    changed = False
    for block in graph.blocks:
        for op in list(block.ops):
            at = _TAKEN_FROM.get(op.fn) if hashable(op.fn) else None
            if at is not None and at < len(op.args) - len(op.kwnames) and _goes_through(op, op.args[at]):
                op.args[at] = emit_before(block, op, syntax=False)(list, op.args[at])
                changed = True
    return _merge_appends(graph) or changed


def _merge_appends(graph: Graph) -> bool:
    """In place, within blocks."""
    known, changed = uses(graph), False
    for block in graph.blocks:
        made: dict[Operand, Op] = {}
        for op in list(block.ops):
            target = made.get(op.args[0]) if op.fn in _APPENDS and len(op.args) == 2 else None
            if target is not None and not any(known[r] for r in op.results) and op.args[1] is not op.args[0]:
                target.args.append(op.args[1])
                block.ops.remove(target)
                block.ops[block.ops.index(op)] = target
                changed = True
                continue
            for operand in op.operands():
                made.pop(operand, None)
            if op.fn is primitives.build_list:
                made[op.result] = op
    return changed


_APPENDS = (list.append, primitives.list_append)


def _goes_through(op: Op, operand: Operand) -> bool:
    cls = T.cls_of(operand_type(operand))
    if cls in (list, tuple) or not any_iterable(Op(op.callee, [operand], [])):
        return False
    if op.fn is builtins.dict:
        return not hasattr(cls, "keys")
    return op.fn is not operator.setitem or _is_slice_of_list(op)


def _is_slice_of_list(op: Op) -> bool:
    target, place = (T.cls_of(operand_type(a)) for a in op.args[:2])
    return target is list and place is slice


__all__ = ["spell_out_items"]
