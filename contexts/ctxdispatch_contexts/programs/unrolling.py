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
from collections.abc import Callable, Container, Sequence
from types import FunctionType
from typing import Any, NamedTuple

from ctxdispatch.ir import primitives
from ctxdispatch.ir.analysis import IrreducibleError, Loop, dominators, loops
from ctxdispatch.ir.graph import Block, Branch, Edge, Graph, Iterate, Jump, Op
from ctxdispatch.ir.registry import Registry
from ctxdispatch.ir.rewrite import copy_blocks, definitions, substitute_in, uses
from ctxdispatch.ir.values import Const, Operand, Value, hashable
from ctxdispatch.passes import types as T
from ctxdispatch.passes.aggregates import kind_of
from ctxdispatch.passes.container_types import by_position
from ctxdispatch.passes.held import loses
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.programs.lifting import gives_up, giving_up

MAX_ITEMS, MAX_OPS = 16, 600

Emit = Callable[..., Operand]


class _Items(NamedTuple):
    """At most `count` (None: not known), as many as the shortest of `lists` has; `types`: of what there is,
    where that is known item by item."""

    count: int | None
    lists: Sequence[Operand]
    item: Callable[[Emit, Operand], Operand]
    types: Sequence[T.Type] = ()


def unroll(graph: Graph, chain: dict[Op, Any], clashes: Container[Value] | None = None) -> bool:
    """One loop, in place; whether there was one. Copies of ops have in `chain` what the ops have. `clashes`:
    the parameters that are given values of several types: a dict that each round makes is another one in each
    copy. None: any may be; when all else is done, dicts of which all is known have been taken apart."""
    headers = [b for b in graph.blocks if isinstance(b.terminator, Iterate)]
    if not headers:
        return False
    try:
        finder = _Finder(graph)
    except IrreducibleError:
        return False
    for header in headers:
        loop = finder.forest.header_of(header)
        items = None if loop is None else _worth_copies(finder, header, loop, clashes)
        if loop is not None and items is not None:
            _unroll(graph, finder.region(header, loop), items, chain)
            return True
    return False


def _worth_copies(
    finder: _Finder, header: Block, loop: Loop, clashes: Container[Value] | None
) -> _Items | None:
    """The items of the loop, whose iterators are gone from the graph then."""
    region = finder.region(header, loop)
    if len({edge.target for edge in _leaving(region)}) > 1:
        return None
    finder.iterators = []
    items = finder.of(header.terminator.iterator)  # type: ignore[union-attr]
    if items is None or items.count is None or items.count > MAX_ITEMS:
        return None
    ops = [op for block in region for op in block.ops]
    inside = any(finder.home[op.result] in loop.blocks for op in finder.iterators)
    if inside or items.count * len(ops) > MAX_OPS:
        return None
    alone = items.count < 2 and not items.lists
    worth = alone or _vary(items.types) or any(_picks(op, finder) for op in ops) or _puts_functions(ops)
    if not (worth or _grows(header, loop, ops, clashes)):
        return None
    if any(finder.around(op) is not loop.parent for op in finder.iterators):
        return None
    for op in finder.iterators:
        finder.home[op.result].ops.remove(op)
    return items


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


def _picks(op: Op, finder: _Finder) -> bool:
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


class _Finder:
    """What the loop goes through, and the iterators that are made for it alone."""

    def __init__(self, graph: Graph) -> None:
        self.graph, self.home, self.uses = graph, definitions(graph), uses(graph)
        self.makers = {r: op for _, op in graph.ops() for r in op.results}
        self.iterators: list[Op] = []
        self.tree = dominators(graph)
        self.forest = loops(graph, self.tree)

    def region(self, header: Block, loop: Loop) -> list[Block]:
        """The loop, and what its rounds alone lead to, where they raise, return, or act before a `break`."""
        body = header.terminator.body.target  # type: ignore[union-attr]
        return [header] if body is header else [header, *(
            b for b in self.graph.blocks
            if (b in loop.blocks and b is not header) or (b in self.tree and self.tree.dominates(body, b))
        )]  # fmt: skip

    def around(self, op: Op) -> Loop | None:
        return self.forest.loop_of.get(self.home[op.result])

    def of(self, source: Operand) -> _Items | None:
        if isinstance(source, Const):
            known = type(source.value) in (tuple, range, str)
            return _written([*map(Const, source.value[: MAX_ITEMS + 1])]) if known else None
        made, alone = self.makers.get(source), len(self.uses[source]) == 1  # type: ignore[arg-type,index]
        fn = made.fn if made is not None and hashable(made.fn) else None
        if made is not None and (fn is primitives.build_tuple or (fn is primitives.build_list and alone)):
            return _written(made.args)
        if made is not None and fn in (list, tuple) and alone and len(made.args) == 1:
            return self._of_copy(made)
        if made is not None and fn is builtins.range:
            return _range([operand_type(a) for a in made.args])
        if made is not None and fn in AS and alone and not made.kwnames:
            self.iterators.append(made)
            parts = [self.of(a) for a in made.args]
            return None if None in parts else AS[fn](*parts)
        held = operand_type(made.args[0]) if made is not None and fn in OF_DICTS else None
        if made is not None and isinstance(held, T.Held) and alone:
            self.iterators.append(made)
            return OF_DICTS[fn](made.args[0], held)
        return _held(source)


    def _of_copy(self, made: Op) -> _Items | None:
        """Of what is written out, and for this alone."""
        source = self.makers.get(made.args[0])  # type: ignore[arg-type]
        written = source is not None and source.fn in (primitives.build_tuple, primitives.build_list)
        if source is None or not written or len(self.uses[source.result]) > 1:
            return None
        self.iterators.append(made)
        return _written(source.args)


def _held(source: Operand) -> _Items | None:
    type_ = operand_type(source)
    types = by_position(type_)
    if isinstance(type_, T.Held) and type_.cls is dict:
        return _of_keys(source, type_)
    rows = isinstance(type_, T.ArrayOf) and type_.dims
    if T.cls_of(type_) not in (list, tuple) and types is None and not rows:
        return None
    count, lists = (None, [source]) if types is None else (len(types), [])
    return _Items(count, lists, lambda emit, i: emit(operator.getitem, source, i), types or ())


def _range(bounds: Sequence[T.Type]) -> _Items | None:
    if not all(isinstance(t, T.Known) and type(t.value) is int for t in bounds):
        return None
    return _written([*map(Const, range(*[t.value for t in bounds])[: MAX_ITEMS + 1])])  # type: ignore[attr-defined]


def _written(items: Sequence[Operand]) -> _Items:
    return _Items(len(items), (), lambda _, i: items[_number(i)], [*map(operand_type, items)])


def _number(index: Operand) -> int:
    assert isinstance(index, Const)
    return int(index.value)


AS: Registry[Callable[..., _Items | None]] = Registry()
"""What iterators give, of what there is in what they go through."""


@AS.of(iter)
def _same(items: _Items) -> _Items:
    return items


@AS.of(zip)
def _zipped(*parts: _Items) -> _Items:
    counts = [part.count for part in parts if part.count is not None]
    types = [T.TupleOf(each) for each in zip(*[part.types for part in parts if part.types])]
    return _Items(
        min(counts, default=None), [xs for part in parts for xs in part.lists],
        lambda emit, i: emit(primitives.build_tuple, *[part.item(emit, i) for part in parts]), types,
    )  # fmt: skip


@AS.of(enumerate)
def _numbered(items: _Items, first: _Items | None = None) -> _Items | None:
    return None if first is not None else items._replace(
        item=lambda emit, i: emit(primitives.build_tuple, i, items.item(emit, i))
    )  # fmt: skip


@AS.of(reversed)
def _turned(items: _Items) -> _Items | None:
    """Where the end is known: a list may have fewer items than are written out beside it."""
    count = items.count
    if count is None or items.lists:
        return None
    return items._replace(
        item=lambda emit, i: items.item(emit, Const(count - 1 - _number(i))), types=items.types[::-1]
    )


OF_DICTS: Registry[Callable[[Operand, T.Held], _Items]] = Registry()


@OF_DICTS.of(dict.keys)
def _of_keys(source: Operand, type_: T.Held) -> _Items:
    return _written([Const(name) for name, _ in type_.fields])


@OF_DICTS.of(dict.values)
def _of_values(source: Operand, type_: T.Held) -> _Items:
    names = [Const(name) for name, _ in type_.fields]
    types = [held for _, held in type_.fields]
    return _Items(len(names), (), lambda emit, i: emit(operator.getitem, source, names[_number(i)]), types)


@OF_DICTS.of(dict.items)
def _of_items(source: Operand, type_: T.Held) -> _Items:
    return _zipped(_of_keys(source, type_), _of_values(source, type_))


def _leaving(region: Sequence[Block]) -> list[Edge]:
    return [edge for block in region for edge in block.edges() if edge.target not in region]


def _unroll(graph: Graph, region: Sequence[Block], items: _Items, chain: dict[Op, Any]) -> None:
    header, outside = region[0], [b for b in graph.blocks if b not in region]
    _leave(graph, region, outside)
    entering, into = outside, header
    assert items.count is not None
    for i in range(items.count + 1):
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


def _enter(head: Block, exit: Edge, items: _Items, index: Operand, given_up: bool = False) -> list[Block]:
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
    finder = _Finder(graph)
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
