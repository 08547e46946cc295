"""A lowered kernel as LLVM IR: loops over a table of elements (`layout.py`) around the scalar program.

    void kernel(i64* arguments, i64 first_row, i64 last_row)

    arguments    columns; then per array, outputs first, its address and the bytes from row to row

The arrays of one call never overlap (the caller sees to it), which the inner function's pointers say.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from llvmlite import ir

from ctxdispatch.facts import FINITENESS
from ctxdispatch.ir.analysis import reverse_postorder
from ctxdispatch.ir.graph import Block, Branch, Jump, Op
from ctxdispatch.ir.values import Const, Operand
from ctxdispatch.ir.values import Value as Name
from ctxdispatch_contexts.broadcast.elementary.values import Value, constant
from ctxdispatch_contexts.broadcast.errors import refuse
from ctxdispatch_contexts.broadcast.instructions import ANY, CAST, SELECT
from ctxdispatch_contexts.broadcast.layout import COLUMN, FULL, ONE, ROW
from ctxdispatch_contexts.broadcast.llvm_casts import cast, register_type
from ctxdispatch_contexts.broadcast.llvm_instructions import (
    BOOLS,
    FAST,
    FLOATS,
    INTS,
    RELATIONS,
    Whole,
    related,
)
from ctxdispatch_contexts.broadcast.lowering import Lowered

I8, I64 = ir.IntType(8), ir.IntType(64)
BYTES = ir.PointerType(I8)


def memory_type(dtype: np.dtype[Any]) -> ir.Type:
    """What a number is in an array."""
    return I8 if dtype.kind == "b" else register_type(dtype)


def shaped(kind: ir.Type, lanes: int) -> ir.Type:
    return kind if lanes == 1 else ir.VectorType(kind, lanes)


def module_of(lowered: Lowered, kinds: str, fastmath: bool, lanes: int = 1) -> ir.Module:
    """`kinds`: how the parameters lie, see `layout.py`. Outputs are FULL. With `lanes` above 1, so many
    columns are computed at once, and there must be as many; otherwise LLVM vectorises, where no loop is
    within."""
    module = ir.Module("kernel")
    dtypes = [*lowered.results, *(p.type for p in lowered.graph.params)]
    inner = _inner(module, lowered, dtypes, FULL * len(lowered.results) + kinds, fastmath, lanes)
    _outer(module, inner, len(dtypes))
    return module


def _outer(module: ir.Module, inner: ir.Function, n: int) -> None:
    """Reads the arguments."""
    kind = ir.FunctionType(ir.VoidType(), [ir.PointerType(I64), I64, I64])
    function = ir.Function(module, kind, "kernel")
    arguments, first, last = function.args
    build = ir.IRBuilder(function.append_basic_block())

    def argument(i: int) -> Any:
        return build.load(build.gep(arguments, [I64(i)]))

    columns = argument(0)
    addresses = [build.inttoptr(argument(1 + 2 * i), BYTES) for i in range(n)]
    strides = [argument(2 + 2 * i) for i in range(n)]
    build.call(inner, [first, last, columns, *addresses, *strides])
    build.ret_void()


def _inner(
    module: ir.Module, lowered: Lowered, dtypes: Sequence[np.dtype[Any]], kinds: str, fastmath: bool,
    lanes: int,
) -> ir.Function:  # fmt: skip
    n = len(dtypes)
    kind = ir.FunctionType(ir.VoidType(), [I64, I64, I64, *[BYTES] * n, *[I64] * n])
    function = ir.Function(module, kind, "rows")
    function.linkage = "internal"
    function.attributes.add("noinline")
    for pointer in function.args[3 : 3 + n]:
        pointer.add_attribute("noalias")
    _Loops(function, lowered, dtypes, kinds, fastmath, lanes).write()
    return function


class _Loops:
    """for row: for column: read, compute, store"""

    def __init__(
        self, function: ir.Function, lowered: Lowered, dtypes: Sequence[np.dtype[Any]], kinds: str,
        fastmath: bool, lanes: int,
    ) -> None:  # fmt: skip
        self.function, self.lowered, self.dtypes, self.kinds = function, lowered, dtypes, kinds
        self.fastmath, self.lanes = fastmath, lanes
        n = len(dtypes)
        self.first, self.last, self.columns = function.args[:3]
        self.pointers, self.strides = function.args[3 : 3 + n], function.args[3 + n :]

    def write(self) -> None:
        entry = self.function.append_basic_block("entry")
        done = self.function.append_basic_block("done")
        build = ir.IRBuilder(entry)
        ones = {i: self._load_one(build, i, self.pointers[i]) for i, kind in self._inputs() if kind == ONE}
        row, next_row = self._loop(build, entry, self.first, self.last, done, "row")
        starts = [self._at_row(build, i, row) for i in range(len(self.dtypes))]
        once = ones | {i: self._load_one(build, i, starts[i]) for i, k in self._inputs() if k == COLUMN}
        column, next_column = self._loop(
            build, build.block, I64(0), self.columns, next_row, "column", self.lanes
        )
        column = self._fitting(build, column)
        m = len(self.lowered.results)
        given = [
            once[i] if i in once else self._load(build, i, self._element(build, i, starts[i], column))
            for i in range(m, len(self.dtypes))
        ]
        outputs = _Program(build, self.lowered, self.fastmath, self.lanes).write(given)
        for i, value in enumerate(outputs):
            self._store(build, i, self._element(build, i, starts[i], column), value)
        build.branch(next_column)
        ir.IRBuilder(done).ret_void()

    def _inputs(self) -> list[tuple[int, str]]:
        m = len(self.lowered.results)
        return [(i, kind) for i, kind in enumerate(self.kinds) if i >= m]

    def _fitting(self, build: ir.IRBuilder, column: Any) -> Any:
        """The last columns are computed with some of those before, which come out the same again."""
        if self.lanes == 1:
            return column
        latest = build.sub(self.columns, I64(self.lanes))
        return build.select(build.icmp_signed("<", column, latest), column, latest)

    def _loop(
        self, build: ir.IRBuilder, before: Any, first: Any, last: Any, after: Any, name: str, step: int = 1
    ) -> Any:
        """Go into a loop: the counter, and the block that goes on with the next."""
        header = self.function.append_basic_block(name)
        body = self.function.append_basic_block(name + ".body")
        latch = self.function.append_basic_block(name + ".next")
        build.branch(header)
        build.position_at_end(header)
        counter = build.phi(I64, name)
        counter.add_incoming(first, before)
        build.cbranch(build.icmp_signed("<", counter, last), body, after)
        build.position_at_end(latch)
        counter.add_incoming(build.add(counter, I64(step), flags=("nsw",)), latch)
        build.branch(header)
        build.position_at_end(body)
        return counter, latch

    def _at_row(self, build: ir.IRBuilder, i: int, row: Any) -> Any:
        pointer = self.pointers[i]
        if self.kinds[i] in (FULL, COLUMN):
            pointer = build.gep(pointer, [build.mul(row, self.strides[i], flags=("nsw",))])
        return pointer

    def _element(self, build: ir.IRBuilder, i: int, start: Any, column: Any) -> Any:
        assert self.kinds[i] in (FULL, ROW)
        pointer = build.bitcast(start, ir.PointerType(memory_type(self.dtypes[i])))
        return build.gep(pointer, [column], inbounds=True)

    def _load(self, build: ir.IRBuilder, i: int, pointer: Any, lanes: int | None = None) -> Any:
        dtype = self.dtypes[i]
        kind = shaped(memory_type(dtype), lanes or self.lanes)
        pointer = build.bitcast(pointer, ir.PointerType(kind))
        loaded = build.load(pointer, align=dtype.itemsize)
        return build.icmp_unsigned("!=", loaded, constant(kind, 0)) if dtype.kind == "b" else loaded

    def _load_one(self, build: ir.IRBuilder, i: int, pointer: Any) -> Any:
        return splat(build, self._load(build, i, pointer, 1), self.lanes)

    def _store(self, build: ir.IRBuilder, i: int, pointer: Any, value: Any) -> None:
        dtype = self.dtypes[i]
        kind = shaped(memory_type(dtype), self.lanes)
        stored = build.zext(value, kind) if dtype.kind == "b" else value
        build.store(stored, build.bitcast(pointer, ir.PointerType(kind)), align=dtype.itemsize)


def splat(build: ir.IRBuilder, value: Any, lanes: int) -> Any:
    """A vector with `value` in each lane."""
    if lanes == 1:
        return value
    kind = ir.VectorType(value.type, lanes)
    one = build.insert_element(ir.Constant(kind, ir.Undefined), value, ir.IntType(32)(0))
    return build.shuffle_vector(one, one, ir.Constant(ir.VectorType(ir.IntType(32), lanes), [0] * lanes))


class _Program:
    """The scalar program at the end of a basic block; `build` stands behind it afterwards."""

    def __init__(self, build: ir.IRBuilder, lowered: Lowered, fastmath: bool, lanes: int) -> None:
        self.build, self.lowered, self.lanes, self.fastmath = build, lowered, lanes, fastmath
        self.values: dict[Name, Any] = {}
        self.ends: dict[Block, Any] = {}

    def write(self, given: Sequence[Any]) -> list[Any]:
        graph = self.lowered.graph
        self.values.update(zip(graph.params, given, strict=True))
        order = reverse_postorder(graph)
        self.starts = {block: self.build.function.append_basic_block("b") for block in order[1:]}
        here = finished = self.build.block
        for block in order[1:]:
            self._declare(block)
        self.build.position_at_end(here)
        for block in order:
            if block is not graph.entry:
                self.build.position_at_end(self.starts[block])
            for op in block.ops:
                self.values[op.result] = self._op(op)
            if not self._terminate(block):
                finished = self.build.block
        for block in order:
            self._pass(block)
        self.build.position_at_end(finished)
        return list(map(self.of, self.lowered.outputs))

    def _declare(self, block: Block) -> None:
        self.build.position_at_end(self.starts[block])
        for param in block.params:
            self.values[param] = self.build.phi(shaped(register_type(param.type), self.lanes))

    def _terminate(self, block: Block) -> bool:
        """False where the program ends."""
        terminator = block.terminator
        self.ends[block] = self.build.block
        if isinstance(terminator, Jump):
            self.build.branch(self.starts[terminator.edge.target])
        elif isinstance(terminator, Branch):
            self._branch(block, terminator)
        else:
            return False
        return True

    def _branch(self, block: Block, terminator: Branch) -> None:
        """Two edges to one block go through a block of their own each: phis tell them apart."""
        targets = []
        for edge in (terminator.then, terminator.orelse):
            between = self.build.function.append_basic_block("edge")
            ir.IRBuilder(between).branch(self.starts[edge.target])
            self.ends[edge] = between  # type: ignore[index]
            targets.append(between)
        self.build.cbranch(self.of(terminator.cond), *targets)

    def _pass(self, block: Block) -> None:
        for edge in block.edges():
            origin = self.ends.get(edge, self.ends[block])  # type: ignore[call-overload]
            for param, arg in zip(edge.target.params, edge.args, strict=True):
                self.values[param].add_incoming(self.of(arg), origin)

    def of(self, operand: Operand) -> Any:
        if isinstance(operand, Const):
            number = operand.value
            if type(number) is np.float16:
                single = constant(shaped(ir.FloatType(), self.lanes), number)
                return self.build.fptrunc(single, shaped(ir.HalfType(), self.lanes))
            return constant(shaped(register_type(np.dtype(type(number))), self.lanes), number)
        return self.values[operand]

    # -- instructions ----------------------------------------------------------------------------------------

    def _op(self, op: Op) -> Any:
        args = [self.of(a) for a in op.args]
        takes = [a.type if isinstance(a, Name) else np.dtype(type(a.value)) for a in op.args]
        if op.fn is SELECT:
            return self.build.select(*args)
        if op.fn is ANY:
            return any_of(self.build, args[0], self.lanes)
        if op.fn is CAST:
            return cast(self.build, args[0], takes[0], op.result.type)
        made = self._compute(op, args, takes)
        if made is None:
            names = ", ".join(map(str, takes))
            raise refuse(
                op, f"{op.fn.__name__} of ({names}) is not there in compiled kernels; use backend='reference'"
            )
        return made

    def _compute(self, op: Op, args: Sequence[Any], takes: Sequence[np.dtype[Any]]) -> Any:
        kind = takes[0].kind
        if takes[0] == np.float16 and op.fn in FLOATS:
            return self._of_halves(op, args)
        if kind == "f" and op.fn in FLOATS:
            operands = [Value(self.build, a) for a in args]
            return self._fast(op.fn, operands) if self._has_fast(op.fn) else FLOATS[op.fn](*operands).ir
        if kind in "biu" and op.fn in FINITENESS:
            return constant(shaped(ir.IntType(1), self.lanes), op.fn is np.isfinite)
        if kind == "b":
            return self._of_bools(op, args)
        if kind in "iu":
            return self._of_ints(op, args, takes)
        return None

    def _of_halves(self, op: Op, args: Sequence[Any]) -> Any:
        """In single precision, and rounded: as NumPy has it."""
        kind = shaped(ir.FloatType(), self.lanes)
        found = FLOATS[op.fn](*(Value(self.build, self.build.fpext(a, kind)) for a in args)).ir
        whole = op.result.type == np.float16
        return self.build.fptrunc(found, shaped(ir.HalfType(), self.lanes)) if whole else found

    def _has_fast(self, fn: Any) -> bool:
        return fn in FAST and self.lanes > 1

    def _fast(self, fn: Any, operands: Sequence[Value]) -> Any:
        """By the cheaper formula; again by the other, where it does not hold for all lanes."""
        build = self.build
        fast, holds = FAST[fn](*operands)
        before = build.block
        with build.if_then(any_of(build, (~holds).ir, self.lanes), likely=False):
            slow = FLOATS[fn](*operands)
            after = build.block
        result = build.phi(fast.ir.type)
        result.add_incoming(fast.ir, before)
        result.add_incoming(slow.ir, after)
        return result

    def _of_bools(self, op: Op, args: Sequence[Any]) -> Any:
        if op.fn in (np.logical_not, np.invert):
            return self.build.not_(args[0])
        if op.fn is np.equal:
            return self.build.not_(self.build.xor(*args))
        if op.fn in BOOLS:
            return getattr(self.build, BOOLS[op.fn])(*args)
        if op.fn in RELATIONS:
            return self.build.icmp_unsigned(RELATIONS[op.fn], *args)
        return args[0] if op.fn in (np.positive, np.absolute) else None

    def _of_ints(self, op: Op, args: Sequence[Any], takes: Sequence[np.dtype[Any]]) -> Any:
        whole = [Whole(Value(self.build, a), t.kind == "i") for a, t in zip(args, takes)]
        if op.fn in RELATIONS:
            return related(RELATIONS[op.fn], *whole)
        if op.fn.__name__.startswith("logical_"):
            return self._of_bools(op, [w.compare("!=", w.constant(0)) for w in whole])
        return INTS[op.fn](*whole).ir if op.fn in INTS else None


def any_of(build: ir.IRBuilder, value: Any, lanes: int) -> Any:
    """Whether a bool is true in any lane."""
    if lanes == 1:
        return value
    bits = ir.IntType(lanes)
    return build.icmp_unsigned("!=", build.bitcast(value, bits), bits(0))


