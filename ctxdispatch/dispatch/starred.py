"""Calls that are written f(*items): what is run to make the arguments of it, as ops.

    %a = splatted(%items, f, %ctx)     what the interpreter may go through: of C code, or a stand-in
    %a = gathered(%items, f, %ctx)     the same as a tuple, for hooks

Nothing is run for what is a tuple whatever the program is called with.
"""

from __future__ import annotations

from collections.abc import MutableMapping

from ctxdispatch.dispatch.overdub import gathered, splatted
from ctxdispatch.ir import frames, primitives
from ctxdispatch.ir.graph import Graph, Op
from ctxdispatch.ir.values import Const, Operand, Value

TUPLES = (primitives.build_tuple, primitives.list_to_tuple, gathered)
"""What makes f(*items) no call of `__iter__`."""


class Starred:
    """Those of one graph. `ctx` is the operand that is the context; `definitions` has the ops that make
    values, new ones too."""

    def __init__(
        self, graph: Graph, definitions: MutableMapping[Value, Op], ctx: Operand, static: bool
    ) -> None:
        self.ctx = ctx
        self._definitions = definitions
        self._static = static
        self._parameter = _parameter(graph)

    def through(self, op: Op) -> tuple[Operand, list[Op]]:
        """What the interpreter is to call `op` with, and what makes that."""
        callee, items, *_ = op.args
        if self._static or self._is_tuple(items):
            return items, []
        made = Op(Const(splatted), [items, callee, self.ctx], [Value("through")], pos=op.pos)
        return made.result, [made]

    def as_tuple(self, op: Op) -> tuple[Operand, list[Op]]:
        """The same as a tuple."""
        callee, items, *_ = op.args
        if self._is_tuple(items):
            return items, []
        made = Op(Const(gathered), [items, callee, self.ctx], [Value("args")], pos=op.pos)
        self._definitions[made.result] = made
        return made.result, [made]

    def _is_tuple(self, items: Operand) -> bool:
        made = self._definitions.get(items) if isinstance(items, Value) else None
        if made is None:
            return items is self._parameter
        if id(made.fn) not in frames.LOADS:
            return made.fn in TUPLES
        return isinstance(made.args[0], Const) and made.args[0].value == self._parameter


def _parameter(graph: Graph) -> Operand | str | None:
    """The parameter `*args`: its variable where nothing assigns to that, the value itself in SSA form."""
    signature, frame = graph.signature, graph.frame
    if not signature.varargs:
        return None
    at = signature.argcount + signature.kwonly
    name = signature.names[at]
    if frame is None:
        return graph.params[at]
    stores = (op.args[0] for _, op in graph.ops() if id(op.fn) in frames.ASSIGNS)
    assigned = any(isinstance(to, Const) and to.value == name for to in stores)
    return None if assigned or name in frame.cells else name
