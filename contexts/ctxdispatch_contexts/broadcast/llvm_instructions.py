"""Instructions as LLVM's: one table per kind of number.

    FLOATS[np.exp](x)      a formula over `Value`s of one float type
    INTS[np.add](x, y)     over `Whole`s of one int type, which know whether it is signed
    BOOLS[np.logical_and]

Whole numbers wrap around. Their division by zero gives 0 and never traps, as NumPy's.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ctxdispatch.facts import COMPARISONS, PRODUCTS, SUMS, SYMBOLS, UFUNC_OF
from ctxdispatch_contexts.broadcast.elementary import values
from ctxdispatch_contexts.broadcast.elementary.formulas import FAST as FAST_FORMULAS
from ctxdispatch_contexts.broadcast.elementary.formulas import FORMULAS
from ctxdispatch_contexts.broadcast.elementary.values import Value, where
from ctxdispatch_contexts.broadcast.instructions import SPECIAL

Formula = Callable[..., Value]


def fused(a: Value, b: Value, c: Value) -> Value:
    return values.llvm_call("fma", a, b, c)


def heaviside(x: Value, at_zero: Value) -> Value:
    return where(x != x, x, where(x == 0.0, at_zero, where(x > 0.0, x.like(1.0), x.like(0.0))))


def sign(x: Value) -> Value:
    return where(x > 0.0, x.like(1.0), where(x < 0.0, x.like(-1.0), where(x == 0.0, x.like(0.0), x)))


def is_finite(x: Value) -> Value:
    return values.fabs(x) < float("inf")


def signbit(x: Value) -> Value:
    return Value(x.builder, x.builder.icmp_signed("<", x.bits().ir, x.bits().like(0).ir))


def square(x: Value) -> Value:
    return x * x


_OF_FORMULAS = "erf erfc erfinv expit gamma i0 lgamma sinc".split()

FLOATS: dict[Any, Formula] = {
    **{getattr(np, name): f for name, f in FORMULAS.items() if type(getattr(np, name, 0)) is np.ufunc},
    **{SPECIAL[name]: FORMULAS[name] for name in _OF_FORMULAS},
    **{UFUNC_OF[f]: f for f in (*COMPARISONS, *SUMS, *PRODUCTS, operator.neg)},
    SPECIAL["fma"]: fused, np.positive: lambda x: x,
    np.absolute: values.fabs, np.square: square, np.reciprocal: lambda x: x.like(1.0) / x,
    np.sign: sign, np.heaviside: heaviside,
    np.degrees: lambda x: x * (180.0 / np.pi), np.rad2deg: lambda x: x * (180.0 / np.pi),
    np.radians: lambda x: x * (np.pi / 180.0), np.deg2rad: lambda x: x * (np.pi / 180.0),
    np.isnan: lambda x: x != x, np.isinf: lambda x: values.fabs(x) == float("inf"),
    np.isfinite: is_finite, np.signbit: signbit,
    np.logical_not: lambda x: x == 0.0, np.logical_and: lambda a, b: (a != 0.0) & (b != 0.0),
    np.logical_or: lambda a, b: (a != 0.0) | (b != 0.0), np.logical_xor: lambda a, b: (a != 0.0) ^ (b != 0.0),
}  # fmt: skip


FAST: dict[Any, Callable[..., tuple[Value, Value]]] = {
    SPECIAL.get(name) or getattr(np, name): formula for name, formula in FAST_FORMULAS.items()
}
"""Cheaper formulas, which give the result and whether it holds."""


# -- whole numbers -------------------------------------------------------------------------------------------


class Whole:
    """Operators on a value that know whether it is signed."""

    def __init__(self, value: Value, signed: bool) -> None:
        self.builder, self.ir, self.signed = value.builder, value.ir, signed

    def of(self, made: Any) -> Whole:
        return Whole(Value(self.builder, made), self.signed)

    def constant(self, n: int) -> Any:
        return values.constant(self.ir.type, n)

    @property
    def width(self) -> int:
        return values.element(self.ir.type).width  # type: ignore[no-any-return]

    def emit(self, name: str, other: Any) -> Whole:
        return self.of(getattr(self.builder, name)(self.ir, getattr(other, "ir", other)))

    def compare(self, relation: str, other: Any) -> Any:
        compare = self.builder.icmp_signed if self.signed else self.builder.icmp_unsigned
        return compare(relation, self.ir, getattr(other, "ir", other))

    def select(self, condition: Any, a: Any, b: Any) -> Whole:
        return self.of(self.builder.select(condition, getattr(a, "ir", a), getattr(b, "ir", b)))


def _divided(a: Whole, b: Whole) -> tuple[Whole, Whole]:
    """Quotient and remainder rounded down; 0 where b is."""
    zero = b.compare("==", b.constant(0))
    builder = a.builder
    safe = b.select(zero, b.constant(1), b)
    if a.signed:  # the smallest by -1 traps
        lowest = a.constant(-(1 << (a.width - 1)))
        minus = b.compare("==", b.constant(-1))
        traps = builder.and_(a.compare("==", lowest), minus)
        safe = safe.select(traps, b.constant(1), safe)
    quotient = a.emit("sdiv" if a.signed else "udiv", safe)
    rest = a.emit("sub", quotient.emit("mul", safe))
    if a.signed:
        below = builder.xor(rest.compare("<", a.constant(0)), safe.compare("<", a.constant(0)))
        off = builder.and_(builder.icmp_signed("!=", rest.ir, a.constant(0)), below)
        quotient = quotient.select(off, quotient.emit("sub", a.constant(1)), quotient)
        rest = rest.select(off, rest.emit("add", safe), rest)
    return quotient.select(zero, a.constant(0), quotient), rest.select(zero, a.constant(0), rest)


def _negative(a: Whole) -> Whole:
    return a.of(a.builder.neg(a.ir))


def _absolute(a: Whole) -> Whole:
    return a.select(a.compare("<", a.constant(0)), _negative(a), a) if a.signed else a


def _sign(a: Whole) -> Whole:
    positive = a.select(a.compare(">", a.constant(0)), a.constant(1), a.constant(0))
    return positive.select(a.compare("<", a.constant(0)), a.constant(-1), positive) if a.signed else positive


def _extreme(relation: str) -> Callable[[Whole, Whole], Whole]:
    return lambda a, b: a.select(a.compare(relation, b), a, b)


def _shifted(name: str) -> Callable[[Whole, Whole], Whole]:
    """By the width or more: all bits are gone."""

    def shift(a: Whole, b: Whole) -> Whole:
        width = a.width
        too_far = a.builder.icmp_unsigned(">=", b.ir, b.constant(width))
        safe = b.select(too_far, b.constant(width - 1), b)
        if name == "shl":
            return a.select(too_far, a.constant(0), a.emit("shl", safe))
        moved = a.emit("ashr" if a.signed else "lshr", safe)
        return moved if a.signed else moved.select(too_far, a.constant(0), moved)

    return shift


def _fmod(a: Whole, b: Whole) -> Whole:
    """With the sign of a."""
    rest = _divided(a, b)[1]
    if not a.signed:
        return rest
    other = a.builder.xor(rest.compare("<", a.constant(0)), a.compare("<", a.constant(0)))
    off = a.builder.and_(rest.compare("!=", a.constant(0)), other)
    return rest.select(off, rest.emit("sub", b), rest)


def _power(a: Whole, b: Whole) -> Whole:
    """By squaring, once for every bit of the exponent's type. Exponents are constants that are not negative:
    LLVM leaves the products that count."""
    result, base, n = a.of(a.constant(1)), a, b
    for _ in range(b.width):
        odd = n.emit("and_", n.constant(1))
        result = result.select(odd.compare("!=", n.constant(0)), result.emit("mul", base), result)
        base, n = base.emit("mul", base), n.emit("lshr", n.constant(1))
    return result


INTS: dict[Any, Callable[..., Whole]] = {
    np.add: lambda a, b: a.emit("add", b), np.subtract: lambda a, b: a.emit("sub", b),
    np.multiply: lambda a, b: a.emit("mul", b), np.negative: _negative, np.positive: lambda a: a,
    np.absolute: _absolute, np.square: lambda a: a.emit("mul", a), np.sign: _sign,
    np.floor_divide: lambda a, b: _divided(a, b)[0], np.remainder: lambda a, b: _divided(a, b)[1],
    np.fmod: _fmod,
    np.maximum: _extreme(">"), np.minimum: _extreme("<"), np.fmax: _extreme(">"), np.fmin: _extreme("<"),
    np.bitwise_and: lambda a, b: a.emit("and_", b), np.bitwise_or: lambda a, b: a.emit("or_", b),
    np.bitwise_xor: lambda a, b: a.emit("xor", b), np.invert: lambda a: a.of(a.builder.not_(a.ir)),
    np.left_shift: _shifted("shl"), np.right_shift: _shifted("shr"), np.power: _power,
    np.floor: lambda a: a, np.ceil: lambda a: a, np.trunc: lambda a: a, np.rint: lambda a: a,
}  # fmt: skip


def related(relation: str, a: Whole, b: Whole) -> Any:
    """A comparison of whole numbers, of which one may be signed and the other not."""
    if a.signed == b.signed:
        return a.compare(relation, b)
    if b.signed:
        return related({"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(relation, relation), b, a)
    below = a.compare("<", a.constant(0))
    if relation in ("<", "<=", "!="):
        return a.builder.or_(below, a.builder.icmp_unsigned(relation, a.ir, b.ir))
    return a.builder.and_(a.builder.not_(below), a.builder.icmp_unsigned(relation, a.ir, b.ir))


RELATIONS = {UFUNC_OF[f]: SYMBOLS[f] for f in COMPARISONS}
"""Of whole numbers: they give bools."""


# -- bools ---------------------------------------------------------------------------------------------------

BOOLS: dict[Any, str] = {
    np.logical_and: "and_", np.bitwise_and: "and_", np.multiply: "and_", np.minimum: "and_",
    np.logical_or: "or_", np.bitwise_or: "or_", np.add: "or_", np.maximum: "or_",
    np.logical_xor: "xor", np.bitwise_xor: "xor", np.not_equal: "xor",
}  # fmt: skip
"""Of two bools."""
