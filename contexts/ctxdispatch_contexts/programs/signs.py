"""Signs carried to where they cost nothing: -a * b + c as c - a * b. In derivatives alone, where the sign of
a zero is nobody's; negation is exact in everything else.

    -a * b, a * -b       -(a * b)            -a + b, b + -a     b - a
    -a * -b              a * b               -a - b             -(a + b)
    a - -b               a + b               -a - -b            b - a

A value that is minus another one stays away until something else than these reads it. So neither may be an
array that is stored to.
"""

from __future__ import annotations

import operator
from collections.abc import Set

from ctxdispatch.facts import PRODUCTS, SUMS
from ctxdispatch.ir.graph import Block, Graph, Op
from ctxdispatch.ir.rewrite import Use, substitute, uses
from ctxdispatch.ir.values import Const, Operand, Value
from ctxdispatch.passes import types as T
from ctxdispatch.passes.cse import cse
from ctxdispatch.passes.dce import dce
from ctxdispatch.passes.strength import REAL
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.programs.stored_arrays import stored_arrays

SIGNED = (operator.neg, *SUMS, *PRODUCTS)


def carry_signs(graph: Graph) -> None:
    """Rewrite, in place, what is not the user's own, block by block where that makes a block shorter."""
    blocks = [b for b in graph.blocks if any(op.fn is operator.neg for op in b.ops)]
    if not blocks:
        return
    used, stored = uses(graph), stored_arrays(graph)
    found = [same for block in blocks if (same := _carry(block, used, stored)) is not None]
    if found:
        substitute(graph, {value: other for same in found for value, other in same.items()})
        cse(graph)
        dce(graph)


def _carry(block: Block, used: dict[Value, list[Use]], stored: Set[Value]) -> dict[Value, Operand] | None:
    """What values of the block turn out to be; None where it is left as it is."""
    carried = _Carried(stored)
    for op in block.ops:
        carried.op(op)
    outside = {v for v, places in used.items() if any(_is_elsewhere(use, block) for use in places)}
    carried.close(outside)
    read = outside.union(*(op.operands() for op in carried.ops))  # type: ignore[arg-type]
    if sum(not read.isdisjoint(op.results) for op in carried.ops) >= len(block.ops):
        return None
    block.ops = carried.ops
    return carried.same


def _is_elsewhere(use: Use, block: Block) -> bool:
    return use.block is not block or not isinstance(use.user, Op)


class _Carried:
    """The ops of a block, written anew. `minus`: values that are minus another one, which stands for them;
    `same`: values that are another one. `stored`: arrays that change."""

    def __init__(self, stored: Set[Value]) -> None:
        self.stored = stored
        self.ops: list[Op] = []
        self.minus: dict[Operand, Operand] = {}
        self.same: dict[Value, Operand] = {}
        self.written: set[Operand] = set()

    def op(self, op: Op) -> None:
        if len(op.results) != 1 or op.fn not in SIGNED or not all(map(self._stays, (*op.args, op.result))):
            self._as_it_is(op)
        elif op.fn is operator.neg:
            self._negation(op)
        elif not op.reassoc or not any(a in self.minus for a in op.args):
            self._as_it_is(op)
        else:
            self._binary(op, *(a in self.minus for a in op.args))

    def _stays(self, operand: Operand) -> bool:
        """A real number, or an array of them that stays as it is."""
        return _is_real(operand) and operand not in self.stored

    def _negation(self, op: Op) -> None:
        (operand,) = op.args
        if not op.reassoc:
            self._as_it_is(op)
            self.written.add(op.result)
        if operand in self.minus:
            self.same[op.result] = self.minus[operand]
        else:
            self.minus[op.result] = operand

    def _binary(self, op: Op, first: bool, second: bool) -> None:
        a, b = (self.minus.get(x, x) for x in op.args)
        if op.fn in PRODUCTS:
            return self._write(op, op.fn, [a, b], first != second)
        second ^= op.fn is operator.sub
        if first == second:
            return self._write(op, operator.add, [a, b], first)
        return self._write(op, operator.sub, [b, a] if first else [a, b], False)

    def _write(self, op: Op, callee: object, args: list[Operand], negative: bool) -> None:
        result = Value(op.result.name, op.result.type) if negative else op.result
        self.ops.append(Op(Const(callee), args, [result], (), op.pos, op.syntax, op.reassoc))
        if negative:
            self.minus[op.result] = result

    def _as_it_is(self, op: Op) -> None:
        for operand in op.operands():
            self._write_out(operand)
        self.ops.append(op)

    def _write_out(self, operand: Operand) -> None:
        if operand in self.minus and operand not in self.written and isinstance(operand, Value):
            self.written.add(operand)
            self.ops.append(Op(Const(operator.neg), [self.minus[operand]], [operand], (), None, True, True))

    def close(self, outside: set[Value]) -> None:
        """`outside`: what other blocks, and the block's end, read."""
        for value in list(self.minus):
            if value in outside:
                self._write_out(value)


def _is_real(operand: Operand) -> bool:
    type_ = operand_type(operand)
    if isinstance(type_, T.ArrayOf):
        return bool(type_.dtype.kind == "f")
    return T.cls_of(T.widen(type_)) in REAL
