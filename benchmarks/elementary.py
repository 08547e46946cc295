"""Elementary functions in compiled loops, beside NumPy's: nanoseconds per element in the first-level cache.

    python -m benchmarks.elementary [name ...]
"""

import sys
from time import perf_counter

import numba
import numpy as np

from ctxdispatch_contexts.broadcast import elementary
from ctxdispatch_contexts.broadcast.elementary.formulas import FORMULAS
from ctxdispatch_contexts.broadcast.elementary.intrinsics import NUMBA_FLOATS, arity

COUNT, ROUNDS = 2048, 100


def compiled(name, dtype):
    """The loop, and the milliseconds that Numba took for it."""
    f, array = elementary.implementation(name, dtype), NUMBA_FLOATS[dtype][::1]
    if arity(FORMULAS[name]) == 1:
        def run(x, out):
            for i in range(out.size):
                out[i] = f(x[i])
    else:
        def run(x, y, out):
            for i in range(out.size):
                out[i] = f(x[i], y[i])
    start = perf_counter()
    loop = numba.njit([(array,) * (arity(FORMULAS[name]) + 1)], error_model="numpy")(run)
    return loop, 1e3 * (perf_counter() - start)


def arguments(name, dtype):
    x = np.abs(np.random.default_rng(0).normal(size=(arity(FORMULAS[name]), COUNT)))
    x = np.tanh(x) if name in ("arcsin", "arccos", "arctanh", "erfinv") else x + (name == "arccosh")
    return list(x.astype(dtype))


def nanoseconds(call):
    def once():
        start = perf_counter()
        call()
        return perf_counter() - start
    return min(once() for _ in range(ROUNDS)) / COUNT * 1e9


def row(name, dtype):
    loop, milliseconds = compiled(name, dtype)
    points = arguments(name, dtype)
    out = np.empty(COUNT, dtype)
    ours = nanoseconds(lambda: loop(*points, out))
    ufunc = getattr(np, name, None)
    numpys = nanoseconds(lambda: ufunc(*points, out=out)) if isinstance(ufunc, np.ufunc) else float("nan")
    bound = elementary.BOUNDS.get((name, dtype), float("nan"))
    times = f"{ours:7.2f} {numpys:7.2f} {numpys / ours:7.2f}"
    return f"{name:12} {dtype!s:8} {times} {bound:5.1f} {milliseconds:8.0f}"


def main(names):
    print(f"{'':21} {'ours':>7} {'NumPy':>7} {'ratio':>7} {'ulp':>5} {'compile':>8}")
    for dtype in (np.dtype(np.float32), np.dtype(np.float64)):
        for name in names or FORMULAS:
            print(row(name, dtype))


if __name__ == "__main__":
    main(sys.argv[1:])
