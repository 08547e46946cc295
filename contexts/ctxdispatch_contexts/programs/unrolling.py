"""Loops over few items, where one type for all of them says too little: a copy for each.

    for (w, b), act in zip(p, [tanh, sin]): h = act(h @ w + b)

    if 0 < len(p): w, b = p[0]; h = tanh(h @ w + b)
        if 1 < len(p): w, b = p[1]; h = sin(h @ w + b)

A list's iterator asks for the length at each step, and so does this where the length is not known: the list
may change meanwhile. In an attempt (`lifting.py`) it has as many items as are written out beside it.
"""

from __future__ import annotations

import builtins
import functools
import operator
from collections.abc import Container, Sequence
from types import FunctionType
from typing import Any

from ctxdispatch.bytecode.errors import UnsupportedSyntax
from ctxdispatch.ir import primitives
from ctxdispatch.ir.analysis import IrreducibleError, Loop
from ctxdispatch.ir.graph import Block, Branch, Edge, Graph, Iterate, Jump, Op
from ctxdispatch.ir.rewrite import copy_blocks, substitute_in
from ctxdispatch.ir.values import Const, Operand, Value
from ctxdispatch.passes import types as T
from ctxdispatch.passes.aggregates import kind_of
from ctxdispatch.passes.container_types import by_position
from ctxdispatch.passes.expected import is_vague
from ctxdispatch.passes.held import MAX_POSITIONS, loses
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.programs.lifting import gives_up, giving_up
from ctxdispatch_contexts.programs.rounds import Emit, Finder, Items

MAX_OPS = 600


def unroll(graph: Graph, chain: dict[Op, Any], clashes: Container[Value] | None = None) -> bool:
    """One loop, in place; whether there was one. Copies of ops have in `chain` what the ops have. `clashes`:
    the parameters that are given values of several types: a dict that each round makes is another one in each
    copy. None: any may be; when all else is done, dicts of which all is known have been taken apart."""
    headers = [b for b in graph.blocks if isinstance(b.terminator, Iterate)]
    if not headers:
        return False
    try:
        finder = Finder(graph)
    except IrreducibleError:
        return False
    for header in headers:
        loop = finder.forest.header_of(header)
        items = None if loop is None else _worth_copies(finder, header, loop, clashes)
        if loop is not None and items is not None:
            _unroll(graph, finder.region(header), items, chain)
            return True
    return False


def _worth_copies(
    finder: Finder, header: Block, loop: Loop, clashes: Container[Value] | None
) -> Items | None:
    """The items of the loop, whose iterators are gone from the graph then."""
    region = finder.region(header)
    tails = [block for block in region if block not in loop.blocks]
    if len({edge.target for edge in _leaving(region)}) > 1 or not _are_short(tails):
        return None
    finder.iterators, finder.counted = [], False
    items = finder.of(header.terminator.iterator)  # type: ignore[union-attr]
    if items is None or items.count is None or items.count > MAX_POSITIONS:
        return None
    ops = [op for block in region for op in block.ops]
    graph = finder.graph
    if finder.counted and sum(len(b.ops) for b in graph.blocks) + items.count * len(ops) > MAX_OPS:
        # before more is made of it in vain
        raise UnsupportedSyntax("a loop over so many elements", graph.filename, graph.line, graph.name)
    inside = any(finder.home[op.result] in loop.blocks for op in finder.iterators)
    if inside or items.count * len(ops) > MAX_OPS:
        return None
    alone = items.count < 2 and not items.lists
    worth = alone or finder.counted or _vary(items.types) or _puts_functions(ops)
    worth = worth or any(_picks(op, finder) for op in ops)
    late = clashes is None  # before, it may be known yet
    worth = worth or (late and any(map(_has_number, items.types)) and any(map(_is_blurred, ops)))
    if not (worth or _grows(header, loop, ops, clashes)):
        return None
    if any(finder.around(op) is not loop.parent for op in finder.iterators):
        return None
    for op in finder.iterators:
        finder.home[op.result].ops.remove(op)
    return items


def _are_short(tails: Sequence[Block]) -> bool:
    """They are copied for each round, and go through nothing themselves."""
    loops = any(isinstance(block.terminator, Iterate) for block in tails)
    return not loops and sum(len(block.ops) for block in tails) <= MAX_TAIL


MAX_TAIL = 40


def _vary(types: Sequence[T.Type]) -> bool:
    """One type for all says less than each: another class, which function, which key, which list."""
    if any(T.cls_of(each) in (list, FunctionType) for each in types):
        return True
    own = [*map(_widened, types)]
    joined = functools.reduce(T.join, own, T.Never)
    return any(loses(each, joined) for each in own)


def _widened(type_: T.Type) -> T.Type:
    """Numbers that are written out are none the less numbers."""
    if isinstance(type_, T.TupleOf):
        return T.TupleOf(tuple(map(_widened, type_.items)))
    is_number = isinstance(type_, T.Known) and isinstance(type_.value, (int, float, complex))
    return T.widen(type_) if is_number else type_


def _has_number(type_: T.Type) -> bool:
    if isinstance(type_, T.TupleOf):
        return any(map(_has_number, type_.items))
    return isinstance(type_, T.Known) and type(type_.value) is int


def _is_blurred(op: Op) -> bool:
    """Next to nothing is known of what it gives, for a number that each round knows: an axis, a count."""
    if op.fn is operator.getitem or not any(is_vague(r.type) for r in op.results):
        return False
    return any(T.cls_of(t) is int and not isinstance(t, T.Known) for t in map(operand_type, op.args))


def _puts_functions(ops: Sequence[Op]) -> bool:
    """It puts functions that it makes into a list, say: each is another one."""
    made = {r for op in ops if op.fn is primitives.make_function for r in op.results}
    return any(op.fn in _PUTS and not made.isdisjoint(op.args) for op in ops)  # type: ignore[arg-type]


_PUTS = (
    primitives.list_append, list.append, primitives.build_tuple, primitives.build_list, operator.setitem,
    primitives.map_add,
)  # fmt: skip


def _grows(header: Block, loop: Loop, ops: Sequence[Op], clashes: Container[Value] | None) -> bool:
    """It carries a new dict, or a tuple that gets longer."""
    made = {r: op for op in ops for r in op.results}
    edges = [edge for block in loop.blocks for edge in block.edges() if edge.target is header]
    given = [(param, made.get(arg)) for edge in edges for param, arg in zip(header.params, edge.args)]  # type: ignore[call-overload]
    return any(maker is not None and _is_another(param, maker, clashes) for param, maker in given)


def _is_another(carried: Value, maker: Op, clashes: Container[Value] | None) -> bool:
    if maker.fn is primitives.build_map:
        return clashes is None or carried in clashes
    joins = maker.fn in (operator.add, operator.iadd) and carried in maker.args
    return joins and any(isinstance(operand_type(a), T.TupleOf) for a in maker.args)


def _picks(op: Op, finder: Finder) -> bool:
    """It takes one of several things of different types, or puts one into a dict, by a key it would know."""
    if len(op.args) < 2 or isinstance(operand_type(op.args[1]), T.Known):
        return False
    owner, made = operand_type(op.args[0]), finder.makers.get(op.args[0])  # type: ignore[arg-type]
    if op.fn in (dict.setdefault, operator.setitem, primitives.map_add):
        kind = None if made is None else kind_of(made)
        return T.cls_of(owner) is dict or (kind is not None and issubclass(kind.cls, dict))
    if op.fn is builtins.setattr:
        return T.cls_of(owner) is not None
    if op.fn not in (operator.getitem, builtins.getattr) or len(op.args) != 2:
        return False
    if op.fn is builtins.getattr:
        return isinstance(owner, (T.Held, T.Known))
    types = by_position(owner)
    return isinstance(owner, T.Held) and bool(owner.fields) if types is None else _vary(types)


def _leaving(region: Sequence[Block]) -> list[Edge]:
    return [edge for block in region for edge in block.edges() if edge.target not in region]


def _unroll(graph: Graph, region: Sequence[Block], items: Items, chain: dict[Op, Any]) -> None:
    header, outside = region[0], [b for b in graph.blocks if b not in region]
    _leave(graph, region, outside)
    entering, into = outside, header
    for i in range((items.count or 0) + 1):
        copy = copy_blocks(region if i < items.count else [header])
        for old, new in zip(region, copy.blocks, strict=False):
            chain.update((b, chain[a]) for a, b in zip(old.ops, new.ops, strict=True) if a in chain)
        head = copy.blocks[0]
        assert isinstance(head.terminator, Iterate)
        exit = head.terminator.exit
        if i == items.count:
            head.terminator, taking = Jump(exit, head.terminator.pos), []
        else:
            taking = _enter(head, exit, items, Const(i), gives_up())
        _append(graph, [*copy.blocks, *taking])
        _redirect(entering, into, head)
        entering, into = copy.blocks, head
    graph.blocks = [b for b in graph.blocks if b not in region]


def _leave(graph: Graph, region: Sequence[Block], outside: Sequence[Block]) -> None:
    """A block where the loop's copies meet when they leave: it gets what the header has, and what goes on."""
    header, exits = region[0], _leaving(region)
    live = [*header.params, *(r for op in header.ops for r in op.results)]
    after, handed = Block(f"b{len(graph.blocks)}"), [Value(p.name) for p in exits[0].target.params]
    assert header.terminator is not None
    after.terminator = Jump(Edge(exits[0].target, list(handed)), header.terminator.pos)
    after.params = [*(Value(v.name, v.type) for v in live), *handed]
    for block in outside:
        substitute_in(block, dict(zip(live, after.params)))  # type: ignore[call-overload]
    graph.blocks.append(after)
    for edge in exits:
        edge.target, edge.args = after, [*live, *edge.args]


def _enter(head: Block, exit: Edge, items: Items, index: Operand, given_up: bool = False) -> list[Block]:
    """The head takes the item, or leaves; `given_up`: there are as many as there were. The other blocks where
    the item is taken, that one first."""
    terminator = head.terminator
    assert isinstance(terminator, Iterate)
    taking = Block()
    item = items.item(_emit(taking, terminator), index)
    taking.terminator = Jump(Edge(terminator.body.target, [item, *terminator.body.args]), terminator.pos)
    head.terminator, blocks = Jump(Edge(taking), terminator.pos), [taking]
    first = taking
    for k, xs in reversed(list(enumerate(items.lists))):
        test = Block() if k else head
        emit = _emit(test, terminator)
        more = emit(bool, emit(operator.lt, index, emit(len, xs)))
        leaving = Edge(exit.target, list(exit.args))
        if given_up:
            leaving = Edge(Block())
            leaving.target.terminator = giving_up(terminator.pos)
            blocks.append(leaving.target)
        test.terminator, first = Branch(more, Edge(first), leaving, terminator.pos), test
        blocks += [] if test is head else [test]
    return blocks


def _append(graph: Graph, blocks: Sequence[Block]) -> None:
    for block in blocks:
        block.name = f"b{len(graph.blocks)}"
        graph.blocks.append(block)


def take_by_index(graph: Graph, header: Block) -> bool:
    """In place: the loop goes through what its iterator would, by index; whether that can be."""
    finder = Finder(graph)
    loop, terminator = finder.forest.header_of(header), header.terminator
    assert isinstance(terminator, Iterate)
    items = None if loop is None else finder.of(terminator.iterator)
    if loop is None or items is None or items.count is not None:
        return False
    if any(finder.around(op) is not loop.parent for op in finder.iterators):
        return False
    for op in finder.iterators:
        finder.home[op.result].ops.remove(op)
    index = Value("i")
    taking = _enter(header, terminator.exit, items, index)
    after = _emit(taking[0], terminator)(operator.add, index, Const(1))
    for block in graph.blocks:
        for edge in (edge for edge in block.edges() if edge.target is header):
            edge.args.append(after if block in loop.blocks else Const(0))
    header.params.append(index)
    _append(graph, taking)
    return True


def _emit(block: Block, at: Iterate) -> Emit:
    def emit(callee: Any, *operands: Operand) -> Operand:
        block.ops.append(Op(Const(callee), list(operands), [Value()], (), at.pos, True))
        return block.ops[-1].result

    return emit


def _redirect(blocks: Sequence[Block], old: Block, new: Block) -> None:
    for edge in [edge for block in blocks for edge in block.edges() if edge.target is old]:
        edge.target = new


__all__ = ["take_by_index", "unroll"]
