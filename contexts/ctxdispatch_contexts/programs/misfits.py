"""Calls of C code with a number of arguments that it does not take: `len(x, x)`, `operator.add(x)`.

They fail when they are run, and until then passes and rules count on operands that are not there. So such a
call is taken out of their sight, and the run is recorded, which fails as the plain one.
"""

from __future__ import annotations

from typing import Any

from ctxdispatch.ir.graph import Graph
from ctxdispatch.ir.values import Const
from ctxdispatch.passes.effects import call_of
from ctxdispatch_contexts.programs.arity import fits
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
        if call is not None and len(call[1]) == len(op.args) and not fits(call[0], len(op.args), op.kwnames):
            op.callee = Const(Misfit(call[0], Refusal(MissingRuleError, missing_message(op), op)))
