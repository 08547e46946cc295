"""Messages that programs log: `logger.debug("%.2f", x)`.

What a handler does is not seen, and it may do anything. But most messages are of a level to which nobody
listens, and then nothing is done: a program that is an attempt asks for that, and is left where somebody
listens, so that the run is recorded.
"""

from __future__ import annotations

import logging
from types import FunctionType
from typing import Any

from ctxdispatch.facts import fact
from ctxdispatch.facts.table import callable_objects
from ctxdispatch.ir.graph import Branch, Edge, Graph, Op
from ctxdispatch.ir.rewrite import split_block, substitute
from ctxdispatch.ir.values import Const, Value
from ctxdispatch.passes import types as T
from ctxdispatch.passes.pure import PureFunction
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.programs.activity import ZERO_BY_RULE
from ctxdispatch_contexts.programs.lifting import gives_up, giving_up


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
        level = _level(op)
        if level is not None and gives_up():
            enabled, pos = Value("enabled", T.Exact(bool)), op.pos
            assert pos is not None
            rest = split_block(graph, block, block.ops.index(op))
            rest.ops.remove(op)
            substitute(graph, {op.result: Const(None)})
            told = graph.new_block()
            told.terminator = giving_up(pos)
            block.ops.append(Op(Const(_ENABLED), [op.args[0], Const(level)], [enabled], (), pos))
            block.terminator = Branch(enabled, Edge(told, []), Edge(rest, []), pos)
            return True
    return False


def _level(op: Op) -> int | None:
    """Of a message: `Logger.info` is for `logging.INFO`. (`warn` tells that it is deprecated in any case.)"""
    if type(op.fn) is not FunctionType or op.pos is None or op.fn.__name__ == "warn":
        return None
    if op.fn is not vars(logging.Logger).get(op.fn.__name__):
        return None
    cls, level = T.cls_of(operand_type(op.args[0])), getattr(logging, op.fn.__name__.upper(), None)
    plain = cls is logging.Logger or cls is logging.RootLogger
    return level if plain and type(level) is int else None
