"""The compiled back end: which machine code runs a kernel on what, and runs it, on threads where that pays.

What follows from dtypes, shapes and strides is worked out once and kept as a *plan*.
"""

from __future__ import annotations

import ctypes
import math
import os
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ctxdispatch_contexts.broadcast.backends import check_out, lowered_for
from ctxdispatch_contexts.broadcast.dtypes import DType
from ctxdispatch_contexts.broadcast.forks import in_children
from ctxdispatch_contexts.broadcast.layout import FULL, ROW, Table, empty, memory_order, overlaps, tabulate
from ctxdispatch_contexts.broadcast.llvm_compile import Compiled, compiled, register_bytes
from ctxdispatch_contexts.broadcast.llvm_instructions import FAST
from ctxdispatch_contexts.broadcast.llvm_source import module_of
from ctxdispatch_contexts.broadcast.lowering import Lowered
from ctxdispatch_contexts.broadcast.predicate import flatten
from ctxdispatch_contexts.broadcast.streaming import ALIGNMENT, are_large

if TYPE_CHECKING:
    from ctxdispatch_contexts.broadcast.kernel import Kernel

Array = Any

MAX_PLANS = 64
"""So many are kept per kernel."""


def run(
    kernel: Kernel, types: tuple[DType, ...], arrays: Sequence[Array], shape: tuple[int, ...],
    out: Sequence[Array] | None,
) -> Sequence[Array]:  # fmt: skip
    lowered = lowered_for(kernel, types)
    arrays = [
        a if a.dtype == p.type and a.flags.aligned else a.astype(p.type)
        for a, p in zip(arrays, lowered.graph.params)
    ]
    order = memory_order(arrays, shape)
    if out is not None:
        check_out(kernel, [shape] * len(lowered.results), lowered.results, out)
    outputs = [
        out[i] if out is not None and _direct(out[i], dtype, order, [*arrays, *out[:i]])
        else empty(shape, order, dtype)
        for i, dtype in enumerate(lowered.results)
    ]
    if all(shape):
        _compute(kernel, types, shape, order, outputs, arrays)
    if out is None:
        return outputs if shape else [y[()] for y in outputs]
    for each, y in zip(out, outputs, strict=True):
        if each is not y:
            each[...] = y
    return out


def _direct(out: Array, dtype: np.dtype[Any], order: tuple[int, ...], arrays: Sequence[Array]) -> bool:
    """The compiled loop may write into it. `arrays`: what it reads, and the outputs before."""
    return (
        out.dtype == dtype and out.flags.writeable and out.flags.aligned
        and out.transpose(order).flags.c_contiguous
        and not overlaps(out, arrays)
    )  # fmt: skip


# -- plans ---------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class Plan:
    """For arrays of certain dtypes, shapes and strides, outputs first."""

    compiled: Compiled
    table: Table
    threads: int
    sizes: tuple[int, ...]

    def run(self, arrays: Sequence[Array]) -> None:
        table, function = self.table, self.compiled.function
        addresses = [address(a) for a in arrays]
        for offsets in table.slices():
            given = [table.columns]
            for start, offset, stride in zip(addresses, offsets, table.strides):
                given += (start + offset, stride)
            arguments = (ctypes.c_int64 * len(given))(*given)
            if self.threads == 1:
                function(ctypes.addressof(arguments), 0, table.rows)
            else:
                _in_parallel(self, arguments, arrays)


def _compute(
    kernel: Kernel, types: tuple[DType, ...], shape: tuple[int, ...], order: tuple[int, ...],
    outputs: Sequence[Array], arrays: Sequence[Array],
) -> None:  # fmt: skip
    everything = [*outputs, *arrays]
    streams = are_large(outputs) and not any(address(y) % ALIGNMENT for y in outputs)
    key = (types, shape, order, streams, *[a.strides for a in everything], *[a.shape for a in arrays])
    plan = kernel.plans.get(key)
    if plan is None:
        table, readable = tabulate(everything, shape, order)
        plan = _plan(kernel, types, table, readable, len(outputs), streams)
        if plan is None:
            _compute_narrow(kernel, types, shape, outputs, arrays)
            return
        if all(a is b for a, b in zip(everything, readable)):
            if len(kernel.plans) >= MAX_PLANS:
                kernel.plans.clear()
            kernel.plans[key] = plan
        everything = readable
    plan.run(everything)


def _plan(
    kernel: Kernel, types: tuple[DType, ...], table: Table, arrays: Sequence[Array], outputs: int,
    streams: bool = False,
) -> Plan | None:  # fmt: skip
    """None where there are too few columns. `streams`: the outputs are large, and aligned."""
    module, n = source(kernel, types, table.kinds[outputs:])
    if table.columns < n:
        return None
    streams = streams and table.columns % n == 0 and _rows_aligned(table, outputs)
    code = _code(kernel, module, n, streams)
    threads = _threads(table, kernel.options.threads)
    return Plan(code, table, threads, tuple(a.itemsize for a in arrays))


def _rows_aligned(table: Table, outputs: int) -> bool:
    rows = 1 if table.rows == 1 else ALIGNMENT
    return not table.outer and not any(stride % rows for stride in table.strides[:outputs])


def _compute_narrow(
    kernel: Kernel, types: tuple[DType, ...], shape: tuple[int, ...], outputs: Sequence[Array],
    arrays: Sequence[Array],
) -> None:  # fmt: skip
    """All elements one after the other, and the last one again as often as it takes."""
    n = math.prod(shape)
    longer = max(n, register_bytes())
    flat = [_padded(np.broadcast_to(a, shape), n, longer) for a in arrays]
    wide = [np.empty(longer, y.dtype) for y in outputs]
    table, readable = tabulate([*wide, *flat], (longer,), (0,))
    plan = _plan(kernel, types, table, readable, len(outputs))
    assert plan is not None, "no register holds more numbers than bytes"
    plan.run(readable)
    for y, found in zip(outputs, wide, strict=True):
        y[...] = found[:n].reshape(shape)


def _padded(array: Array, n: int, longer: int) -> Array:
    found = np.empty(longer, array.dtype)
    found[:n], found[n:] = array.reshape(-1), array.flat[-1]
    return found


_DATA = object.__basicsize__
"""Where the address of its elements stands in an array: right after the head of an object, by NumPy's ABI."""


def address(array: Array) -> int:
    """`array.ctypes.data`, in a third of the time."""
    return ctypes.c_ssize_t.from_address(id(array) + _DATA).value


if address(np.empty(1)) == 0 or address(_probe := np.empty(1)) != _probe.ctypes.data:  # another interpreter

    def address(array: Array) -> int:
        return array.ctypes.data  # type: ignore[no-any-return]


# -- machine code --------------------------------------------------------------------------------------------


def _code(kernel: Kernel, module: str, n: int, streams: bool) -> Compiled:
    key = (module, streams)
    found = kernel.compiled.get(key)
    if found is None:
        found = kernel.compiled[key] = compiled(module, n, streams)
    return found  # type: ignore[no-any-return]


def source(kernel: Kernel, types: tuple[DType, ...], kinds: str) -> tuple[str, int]:
    """The LLVM IR, before it is optimised, and how many columns it needs; made once."""
    found = kernel.compiled.get((types, kinds))
    if found is None:
        lowered = flatten(lowered_for(kernel, types))
        n = lanes(lowered)
        module = str(module_of(lowered, kinds, kernel.options.fastmath, n))
        found = kernel.compiled.setdefault((types, kinds), (module, n))
    return found  # type: ignore[no-any-return]


def lanes(lowered: Lowered) -> int:
    """How many elements are computed at once: as many of the widest numbers as a register holds, of programs
    with loops, and where a cheaper formula holds for usual numbers (`FAST`). Of others LLVM knows best."""
    ops = [op for _, op in lowered.graph.ops()]
    if len(lowered.graph.blocks) == 1 and not any(op.fn in FAST and op.result.type.kind == "f" for op in ops):
        return 1
    return max(1, register_bytes() // max(op.result.type.itemsize for op in ops))


# -- threads -------------------------------------------------------------------------------------------------

MIN_PER_THREAD = 1 << 16
"""Elements: less is not worth a thread."""


def _threads(table: Table, threads: int | None) -> int:
    most = min(threads or available_threads(), table.rows * table.columns // MIN_PER_THREAD)
    return max(1, most)


@cache
def available_threads() -> int:
    """CTXDISPATCH_NUM_THREADS, or as many as this process has processors."""
    given = os.environ.get("CTXDISPATCH_NUM_THREADS")
    if given:
        return max(1, int(given))
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=available_threads(), thread_name_prefix="ctxdispatch")


in_children(_pool.cache_clear)


def _in_parallel(plan: Plan, arguments: Any, arrays: Sequence[Array]) -> None:
    """Rows are divided; columns where there is one row. No part runs on when an interrupt ends this."""
    rows, n = plan.table.rows, plan.threads
    if rows == 1:
        jobs = [(_columns(plan, arguments, k), 0, 1) for k in range(n)]
    else:
        jobs = [(arguments, rows * k // n, rows * (k + 1) // n) for k in range(n)]
    waiting: list[Future[None]] = []
    try:
        waiting.extend(_pool().submit(_run_part, plan, arrays, *part) for part in jobs[1:])
        _run_part(plan, arrays, *jobs[0])
        for job in waiting:
            job.result()
    finally:
        wait(waiting)


def _run_part(plan: Plan, arrays: Sequence[Array], arguments: Any, first: int, last: int) -> None:
    """`arrays` own the memory: a second interrupt may end the wait for this."""
    plan.compiled.function(ctypes.addressof(arguments), first, last)


def _columns(plan: Plan, arguments: Any, k: int) -> Any:
    """The arguments for the k-th part of the columns. Parts begin at multiples of 64 elements."""
    columns, n = plan.table.columns, plan.threads
    first, last = (columns * k // n // 64 * 64, columns if k == n - 1 else columns * (k + 1) // n // 64 * 64)
    part = type(arguments)(*arguments)
    part[0] = last - first
    for i, (kind, size) in enumerate(zip(plan.table.kinds, plan.sizes)):
        if kind in (FULL, ROW):
            part[1 + 2 * i] += first * size
    return part
