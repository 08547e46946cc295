"""Messages that programs log or print: `logger.debug("%.2f", x)`.

What a handler does is not seen, and it may do anything. But most messages are of a level to which nobody
listens, and then nothing is done: a program that is an attempt asks for that, and is left where somebody
listens, so that the run is recorded. What is printed goes where `sys.stdout` leads: a program takes for
granted that this is no object of the user's, whose methods could do anything.
"""

from __future__ import annotations

import logging
import sys
import weakref
from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any

from ctxdispatch.bytecode.errors import UnsupportedSyntax
from ctxdispatch.dispatch.protocols.streams import changed_methods, is_native, stream_of_user
from ctxdispatch.facts import SETS_ATTRIBUTE, fact, says
from ctxdispatch.facts.table import callable_objects
from ctxdispatch.ir.graph import Branch, Edge, Graph, Op
from ctxdispatch.ir.rewrite import split_block, substitute
from ctxdispatch.ir.values import Const, Value
from ctxdispatch.passes import types as T
from ctxdispatch.passes.guards import AttrType
from ctxdispatch.passes.pure import PureFunction
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.programs.activity import ZERO_BY_RULE
from ctxdispatch_contexts.programs.errors import DerivativeError, user_position
from ctxdispatch_contexts.programs.lifting import gives_up, giving_up

if TYPE_CHECKING:
    from ctxdispatch_contexts.programs.prepare import Prepared


class _Enabled(PureFunction):
    """Whether somebody listens to messages of a level. (The logger remembers that it was asked.)"""

    __name__ = "is_enabled"

    def __call__(self, logger: logging.Logger, level: int) -> bool:
        return logger.isEnabledFor(level)

    def result_type(self, args: Any) -> T.Type:
        return T.Exact(bool)


callable_objects(fact(raises=False), [_Enabled])
ENABLED = _Enabled()
ZERO_BY_RULE.add(ENABLED)


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
            block.ops.append(Op(Const(ENABLED), [op.args[0], Const(level)], [enabled], (), pos))
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


def print_plainly(prepared: Prepared) -> Graph:
    """Its graph. UnsupportedSyntax where what is printed may go to an object of the user's. What the class of
    a stream does not say is asked when it is printed to."""
    graph = prepared.graph
    prints = [(block, op) for block, op in graph.ops() if op.fn is print]
    redirects = bool(prints) and _redirects(graph)
    for block, op in prints:
        given = op.args[op.kwnames.index("file") - len(op.kwnames)] if "file" in op.kwnames else Const(None)
        cls = T.cls_of(operand_type(given))
        if cls is type(None):
            plain = hasattr(sys, "stdout") and stream_of_user(None) is None and not redirects
            if plain:
                prepared.assume(AttrType(sys, "stdout", T.Exact(type(sys.stdout))))
        else:
            plain = is_native(cls)
        if not plain:
            line = graph.line if op.pos is None else op.pos.line
            raise UnsupportedSyntax(_TO_OBJECT, graph.filename, line, graph.name, "print to a file of `io`")
        check = Op(Const(_check_stream), [given], [Value()], (), op.pos)
        block.ops.insert(block.ops.index(op), check)
    return graph


_TO_OBJECT = "what is printed to an object that Python code writes"


@says(looks="0", effect=True)
def _check_stream(file: Any) -> None:
    global _known
    stream = getattr(sys, "stdout", None) if file is None else file
    if stream is None or (_known() is stream and not changed_methods(stream)):
        return
    if stream_of_user(file) is None:
        _known = weakref.ref(stream)
    else:
        raise DerivativeError(f"{_TO_OBJECT} is not followed here; print to a file of `io`", user_position())


_known: Callable[[], Any] = lambda: None  # noqa: E731
"""A stream that has been asked."""
ZERO_BY_RULE.add(_check_stream)


def _redirects(graph: Graph) -> bool:
    return any(
        op.fn in SETS_ATTRIBUTE and isinstance(op.args[0], Const) and op.args[0].value is sys
        for _, op in graph.ops()
    )
