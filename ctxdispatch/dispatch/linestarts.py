"""Where a program comes to a line: what a line tracer of the interpreter is told of.

    starts(graph)   for each place, the block, the op that the line begins with (None: the terminator) and
                    the position

Invariant: on every path a line is begun once until control leaves it for another line or jumps back. So where
a loop's header stands on the line of what comes before it (`for x in f(y):`), the line begins on the edges
that lead back to the header, which get a block of their own if they have none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ctxdispatch.ir import frames
from ctxdispatch.ir.frames import Handler, Instruction
from ctxdispatch.ir.graph import Block, Branch, Edge, Graph, Iterate, Jump, Op, Reraise
from ctxdispatch.ir.own_builtins import own as __builtins__  # type: ignore[no-redef]  # noqa: F401
from ctxdispatch.ir.values import Const, Operand, Position, Value
from ctxdispatch.ir.watching import is_undispatched


class Start(NamedTuple):
    block: Block
    op: Op | None
    """None: the line begins with the block's terminator."""
    pos: Position


Line = int | None
Incoming = list[tuple[Block, Edge]]


class Lines(NamedTuple):
    """Of the blocks that were looked at: the line at the end, and all that an exception may come from."""

    last: dict[Block, Line]
    within: dict[Block, set[Line]]


def starts(graph: Graph, begins: int = 0) -> Iterator[Start]:
    """`begins`: the index of the first op of the entry that is the user's. Edges may get blocks."""
    lines = Lines({}, {})
    incoming, raising = graph.predecessors(), _raising(graph)
    on_edges: list[tuple[Start, Incoming]] = []
    for block in graph.blocks:
        line = _line_before(incoming[block], raising.get(block, ()), lines)
        within: set[Line] = set()
        for first, start in enumerate(_positions(block, begins if block is graph.entry else 0)):
            if start.pos.line != line:
                ways = [] if first else _begin_again(start, incoming[block], lines)
                if ways and not raising.get(block):
                    on_edges.append((start, ways))
                else:
                    yield start
            line = start.pos.line
            within.add(line)
        lines.last[block], lines.within[block] = line, within or {line}
    for start, ways in on_edges:
        yield from _on_edges(graph, start, ways)


def _raising(graph: Graph) -> dict[Block, list[Block]]:
    """The blocks whose exceptions go to each."""
    found: dict[Block, list[Block]] = {}
    for block in graph.blocks:
        if block.handler is not None:
            found.setdefault(block.handler.edge.target, []).append(block)
    return found


def _line_before(incoming: Incoming, raising: Iterable[Block], lines: Lines) -> Line:
    """The line that control is in wherever it comes from; None if that is not one, or it may jump back."""
    found = {lines.last.get(source, _silent(source)) for source, _ in incoming}
    found.update(*(lines.within.get(source, {None}) for source in raising))
    return found.pop() if len(found) == 1 else None


def _begin_again(start: Start, incoming: Incoming, lines: Lines) -> Incoming:
    """The ways to the first line of a block on which it begins, where there are others on which it goes on.
    None if there are no others, or one of these ways can hold no op."""
    ways = [way for way in incoming if lines.last.get(way[0], _silent(way[0])) != start.pos.line]
    return ways if len(ways) < len(incoming) and all(map(_can_hold, ways)) else []


def _silent(source: Block) -> Line:
    """The line that `source`, which jumps back, goes on with: where a generator awaits another, no tracer is
    told."""
    end = source.terminator
    if not (isinstance(end, Jump) and end.quiet):
        return None
    return next((op.pos.line for op in reversed(source.ops) if op.pos is not None), None)


def _positions(block: Block, begins: int) -> Iterator[Start]:
    """What of a block stands on a line of the source, in order."""
    inserted = _inserted(block)
    for op in block.ops[begins:]:
        if op.pos is not None and op.pos.line is not None and op not in inserted:
            yield Start(block, op, op.pos)
    end = block.terminator
    quiet = isinstance(end, Reraise) or (isinstance(end, Jump) and not end.spelled)
    if end is not None and end.pos is not None and end.pos.line is not None and not quiet:
        yield Start(block, None, end.pos)


def _inserted(block: Block) -> set[Op]:
    """The ops that are no part of the user's program: calls that passes have inserted, what makes their
    operands and what drops their results."""
    end = block.terminator
    needed: set[Operand] = {*end.operands()} if end is not None else set()
    needed.update(argument for edge in block.edges() for argument in edge.args)
    found: set[Op] = set()
    arguments: set[Operand] = set()
    made = {result for op in block.ops if _is_inserted(op) for result in op.results}
    for op in reversed(block.ops):
        if _is_inserted(op) or (op.fn is frames.drop and op.args[0] in made):
            found.add(op)
            arguments.update(op.operands())
        elif arguments.intersection(op.results) and not needed.intersection(op.results):
            found.add(op)
            arguments.update(op.operands())
        else:
            needed.update(op.operands())
    return found


def _is_inserted(op: Op) -> bool:
    if type(op.fn) is Instruction and op.fn.name == "RESUME":
        return True
    return isinstance(op.callee, Const) and is_undispatched(op.callee.value)


# -- edges -----------------------------------------------------------------------------------------


def _can_hold(way: tuple[Block, Edge]) -> bool:
    source, edge = way
    end = source.terminator
    return isinstance(end, Jump | Branch) or (isinstance(end, Iterate) and edge is end.exit)


def _on_edges(graph: Graph, start: Start, ways: Incoming) -> Iterator[Start]:
    for source, edge in ways:
        if not isinstance(source.terminator, Jump):
            source = _split(graph, source, edge)
        yield Start(source, None, start.pos)


def _split(graph: Graph, source: Block, edge: Edge) -> Block:
    """A block of its own for `edge`; what raises in it goes where it does in the target."""
    target, made = edge.target, Block(f"b{len(graph.blocks)}")
    made.params = [Value(param.name) for param in target.params]
    new: dict[Operand, Operand] = dict(zip(target.params, made.params))
    if target.handler is not None:
        to, lasti = target.handler
        made.handler = Handler(Edge(to.target, [new.get(a, a) for a in to.args]), lasti)
    made.terminator = Jump(Edge(target, [*made.params]))
    edge.target = made
    graph.blocks.insert(graph.blocks.index(source) + 1, made)
    return made
