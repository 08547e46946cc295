"""The compiled back end: LLVM IR to machine code, kept in memory and on disk, and run on threads.

Object code on disk is under the hash of what it was made from (the IR, the processor, LLVM's version): it is
never stale. CTXDISPATCH_CACHE_DIR says where; empty, nothing is kept.
"""

from __future__ import annotations

import ctypes
import hashlib
import math
import os
import tempfile
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import llvmlite
import llvmlite.binding as llvm
import numpy as np

from ctxdispatch_contexts.broadcast.backends import check_out, lowered_for
from ctxdispatch_contexts.broadcast.dtypes import DType
from ctxdispatch_contexts.broadcast.layout import Table, empty, memory_order, overlaps, tabulate
from ctxdispatch_contexts.broadcast.llvm_instructions import FAST
from ctxdispatch_contexts.broadcast.llvm_source import module_of
from ctxdispatch_contexts.broadcast.lowering import Lowered
from ctxdispatch_contexts.broadcast.predicate import flatten

if TYPE_CHECKING:
    from ctxdispatch_contexts.broadcast.kernel import Kernel

_compiling = threading.RLock()

_KERNEL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


class Compiled:
    """Machine code for operands of these dtypes that lie so."""

    def __init__(self, module: str, lanes: int) -> None:
        self.lanes = lanes
        with _compiling:
            self.engine = _engine(module)
            self.function = _KERNEL(self.engine.get_function_address("kernel"))


@cache
def _initialise() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


def target_machine() -> Any:
    """A new one: an engine owns its own."""
    _initialise()
    features = llvm.get_host_cpu_features().flatten()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=features, opt=3, reloc="default", codemodel="jitdefault"
    )


def _engine(module: str) -> Any:
    machine = target_machine()
    parsed = llvm.parse_assembly(module)
    parsed.triple, parsed.data_layout = machine.triple, str(machine.target_data)
    stored = _Stored(module)
    if not stored.found:
        optimise(parsed, machine)
    engine = llvm.create_mcjit_compiler(parsed, machine)
    engine.set_object_cache(stored.keep, stored.get)
    engine.finalize_object()
    return engine


def optimise(module: Any, machine: Any) -> None:
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization, options.slp_vectorization, options.loop_interleaving = True, True, True
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)


class _Stored:
    """The object code of a module on disk."""

    def __init__(self, module: str) -> None:
        what = "\n".join((module, llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten(), *VERSION))
        folder = cache_folder()
        self.path = folder and folder / f"{hashlib.sha256(what.encode()).hexdigest()}.o"
        self.found = _read(self.path)

    def get(self, module: Any) -> bytes | None:
        return self.found

    def keep(self, module: Any, code: bytes) -> None:
        if self.path is None or self.found:
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=self.path.parent, delete=False) as file:
                file.write(code)
            os.replace(file.name, self.path)
        except OSError:
            return  # a folder that cannot be written to: compiled again the next time


VERSION = (llvmlite.__version__, ".".join(map(str, llvm.llvm_version_info)))


def _read(path: Path | None) -> bytes | None:
    try:
        return path.read_bytes() if path is not None else None
    except OSError:
        return None


def cache_folder() -> Path | None:
    given = os.environ.get("CTXDISPATCH_CACHE_DIR")
    if given is not None:
        return Path(given) if given else None
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "ctxdispatch" / "kernels"


# -- running -------------------------------------------------------------------------------------------------


def run(
    kernel: Kernel, types: tuple[DType, ...], arrays: Sequence[Any], shape: tuple[int, ...],
    out: Sequence[Any] | None,
) -> Sequence[Any]:  # fmt: skip
    lowered = lowered_for(kernel, types)
    wanted = [p.type for p in lowered.graph.params]
    arrays = [a if a.dtype == t else a.astype(t) for a, t in zip(arrays, wanted)]
    order = memory_order(arrays, shape)
    if out is not None:
        check_out(kernel, [shape] * len(out), lowered.results, out)
    outputs = [
        out[i] if out is not None and _direct(out[i], dtype, order, arrays) else empty(shape, order, dtype)
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


def _compute(
    kernel: Kernel, types: tuple[DType, ...], shape: tuple[int, ...], order: tuple[int, ...],
    outputs: Sequence[Any], arrays: Sequence[Any],
) -> None:  # fmt: skip
    table, everything = tabulate([*outputs, *arrays], shape, order)
    compiled = _compiled(kernel, types, table.kinds[len(outputs) :])
    if table.columns >= compiled.lanes:
        _go(compiled, table, everything, kernel.options.threads)
        return
    n = math.prod(shape)  # too narrow: all elements one after the other, and the last one again
    longer = max(n, compiled.lanes)
    flat = [_padded(np.broadcast_to(a, shape), n, longer) for a in arrays]
    wide = [np.empty(longer, y.dtype) for y in outputs]
    table, everything = tabulate([*wide, *flat], (longer,), (0,))
    _go(_compiled(kernel, types, table.kinds[len(outputs) :]), table, everything, kernel.options.threads)
    for y, found in zip(outputs, wide, strict=True):
        y[...] = found[:n].reshape(shape)


def _padded(array: Any, n: int, longer: int) -> Any:
    found = np.empty(longer, array.dtype)
    found[:n], found[n:] = array.reshape(-1), array.flat[-1]
    return found


def _direct(out: Any, dtype: np.dtype[Any], order: tuple[int, ...], arrays: Sequence[Any]) -> bool:
    """The compiled loop may write into it."""
    return (
        out.dtype == dtype and out.flags.writeable and out.transpose(order).flags.c_contiguous
        and not overlaps(out, arrays)
    )  # fmt: skip


def _compiled(kernel: Kernel, types: tuple[DType, ...], kinds: str) -> Compiled:
    key = (types, kinds)
    found = kernel.compiled.get(key)
    if found is None:
        with kernel.lock:
            found = kernel.compiled.get(key)
            if found is None:
                found = kernel.compiled[key] = Compiled(*source(kernel, types, kinds))
    return found  # type: ignore[no-any-return]


def source(kernel: Kernel, types: tuple[DType, ...], kinds: str) -> tuple[str, int]:
    """The LLVM IR, before it is optimised, and how many columns it needs."""
    lowered = flatten(lowered_for(kernel, types))
    n = lanes(lowered)
    return str(module_of(lowered, kinds, kernel.options.fastmath, n)), n


def lanes(lowered: Lowered) -> int:
    """How many elements are computed at once: as many of the widest numbers as a register holds, of programs
    with loops, and where a cheaper formula holds for usual numbers (`FAST`). Of others LLVM knows best."""
    ops = [op for _, op in lowered.graph.ops()]
    if len(lowered.graph.blocks) == 1 and not any(op.fn in FAST and op.result.type.kind == "f" for op in ops):
        return 1
    return max(1, register_bytes() // max(op.result.type.itemsize for op in ops))


@cache
def register_bytes() -> int:
    """Of the machine's vector registers."""
    features = llvm.get_host_cpu_features()
    if features.get("avx512f"):
        return 64
    return 32 if features.get("avx") else 16


MIN_PER_THREAD = 1 << 16
"""Elements: less is not worth a thread."""


def _go(compiled: Compiled, table: Table, arrays: Sequence[Any], threads: int | None) -> None:
    addresses = [a.ctypes.data for a in arrays]
    n = _threads(table, threads)
    for offsets in table.slices():
        given = [table.columns]
        for address, offset, stride in zip(addresses, offsets, table.strides):
            given += (address + offset, stride)
        arguments = (ctypes.c_int64 * len(given))(*given)
        if n == 1:
            compiled.function(ctypes.addressof(arguments), 0, table.rows)
        else:
            _in_parallel(compiled, arguments, table, n, [a.itemsize for a in arrays])


def _threads(table: Table, threads: int | None) -> int:
    most = min(threads or available_threads(), table.rows * table.columns // MIN_PER_THREAD)
    return max(1, most)


@cache
def available_threads() -> int:
    given = os.environ.get("CTXDISPATCH_NUM_THREADS")
    if given:
        return max(1, int(given))
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=available_threads(), thread_name_prefix="ctxdispatch")


def _in_parallel(compiled: Compiled, arguments: Any, table: Table, n: int, sizes: Sequence[int]) -> None:
    """Rows are divided; columns where there is one row."""
    if table.rows == 1:
        parts = [_columns(arguments, table, k, n, sizes) for k in range(n)]
        jobs = [(part, 0, 1) for part in parts]
    else:
        jobs = [(arguments, table.rows * k // n, table.rows * (k + 1) // n) for k in range(n)]
    waiting = [_pool().submit(compiled.function, ctypes.addressof(a), i, j) for a, i, j in jobs[1:]]
    first = jobs[0]
    compiled.function(ctypes.addressof(first[0]), first[1], first[2])
    for job in waiting:
        job.result()


def _columns(arguments: Any, table: Table, k: int, n: int, sizes: Sequence[int]) -> Any:
    """The arguments for the k-th of n parts of the columns, in whole cache lines."""
    first, last = ((table.columns * i // n + 63) // 64 * 64 if i < n else table.columns for i in (k, k + 1))
    first = 0 if k == 0 else min(first, table.columns)
    part = type(arguments)(*arguments)
    part[0] = max(0, min(last, table.columns) - first)
    kinds = "F" * (len(sizes) - len(table.kinds)) + table.kinds
    for i, (kind, size) in enumerate(zip(kinds, sizes)):
        if kind in "FR":
            part[1 + 2 * i] += first * size
    return part
