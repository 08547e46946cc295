"""Messages that programs log: `logger.debug("%.2f", x)`.

What a handler does is not seen, and it may do anything. But most messages are of a level to which nobody
listens, and then nothing is done: a program that is an attempt asks for that, and is left where somebody
listens, so that the run is recorded.
"""

from __future__ import annotations

import logging
from typing import Any

from ctxdispatch.facts import fact
from ctxdispatch.facts.table import callable_objects
from ctxdispatch.ir.graph import Branch, Edge, Graph, Op
from ctxdispatch.ir.rewrite import split_block, substitute
from ctxdispatch.ir.values import Const, Value, hashable
from ctxdispatch.passes import types as T
from ctxdispatch.passes.pure import PureFunction
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.programs.activity import ZERO_BY_RULE
from ctxdispatch_contexts.programs.lifting import gives_up, giving_up

LEVELS: dict[Any, int] = {
    logging.Logger.debug: logging.DEBUG, logging.Logger.info: logging.INFO,
    logging.Logger.warning: logging.WARNING, logging.Logger.error: logging.ERROR,
    logging.Logger.critical: logging.CRITICAL,
}  # fmt: skip


class _Enabled(PureFunction):
    """Whether somebody listens to messages of a level. (The logger remembers that it was asked.)"""

    __name__ = "is_enabled"

    def __call__(self, logger: logging.Logger, level: int) -> bool:
        return logger.isEnabledFor(level)

    def result_type(self, args: Any) -> T.Type:
        return T.Exact(bool)


callable_objects(fact(raises=False), [_Enabled])
_ENABLED = _Enabled()
ZERO_BY_RULE.add(_ENABLED)


def leave_messages(graph: Graph) -> bool:
    """In place: one message is left to a recorded run, if the program is an attempt. Whether one was."""
    for block, op in graph.ops():
        if _is_message(op) and gives_up():
            enabled, pos = Value("enabled", T.Exact(bool)), op.pos
            assert pos is not None
            rest = split_block(graph, block, block.ops.index(op))
            rest.ops.remove(op)
            substitute(graph, {op.result: Const(None)})
            told = graph.new_block()
            told.terminator = giving_up(pos)
            block.ops.append(Op(Const(_ENABLED), [op.args[0], Const(LEVELS[op.fn])], [enabled], (), pos))
            block.terminator = Branch(enabled, Edge(told, []), Edge(rest, []), pos)
            return True
    return False


def _is_message(op: Op) -> bool:
    if not hashable(op.fn) or op.fn not in LEVELS or op.pos is None:
        return False
    return T.cls_of(operand_type(op.args[0])) in (logging.Logger, logging.RootLogger)
