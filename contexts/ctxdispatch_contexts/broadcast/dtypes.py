"""The dtypes of a scalar program, by NumPy's promotion (NEP 50): nothing is written down, NumPy is asked.

    dtype            a number of an array: np.dtype
    int, float       a number of Python's, which takes the dtype of what it meets: "weak"

A variable that is one dtype on one path and another on the next has the one both promote to. A function of
`math` of a float32 is float32, not Python's float.
"""

from __future__ import annotations

import functools
from collections.abc import Container, Sequence
from typing import Any

import numpy as np

from ctxdispatch.facts import COMPARISONS, UFUNC_OF
from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Block, Graph, Op
from ctxdispatch.ir.values import UNDEF, UNREAD, Const, Operand, Position, Value
from ctxdispatch_contexts.broadcast.errors import KernelError, is_display, no_number, refuse
from ctxdispatch_contexts.broadcast.instructions import (
    CAST,
    CASTS,
    ROUNDING,
    SELECT,
    STOP,
    Instruction,
    instruction,
)
from ctxdispatch_contexts.programs.errors import described

DType = Any
"""np.dtype, or the class int or float."""

BOOL, INT64, FLOAT64 = np.dtype(bool), np.dtype(np.int64), np.dtype(np.float64)


def storage(type_: DType) -> np.dtype[Any]:
    """What a value of this type is held in."""
    if type_ is int:
        return INT64
    return FLOAT64 if type_ is float else type_


def is_weak(type_: DType) -> bool:
    return type_ is int or type_ is float  # np.dtype(float) == float


def join(a: DType | None, b: DType | None) -> DType | None:
    """The type of a variable that is `a` on one path and `b` on another."""
    if a is None or b is None or a is b:
        return b if a is None else a
    if is_weak(a) and is_weak(b):
        return float
    strong, other = (b, a) if is_weak(a) else (a, b)
    if other is int and strong.kind in "iub":
        return _whole_with(strong)  # what it is may not fit
    return np.result_type(strong, other(0) if is_weak(other) else other)


def _whole_with(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Of a variable that is one of Python's whole numbers, and one of these."""
    return dtype if dtype.itemsize == 8 and dtype.kind == "u" else INT64


def of_constant(value: Any) -> DType | None:
    """The type of a literal, None where it is no number."""
    if isinstance(value, (bool, np.bool_)):
        return BOOL
    if isinstance(value, np.generic):
        return value.dtype
    return type(value) if type(value) in (int, float) else None


class Typing:
    """The types of all values of `graph`, for parameters of these types."""

    def __init__(self, graph: Graph, types: Sequence[DType]) -> None:
        self.graph = graph
        self.types: dict[Value, DType] = dict(zip(graph.params, types, strict=True))
        self._settled = False
        while not self._settled:
            self._settled = True
            for block in graph.blocks:
                self._block(block)

    def of(self, operand: Operand) -> DType | None:
        """None for what has not been reached, or is never read."""
        if isinstance(operand, Value):
            return self.types.get(operand)
        return None if operand in (UNDEF, UNREAD) else of_constant(operand.value)

    def _block(self, block: Block) -> None:
        for op in block.ops:
            if op.fn is primitives.build_tuple:
                continue  # the outputs
            _check_constants(op.args, op.pos)
            given = [self.of(a) for a in op.args]
            if not any(t is None for t in given):
                self._widen(op.result, signature(op, tuple(given), self.graph.params)[-1])
        for edge in block.edges():
            _check_constants(edge.args, block.terminator.pos)  # type: ignore[union-attr]
            for param, arg in zip(edge.target.params, edge.args, strict=True):
                self._widen(param, self.of(arg))

    def _widen(self, value: Value, type_: DType | None) -> None:
        before = self.types.get(value)
        found = join(before, type_)
        if found is not None and (before is None or is_weak(before) != is_weak(found) or before != found):
            self.types[value], self._settled = found, False


def _check_constants(operands: Sequence[Operand], pos: Position | None) -> None:
    for operand in operands:
        known = isinstance(operand, Const) and operand not in (UNDEF, UNREAD)
        if known and isinstance(operand.value, (str, bytes, type(None))):  # type: ignore[union-attr]
            raise KernelError(
                f"a kernel computes with numbers, and {operand.value!r} is none; use a number", pos
            )  # type: ignore[union-attr]


def signature(op: Op, given: tuple[DType, ...], known: Container[Any] = ()) -> tuple[DType, ...]:
    """The types that `op` takes its operands in, and that of its result."""
    fn = instruction(op.fn)
    if fn is None and is_display(op):
        raise no_number(op)
    try:
        given = tuple([_widened(t, a, given, known) for t, a in zip(given, op.args, strict=True)])
        if fn is np.power and all(map(_is_whole, given)) and not _counts(op.args[1]):
            raise refuse(
                op, "a whole number to the power of a whole number may be a fraction; write float(n) ** k"
            )
        return _signature(fn, given)
    except KernelError:
        raise
    except (TypeError, KeyError):
        names = ", ".join(getattr(t, "__name__", str(t)) for t in given)
        raise refuse(
            op, f"{described(fn)} of ({names}) cannot be part of a kernel; convert them, or do it before"
        ) from None


def _widened(type_: DType, operand: Operand, given: tuple[DType, ...], known: Container[Any]) -> DType:
    """Only literals, and numbers that are operands (`known`), take on a short dtype: what a variable is may
    not fit into it."""
    wholes = [t for t in given if not is_weak(t) and t.kind in "iub"]
    literal = isinstance(operand, Const) or operand in known
    if type_ is not int or literal or len(wholes) != len(given) - 1 or not wholes:
        return type_
    return _whole_with(wholes[0])


@functools.lru_cache(maxsize=4096)
def _signature(fn: Any, given: tuple[DType, ...]) -> tuple[DType, ...]:
    if fn is SELECT:
        both = join(given[1], given[2])
        return BOOL, both, both, both
    if fn is STOP:
        return given[0], given[0]
    if isinstance(fn, Instruction):
        return _special(fn, given)
    if len(given) != getattr(fn, "arity", getattr(fn, "nin", 1)):
        raise TypeError
    if fn in ROUNDING:
        return (_float(given[0]), int)
    if fn in CASTS:
        to = CASTS[fn]
        return given[0], BOOL if to is bool else to
    if type(fn) is not np.ufunc or fn.nin != len(given) or fn.nout != 1:
        raise TypeError
    return _of_ufunc(fn, given)


AMBIGUOUS = frozenset({np.add, np.subtract})
"""Of two bools: NumPy says or, and Python counts."""

_COMPARING = frozenset(UFUNC_OF[f] for f in COMPARISONS)


def _of_ufunc(fn: np.ufunc, given: tuple[DType, ...]) -> tuple[DType, ...]:
    weak = all(map(is_weak, given))
    if fn in _COMPARING:
        held = [storage(t) for t in given]
        if held[0].kind + held[1].kind in ("iu", "ui") and {held[0].itemsize, held[1].itemsize} == {8}:
            return *held, BOOL  # int64 and uint64 have no type in common
        both = storage(functools.reduce(join, given))
        return both, both, BOOL
    if fn in (np.negative, np.positive) and given == (BOOL,):
        return INT64, int
    if (
        fn in AMBIGUOUS
        and all(t is BOOL or t == BOOL for t in given if not is_weak(t))
        and not any(map(is_weak, given))
    ):
        raise TypeError
    resolved = fn.resolve_dtypes((*(map(storage, given) if weak else given), None))
    result: DType = resolved[-1]
    if result.kind == "O":  # NumPy remembers who asked it for objects of these types before
        raise TypeError
    if result == np.dtype(np.float16) and not any(t == np.dtype(np.float16) for t in given):
        resolved = tuple(np.dtype(np.float32) if t == result else t for t in resolved)
        result = resolved[-1]
    if weak and result.kind in "if":
        result = float if result.kind == "f" else int
    return (*resolved[:-1], result)


def _special(fn: Instruction, given: tuple[DType, ...]) -> tuple[DType, ...]:
    if fn is CAST:
        raise TypeError
    floats = given[1:] if fn.name == "polygamma" else given
    found = functools.reduce(join, map(_float, floats))
    held = storage(found)
    first = (INT64,) if fn.name == "polygamma" else ()
    return (*first, *[held] * len(floats), found)


def _float(type_: DType) -> DType:
    """The floats that NumPy's functions of floats compute in."""
    if type_ is int:
        return float
    if is_weak(type_) or type_.kind == "f":
        return type_
    return np.sin.resolve_dtypes((type_, None))[1] if type_.itemsize > 2 else np.dtype(np.float32)


def _counts(operand: Operand) -> bool:
    return isinstance(operand, Const) and operand.value >= 0


def _is_whole(type_: DType) -> bool:
    return type_ is int or (not is_weak(type_) and type_.kind in "iub")
