"""Nested calls, and what Python has signs for: `mul(%a, add(%b, 1))` is `a * (b + 1)`.

An `Expr` is an op whose operands may be ops again. Here is what may be known of one without writing it:
precedence, whether it only reads, the order in which its written form evaluates its parts.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from typing import Any

from ctxdispatch.ir import operators, primitives
from ctxdispatch.ir.graph import Op
from ctxdispatch.ir.operators import SYMBOLS
from ctxdispatch.ir.values import Const, Operand, Position, Value, hashable


class Expr:
    """An op, its callee and arguments in `parts`. Those from `lazy` on are evaluated only if need be."""

    __slots__ = ("lazy", "op", "parts", "weight")

    def __init__(self, op: Op, parts: list[Part], lazy: int | None = None) -> None:
        self.op = op
        self.parts = parts
        self.lazy = len(parts) if lazy is None else lazy
        self.weight: int = 1 + sum(p.weight for p in parts if isinstance(p, Expr))

    @property
    def fn(self) -> Any:
        return self.op.fn

    @property
    def args(self) -> list[Part]:
        return self.parts[1:]

    @property
    def pos(self) -> Position | None:
        return self.op.pos

    def leaves(self) -> Iterator[Operand]:
        for part in self.parts:
            yield from leaves(part)

    def walk(self) -> Iterator[Expr]:
        """This expression and those in it, operands first."""
        for part in self.parts:
            if isinstance(part, Expr):
                yield from part.walk()
        yield self


Part = Expr | Operand


def leaves(part: Part) -> Iterator[Operand]:
    if isinstance(part, Expr):
        yield from part.leaves()
    else:
        yield part


# -- forms that only exist in source ---------------------------------------------------------------


def either(a: Any, b: Any) -> Any:
    """a or b"""
    return a or b


def both(a: Any, b: Any) -> Any:
    """a and b"""
    return a and b


def choose(cond: Any, a: Any, b: Any) -> Any:
    """a if cond else b"""
    return a if cond else b


def special(function: Callable[..., Any], parts: list[Part], pos: Position | None) -> Expr:
    """One of the forms above; all operands but the first are lazy."""
    return Expr(Op(Const(function), [], [], pos=pos, syntax=True), [Const(function), *parts], lazy=2)


# -- precedence ------------------------------------------------------------------------------------

LOWEST, TERNARY, OR, AND, NOT, COMPARE, SUM, UNARY, POWER, NUMBER, PRIMARY = (
    0,
    1,
    2,
    3,
    4,
    5,
    9,
    11,
    12,
    13,
    14,
)

_LEVELS = {"+": SUM, "-": SUM, "&": 8, "<<": 8, ">>": 8, "^": 7, "|": 6}
BINARY: dict[Any, tuple[str, int]] = {
    f: (SYMBOLS[f], _LEVELS.get(SYMBOLS[f], 10)) for f in operators.BINARY if f is not operator.pow
}
COMPARISONS: dict[Any, str] = {
    **{f: SYMBOLS[f] for f in operators.COMPARISONS},
    operator.is_: "is",
    operator.is_not: "is not",
}
MEMBERSHIP: dict[Any, str] = {operator.contains: "in", primitives.not_contains: "not in"}
PREFIX: dict[Any, tuple[str, int]] = {
    **{f: (SYMBOLS[f], UNARY) for f in operators.SIGNS},
    operator.not_: ("not ", NOT),
}
INPLACE: dict[Any, str] = {f: f"{SYMBOLS[plain]}=" for f, plain in operators.INPLACE.items()}
_READS = {
    *BINARY, *COMPARISONS, *MEMBERSHIP, *PREFIX,
    operator.pow, operator.getitem, getattr, len, abs, float, int, bool, complex, slice, isinstance, type,
    primitives.build_tuple, primitives.build_list, primitives.build_map, primitives.build_set,
    iter, range, reversed, enumerate, zip, primitives.load_global, primitives.cell_get, either, both, choose,
    *(f for f in vars(math).values() if callable(f)),
}  # fmt: skip


def pure(part: Part) -> bool:
    """It writes nothing, so it may change places with what also writes nothing.

    An operator that a user's class defines is taken to be well behaved."""
    return not isinstance(part, Expr) or (_reads(part.op) and all(map(pure, part.parts)))


_ARITHMETIC = {*BINARY, *COMPARISONS, *PREFIX, operator.pow, *(f for f in vars(math).values() if callable(f))}
_SCALARS = (float, int, bool, complex)


def free(part: Part) -> bool:
    """Arithmetic on numbers that are known to be such: nothing sees when it is done."""
    if isinstance(part, Expr):
        return listed(part.fn, _ARITHMETIC) and not part.op.kwnames and all(map(free, part.args))
    if isinstance(part, Const):
        return type(part.value) in _SCALARS
    known = getattr(part.type, "cls", None) or type(getattr(part.type, "value", None))
    return known in _SCALARS


def _reads(op: Op) -> bool:
    return listed(op.fn, _READS) or (type(op.fn).__name__ == "ufunc" and "out" not in op.kwnames)


def listed(fn: Any, table: Any) -> bool:
    return fn is not None and hashable(fn) and fn in table


# -- statements --------------------------------------------------------------------------------------

STATEMENTS: dict[Any, tuple[int, ...]] = {
    operator.setitem: (3, 1, 2),
    operator.delitem: (1, 2),
    setattr: (3, 1, 2),
    delattr: (1, 2),
    primitives.list_append: (1, 2),
    primitives.list_extend: (1, 2),
    primitives.set_add: (1, 2),
    primitives.map_add: (3, 1, 2),
    primitives.cell_set: (2, 1),
}
"""Calls that are statements where their result does not count: the order in which they evaluate their
arguments."""


def is_statement(expr: Expr) -> bool:
    """It has a form as a statement."""
    if not listed(expr.fn, STATEMENTS) or expr.op.kwnames:
        return False
    named = expr.fn not in (setattr, delattr) or (len(expr.parts) > 2 and identifier(expr.parts[2]))
    return named and len(expr.parts) - 1 == len(STATEMENTS[expr.fn])


def strict_order(expr: Expr, as_statement: bool) -> list[int]:
    """The parts that are always evaluated, in the order in which the written form evaluates them."""
    if as_statement and listed(expr.fn, STATEMENTS):
        return list(STATEMENTS[expr.fn])
    if listed(expr.fn, MEMBERSHIP):
        return [2, 1]
    return list(range(expr.lazy))


def updates(reader: Any, read: Expr, box: Part, key: Part) -> bool:
    """`read` reads the place that is stored to: the same box and key, neither computed twice."""
    return (
        read.fn is reader
        and len(read.parts) == 3
        and _alike(read.parts[1], box)
        and _alike(read.parts[2], key)
    )


def _alike(a: Part, b: Part) -> bool:
    if isinstance(a, Const) and isinstance(b, Const):
        return type(a.value) is type(b.value) and isinstance(a.value, (int, str)) and a.value == b.value
    return a is b and isinstance(a, Value)


def is_none(part: Part) -> bool:
    return isinstance(part, Const) and part.value is None


def identifier(part: Part) -> bool:
    return isinstance(part, Const) and isinstance(part.value, str) and part.value.isidentifier()
