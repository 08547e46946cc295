"""Elementary functions in kernels of their own, beside NumPy's: nanoseconds per element in the first-level
cache, as loops over numbers that LLVM vectorises and as explicit vectors.

    python -m benchmarks.elementary [name ...]
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import numpy as np

from ctxdispatch.ir.graph import Graph, Op, positional
from ctxdispatch.ir.values import Const, Value
from ctxdispatch_contexts.broadcast import elementary, llvm_backend, llvm_compile
from ctxdispatch_contexts.broadcast.llvm_instructions import FLOATS
from ctxdispatch_contexts.broadcast.llvm_source import module_of
from ctxdispatch_contexts.broadcast.lowering import lower
from ctxdispatch_contexts.broadcast.scalars import set_outputs

COUNT, ROUNDS = 2048, 100
INSTRUCTIONS = {f.__name__: f for f in FLOATS}
TWO = ("arctan2", "power", "hypot", "logaddexp", "logaddexp2", "copysign", "maximum", "minimum", "fmax",
       "fmin", "fmod", "remainder", "floor_divide")  # fmt: skip


def compiled(name: str, dtype: Any, lanes: int) -> tuple[Any, float]:
    """The machine code, and the milliseconds that it took."""
    n = 1 + (name in TWO)
    graph, y = Graph(name, positional(n)), Value("y")
    graph.entry.ops = [Op(Const(INSTRUCTIONS[name]), list(graph.params), [y], (), None)]
    set_outputs(graph.entry, [y])
    start = perf_counter()
    code = llvm_compile.Compiled(str(module_of(lower(graph, [dtype] * n), "F" * n, False, lanes)), lanes)
    return code, 1e3 * (perf_counter() - start)


def arguments(name: str, dtype: Any) -> list[Any]:
    x = np.abs(np.random.default_rng(0).normal(size=(1 + (name in TWO), COUNT)))
    x = np.tanh(x) if name in ("arcsin", "arccos", "arctanh", "erfinv") else x + (name == "arccosh")
    return list(x.astype(dtype))


def nanoseconds(call: Callable[[], Any]) -> float:
    def once() -> float:
        start = perf_counter()
        call()
        return perf_counter() - start

    return min(once() for _ in range(ROUNDS)) / COUNT * 1e9


def ours(name: str, dtype: Any, lanes: int, points: Sequence[Any]) -> tuple[float, float]:
    """Nanoseconds per element, and milliseconds to compile."""
    code, milliseconds = compiled(name, dtype, lanes)
    given = [COUNT]
    for array in (out := np.empty(COUNT, dtype), *points):
        given += (array.ctypes.data, 0)
    block = (ctypes.c_int64 * len(given))(*given)
    at = ctypes.addressof(block)
    found = nanoseconds(lambda: code.function(at, 0, 1))
    assert out.size
    return found, milliseconds


def row(name: str, dtype: Any) -> str:
    points, out = arguments(name, dtype), np.empty(COUNT, dtype)
    width = llvm_backend.register_bytes() // dtype.itemsize
    (loops, compiling), (vectors, _) = (ours(name, dtype, lanes, points) for lanes in (1, width))
    ufunc = getattr(np, name, None)
    numpys = nanoseconds(lambda: ufunc(*points, out=out)) if isinstance(ufunc, np.ufunc) else float("nan")
    bound = elementary.BOUNDS.get((name, dtype), float("nan"))
    times = f"{loops:7.2f} {vectors:7.2f} {numpys:7.2f} {numpys / min(loops, vectors):7.2f}"
    return f"{name:12} {dtype!s:8} {times} {bound:5.1f} {compiling:8.0f}"


def main(names: Sequence[str]) -> None:
    os.environ.setdefault("CTXDISPATCH_CACHE_DIR", "")
    print(f"{'':21} {'loops':>7} {'vectors':>7} {'NumPy':>7} {'ratio':>7} {'ulp':>5} {'compile':>8}")
    for dtype in (np.dtype(np.float32), np.dtype(np.float64)):
        for name in names or elementary.FORMULAS:
            print(row(name, dtype))


if __name__ == "__main__":
    main(sys.argv[1:])
