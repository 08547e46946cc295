"""Calls that fail whenever they are run.

`len(x, x)`, `operator.add(x)`: passes and rules count on operands that are not there. So such a call is taken
out of their sight, and the run is recorded, which fails as the plain one.

`None + 1`, `0.0 @ 1`, `0.0.sum`: nothing after them is ever done.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ctxdispatch.facts.arity import fits
from ctxdispatch.ir.graph import Graph, Op, Raise
from ctxdispatch.ir.values import Const, hashable
from ctxdispatch.passes import types as T
from ctxdispatch.passes.effects import call_of
from ctxdispatch.passes.raising import takes_no_such
from ctxdispatch.passes.scalar_types import OPERATORS, PLAIN
from ctxdispatch.passes.transfer import call
from ctxdispatch_contexts.derivatives.table import lowering
from ctxdispatch_contexts.programs.errors import Ending, MissingRuleError, Refusal
from ctxdispatch_contexts.programs.refusals import missing_message


class Misfit(Ending):
    """A function whose arguments do not fit its parameters: it fails as it would, and if not, is refused."""

    def __init__(self, function: Any, refusal: Refusal) -> None:
        self.function, self.refusal = function, refusal
        self.__name__ = function.__name__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.function(*args, **kwargs)
        return self.refusal(*args)


def mark_misfits(graph: Graph) -> None:
    """In place."""
    for _, op in graph.ops():
        call = None if op.syntax else call_of(op)
        if call is not None and len(call[1]) == len(op.args) and _is_misfit(op, *call):
            op.callee = Const(Misfit(call[0], Refusal(MissingRuleError, missing_message(op), op)))


def _is_misfit(op: Op, function: Any, args: tuple[T.Type, ...]) -> bool:
    """Rules and lowerings of functions may take more than those do."""
    if not fits(function, len(args), op.kwnames):
        return True
    lowered = hashable(function) and type(function) is not np.ufunc and lowering(function) is not None
    return lowered and takes_no_such(function, args, op.kwnames)


def end_where_raised(graph: Graph) -> None:
    """In place: nothing comes after operators that are not defined for their operands."""
    for block in graph.blocks:
        at = next((i for i, op in enumerate(block.ops) if _is_undefined(op)), None)
        if at is not None:
            del block.ops[at + 1 :]
            last = block.ops[at]
            block.terminator = Raise(last.result, None, last.pos)  # which has raised an error of its own


def _is_undefined(op: Op) -> bool:
    if op.fn is getattr:
        return len(op.args) == 2 and _is_lacking(*map(T.operand_type, op.args))
    if op.fn not in UNDEFINED or len(op.results) != 1 or op.result.type is not T.Never:
        return False
    types = tuple(map(T.operand_type, op.args))
    return T.Never not in types and call(op.fn, types) is T.Never


def _is_lacking(owner: T.Type, name: T.Type) -> bool:
    cls = T.cls_of(owner)
    known = cls in PLAIN and isinstance(name, T.Known) and type(name.value) is str
    return known and not hasattr(cls, name.value)  # type: ignore[attr-defined]


UNDEFINED = frozenset(OPERATORS)
