"""Operations on literals, done: what inlining leaves of defaults and options.

    %c = is_(0.5, None); branch %c ..      ->      jump ..
"""

from __future__ import annotations

import operator
from typing import Any

from ctxdispatch.ir.graph import Branch, Graph, Jump, Op
from ctxdispatch.ir.rewrite import substitute
from ctxdispatch.ir.values import Const, Operand, Value
from ctxdispatch.passes.transfer import FOLDABLE

LITERAL = (int, float, bool, str, type(None))


def fold_literals(graph: Graph) -> bool:
    """Fold in place; whether anything was."""
    mapping: dict[Value, Operand] = {}
    for block in graph.blocks:
        for op in block.ops:
            found = _folded(op)
            if found is not None:
                mapping[op.result] = found
        block.ops = [op for op in block.ops if not (op.results and op.result in mapping)]
    substitute(graph, mapping)
    branches = [_known_branch(block) for block in graph.blocks]
    return any(branches) or bool(mapping)


def _folded(op: Op) -> Const | None:
    if op.fn in (operator.is_, operator.is_not):
        return _identity(op)
    if op.fn in (operator.eq, operator.ne) and any(isinstance(a, Const) and a.value is None for a in op.args):
        return Const(op.fn is operator.ne)  # a number is not None
    if op.kwnames or not all(_is_literal(a) for a in op.args) or not op.args:
        return None
    try:
        if op.fn not in FOLDABLE:
            return None
        result = op.fn(*[a.value for a in op.args])  # type: ignore[union-attr]
    except Exception:  # raises, or is another number where a kernel computes it
        return None
    return Const(result) if isinstance(result, LITERAL) else None


def _is_literal(operand: Any) -> bool:
    return isinstance(operand, Const) and type(operand.value) in LITERAL


def _identity(op: Op) -> Const | None:
    """A number is not None."""
    a, b = op.args
    if isinstance(a, Const) and isinstance(b, Const):
        same = a.value is b.value
    elif any(isinstance(x, Const) and x.value is None for x in (a, b)):
        same = False
    else:
        return None
    return Const(same if op.fn is operator.is_ else not same)


def _known_branch(block: Any) -> bool:
    terminator = block.terminator
    if not isinstance(terminator, Branch) or not isinstance(terminator.cond, Const):
        return False
    block.terminator = Jump(terminator.then if terminator.cond.value else terminator.orelse, terminator.pos)
    return True
