"""Small control flow that source has words for: `and`, `or`, `x if c else y`, a loop's test at its top.

Each rule looks at one node and either leaves it or makes the program smaller:

    and/or     X: branch c -> Y, T;  Y: branch d -> S, T          X: branch (c and d) -> S, T
    value      X: branch bool(t) -> M(t), Y;  Y: jump M(b)        X: jump M(t or b)
    choice     X: branch c -> M(a), M(b), on one source line      X: jump M(a if c else b)
    join       X: jump M, M entered only from X                   X and M are one
    thread     P: jump N(...), nothing else in P                  who goes to P goes to N
    unrotate   P: branch c -> H, E;  L: branch c -> H, E          P: jump N;  L: jump N;  N: branch c -> H, E
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Iterable

from ctxdispatch.ir.expressions import Expr, Part, both, choose, either, leaves, special
from ctxdispatch.ir.graph import Branch, Jump, Op
from ctxdispatch.ir.names import is_literal
from ctxdispatch.ir.trees import Arc, Built, Item, Node, build, count_reads, drop_copies
from ctxdispatch.ir.values import Const, Operand, Value


class Program:
    """The nodes of one graph while they are reduced; the first is the entry."""

    def __init__(self, nodes: list[Node]) -> None:
        self.nodes = nodes
        self.entry = nodes[0]
        self.refresh()

    def refresh(self) -> None:
        """Drop what is not reached, and count again who leads where and who reads what."""
        self.nodes = _reachable(self.entry)
        self.preds: dict[Node, list[Node]] = {n: [] for n in self.nodes}
        for node in self.nodes:
            for arc in node.arcs:
                self.preds[arc.target].append(node)
        self.reads_of: Counter[Value] = count_reads(self.nodes)

    def build(self, node: Node) -> Built:
        return build(node, self.reads_of)

    def alone(self, node: Node, pred: Node) -> bool:
        """`node` is entered by one edge only, and that from `pred`; its parameters are dropped already."""
        return self.preds[node] == [pred] and node is not self.entry and node is not pred and not node.params

    def substitute(self, mapping: dict[Value, Operand]) -> None:
        for node in self.nodes:
            for item in node.items:
                _substitute(item.expr.parts, mapping)
            _substitute(node.parts, mapping)
            for arc in node.arcs:
                _substitute(arc.args, mapping)


def _reachable(entry: Node, without: Node | None = None) -> list[Node]:
    order, work, seen = [], [entry], {entry, without}
    while work:
        node = work.pop()
        order.append(node)
        fresh = [a.target for a in reversed(node.arcs) if a.target not in seen]
        seen.update(fresh)
        work.extend(dict.fromkeys(fresh))
    return order


def _substitute(parts: list[Part], mapping: dict[Value, Operand]) -> None:
    for i, part in enumerate(parts):
        if isinstance(part, Expr):
            _substitute(part.parts, mapping)
        elif isinstance(part, Value):
            while isinstance(part, Value) and part in mapping:
                part = mapping[part]
            parts[i] = part


def reduce(nodes: list[Node]) -> Program:
    """Apply the rules until none does anything. Every node is built at the end."""
    drop_copies(nodes)
    program = Program(nodes)
    changed = True
    while changed:
        changed = False
        for node in list(program.nodes):
            while node in program.preds and any(rule(program, node) for rule in _RULES):
                program.refresh()
                changed = True
    for node in program.nodes:
        node.built = program.build(node)
    for node in program.nodes:
        if node.built and node.built.iterable is not None and (loop := node.arcs[0].target.built):
            loop.parts = []  # nested there: it has no variable
    return program


# -- parameters ------------------------------------------------------------------------------------


def drop_params(program: Program, node: Node) -> bool:
    """Parameters that are always the same operand, or that nobody reads and whose arguments cost nothing."""
    if node is program.entry:
        return False
    arcs = [arc for pred in dict.fromkeys(program.preds[node]) for arc in pred.arcs if arc.target is node]
    shift = int(any(arc.implicit for arc in arcs))
    if shift and len(arcs) > 1:
        return False
    for index, param in enumerate(node.params[shift:]):
        passed = {_key(p): p for arc in arcs if (p := arc.args[index]) is not param}
        if len(passed) == 1 or not program.reads_of[param]:
            del node.params[shift + index]
            for arc in arcs:
                del arc.args[index]
            program.substitute({param: next(iter(passed.values()))} if len(passed) == 1 else {})  # type: ignore[dict-item]
            return True
    return False


def _key(part: Part) -> object:
    """Equal for operands that are the same."""
    if isinstance(part, Const):
        return (type(part.value), repr(part.value)) if is_literal(part.value) else id(part.value)
    return part


def _same(a: Iterable[Part], b: Iterable[Part]) -> bool:
    return [*map(_key, a)] == [*map(_key, b)]


# -- one node after another ------------------------------------------------------------------------


def join(program: Program, node: Node) -> bool:
    target = node.arcs[0].target if node.kind is Jump else node
    if not program.alone(target, node) or target.loop_iterator is not None:
        return False
    node.items += target.items
    node.kind, node.parts, node.arcs, node.pos = target.kind, target.parts, target.arcs, target.pos
    return True


def thread(program: Program, node: Node) -> bool:
    """A block that only passes values on is jumped over."""
    if node.kind is not Jump or node.items or node is program.entry or node.arcs[0].target is node:
        return False
    own = Counter(v for arg in node.arcs[0].args for v in leaves(arg) if isinstance(v, Value))
    sources = [a for pred in dict.fromkeys(program.preds[node]) for a in pred.arcs if a.target is node]
    if any(program.reads_of[p] != own[p] for p in node.params) or any(a.implicit for a in sources):
        return False
    for arc in sources:
        mapping = dict(zip(node.params, arc.args, strict=True))
        arc.args = [mapping.get(a, a) if isinstance(a, Value) else a for a in node.arcs[0].args]
        arc.target = node.arcs[0].target
    return True


# -- conditions ------------------------------------------------------------------------------------


def short_circuit(program: Program, node: Node) -> bool:
    """Two branches of which one arm is the same become one, on `a and b` or `a or b`."""
    if node.kind is not Branch:
        return False
    for side in (0, 1):
        inner = node.arcs[side].target
        if inner.kind is Branch and program.alone(inner, node) and not program.build(inner).statements:
            for inner_side in (0, 1):
                if _same_arc(node.arcs[1 - side], inner.arcs[inner_side]):
                    return _connect(program, node, side, inner, inner_side)
    return False


def _same_arc(a: Arc, b: Arc) -> bool:
    return a.target is b.target and _same(a.args, b.args)


def _connect(program: Program, node: Node, side: int, inner: Node, shared: int) -> bool:
    """`side` of node leads to inner; inner's arc `shared` is node's other arc."""
    test: Part = program.build(inner).parts[0]
    other = inner.arcs[1 - shared]
    if shared == side:  # inner says it the other way round
        test = special(operator.not_, [test], inner.pos)
    function = both if side == 0 else either
    _add(node, special(function, [node.parts[0], test], node.pos))
    node.arcs = [other, node.arcs[1]] if side == 0 else [node.arcs[0], other]
    return True


def _add(node: Node, expr: Expr) -> Value:
    """`expr` is the node's last item, and its condition."""
    result = Value()
    node.items.append(Item(expr, [result]))
    node.parts = [result]
    return result


def short_value(program: Program, node: Node) -> bool:
    """x = t or b, x = t and b"""
    test = node.items[-1] if node.kind is Branch and node.items else None
    if test is None or test.expr.fn is not bool or test.results[0] is not node.parts[0]:
        return False
    if program.reads_of[test.results[0]] != 1 or len(test.expr.parts) != 2:
        return False
    value = test.expr.parts[1]
    for side, function in ((0, either), (1, both)):
        direct = node.arcs[side]
        target, rest = _end(program, node, node.arcs[1 - side])
        if target is not direct.target:
            continue
        places = [i for i, (a, b) in enumerate(zip(direct.args, rest, strict=True)) if not _same([a], [b])]
        if len(places) == 1 and direct.args[places[0]] is value:
            node.items.pop()
            return _becomes(node, direct, places[0], special(function, [value, rest[places[0]]], node.pos))
    return False


def choice(program: Program, node: Node) -> bool:
    """x = a if c else b; only where the source has it on one line: else an `if` statement says it better."""
    if node.kind is not Branch or node.pos is None:
        return False
    ends = [_end(program, node, arc) for arc in node.arcs]
    if ends[0][0] is not ends[1][0]:
        return False
    places = [i for i, (a, b) in enumerate(zip(ends[0][1], ends[1][1], strict=True)) if not _same([a], [b])]
    if len(places) != 1 or not all(
        _on_line(node, arc.target) for arc in node.arcs if arc.target is not ends[0][0]
    ):
        return False
    a, b = (end[1][places[0]] for end in ends)
    return _becomes(
        node, Arc(ends[0][0], ends[0][1]), places[0], special(choose, [node.parts[0], a, b], node.pos)
    )


def _becomes(node: Node, arc: Arc, place: int, expr: Expr) -> bool:
    """The node computes `expr` and jumps where `arc` leads, with it at `place`."""
    result = _add(node, expr)
    node.kind, node.parts = Jump, []
    node.arcs = [Arc(arc.target, [*arc.args[:place], result, *arc.args[place + 1 :]])]
    return True


def _jumps_on(program: Program, inner: Node, node: Node) -> list[Part] | None:
    """What `inner`, entered only from `node`, passes on, if that is all it does."""
    if (
        inner.kind is not Jump
        or not program.alone(inner, node)
        or inner.arcs[0].target.loop_iterator is not None
    ):
        return None
    built = program.build(inner)
    return None if built.statements else built.args[0]


def _end(program: Program, node: Node, arc: Arc) -> tuple[Node, list[Part]]:
    """Where `arc` leads in the end, and with what."""
    rest = _jumps_on(program, arc.target, node)
    return (arc.target, arc.args) if rest is None else (arc.target.arcs[0].target, rest)


def _on_line(node: Node, side: Node) -> bool:
    positions = [side.pos, *(item.expr.pos for item in side.items)]
    return all(p is not None and node.pos is not None and p[:3] == node.pos[:3] for p in positions)


# -- loops -----------------------------------------------------------------------------------------


def unrotate(program: Program, node: Node) -> bool:
    """CPython compiles `while c:` as `if c: do ... while c`; here `node` is the latch L."""
    if node.kind is not Branch:
        return False
    for side in (0, 1):
        header = node.arcs[side].target
        above = [p for p in program.preds[header] if p is not node]
        if len(above) != 1 or len(program.preds[header]) != 2 or above[0].kind is not Branch:
            continue
        pre = above[0]
        same = pre.arcs[side].target is header and pre.arcs[1 - side].target is node.arcs[1 - side].target
        if same and node not in _reachable(program.entry, without=header):
            return _unrotate(program, pre, node, side)
    return False


def _unrotate(program: Program, pre: Node, latch: Node, side: int) -> bool:
    header = pre.arcs[side].target
    matching = _Matching(header.params, pre.arcs[side].args, latch.arcs[side].args)
    tests = [program.build(n).parts[0] for n in (pre, latch)]
    exits = [n.arcs[1 - side] for n in (pre, latch)]
    test = matching.part(*tests)
    exit_args = [matching.part(a, b) for a, b in zip(exits[0].args, exits[1].args, strict=True)]
    if header is program.entry or test is None or any(a is None for a in exit_args):
        return False
    top = Node(Branch, latch.pos)
    top.params = [p for p, _, _ in matching.rows]
    top.parts = [_unnest(top, test)]
    header.params = []
    ends = [Arc(header, []), Arc(exits[0].target, [a for a in exit_args if a is not None])]
    top.arcs = ends if side == 0 else ends[::-1]
    for n, test_part, column in ((pre, tests[0], 1), (latch, tests[1], 2)):
        _remove(n, test_part)
        n.kind, n.parts = Jump, []
        n.arcs = [Arc(top, [row[column] for row in matching.rows])]
    return True


class _Matching:
    """Two programs for the same expression, and one in terms of the loop's parameters that stands for both.
    `rows` are the parameters: each with what it is at first and what it is after a round."""

    def __init__(self, params: list[Value], first: list[Part], later: list[Part]) -> None:
        self.rows: list[tuple[Value, Part, Part]] = list(zip(params, first, later, strict=True))

    def part(self, a: Part, b: Part) -> Part | None:
        if isinstance(a, Expr) and isinstance(b, Expr):
            return self._expr(a, b)
        if isinstance(a, Expr) or isinstance(b, Expr):
            return None
        if _same([a], [b]):
            return a
        if isinstance(a, Const) and isinstance(b, Const):
            return self._row(a, b)
        return self._row(a, b) or self._new(a, b)

    def _expr(self, a: Expr, b: Expr) -> Expr | None:
        if len(a.parts) != len(b.parts) or a.op.kwnames != b.op.kwnames or a.lazy != b.lazy:
            return None
        parts = [self.part(x, y) for x, y in zip(a.parts, b.parts, strict=True)]
        if any(p is None for p in parts):
            return None
        op = Op(Const(b.fn) if b.fn is not None else b.op.callee, [], [], b.op.kwnames, b.op.pos, b.op.syntax)
        return Expr(op, [p for p in parts if p is not None], b.lazy)

    def _row(self, a: Operand, b: Operand) -> Value | None:
        return next((p for p, x, y in self.rows if _same([x, y], [a, b])), None)

    def _new(self, a: Operand, b: Operand) -> Value:
        name = next((v.name for v in (b, a) if isinstance(v, Value) and v.name), "")
        self.rows.append((Value(name), a, b))
        return self.rows[-1][0]


def _unnest(node: Node, part: Part) -> Operand:
    """Make the nested calls of `part` items of `node` again."""
    if not isinstance(part, Expr):
        return part
    strict: list[Part] = [_unnest(node, p) for p in part.parts[: part.lazy]]
    result = Value()
    node.items.append(Item(Expr(part.op, strict + part.parts[part.lazy :], part.lazy), [result]))
    return result


def _remove(node: Node, test: Part) -> None:
    """Take the items that `test` was built of out of `node`."""
    gone = {id(e.op) for e in test.walk()} if isinstance(test, Expr) else set()
    node.items = [item for item in node.items if id(item.expr.op) not in gone]


_RULES: tuple[Callable[[Program, Node], bool], ...] = (
    drop_params,
    join,
    short_circuit,
    short_value,
    choice,
    unrotate,
    thread,
)
