"""Kernels of functions, without an entry; and the functions that back ends are tried on."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np

from ctxdispatch.ir.graph import Graph, Op, positional
from ctxdispatch.ir.values import Const, Value
from ctxdispatch.passes import types as T
from ctxdispatch_contexts.broadcast import instructions as I
from ctxdispatch_contexts.broadcast.cuda_table import MIXED
from ctxdispatch_contexts.broadcast.errors import KernelError
from ctxdispatch_contexts.broadcast.interpreter import interpret
from ctxdispatch_contexts.broadcast.kernel import Kernel, Options
from ctxdispatch_contexts.broadcast.lowering import lower
from ctxdispatch_contexts.broadcast.mode import Language, make_kernel
from ctxdispatch_contexts.broadcast.scalars import set_outputs
from ctxdispatch_contexts.programs.sources import Source
from ctxdispatch_contexts.programs.trusting import prepare_trusting

F4, F8, I4, I8 = (np.dtype(d) for d in ("float32", "float64", "int32", "int64"))


def kernel_and_places(f, *kinds, options=Options()):
    """The kernel of a function of numbers of these kinds (float, int or bool), and which of the arguments it
    takes: those that the function reads."""
    source = Source(f)
    types = [T.Exact(kind) for kind in kinds]
    prepared, _, _ = prepare_trusting(source.graph, types, f.__closure__ or (), Language().has_rule)
    params = list(prepared.graph.params)
    kernel, reads, operands = make_kernel(prepared, options)
    assert not reads
    return kernel, [params.index(v) for v in operands]


def kernel_of(f, *kinds, options=Options()) -> Kernel:
    """The kernel of a function that reads all of its arguments."""
    kernel, places = kernel_and_places(f, *kinds, options=options)
    assert places == list(range(len(kinds)))
    return kernel


def instruction_graph(callee, arity: int) -> Graph:
    """(a, b): return callee(a, b)"""
    graph = Graph("f", positional(arity))
    y = Value("y")
    graph.entry.ops.append(Op(Const(callee), list(graph.params), [y]))
    set_outputs(graph.entry, [y])
    return graph


def elementwise(f, operands):
    """`f` called once per element, as Python has it: the outputs, a list of lists."""
    found = [f(*row) for row in zip(*[np.asarray(x).tolist() for x in operands], strict=True)]
    return list(zip(*[y if isinstance(y, tuple) else (y,) for y in found]))


def reference(kernel: Kernel, operands):
    """The outputs on the reference back end, for flat arrays of one length."""
    lowered = lower(kernel.graph, [x.dtype for x in operands])
    return interpret(lowered, operands, len(operands[0]))


# -- functions -----------------------------------------------------------------------------------------------


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def hmlstm_cell(c, f, i, g, z, z_below):
    """The cell state of an HM-LSTM: copied, updated or flushed (Revels et al. 2018, section 4)."""
    if z == 0:
        if z_below == 1:
            return sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        return c
    return sigmoid(i) * np.tanh(g)


def kepler(M, e):
    E = M
    step = 1.0
    while abs(step) > 1e-12:
        step = (E - e * math.sin(E) - M) / (1 - e * math.cos(E))
        E = E - step
    return E


def first_above(x, limit):
    total, k = 0.0, 0
    for k in range(20):
        total = total + x / (k + 1)
        if total > limit:
            break
    return total, k, total > limit


def fibonacci(n, x):
    a, b = 0.0, x
    for _ in range(n):
        a, b = b, a + b
    return a, b


def rotated(n, a, b, c):
    k = 0
    while k < n:
        a, b, c = b, c, a
        k = k + 1
    return a, b, c


def collatz(n):
    steps = 0
    while n != 1 and steps < 200:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def nested(x, n, flag):
    if flag:
        y = x * n
        if y > 1:
            y = y - 1.5
        elif y < -1:
            y = -y
    else:
        y = n
        for k in range(n):
            if k % 3 == 1:
                continue
            y = y + x
    return y, y > x, n + 1


FUNCTIONS = {
    f.__name__: SimpleNamespace(function=f, kinds=kinds, dtypes=tuple(map(np.dtype, dtypes.split())))
    for f, kinds, dtypes in [
        (hmlstm_cell, (float,) * 4 + (int, int), "f8 f8 f8 f8 i8 i8"),
        (kepler, (float, float), "f8 f8"),
        (first_above, (float, float), "f8 f8"),
        (fibonacci, (int, float), "i8 f8"),
        (rotated, (int, float, float, float), "i8 f8 f8 f8"),
        (collatz, (int,), "i8"),
        (nested, (float, int, bool), "f8 i8 ?"),
    ]
}


def some(dtype, n=40, seed=0):
    """n numbers of this dtype, small."""
    rng = np.random.default_rng(seed)
    if dtype.kind == "f":
        return rng.uniform(-2, 2, n).astype(dtype)
    return rng.integers(0, 2 if dtype.kind == "b" else 12, n).astype(dtype)


HMLSTM_TYPES = (F4, F4, F4, F4, I4, I4)


def hmlstm(n=64, dtype=F4, seed=0):
    """Operands of the cell."""
    rng = np.random.default_rng(seed)
    floats = [rng.normal(size=n).astype(dtype) for _ in range(4)]
    return [*floats, *(rng.integers(0, 2, n).astype(I4) for _ in range(2))]


# -- instructions, each a kernel, for all types -------------------------------------------------------------

DTYPES = [np.dtype(d) for d in "? i1 i4 i8 u1 u4 u8 f4 f8".split()]

INSTRUCTIONS = {
    i.__name__: i for i in (*I.CANONICAL.values(), *I.ROUNDING.values(), *I.CASTS) if i is not bool
}


def _operand_types(name, callee, dtype):
    arity = callee.nin if isinstance(callee, np.ufunc) else getattr(callee, "arity", 1)
    first = {"select": np.dtype(bool), "polygamma": I8}.get(name, dtype)
    return [first, *[I8 if name == "ldexp" else dtype] * (arity - 1)]


def instruction_kernels():
    """do_exp_float32 and so on, of those that NumPy has; do_less_mixed compares int64 with uint64."""
    found = {}
    for name, callee in INSTRUCTIONS.items():
        for dtype in DTYPES:
            types = _operand_types(name, callee, dtype)
            try:
                found[f"do_{name}_{dtype.name}"] = lower(instruction_graph(callee, len(types)), types)
            except KernelError:
                assert dtype.kind != "f" or name.startswith(("bitwise", "invert", "left", "right"))
    for name in MIXED:
        graph = instruction_graph(INSTRUCTIONS[name], 2)
        found[f"do_{name}_mixed"] = lower(graph, [I8, np.dtype("uint64")])
    return found
