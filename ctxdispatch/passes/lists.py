"""Lists during inference: each is one abstract object.

All values that may be the same list make a group and share their type; what is put into the list raises
it. A list that code may change which we do not see *escapes*: its items may be anything from then on,
and, since inference does not look at the order of things, from the start. Lists in arguments are not told
apart: where one of them, or what it holds, may be changed, `foreign` is set and inference starts again
without their items."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from itertools import takewhile
from types import BuiltinMethodType
from typing import Any as Anything
from typing import Protocol

from ctxdispatch.facts import fact_of, operands
from ctxdispatch.ir import primitives as prim
from ctxdispatch.ir.graph import Block, Graph, Op, Raise
from ctxdispatch.ir.values import Operand, Value, hashable
from ctxdispatch.ir.watching import is_undispatched
from ctxdispatch.passes import effects, python_types
from ctxdispatch.passes.held import holds_list
from ctxdispatch.passes.lengths import plain
from ctxdispatch.passes.types import (
    Any,
    ArrayOf,
    Bound,
    Exact,
    Known,
    ListOf,
    Never,
    TupleOf,
    Type,
    cls_of,
    widen,
)


class Run(Protocol):
    """What the lists need of the inference they are part of."""

    graph: Graph
    types: dict[Value, Type]
    maker: dict[Value, Op]
    under_way: tuple[Block | None, Op | None]

    def type(self, operand: Operand) -> Type: ...

    def raise_type(self, value: Value, type_: Type) -> None: ...

    def look_again(self, value: Value) -> None: ...

    def is_contained(self, op: Op, function: Anything, args: Sequence[Type]) -> bool: ...


class Lists:
    """What is known of the items of lists: one type for all lists that may be one another, raised by what is
    put in."""

    def __init__(self, run: Run, *, placed: bool = False) -> None:
        """`placed`: of lists in arguments the items are known by position, so that taking one away, or
        turning them round, is a change too."""
        self.run = run
        self.placed = placed
        self._foreign, self._last = False, last_words(run.graph)
        self.groups: dict[Value, set[Value]] = {}

    @property
    def foreign(self) -> bool:
        """Code that is not seen may run, and something be done afterwards that rests on what it changes."""
        return self._foreign

    @foreign.setter
    def foreign(self, runs: bool) -> None:
        self._foreign |= runs and self.run.under_way[1] not in self._last

    def effects_of(self, op: Op, callee: Type, args: Sequence[Type]) -> None:
        """Appending raises the items' type; whoever we do not know may put anything into a list he gets."""
        function, operands, types = self._unbound(callee, op, args)
        if self.foreign and not any(map(holds_list, types)):
            return  # that is all that could be found out
        put = _put(function, types) if hashable(function) else None
        if is_undispatched(function):
            self.foreign = True
        elif put is not None:
            self._raise_items(operands[0], put[1])
            self.keep(operands[put[0]], types[put[0]])
        elif not hashable(function) or not effects.keeps_lists(function, types):
            quiet = self._looks_for_attribute(function, operands, types)
            if not (quiet or self.run.is_contained(op, function, types)):
                self.foreign = True
                self.keep_all(operands, types)
        elif self.placed and effects.writes_list(function):
            self._check_foreign(operands[0])
        elif function in effects.CONTAINS_OPERANDS:
            self.keep_all(operands, types)
        elif function is operator.getitem:
            self._take_item(op.results[0], operands[0], types)
        elif function not in effects.LOOKS_AT and not _stores_into_numbers(function, types):
            self.keep_all(*_only_tuples(operands, types))

    def _looks_for_attribute(
        self, function: Anything, operands: Sequence[Operand | None], types: Sequence[Type]
    ) -> bool:
        """`name in x.__dict__`, as `x.name` does."""
        if function is not operator.contains or cls_of(types[1]) is not str:
            return False
        maker = self.run.maker.get(operands[0]) if isinstance(operands[0], Value) else None
        read = maker is not None and maker.fn is getattr and len(maker.args) == 2
        return read and python_types.known(self.run.type(maker.args[1])) == "__dict__"  # type: ignore[union-attr]

    def _take_item(self, result: Value, operand: Operand | None, types: Sequence[Type]) -> None:
        """A list taken out of a tuple that was made here is that list."""
        if not (isinstance(types[0], TupleOf) and holds_list(types[0])):
            return
        maker = self.run.maker.get(operand) if isinstance(operand, Value) else None
        index = python_types.known(types[1])
        made_here = maker is not None and maker.fn is prim.build_tuple and type(index) is int
        item = maker.args[index] if made_here else None  # type: ignore[union-attr]
        if isinstance(item, Value) and isinstance(self.run.types.get(item), ListOf):
            self.same(result, item)
        else:
            self.keep(operand, types[0])

    def keep_all(self, operands: Sequence[Operand | None], types: Sequence[Type]) -> None:
        for operand, type_ in zip(operands, types):
            self.keep(operand, type_)

    def keep(self, operand: Operand | None, type_: Type) -> None:
        """Something keeps the operand, or does with it what we do not see."""
        if holds_list(type_):
            self.escape(operand)

    def _raise_items(self, operand: Operand | None, item: Type) -> None:
        self._check_foreign(operand)
        for member in self._members(operand):
            if isinstance(self.run.types.get(member), ListOf):
                self.run.raise_type(member, Exact(list) if item is Any else ListOf(widen(plain(item))))

    def escape(self, operand: Operand | None) -> None:
        """Code that we do not see may change this list from now on."""
        if isinstance(operand, Value) and isinstance(self.run.types.get(operand), Bound):
            operand = self.bound_to(operand)
        maker = self.run.maker.get(operand) if isinstance(operand, Value) else None
        if maker is not None and maker.fn is prim.build_tuple:
            self.keep_all(maker.args, [self.run.type(a) for a in maker.args])
            return
        self._check_foreign(operand)
        for member in self._members(operand):
            if isinstance(self.run.types.get(member), ListOf):
                self.run.raise_type(member, Exact(list))

    def _check_foreign(self, operand: Operand | None) -> None:
        """A list that was not made here may be an item of another, or of an argument. (Names that blocks give
        to lists which were are in one group with those.)"""
        for member in self._members(operand) or (None,):
            maker = self.run.maker.get(member) if member is not None else None
            named = isinstance(self.run.types.get(member), ListOf) if member is not None else False
            inside = member is not None and member not in self.run.graph.params and maker is None
            self.foreign |= not (inside and named) and not (maker is not None and self._is_new(maker))

    def _is_new(self, maker: Op) -> bool:
        """What the op gives is a list that nobody else has."""
        row = fact_of(maker.fn)
        sliced = maker.fn is operator.getitem and cls_of(self.run.type(maker.args[1])) is slice
        return sliced or (row is not None and row.new_array)

    def _members(self, operand: Operand | None) -> set[Value]:
        if not isinstance(operand, Value):
            return set()
        return self.groups.setdefault(operand, {operand})

    def same(self, a: Value, b: Value) -> None:
        group, other = self._members(a), self._members(b)
        if group is other:
            return
        group |= other
        for member in other:
            self.groups[member] = group
        type_ = python_types.join_all(self.run.types.get(m, Never) for m in group)
        for member in group:
            self.run.raise_type(member, type_)
            self.run.look_again(member)

    def bound_to(self, operand: Operand) -> Operand | None:
        """The list whose method this is; None where that is not seen here."""
        maker = self.run.maker.get(operand) if isinstance(operand, Value) else None
        return maker.args[0] if maker is not None and maker.fn is getattr else None

    def _unbound(
        self, callee: Type, op: Op, args: Sequence[Type]
    ) -> tuple[Anything, list[Operand | None], list[Type]]:
        """The call with a bound method's object as its first argument."""
        if isinstance(callee, Bound):
            return callee.function, [self.bound_to(op.callee), *op.args], [callee.self, *args]
        return (callee.value if isinstance(callee, Known) else None), list(op.args), list(args)

    def changed(self, value: Value, type_: Type) -> None:
        """The type of `value` was raised. One that says nothing of a list hides what is done to the list."""
        if value in self.groups and not isinstance(type_, ListOf):
            for member in self.groups[value]:
                if isinstance(self.run.types.get(member), ListOf):
                    self.run.raise_type(member, Exact(list))


def last_words(graph: Graph) -> set[Op]:
    """Those that make the message of an exception, and the exception, and it is raised: nothing else is done
    behind them, or read."""
    found: set[Op] = set()
    for block in graph.blocks:
        if isinstance(block.terminator, Raise):
            found.update(takewhile(_tells, reversed(block.ops)))
    return found


def _tells(op: Op) -> bool:
    fn = op.fn
    if type(fn) is BuiltinMethodType and fn.__name__ == "join":
        return type(fn.__self__) is str
    if issubclass(type(fn), type) and issubclass(fn, BaseException):
        return True
    made = fn is prim.build_tuple or fn is prim.build_string
    return made or (hashable(fn) and python_types.RULES.get(fn) is python_types.text)


def _only_tuples(
    operands: Sequence[Operand | None], types: Sequence[Type]
) -> tuple[Sequence[Operand | None], Sequence[Type]]:
    chosen = [(o, t) for o, t in zip(operands, types) if isinstance(t, TupleOf)]
    return [o for o, _ in chosen], [t for _, t in chosen]


def _stores_into_numbers(function: Anything, types: Sequence[Type]) -> bool:
    """An array of numbers keeps none of the objects that are stored into it."""
    return function is operator.setitem and isinstance(types[0], ArrayOf) and effects.plain(types[0])


def _put(function: Anything, types: Sequence[Type]) -> tuple[int, Type] | None:
    """The number of the argument that is put into a list, and the type of the items that this gives."""
    row = fact_of(function)
    if row is None or not row.keeps.positions or row.stores != _FIRST:
        return None
    if row.result or row.calls or row.inside.has(0):  # it is another name for the list, or runs code on items
        return None
    position = max(row.keeps.positions)
    if len(types) <= position or cls_of(types[0]) is not list:
        return None
    if row.keeps.has(1) and position == 2:  # at an index; or many, in a slice
        return position, types[2] if cls_of(types[1]) is int else Any
    return position, python_types.item_of(types[1]) if row.iterates else types[position]


_FIRST = operands("0")
