"""Methods of receivers whose class only run time knows: obj.name(*args) as one call.

    %m = getattr(%obj, name);  %y = %m(%a)      ->      %y = method(name)(%obj, %a)

So what is differentiated is the class's function, with the receiver as its first argument. A bound method by
itself has no derivative that a table could give.
"""

from __future__ import annotations

import functools
from typing import Any

from ctxdispatch.ir.graph import Graph, Op
from ctxdispatch.ir.values import Const, Value


class Method:
    """The method of that name of its first argument."""

    def __init__(self, name: str) -> None:
        self.name = self.__name__ = self.__qualname__ = name

    def __call__(self, obj: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(obj, self.name)(*args, **kwargs)


@functools.cache
def method(name: str) -> Method:
    return Method(name)


def join_methods(graph: Graph, active: set[Value]) -> None:
    """Rewrite, in place, every active attribute that is only ever called."""
    uses = _uses(graph)
    for block, op in list(graph.ops()):
        if not (
            op.fn is getattr and len(op.args) == 2 and isinstance(op.args[1], Const) and op.result in active
        ):
            continue
        calls = uses.get(op.result, [])
        if calls and all(
            isinstance(c, Op) and c.callee is op.result and op.result not in c.args for c in calls
        ):
            block.ops.remove(op)
            for call in calls:
                call.callee, call.args = Const(method(op.args[1].value)), [op.args[0], *call.args]


def _uses(graph: Graph) -> dict[Any, list[Any]]:
    found: dict[Any, list[Any]] = {}
    for block in graph.blocks:
        for op in block.ops:
            for operand in op.operands():
                found.setdefault(operand, []).append(op)
        for operand in block.terminator.operands() if block.terminator else ():
            found.setdefault(operand, []).append(None)
        for edge in block.edges():
            for operand in edge.args:
                found.setdefault(operand, []).append(None)
    return found
