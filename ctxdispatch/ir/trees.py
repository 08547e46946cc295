"""A graph's blocks as statements with nested expressions: what stands between the IR and its source.

A `Node` is a block; `build` nests a value that is read once into its reader, where that changes no order of
evaluation that anything could see: values are nested in exactly the order in which they were computed, past
others when none of them writes (`expressions.pure`), and past anything when it is plain arithmetic (`free`).
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from ctxdispatch.ir.expressions import (
    INPLACE,
    Expr,
    Part,
    free,
    is_statement,
    leaves,
    listed,
    pure,
    strict_order,
    updates,
)
from ctxdispatch.ir.graph import Block, Graph, Iterate, Jump
from ctxdispatch.ir.primitives import MULTIPLE_RESULTS, build_map, call_ex, dict_merge
from ctxdispatch.ir.values import Operand, Position, Value

HEAVIEST = 12
"""Calls in one expression at most; what would make it bigger gets a name."""


class Item:
    """results = expr"""

    __slots__ = ("expr", "results")

    def __init__(self, expr: Expr, results: list[Value]) -> None:
        self.expr = expr
        self.results = results


class Arc:
    """An edge. `item` is the parameter that an iteration supplies itself."""

    __slots__ = ("args", "implicit", "target")

    def __init__(self, target: Node, args: Sequence[Part], implicit: bool = False) -> None:
        self.target = target
        self.args = list(args)
        self.implicit = implicit

    def pairs(self) -> Iterator[tuple[Value, Part]]:
        """Each parameter of the target with what it becomes."""
        return zip(self.target.params[self.implicit :], self.args, strict=True)


class Node:
    """A block: `items` one per op, `kind` and `parts` the terminator and its operands."""

    __slots__ = ("arcs", "built", "items", "kind", "params", "parts", "pos")

    def __init__(self, kind: type, pos: Position | None = None) -> None:
        self.params: list[Value] = []
        self.items: list[Item] = []
        self.kind = kind
        self.parts: list[Part] = []
        self.arcs: list[Arc] = []
        self.pos = pos
        self.built: Built | None = None

    @property
    def loop_iterator(self) -> Operand | None:
        """What the `for` statement that this node is iterates over."""
        return self.parts[0] if self.kind is Iterate and not isinstance(self.parts[0], Expr) else None


class Built:
    """A node's statements; `parts` and, per arc, `args` as in the node, with what is nested in them.
    `iterable` is the nested expression over which the `for` loop that this node jumps to iterates."""

    __slots__ = ("args", "iterable", "parts", "statements")

    def __init__(self, parts: list[Part], args: list[list[Part]]) -> None:
        self.statements: list[Item] = []
        self.parts = parts
        self.args = args
        self.iterable: Expr | None = None


def nodes_of(graph: Graph) -> list[Node]:
    """A node per block, in order."""
    made: dict[Block, Node] = {}
    for block in graph.blocks:
        assert block.terminator is not None
        node = made[block] = Node(type(block.terminator), block.terminator.pos)
        node.params = list(block.params)
        node.items = [Item(Expr(op, list(op.operands())), op.results) for op in block.ops]
        node.parts = list(block.terminator.operands())
    for block, node in made.items():
        for edge in block.edges():
            implicit = node.kind is Iterate and edge is block.edges()[0]
            node.arcs.append(Arc(made[edge.target], edge.args, implicit))
    return [part for node in made.values() for part in _split(node)]


def _split(node: Node) -> list[Node]:
    """An iteration stands alone, as a `for` statement does."""
    if node.kind is not Iterate or not node.items:
        return [node]
    rest = Node(Iterate, node.pos)
    rest.parts, rest.arcs = node.parts, node.arcs
    node.kind, node.parts, node.arcs = Jump, [], [Arc(rest, [])]
    return [node, rest]


def drop_copies(nodes: list[Node]) -> None:
    """`f(*a, **kw)` is compiled to `t = {}; merge kw into t; f(*a, **t)`: without t it does the same."""
    reads_of = count_reads(nodes)
    for node in nodes:
        empty = [i for i in node.items if i.expr.fn is build_map and len(i.expr.parts) == 1]
        fresh = [i for i in empty if reads_of[i.results[0]] == 2]
        for item in fresh:
            users = [i for i in node.items if item.results[0] in i.expr.parts]
            if [u.expr.fn for u in users] == [dict_merge, call_ex] and len(users[1].expr.parts) == 4:
                users[1].expr.parts[3] = users[0].expr.parts[2]
                node.items = [i for i in node.items if i is not item and i is not users[0]]


# -- counting --------------------------------------------------------------------------------------


def reads(node: Node) -> Iterator[Operand]:
    for item in node.items:
        yield from item.expr.leaves()
    for part in _ends(node):
        yield from leaves(part)


def _ends(node: Node) -> Iterable[Part]:
    yield from node.parts
    for arc in node.arcs:
        yield from arc.args


def count_reads(nodes: Iterable[Node]) -> Counter[Value]:
    return Counter(v for node in nodes for v in reads(node) if isinstance(v, Value))


def _nestable_here(node: Node) -> Counter[Value]:
    """Reads that are certain to happen when the node runs, before it is left. A branch takes one of its
    edges: what an edge passes is computed before."""
    found: Counter[Value] = Counter()
    for item in node.items:
        found.update(p for p in item.expr.parts[: item.expr.lazy] if isinstance(p, Value))
    found.update(p for p in _last_parts(node) if isinstance(p, Value))
    return found


def _last_parts(node: Node) -> list[Part]:
    """What the terminator evaluates: operands, or a jump's arguments and the iterator of a loop."""
    if node.kind is Jump:
        iterator = node.arcs[0].target.loop_iterator
        return [*node.arcs[0].args, *([iterator] if iterator is not None else [])]
    return node.parts if node.kind is not Iterate else []


# -- nesting ---------------------------------------------------------------------------------------


def build(node: Node, reads_of: Counter[Value]) -> Built:
    """The node's statements, given how often each value is read in the whole program."""
    return _Nesting(node, reads_of).run()


class _Nesting:
    """`pending` are values computed but not written yet, in order: each waits for its one reader."""

    def __init__(self, node: Node, reads_of: Counter[Value]) -> None:
        self.node = node
        self.here = _nestable_here(node)
        self.reads_of = reads_of
        self.pending: dict[Value, Expr] = {}
        self.out = Built(list(node.parts), [list(a.args) for a in node.arcs])

    def run(self) -> Built:
        for item in self.node.items:
            self.item(item)
        self.end()
        self.flush(list(self.pending))
        return self.out

    def item(self, item: Item) -> None:
        used = any(self.reads_of[r] for r in item.results)
        statement = not used and is_statement(item.expr)
        parts = list(item.expr.parts)
        self.nest(parts, strict_order(item.expr, statement), item.expr if statement else None)
        expr = Expr(item.expr.op, parts, item.expr.lazy)
        if self.waits(item):
            self.pending[item.results[0]] = expr
            return
        if not free(expr):
            harmless = pure if pure(expr) else free
            self.flush([v for v, waiting in self.pending.items() if not harmless(waiting)])
        self.out.statements.append(Item(expr, item.results))

    def waits(self, item: Item) -> bool:
        if len(item.results) != 1 or listed(item.expr.fn, MULTIPLE_RESULTS):
            return False
        return self.reads_of[item.results[0]] == self.here[item.results[0]] == 1

    def end(self) -> None:
        parts = _last_parts(self.node)[:]
        self.nest(parts, list(range(len(parts))), None)
        if self.node.kind is Jump:
            args = self.out.args[0]
            args[:] = parts[: len(args)]
            self.out.iterable = next((p for p in parts[len(args) :] if isinstance(p, Expr)), None)
        elif parts:
            self.out.parts = parts

    def nest(self, parts: list[Part], order: list[int], statement: Expr | None) -> None:
        """Put pending values in their places among `parts`. What cannot go there is written before."""
        self.flush([v for v in parts if v in self.pending and not self.fits(v, statement)])
        while wanted := self.wanted(parts, order):
            if self.in_order(wanted) and self.weight(wanted) < HEAVIEST:
                break
            self.flush([next(v for v in self.pending if v in wanted)])
        for i in order:
            part = parts[i]
            if isinstance(part, Value) and part in self.pending:
                parts[i] = self.pending.pop(part)

    def fits(self, value: Part, statement: Expr | None) -> bool:
        """`x += y` is no expression: it fits only in the store back to where x came from."""
        expr = self.pending[value]  # type: ignore[index]
        if not listed(expr.fn, INPLACE):
            return True
        if statement is None or len(statement.parts) != 4 or statement.parts[3] is not value:
            return False
        reader = operator.getitem if statement.fn is operator.setitem else getattr
        read = expr.parts[1]
        return isinstance(read, Expr) and updates(reader, read, statement.parts[1], statement.parts[2])

    def wanted(self, parts: list[Part], order: list[int]) -> list[Value]:
        """The pending values among `parts`, first computed first; [] ends the search."""
        return [p for i in order if isinstance(p := parts[i], Value) and p in self.pending]

    def in_order(self, wanted: list[Value]) -> bool:
        waiting = list(self.pending)
        tail = [v for v in waiting[min(map(waiting.index, wanted)) :] if not free(self.pending[v])]
        fixed = [v for v in wanted if not free(self.pending[v])]
        return tail == fixed or all(pure(self.pending[v]) for v in tail)

    def weight(self, wanted: list[Value]) -> int:
        return sum(self.pending[v].weight for v in wanted)

    def flush(self, values: Sequence[Part]) -> None:
        """Write pending values up to the last of `values` as statements; free ones in between may wait."""
        waiting = list(self.pending)
        end = max((waiting.index(v) + 1 for v in values if v in self.pending), default=0)
        for value in [v for v in waiting[:end] if v in values or not free(self.pending[v])]:
            self.out.statements.append(Item(self.pending.pop(value), [value]))
