"""Control flow as nested statements, from the dominator tree (Ramsey, "Beyond Relooper", ICFP 2022).

    seq(X)   X's own code; what only X leads to stands where X leads to it; then, in order, the blocks where
             paths that X starts come together again

So every path runs off the end of the code that is nested in a place, with one target in mind: the label that
comes next there, or another one. `source` spells the others `break`, `continue` or with a flag. Python has no
scopes inside a function, so paths that leave a loop meet behind it. Any reducible graph has such a form.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ctxdispatch.ir.analysis import Loop, dominators, loops
from ctxdispatch.ir.expressions import Part
from ctxdispatch.ir.graph import Block, Branch, Edge, Graph, Jump, Raise, Return, positional
from ctxdispatch.ir.reduce import Program
from ctxdispatch.ir.trees import Built, Item, Node
from ctxdispatch.ir.values import Const, Position, Value


@dataclass
class Code:
    items: list[Item]


@dataclass
class Moves:
    """The parameters of a block become the arguments of an edge, all at once."""

    pairs: list[tuple[Value, Part]]
    pos: Position | None


@dataclass
class Goto:
    target: Node
    pairs: list[tuple[Value, Part]]
    pos: Position | None


@dataclass
class Leave:
    """return or raise"""

    node: Node


@dataclass
class If:
    node: Node
    then: Seq
    orelse: Seq


@dataclass
class Repeat:
    """A loop. `exit` is what runs once a `for` is exhausted or a `while` test fails: it is outside of it.
    `test` is the index of the edge into the body for those two, None for `while True`."""

    node: Node
    body: Seq
    exit: Seq
    test: int | None
    iterable: Part | None = None


Statement = Code | Moves | Goto | Leave | If | Repeat


@dataclass
class Seq:
    """`head`, then the labelled statements; each falls to the next label."""

    head: list[Statement]
    labels: list[tuple[Node, list[Statement]]] = field(default_factory=list)


def structure(program: Program) -> Seq:
    """Raises IrreducibleError where a loop has two entries."""
    return _Structure(program).seq(program.entry)


class _Structure:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.block_of = _skeleton(program)
        self.node_of = {block: node for node, block in self.block_of.items()}
        graph = Graph("", positional(0))
        graph.blocks = list(self.block_of.values())
        self.tree = dominators(graph)
        self.forest = loops(graph, self.tree)
        self.labels: dict[Node, list[Node]] = {
            n: [] for n in program.nodes
        }  # inside of the loop, if it heads one
        self.behind: dict[Node, list[Node]] = {n: [] for n in program.nodes}  # behind the loop that it heads
        built = [(n, _built(n).iterable) for n in program.nodes]
        self.iterables = {n.arcs[0].target: iterable for n, iterable in built if iterable is not None}
        self.place()

    # -- where blocks stand ------------------------------------------------------------------------

    def place(self) -> None:
        single: dict[Loop, list[Block]] = {}
        for block in self.tree.order[1:]:
            parent = self.tree.idom[block]
            left = self.left_loop(parent, block)
            if self.merges(block):
                home = self.behind[self.node_of[left.header]] if left else self.labels[self.node_of[parent]]
                home.append(self.node_of[block])
            elif left:
                single.setdefault(left, []).append(block)
        self.elsewhere = {
            n for table in (self.labels, self.behind) for nodes in table.values() for n in nodes
        }
        for loop, exits in single.items():
            self.place_exit(self.node_of[loop.header], [self.node_of[e] for e in exits])

    def place_exit(self, header: Node, exits: list[Node]) -> None:
        """What comes after a `while True` stands behind it: a big exit, not a mere return."""
        if self.behind[header] or self.test_of(header) is not None:
            return
        big = [e for e in exits if not _small(e)] or (exits if len(exits) == 1 else [])
        if big:
            self.behind[header].append(big[-1])
            self.elsewhere.add(big[-1])

    def left_loop(self, parent: Block, block: Block) -> Loop | None:
        """The outermost loop that has `parent` but not `block`."""
        loop, found = self.forest.loop_of.get(parent), None
        while loop is not None and block not in loop.blocks:
            loop, found = loop.parent, loop
        return found

    def merges(self, block: Block) -> bool:
        """Several edges lead here, those that close a loop aside."""
        node = self.node_of[block]
        forward = [p for p in self.program.preds[node] if not self.tree.dominates(block, self.block_of[p])]
        return len(forward) > 1

    def test_of(self, node: Node) -> int | None:
        """Which edge of `node` leads into the loop that it heads, where a `for` or `while` can say so."""
        if node.loop_iterator is not None:
            return 0
        loop = self.forest.header_of(self.block_of[node])
        if loop is None or node.kind is not Branch or _built(node).statements:
            return None
        inside = [self.block_of[arc.target] in loop.blocks for arc in node.arcs]
        return inside.index(True) if sum(inside) == 1 else None

    # -- statements --------------------------------------------------------------------------------

    def seq(self, node: Node, inside: bool = False) -> Seq:
        """`inside` the loop that `node` heads, or else with that loop."""
        head, later = self.head(node, inside)
        seq = Seq(head)
        while later:  # a long program is a long list of labels, not a deep nest of them
            label = later.pop(0)
            statements, more = self.head(label)
            seq.labels.append((label, statements))
            later = more + later
        return seq

    def head(self, node: Node, inside: bool = False) -> tuple[list[Statement], list[Node]]:
        """The node's code up to the first label, and the nodes that come after it in the same place."""
        statements: list[Statement] = []
        later: list[Node] = []
        while True:
            if self.heads_loop(node) and not inside:
                later = self.behind[node] + ([] if self.in_forest(node) else self.labels[node]) + later
                return [*statements, self.repeat(node)], later
            later = self.labels[node] + later
            statements.append(Code(_built(node).statements))
            if node.kind is not Jump or node.arcs[0].target in self.elsewhere or self.closes(node):
                return [*statements, *self.end(node)], later
            statements.append(self.moves(node, 0))
            inside = False
            node = node.arcs[0].target

    def heads_loop(self, node: Node) -> bool:
        return node.loop_iterator is not None or self.in_forest(node)

    def in_forest(self, node: Node) -> bool:
        return self.forest.header_of(self.block_of[node]) is not None

    def closes(self, node: Node) -> bool:
        """The jump at the end of `node` goes back to a loop's header."""
        return self.tree.dominates(self.block_of[node.arcs[0].target], self.block_of[node])

    def end(self, node: Node) -> list[Statement]:
        if node.kind in (Return, Raise):
            return [Leave(node)]
        if node.kind is Jump:
            return self.goto(node, 0).head
        return [If(node, self.goto(node, 0), self.goto(node, 1))]

    def goto(self, node: Node, index: int) -> Seq:
        """The edge's moves, then its target: here, if it is nowhere else."""
        target = node.arcs[index].target
        if target in self.elsewhere or self.tree.dominates(self.block_of[target], self.block_of[node]):
            return Seq([Goto(target, self.moves(node, index).pairs, node.pos)])
        seq = self.seq(target)
        seq.head.insert(0, self.moves(node, index))
        return seq

    def moves(self, node: Node, index: int) -> Moves:
        arc = node.arcs[index]
        return Moves(
            list(zip(arc.target.params[arc.implicit :], _built(node).args[index], strict=True)), node.pos
        )

    def repeat(self, node: Node) -> Repeat:
        test = self.test_of(node)
        if test is None:
            return Repeat(node, self.seq(node, inside=True), Seq([]), None)
        body = self.goto(node, test)
        if self.in_forest(node):
            body = self.with_labels(body, node)
        return Repeat(node, body, self.goto(node, 1 - test), test, self.iterables.get(node))

    def with_labels(self, seq: Seq, node: Node) -> Seq:
        for label in self.labels[node]:
            inner = self.seq(label)
            seq.labels += [(label, inner.head), *inner.labels]
        return seq


def _built(node: Node) -> Built:
    assert node.built is not None
    return node.built


def _small(node: Node) -> bool:
    return node.kind in (Return, Raise) and len(_built(node).statements) == 0


def _skeleton(program: Program) -> dict[Node, Block]:
    """Blocks that lead where the nodes do: for the analyses."""
    made = {node: Block(f"b{i}") for i, node in enumerate(program.nodes)}
    for node, block in made.items():
        block.terminator = _terminator([Edge(made[a.target]) for a in node.arcs])
    return made


def _terminator(edges: list[Edge]) -> Jump | Branch | Return:
    if not edges:
        return Return(Const(None))
    return Jump(edges[0]) if len(edges) == 1 else Branch(Const(True), edges[0], edges[1])
