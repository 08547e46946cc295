"""The loops of kernels: those over range(...) count, those over tuples are unrolled.

for k in range(a, b): ...        k = a; while k < b: ...; k = k + 1
for c in (c0, c1): ...           c = c0: ...; c = c1: ...
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Sequence

from ctxdispatch.ir import primitives
from ctxdispatch.ir.analysis import loops
from ctxdispatch.ir.graph import Block, Branch, Edge, Graph, Iterate, Jump, Op
from ctxdispatch.ir.rewrite import copy_blocks, definitions, substitute, uses
from ctxdispatch.ir.values import Const, Operand, Value
from ctxdispatch.passes import types as T
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.broadcast.errors import KernelError, refuse
from ctxdispatch_contexts.broadcast.lists import is_append
from ctxdispatch_contexts.broadcast.unbound import settle_bounds

MAX_UNROLLED = 256
"""Loops over tuples of at most so many items are unrolled."""


# -- unrolled ------------------------------------------------------------------------------------------------


def unroll_loops(graph: Graph) -> bool:
    """Unroll one loop over a tuple, or over zip, enumerate, reversed of tuples; whether there was one."""
    makers = {r: op for _, op in graph.ops() for r in op.results}
    for block in graph.blocks:
        loop = block.terminator
        if isinstance(loop, Iterate):
            made = makers.get(loop.iterator)  # type: ignore[arg-type]
            sources = made.args[:1] if made is not None and made.fn is builtins.iter else [loop.iterator]
            emit = _Emit(graph, made)
            items = None if made is None else _items(sources[0], makers, emit)
            if items is None and _fills_list(graph, block):
                items = _of_range(sources[0], makers)
            if items is not None and len(items) <= MAX_UNROLLED:
                if made in block.ops:
                    _take_one(block, loop, items)
                else:
                    _unroll(graph, block, loop, items)
                _drop(graph, made)
                return True
    return False


def _fills_list(graph: Graph, header: Block) -> bool:
    return any(is_append(op) for block in _body(graph, header) for op in block.ops)


def _of_range(source: Operand, makers: dict[Value, Op]) -> Sequence[Operand] | None:
    """The numbers of a range that is written out."""
    bounds = _bounds(source, makers)
    written = None if bounds is None else _written_out(bounds)
    return None if written is None else [Const(k) for k in written[: MAX_UNROLLED + 1]]


def _drop(graph: Graph, made: Op | None) -> None:
    """The iterator, which nobody asks for items any more."""
    used = uses(graph)
    for block in graph.blocks:
        block.ops = [op for op in block.ops if op is not made or used[op.result]]


class _Emit:
    """Inserts ops where the iterator is made."""

    def __init__(self, graph: Graph, made: Op | None) -> None:
        self.graph, self.made = graph, made

    def __call__(self, fn: object, *args: Operand) -> Value:
        assert self.made is not None
        block = definitions(self.graph)[self.made.result]
        result = Value()
        at = block.ops.index(self.made)
        block.ops.insert(at, Op(Const(fn), list(args), [result], (), self.made.pos, True))
        return result

    def is_for_it_alone(self, iterator: Op) -> bool:
        """Nobody else takes items of it, nor does this loop when it is run again."""
        assert self.made is not None
        home, around = definitions(self.graph), loops(self.graph).loop_of
        same = around.get(home[iterator.result]) is around.get(home[self.made.result])
        return same and len(uses(self.graph)[iterator.result]) == 1


def _items(source: Operand, makers: dict[Value, Op], emit: _Emit) -> Sequence[Operand] | None:
    """What a loop over `source` goes through."""
    if isinstance(source, Const):
        return [Const(v) for v in source.value] if type(source.value) is tuple else None
    making, type_ = makers.get(source), operand_type(source)
    if making is not None and making.fn in (primitives.build_tuple, primitives.build_list):
        return making.args
    if isinstance(type_, T.TupleOf):
        items = [emit(operator.getitem, source, Const(i)) for i in range(len(type_.items))]
        for item, known in zip(items, type_.items, strict=True):
            item.type = known
        return items
    if making is None or making.kwnames or making.fn not in _OF_TUPLES:
        return None
    if making.fn in ITERATORS and not emit.is_for_it_alone(making):
        raise refuse(making, "items of an iterator go to several loops, or runs of one; make one for each")
    parts = [_items(a, makers, emit) for a in making.args]
    if not parts or any(part is None for part in parts):
        return None
    return _OF_TUPLES[making.fn](emit, *parts)


ITERATORS = (zip, enumerate, reversed, iter)
"""What these return gives every item once."""


def _zipped(emit: _Emit, *parts: Sequence[Operand]) -> list[Operand]:
    return [emit(primitives.build_tuple, *row) for row in zip(*parts)]


_OF_TUPLES = {
    zip: _zipped,
    enumerate: lambda emit, items: _zipped(emit, [Const(i) for i in range(len(items))], items),
    reversed: lambda emit, items: list(items)[::-1],
    iter: lambda emit, items: items, tuple: lambda emit, items: items, list: lambda emit, items: items,
}  # fmt: skip


def _take_one(header: Block, loop: Iterate, items: Sequence[Operand]) -> None:
    """It never goes round: every time there is a new iterator."""
    first = Edge(loop.body.target, [*items[:1], *loop.body.args])
    header.terminator = Jump(first if items else loop.exit, loop.pos)


def _unroll(graph: Graph, header: Block, loop: Iterate, items: Sequence[Operand]) -> None:
    """A copy of the loop per item, and the header once more, which leaves."""
    body = _body(graph, header)
    region = [header, *(b for b in graph.blocks if b in body)]
    if any(e.target not in region for b in region[1:] for e in b.edges()):
        raise KernelError(
            "a loop over a tuple in a kernel cannot be left by break or return; loop over range(...)",
            loop.pos,
        )
    outside = [b for b in graph.blocks if b not in region]
    heads: list[Block] = []
    previous: list[Block] = []
    after: dict[Value, Operand] = {}
    for item in [*items, None]:
        copy = copy_blocks(region if item is not None else [header])
        head = copy.blocks[0]
        if heads:
            _redirect(previous, heads[-1], head)
        terminator = head.terminator
        assert isinstance(terminator, Iterate)
        if item is None:
            head.terminator = Jump(terminator.exit, loop.pos)
            after = copy.values
        else:
            head.terminator = Jump(Edge(terminator.body.target, [item, *terminator.body.args]), loop.pos)
        heads.append(head)
        previous = copy.blocks
        for block in copy.blocks:
            block.name = f"b{len(graph.blocks)}"
            graph.blocks.append(block)
    _redirect(outside, header, heads[0])
    graph.blocks = [b for b in graph.blocks if b not in region]
    substitute(graph, after)


def _redirect(blocks: Sequence[Block], old: Block, new: Block) -> None:
    for block in blocks:
        for edge in block.edges():
            if edge.target is old:
                edge.target = new


def _body(graph: Graph, header: Block) -> set[Block]:
    """The blocks of the loop without its header; none where it never goes round."""
    loop = loops(graph).header_of(header)
    return set() if loop is None else loop.blocks - {header}


# -- counted -------------------------------------------------------------------------------------------------


def count_loops(graph: Graph) -> None:
    """for k in range(a, b, c): loops that count. Those over tuples are unrolled (`unroll`)."""
    makers = {r: op for _, op in graph.ops() for r in op.results}
    sure: set[Edge] = set()
    for block in list(graph.blocks):
        terminator = block.terminator
        if not isinstance(terminator, Iterate):
            continue
        made = makers.get(terminator.iterator)  # type: ignore[arg-type]
        source = made.args[0] if made is not None and made.fn is builtins.iter else terminator.iterator
        bounds = _bounds(source, makers)
        if bounds is None or made is None:
            raise KernelError(
                "a kernel loops over range(...), or over a tuple of numbers; write the loop so",
                terminator.pos,
            )
        numbers = [_whole(graph, made, b) for b in bounds[:2]]
        entered = _count(graph, block, terminator, made, (*numbers, bounds[2]))
        sure |= entered if _written_out(bounds) else set()
    settle_bounds(graph, sure)
    read = {a for _, op in graph.ops() for a in op.args}
    for block in graph.blocks:  # the ranges themselves
        block.ops = [op for op in block.ops if op.fn is not builtins.range or op.result in read]


def _written_out(bounds: tuple[Operand, Operand, int]) -> range | None:
    """The range, where its bounds are literals."""
    start, stop, step = bounds
    if not isinstance(start, Const) or not isinstance(stop, Const):
        return None
    return range(start.value, stop.value, step)


def _whole(graph: Graph, made: Op, bound: Operand) -> Operand:
    """A range is of Python's whole numbers, whatever the dtype of its bounds is."""
    return bound if isinstance(bound, Const) else _Emit(graph, made)(int, bound)


def _bounds(source: Operand, makers: dict[Value, Op]) -> tuple[Operand, Operand, int] | None:
    """(start, stop, step) of a range."""
    if isinstance(source, Const) and isinstance(source.value, range):
        r = source.value
        return Const(r.start), Const(r.stop), r.step
    making = makers.get(source) if isinstance(source, Value) else None
    if making is None or making.fn is not builtins.range:
        return None
    args = making.args
    if any(T.cls_of(T.widen(operand_type(a))) not in (int, bool, None) for a in args):
        raise refuse(making, "a range goes over whole numbers; write range(int(n))")
    start, stop = (Const(0), args[0]) if len(args) == 1 else (args[0], args[1])
    step = args[2] if len(args) > 2 else Const(1)
    if not isinstance(step, Const) or not isinstance(step.value, int) or step.value == 0:
        raise refuse(
            making,
            "the step of a range in a kernel is a whole number that is written "
            "out, not 0; write range(0, n, 2)",
        )
    return start, stop, step.value


def _count(
    graph: Graph, header: Block, loop: Iterate, made: Op, bounds: tuple[Operand, Operand, int]
) -> set[Edge]:
    """The counter is a parameter of the block that asks for the next item. The result: the edges by which the
    loop is entered."""
    start, stop, step = bounds
    home = definitions(graph)[made.result]
    before = [(block, edge) for block, edge in graph.predecessors()[header]]
    counter, more, following = Value("k"), Value(), Value("k")
    inside = set() if made in header.ops else _body(graph, header)  # there: a new iterator every time
    now: Operand = start
    if inside:  # it goes round
        now = counter
        header.params.append(counter)
        for block, edge in before:
            edge.args.append(following if block in inside else start)
    test = operator.lt if step > 0 else operator.gt
    header.ops.append(Op(Const(test), [now, stop], [more], (), loop.pos, True))
    header.ops.append(Op(Const(operator.add), [now, Const(step)], [following], (), loop.pos, True))
    header.terminator = Branch(more, Edge(loop.body.target, [now, *loop.body.args]), loop.exit, loop.pos)
    home.ops.remove(made)
    return {edge for block, edge in before if block not in inside}
