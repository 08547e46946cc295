"""What loops go through, where it is known how many items there are, or what one by one.

    zip((%w, %v), enumerate(%xs))       two rounds: (%w, (0, %xs[0])), if 0 < len(%xs), and so on
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ctxdispatch.ir import primitives
from ctxdispatch.ir.analysis import Loop, dominators, loops
from ctxdispatch.ir.graph import Block, Graph, Op
from ctxdispatch.ir.registry import Registry
from ctxdispatch.ir.rewrite import definitions, uses
from ctxdispatch.ir.values import Const, Operand, hashable
from ctxdispatch.passes import python_types
from ctxdispatch.passes import types as T
from ctxdispatch.passes.container_types import by_position
from ctxdispatch.passes.held import MAX_POSITIONS
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.programs.counts import counts

Emit = Callable[..., Operand]


class Items(NamedTuple):
    """At most `count` (None: not known), as many as the shortest of `lists` has; `types`: of what there is,
    where that is known item by item."""

    count: int | None
    lists: Sequence[Operand]
    item: Callable[[Emit, Operand], Operand]
    types: Sequence[T.Type] = ()


class Finder:
    """What the loop goes through, and the iterators that are made for it alone."""

    def __init__(self, graph: Graph) -> None:
        self.graph, self.home, self.uses = graph, definitions(graph), uses(graph)
        self.makers = {r: op for _, op in graph.ops() for r in op.results}
        self.iterators: list[Op] = []
        self.tree, self.counts = dominators(graph), counts(graph)
        self.counted = False
        self.forest = loops(graph, self.tree)

    def region(self, header: Block) -> list[Block]:
        """The loop, and what its rounds alone lead to, where they raise, return, or act before a `break`:
        that may be all the rest of the program."""
        body = header.terminator.body.target  # type: ignore[union-attr]
        led_to = (b for b in self.graph.blocks if b in self.tree and self.tree.dominates(body, b))
        return [header] if body is header else [header, *led_to]

    def around(self, op: Op) -> Loop | None:
        return self.forest.loop_of.get(self.home[op.result])

    def of(self, source: Operand) -> Items | None:
        if isinstance(source, Const):
            written = source.value[: MAX_POSITIONS + 1] if type(source.value) in (tuple, range, str) else None
            return None if written is None else _written([*map(Const, written)])
        made, alone = self.makers.get(source), len(self.uses[source]) == 1  # type: ignore[arg-type,index]
        fn = made.fn if made is not None and hashable(made.fn) else None
        if made is not None and (fn is primitives.build_tuple or (fn is primitives.build_list and alone)):
            return _written(made.args)
        if made is not None and (fn is tuple or (fn is list and alone)) and len(made.args) == 1:
            return self._of_copy(made, alone)
        if made is not None and fn is builtins.range:
            return _range([operand_type(a) for a in made.args])
        strict = made is not None and fn is zip and made.kwnames == ("strict",)
        if made is not None and fn in AS and alone and (strict or not made.kwnames):
            self.iterators.append(made)
            parts = [self.of(a) for a in made.args[: len(made.args) - len(made.kwnames)]]
            if None in parts or (strict and not _are_even(parts)):  # type: ignore[arg-type]
                return None
            return AS[fn](*parts)
        held = operand_type(made.args[0]) if made is not None and fn in OF_DICTS else None
        if made is not None and isinstance(held, T.Held) and alone:
            self.iterators.append(made)
            return OF_DICTS[fn](made.args[0], held)
        if (count := self.counts.get(source)) is not None:
            self.counted = True
            return Items(count, (), lambda emit, i: emit(operator.getitem, source, i))
        return _held(source)

    def _of_copy(self, made: Op, alone: bool) -> Items | None:
        """Of what is written out, and for the copy alone."""
        source = self.makers.get(made.args[0])  # type: ignore[arg-type]
        written = source is not None and source.fn in (primitives.build_tuple, primitives.build_list)
        if source is None or not written or len(self.uses[source.result]) > 1:
            return _held(made.result) if made.fn is tuple else None
        self.iterators += [made] if alone else []
        return _written(source.args)


def _are_even(parts: Sequence[Items]) -> bool:
    return not any(part.lists for part in parts) and len({part.count for part in parts}) == 1


def _held(source: Operand) -> Items | None:
    type_ = operand_type(source)
    types = by_position(type_)
    if isinstance(type_, T.Held) and type_.cls is dict:
        return _of_keys(source, type_)
    rows = isinstance(type_, T.ArrayOf) and type_.dims
    if T.cls_of(type_) not in (list, tuple) and types is None and not rows:
        return None
    count, lists = (None, [source]) if types is None else (len(types), [])
    return Items(count, lists, lambda emit, i: emit(operator.getitem, source, i), types or ())


def _range(bounds: Sequence[T.Type]) -> Items | None:
    known = python_types.range_of([t.value if isinstance(t, T.Known) else None for t in bounds])
    return None if known is None else _written([*map(Const, known[: MAX_POSITIONS + 1])])


def _written(items: Sequence[Operand]) -> Items:
    return Items(len(items), (), lambda _, i: items[_number(i)], [*map(operand_type, items)])


def _number(index: Operand) -> int:
    assert isinstance(index, Const)
    return int(index.value)


AS: Registry[Callable[..., Items | None]] = Registry()
"""What iterators give, of what there is in what they go through."""


@AS.of(iter)
def _same(items: Items) -> Items:
    return items


@AS.of(zip)
def _zipped(*parts: Items) -> Items:
    counts = [part.count for part in parts if part.count is not None]
    types = [T.TupleOf(each) for each in zip(*[part.types for part in parts if part.types])]
    return Items(
        min(counts, default=None), [xs for part in parts for xs in part.lists],
        lambda emit, i: emit(primitives.build_tuple, *[part.item(emit, i) for part in parts]), types,
    )  # fmt: skip


@AS.of(enumerate)
def _numbered(items: Items, first: Items | None = None) -> Items | None:
    return None if first is not None else items._replace(
        item=lambda emit, i: emit(primitives.build_tuple, i, items.item(emit, i))
    )  # fmt: skip


@AS.of(reversed)
def _turned(items: Items) -> Items | None:
    """Where the end is known: a list may have fewer items than are written out beside it."""
    count = items.count
    if count is None or items.lists:
        return None
    return items._replace(
        item=lambda emit, i: items.item(emit, Const(count - 1 - _number(i))), types=items.types[::-1]
    )


OF_DICTS: Registry[Callable[[Operand, T.Held], Items]] = Registry()


@OF_DICTS.of(dict.keys)
def _of_keys(source: Operand, type_: T.Held) -> Items:
    return _written([Const(name) for name, _ in type_.fields])


@OF_DICTS.of(dict.values)
def _of_values(source: Operand, type_: T.Held) -> Items:
    names = [Const(name) for name, _ in type_.fields]
    types = [held for _, held in type_.fields]
    return Items(len(names), (), lambda emit, i: emit(operator.getitem, source, names[_number(i)]), types)


@OF_DICTS.of(dict.items)
def _of_items(source: Operand, type_: T.Held) -> Items:
    return _zipped(_of_keys(source, type_), _of_values(source, type_))


__all__ = ["Emit", "Finder", "Items"]
