"""Structural zeros: which elements of a cotangent nothing can arrive for, whatever the numbers are.

    y = sqrt(x); z = where(c, y, 0)    ->    mask(y) = where(c, mask(z), 0)
                                             bar(x) = where(mask(y), bar(y) * 0.5 / y, 0)

0 times infinity is nan. That is right where a cotangent happens to be 0 (sqrt(x) ** 2 at 0), and wrong where
an index, a condition, an overwritten element or an arm that was not taken decides that there is none. A
*mask* tells them apart: it is the cotangent of the same program with every partial replaced by 1, so that
nothing in it vanishes but by structure. The sweep computes it by the rules by which it computes cotangents.

It does so where it matters only. A partial that may be infinite is a *pole*, an open one where the cotangent
may have structural zeros: where not all elements of the result are used on every way to the end. Values on
the way from an open pole to the end have masks, but for those that are used in full: theirs is 1.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any

from ctxdispatch.facts import FINITENESS
from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Block, Iterate, Op, Raise, Return
from ctxdispatch.ir.values import Const, Operand, Value, hashable
from ctxdispatch.passes import types as T
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.derivatives.table import Elementwise, elementwise, flow, linearity, vjp_rule
from ctxdispatch_contexts.programs.activity import STORES, carries, passed
from ctxdispatch_contexts.programs.followed import Followed
from ctxdispatch_contexts.programs.operands import leaf_class, means_array, numeric, row_for, rule_of
from ctxdispatch_contexts.programs.primitive import Primitive
from ctxdispatch_contexts.programs.scaling import known_number
from ctxdispatch_contexts.reverse.lazy import SUMS, arguments
from ctxdispatch_contexts.reverse.structure import Shape
from ctxdispatch_contexts.reverse.through import is_factor, is_linear, places

ONE = Const(1.0)
"""The mask of what is used in full, an array's too."""


class Masks:
    """`poles`: the ops with a partial that may be infinite and a cotangent that may have structural zeros.
    `chosen`: those that choose between operands, of which the cotangent may be infinite.
    `values`: those that have a mask; that of any other active value is ONE.
    `calls`: what those were that became calls of what run time finds."""

    def __init__(
        self, shape: Shape, active: set[Value], followed: Followed, calls: Mapping[Op, Op],
        moves: Callable[[Op], bool],
    ) -> None:  # fmt: skip
        """`moves`: whether an op builds or reads a container."""
        self._shape, self._active, self._followed = shape, active, followed
        self._moves = moves
        self.calls = calls
        self.values: set[Value] = set()
        self.poles: set[Op] = set()
        self.chosen: set[Op] = set()
        self._infinite: set[Operand] = set()
        self._opaque: set[Operand] = set()
        poles = self._with_poles()
        if poles:
            self._infinite = self._spread([op.results[0] for op in poles])
            poles = self._with_poles()
            self.poles = {op for op in poles if not self.is_full(op.results[0])}
            self.chosen = self._chosen(poles)
        if self.poles:
            self._opaque = self._without_ones()
        self.values = self._cone([op.results[0] for op in self.poles])

    def _with_poles(self) -> list[Op]:
        ops = (op for _, op in self._shape.graph.ops() if op.results and op.results[0] in self._active)
        return [op for op in ops if self._is_pole(op)]

    def _is_pole(self, op: Op) -> bool:
        if isinstance(op.fn, Primitive):
            return op.fn.pointwise and op.fn.unbounded
        row, op = self.row(op), self.calls.get(op, op)
        return row is not None and any(self.is_open(op, row, i) for i in range(len(op.args)))

    def is_open(self, op: Op, row: Elementwise, i: int) -> bool:
        """The i-th partial of `op` is asked for, and may be infinite, or nan."""
        read = [a for name, a in zip((*row.params, "y"), (*op.args, op.results[0])) if name in row.needs[i]]
        factor = bool(read) and not row.picks[i] and (not self._infinite.isdisjoint(read) or self._looks)
        power = row.name == "pow" and i == 0 and (known_number(op.args[1]) or 0.0) >= 1.0  # a polynomial's
        infinite = (row.unbounded[i] and not power) or factor
        return infinite and op.args[i] in self._active and not _is_complex(op.results[0])

    @cached_property
    def _looks(self) -> bool:
        """Where a program looks for nan, it leaves out products with what is none."""
        return any(_looks_for_nan(self.calls.get(op, op)) for _, op in self._shape.graph.ops())

    def _spread(self, found: list[Value]) -> set[Operand]:
        """What is computed from these."""
        reached: set[Operand] = set(found)
        size = -1
        while size != len(reached):
            size = len(reached)
            for block in self._shape.graph.blocks:
                for op in block.ops:
                    if not reached.isdisjoint(self.operands(op)):
                        reached.update(op.results)
                pairs = [pair for edge in block.edges() for pair in passed(block.terminator, edge)]
                reached.update(param for param, arg in pairs if arg in reached)
        return reached

    # -- what is used in full --------------------------------------------------------------------------------

    def is_full(self, value: Operand) -> bool:
        """On every way from where `value` is made to the result something uses all of its elements."""
        return value in self._full

    @cached_property
    def _full(self) -> set[Operand]:
        """The most values of which each is used in full if the others are: what a loop carries is if it is
        where the loop ends."""
        last = [v for v in reversed(self._home) if v in self._active and self._followed.root(v) is None]
        full: set[Operand] = {v for v in last if self._is_whole(v)}
        size = -1
        while size != len(full):
            size = len(full)
            for value in last:
                if value in full and not self._is_used(value, full):
                    full.remove(value)
        return full

    @cached_property
    def _home(self) -> dict[Value, Block]:
        blocks = self._shape.graph.blocks
        return {v: b for b in blocks for v in (*b.params, *(r for op in b.ops for r in op.results))}

    @cached_property
    def _uses(self) -> dict[tuple[Operand, Block], list[Op]]:
        found: dict[tuple[Operand, Block], list[Op]] = {}
        for block, op in self._shape.graph.ops():
            for operand in dict.fromkeys(self.operands(op)):
                found.setdefault((operand, block), []).append(op)
        return found

    def _is_whole(self, value: Value) -> bool:
        """A number or an array, or what holds such, and stays what it is: a tuple, say."""
        other = isinstance(value.type, T.TupleOf) or value.type in (None, T.Any)
        return numeric(value.type) or (other and value not in self._home[value].params)

    def _is_used(self, value: Value, full: set[Operand]) -> bool:
        open_, seen = [self._home[value]], set()
        while open_:
            block = open_.pop()
            users = self._uses.get((value, block), ())
            if block in seen or any(self._passes_all(op, value, full) for op in users):
                continue
            seen.add(block)
            terminator = block.terminator
            if isinstance(terminator, Return) and terminator.value is not value:
                return False
            for edge in () if isinstance(terminator, (Return, Raise)) else block.edges():
                given = (p for p, arg in passed(terminator, edge) if arg is value)
                if full.isdisjoint(given):
                    open_.append(edge.target)
        return True

    def _passes_all(self, op: Op, value: Value, full: set[Operand]) -> bool:
        if op in self._followed.stores or not op.results or op.results[0] not in full:
            return False
        row = self.row(op)
        if row is not None:
            op = self.calls.get(op, op)
            return any(a is value and kind != "zero" and not picks for a, kind, picks in _operands(op, row))
        pointwise = isinstance(op.fn, Primitive) and op.fn.pointwise
        whole = op.fn is primitives.build_tuple or pointwise or _uses_all(self.calls.get(op, op), value)
        return whole or not self.flows(op)

    def _chosen(self, poles: list[Op]) -> set[Op]:
        """Choices between operands of which the result goes to a pole: its cotangent may be infinite."""
        picking = [
            op for _, op in self._shape.graph.ops() if (row := row_for(op)) is not None and any(row.picks)
        ]
        if not picking:
            return set()
        makers = {r: op for _, op in self._shape.graph.ops() for r in op.results}
        found, open_ = set(), [a for op in poles for a in op.args]
        while open_:
            value = open_.pop()
            op = makers.get(value) if isinstance(value, Value) and value not in found else None
            found.add(value)
            open_ += [] if op is None else op.args
        return {op for op in picking if op.results[0] in found}

    # -- how masks go through an op --------------------------------------------------------------------------

    def operands(self, op: Op) -> list[Operand]:
        return list(self.calls.get(op, op).operands())

    def row(self, op: Op) -> Elementwise | None:
        """It is, or will turn out to be, an elementwise operation."""
        call = self.calls.get(op)
        if call is None:
            return row_for(op)
        row = elementwise(call.fn) if hashable(call.fn) else None
        return row if row is not None and len(call.args) == len(row.params) and not call.kwnames else None

    def flows(self, op: Op) -> bool:
        """The mask of the result tells those of the operands. Else they are ONE: of a decomposition, or of a
        call that only run time knows, every element may depend on all."""
        if isinstance(op.fn, Primitive):
            return op.fn.pointwise
        if not self._opaque.isdisjoint(_changed(op)):
            return False
        if self.row(op) is not None or op in self._followed.stores:
            return True
        called = self.calls.get(op)
        if called is not None:
            return hashable(called.fn) and vjp_rule(called.fn) is not None and _flow(called) is not None
        if any(map(_is_complex, (*op.args, *op.results))):
            return False
        if self._moves(op):
            return True
        return rule_of(op) is not None and _flow(op) is not None and not _has_listed_factor(op)

    def _without_ones(self) -> set[Operand]:
        """Iterators, objects and what may be such, where masks do not go further: nobody can tell what of
        them is used, in the form of a mask. What goes into them counts as used."""
        numbers, found, size = self._numbers(), self._opaque, -1
        while size != len(found):
            size = len(found)
            for block in self._shape.graph.blocks:
                ops = (op for op in block.ops if not self._active.isdisjoint(_changed(op)))
                open_ = [a for op in ops if not self.flows(op) for a in self.operands(op)]
                pairs = [pair for edge in block.edges() for pair in passed(block.terminator, edge)]
                open_ += [arg for param, arg in pairs if param in found]
                found.update(a for a in open_ if a in self._active and not (a in numbers or _has_ones(a)))
        return found

    def _numbers(self) -> set[Operand]:
        """Numbers and arrays of which the type is not known."""
        found: set[Operand] = set()
        for _, op in self._shape.graph.ops():
            was = self.calls.get(op, op)
            if was.fn is operator.getitem:
                known = was.args[0] in found or numeric(operand_type(was.args[0]))
            else:
                known = self.row(op) is not None or (rule_of(was) is not None and not self._moves(was))
            found.update(op.results[:1] if known and len(op.results) < 3 else ())
        return found

    # -- from the poles to the result ------------------------------------------------------------------------

    def _cone(self, found: list[Value]) -> set[Value]:
        """The values that these go into, and that are not used in full."""
        cone: set[Value] = set()
        while found:
            value = found.pop()
            if value in cone or value not in self._active or value in self._opaque or self.is_full(value):
                continue
            cone.add(value)
            found += self._aliases(value)
            for user in self._users.get(value, ()):
                found += [user] if isinstance(user, Value) else self._reached(user)
        return cone

    @cached_property
    def _users(self) -> dict[Value, list[Op | Value]]:
        """Per value the ops that use it and the parameters that it is handed to."""
        users: dict[Value, list[Op | Value]] = {}
        for block in self._shape.graph.blocks:
            for op in block.ops:
                for arg in self.operands(op):
                    if arg in self._active:
                        users.setdefault(arg, []).append(op)  # type: ignore[arg-type]
            for edge in block.edges():
                for param, arg in passed(block.terminator, edge):
                    if arg in self._active:
                        users.setdefault(arg, []).append(param)  # type: ignore[arg-type]
            if isinstance(block.terminator, Iterate) and block.terminator.iterator in self._active:
                users.setdefault(block.terminator.iterator, []).append(block.terminator.body.target.params[0])  # type: ignore[arg-type]
        return users

    def _reached(self, op: Op) -> list[Any]:
        stored = [op.args[0]] if op in self._followed.stores else []
        return [*stored, *_changed(op)] if self.flows(op) or op in self._followed.stores else []

    def _aliases(self, value: Value) -> list[Value]:
        """All names of a shadow."""
        root = self._followed.root(value)
        return (
            []
            if root is None
            else [root, *(p for p in self._followed.part_of if self._followed.root(p) is root)]
        )


def _changed(op: Op) -> list[Operand]:
    """What it makes, and what it stores to."""
    stored = [op.args[STORES[op.fn]]] if hashable(op.fn) and op.fn in STORES else []
    return [*stored, *op.results]


def _has_ones(value: Operand | T.Type) -> bool:
    """What is known of its type tells the form of its mask."""
    type_ = operand_type(value) if isinstance(value, (Const, Value)) else value
    if isinstance(type_, T.TupleOf):
        return all(map(_has_ones, type_.items))
    return _has_ones(type_.item) if isinstance(type_, T.ListOf) else numeric(type_) or not carries(type_)


def _operands(op: Op, row: Elementwise) -> Iterator[tuple[Operand, str, bool]]:
    return zip(op.args, row.kinds, row.picks, strict=True)


def _looks_for_nan(op: Op) -> bool:
    return hashable(op.fn) and (op.fn in FINITENESS or (rule_of(op) is not None and _flow(op) == "nan"))


def _uses_all(op: Op, value: Operand) -> bool:
    if hashable(op.fn) and op.fn in SUMS and arguments(op) is not None:
        return True
    if rule_of(op) is None or _flow(op) != "all" or "where" in op.kwnames:
        return False
    everywhere = op.fn is getattr or linearity(op.fn) is None
    return everywhere or any(a is value and is_linear(op.fn, i) for i, a in _placed(op))


def _placed(op: Op) -> Iterator[tuple[int, Operand]]:
    return zip(places(rule_of(op), len(op.args), op.kwnames), op.args, strict=True)


def _has_listed_factor(op: Op) -> bool:
    """A list in a product may be a factor, or the subscripts of one."""
    listed = [
        is_factor(op.fn, place) and not means_array(op, i)
        for i, (place, a) in enumerate(_placed(op) if op.fn is not getattr else ())
        if T.cls_of(operand_type(a)) in (list, tuple)
    ]
    return any(listed)


def _flow(op: Op) -> str | None:
    """What structural zeros of the result say of those of the operands."""
    fn = op.fn
    if fn is getattr:
        return flow(getattr(leaf_class(operand_type(op.args[0])), op.args[1].value, None))  # type: ignore[union-attr]
    return flow(fn, len(op.args) - len(op.kwnames), op.kwnames)


def _is_complex(operand: Operand) -> bool:
    type_ = operand_type(operand)
    if isinstance(type_, T.ArrayOf):
        return type_.dtype.kind == "c"
    cls = leaf_class(type_)
    return cls is not None and issubclass(cls, complex)
