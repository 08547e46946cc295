"""Which values go from block to block as callables, with the NULL, or the `self`, that a call wants beside
them.

`f(a if c else b)` has its callable on the stack while control branches. In the graph that is a value like any
other; on the stack it takes two places. Values that edges pass to one another must all take one place, or
two: two where nothing is done with them but to call them.
"""

from __future__ import annotations

from collections.abc import Iterator

from ctxdispatch.ir import frames, primitives
from ctxdispatch.ir.frames import Instruction
from ctxdispatch.ir.graph import Block, Delegate, Edge, Graph, Iterate, Op, Reraise
from ctxdispatch.ir.sites import Site
from ctxdispatch.ir.values import Operand, Value

WIDE = frozenset({"LOAD_SPECIAL"})
"""Instructions that leave a method and `self`, or a callable and NULL."""


def callables(graph: Graph) -> dict[Operand, bool]:
    """Per such value whether it may also be a method and its `self`."""
    wide = [*_natively_wide(graph)]
    if len(graph.blocks) == 1 and not wide:
        return {}
    groups = _Groups()
    for block in graph.blocks:
        for edge, params in _passed(block):
            for param, argument in zip(params, edge.args, strict=True):
                groups.unite(param, argument)
    called, plain, other = _uses(graph)
    for op in wide:
        result = op.results[0]
        groups.unite(result, op.args[-1] if type(op.fn) is Site and op.fn.bound else result)
        called.add(result)
    bad = {groups.find(v) for v in other}
    good = {groups.find(v) for v in called | plain} - bad
    only_plain = {groups.find(v) for v in plain}
    return {v: groups.find(v) not in only_plain for v in groups.members() if groups.find(v) in good}


def _passed(block: Block) -> Iterator[tuple[Edge, list[Value]]]:
    """Edges with the parameters that their arguments are for."""
    end = block.terminator
    for edge in block.edges():
        params = edge.target.params
        if isinstance(end, Delegate):
            params = params[:-1]
        elif isinstance(end, Iterate) and edge is end.body:
            params = params[1:]
        yield edge, params
    if block.handler is not None:
        edge = block.handler.edge
        yield edge, edge.target.params[: -block.handler.implicit]


def _natively_wide(graph: Graph) -> Iterator[Op]:
    return (op for _, op in graph.ops() if is_natively_wide(op))


def is_natively_wide(op: Op) -> bool:
    fn = op.fn
    return (type(fn) is Instruction and fn.name in WIDE) or (type(fn) is Site and fn.is_wide)


def _uses(graph: Graph) -> tuple[set[Value], set[Value], set[Value]]:
    """Values that are called, that are called as f(*args), that are used in another way."""
    called: set[Value] = set()
    plain: set[Value] = set()
    other: set[Value] = set()
    for _, op in graph.ops():
        if type(op.callee) is Value:
            (other if op.bare else called).add(op.callee)
        fn, arguments = op.fn, op.args
        if fn is primitives.call_ex:
            plain |= {a for a in arguments[:1] if type(a) is Value}
            arguments = arguments[1:]
        elif fn is primitives.dict_merge:
            arguments = arguments[:2]
        elif fn is frames.drop or (type(fn) is Site and fn.bound):
            arguments = []
        elif type(fn) is Instruction and fn.name == "WITH_EXCEPT_START" and len(op.results) == 1:
            arguments = arguments[1:]
        other.update(a for a in arguments if type(a) is Value)
    for block in graph.blocks:
        end = block.terminator
        operands = (end.exc,) if isinstance(end, Reraise) else end.operands() if end else ()
        other |= {v for v in operands if type(v) is Value}
    return called, plain, other


class _Groups:
    """Values that are passed to one another."""

    def __init__(self) -> None:
        self._parent: dict[Operand, Operand] = {}

    def find(self, value: Operand) -> Operand:
        parent = self._parent
        while (above := parent.get(value, value)) is not value:
            parent[value] = parent.get(above, above)
            value = above
        return value

    def unite(self, a: Operand, b: Operand) -> None:
        for value in (a, b):
            self._parent.setdefault(value, value)
        self._parent[self.find(a)] = self.find(b)

    def members(self) -> Iterator[Operand]:
        return iter([v for v in self._parent if type(v) is Value])
