"""A scalar program with the dtypes of its operands: what back ends compile.

    %y = add(%x, 1)        %x float32      ->      %y: float32 = add(%x, float32(1.0))
    %z = exp(%n)           %n int64        ->      %t: float64 = cast(%n); %z: float64 = exp(%t)

After `lower`: the type of every value is an np.dtype, operands have exactly the dtypes that their instruction
computes in, constants are numbers of NumPy's, and arguments have the dtype of their parameter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ctxdispatch.ir.graph import Block, Graph, Op
from ctxdispatch.ir.rewrite import clone
from ctxdispatch.ir.values import UNDEF, UNREAD, Const, Operand, Position, Value
from ctxdispatch_contexts.broadcast.dtypes import DType, Typing, signature, storage
from ctxdispatch_contexts.broadcast.errors import KernelError
from ctxdispatch_contexts.broadcast.instructions import CAST, CASTS, ROUNDING, STOP, instruction
from ctxdispatch_contexts.broadcast.scalars import result_of
from ctxdispatch_contexts.broadcast.special import write_out

MAX_FACTORS = 4
"""x ** n is a product up to this n."""


@dataclass(eq=False)
class Lowered:
    """The graph, the operands that are its outputs, and their dtypes."""

    graph: Graph
    outputs: tuple[Operand, ...]
    results: tuple[np.dtype[Any], ...]


def check_one_class(graph: Graph, types: Sequence[DType]) -> None:
    """KernelError where a result is a float on one path and a whole number on another: np.vectorize makes an
    array of the class of the first."""
    typing = Typing(graph, types)
    _, result = result_of(graph)
    for block, edges in graph.predecessors().items():
        for k, param in enumerate(block.params):
            found = {storage(t).kind for _, e in edges if (t := typing.of(e.args[k])) is not None}
            if param in result.args and len(found) > 1:
                raise KernelError(
                    "np.vectorize makes an array of the class of the first result, and results are of "
                    "several; return numbers of one class, or use broadcast",
                    result.pos,
                )


def lower(graph: Graph, types: Sequence[DType]) -> Lowered:
    """A copy of `graph` for operands of these types (np.dtype, or int and float for numbers of Python's)."""
    graph = clone(graph)
    write_out(graph, types)
    end, result = result_of(graph)
    end.ops.remove(result)
    typing = Typing(graph, types)
    run = _Lowering(typing)
    for block in graph.blocks:
        run.block(block)
    for value, type_ in typing.types.items():
        value.type = storage(type_)
    dtypes = []
    for i, output in enumerate(result.args):
        type_ = typing.of(output)
        if type_ is None:
            raise KernelError(
                "a kernel must return numbers on every path; return nan where there is none", result.pos
            )
        dtypes.append(storage(type_))
        result.args[i] = run.fitted(end, output, dtypes[-1])
    _drop_dead(graph, result.args)
    return Lowered(graph, tuple(result.args), tuple(dtypes))


def _drop_dead(graph: Graph, outputs: Sequence[Operand]) -> None:
    """What nobody reads, in place: instructions have no effect."""
    read: set[Operand] = set(outputs)
    for block in graph.blocks:
        read.update(block.terminator.operands())  # type: ignore[union-attr]
        read.update(a for edge in block.edges() for a in edge.args)
    size = -1
    while size != len(read):
        size = len(read)
        for block in reversed(graph.blocks):
            read.update(a for op in reversed(block.ops) if op.result in read for a in op.args)
    for block in graph.blocks:
        block.ops = [op for op in block.ops if op.result in read]


class _Lowering:
    def __init__(self, typing: Typing) -> None:
        self.typing = typing
        self.ops: list[Op] = []

    def block(self, block: Block) -> None:
        self.ops = []
        for op in block.ops:
            self._op(op)
        for edge in block.edges():
            for i, (param, arg) in enumerate(zip(edge.target.params, edge.args, strict=True)):
                edge.args[i] = self._fit(arg, storage(self.typing.types.get(param, float)), None)
        block.ops = self.ops

    def fitted(self, block: Block, operand: Operand, dtype: np.dtype[Any]) -> Operand:
        """`operand` in that dtype, at the end of `block`."""
        self.ops = block.ops
        return self._fit(operand, dtype, None)

    def _op(self, op: Op) -> None:
        given = tuple(self.typing.of(a) for a in op.args)
        if any(t is None for t in given):  # np.dtype(float) == None
            return  # it is never reached
        takes = signature(op, given, self.typing.graph.params)[:-1]
        args = [self._fit(a, storage(t), op.pos) for a, t in zip(op.args, takes, strict=True)]
        callee, result = instruction(op.fn), op.result
        if callee is STOP:
            callee = np.positive if storage(takes[0]).kind != "b" else np.logical_or
            args = args if callee is np.positive else [*args, *args]
        if callee is np.power and self._is_short_product(op, takes):
            self._multiply(args[0], op.args[1].value, result, op.pos)  # type: ignore[union-attr]
            return
        if callee in ROUNDING:
            whole = Value("", storage(takes[0]))
            self.ops.append(Op(Const(ROUNDING[callee]), args, [whole], (), op.pos))
            callee, args = CAST, [whole]
        elif callee in CASTS:
            callee = CAST
            if storage(self.typing.of(result)) == np.dtype(bool):
                zero = Const(storage(given[0]).type(0))
                callee, args = np.not_equal, [args[0], zero]
        self.ops.append(Op(Const(callee), args, [result], (), op.pos))

    @staticmethod
    def _is_short_product(op: Op, takes: Sequence[DType]) -> bool:
        """x ** 2 and the like, and not of bools."""
        n = op.args[1].value if isinstance(op.args[1], Const) else None
        number = type(n) in (int, float) and n in range(1, MAX_FACTORS + 1)
        return number and storage(takes[0]).kind in "fiu"

    def _multiply(self, x: Operand, n: float, result: Value, pos: Position | None) -> None:
        """x ** n as products."""
        if n == 1:
            self.ops.append(Op(Const(np.positive), [x], [result], (), pos))
            return
        square = result if n == 2 else Value("", storage(self.typing.of(result)))
        self.ops.append(Op(Const(np.multiply), [x, x], [square], (), pos))
        if n > 2:
            other = x if n == 3 else square
            self.ops.append(Op(Const(np.multiply), [square, other], [result], (), pos))

    def _fit(self, operand: Operand, dtype: np.dtype[Any], pos: Position | None) -> Operand:
        """`operand` in that dtype."""
        if operand is UNDEF or operand is UNREAD:
            return Const(dtype.type(0))
        if isinstance(operand, Const):
            return Const(_constant(operand.value, dtype, pos))
        known = self.typing.of(operand)
        if known is None or storage(known) == dtype:
            return operand
        cast = Value("", dtype)
        self.ops.append(Op(Const(CAST), [operand], [cast], (), pos))
        return cast


def _constant(value: Any, dtype: np.dtype[Any], pos: Position | None) -> Any:
    try:
        return dtype.type(value)
    except OverflowError as error:
        raise KernelError(
            f"{value!r} does not fit into {dtype}; give the arrays a larger dtype", pos
        ) from error
