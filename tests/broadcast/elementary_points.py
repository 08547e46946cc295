"""Where elementary functions are looked at, what they are there, and kernels of one instruction."""

import functools
import inspect
from itertools import product
from unittest import mock

import numpy as np
from mpmath import mp, mpf

from ctxdispatch.ir.graph import Graph, Op, positional
from ctxdispatch.ir.values import Const, Value
from ctxdispatch_contexts.broadcast import elementary, llvm_backend, llvm_compile
from ctxdispatch_contexts.broadcast.elementary import FORMULAS
from ctxdispatch_contexts.broadcast.kernel import Kernel, Options
from ctxdispatch_contexts.broadcast.llvm_instructions import FLOATS
from ctxdispatch_contexts.broadcast.scalars import set_outputs

mp.prec = 140
SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)

# What mpmath calls otherwise, or has not; and NumPy's name of a function that mpmath has under another.
EXACT = {
    "exp2": lambda x: mpf(2) ** x,
    "expit": lambda x: 1 / (1 + mp.exp(-x)),
    "log2": lambda x: mp.log(x) / mp.log(2),
    "arcsin": mp.asin, "arccos": mp.acos, "arctan": mp.atan, "arctan2": mp.atan2,
    "arcsinh": mp.asinh, "arccosh": mp.acosh, "arctanh": mp.atanh,
    "cbrt": lambda x: mp.sign(x) * mp.cbrt(abs(x)),
    "erfc": lambda x: mp.erfc(max(min(x, 40), -40)),       # mpmath overflows far out
    "i0": lambda x: mp.besseli(0, x),
    "lgamma": lambda x: mp.loggamma(x).real,
    "logaddexp": lambda x, y: mp.log(mp.exp(x) + mp.exp(y)),
    "logaddexp2": lambda x, y: mp.log(mpf(2) ** x + mpf(2) ** y) / mp.log(2),
}


def exact(name):
    return EXACT.get(name) or getattr(mp, name)


INSTRUCTIONS = {instruction.__name__: instruction for instruction in FLOATS}


def arity(name):
    parameters = inspect.signature(FORMULAS[name]).parameters.values()
    return sum(each.default is each.empty for each in parameters)


def fresh_kernel(name, threads=1):
    """The kernel of that instruction alone."""
    graph, y = Graph(name, positional(arity(name))), Value("y")
    graph.entry.ops = [Op(Const(INSTRUCTIONS[name]), list(graph.params), [y], (), None)]
    set_outputs(graph.entry, [y])
    return Kernel(graph, [float] * arity(name), False, name, Options(threads=threads))


# How a kernel becomes vector code: by LLVM, from a loop over numbers, or as it is written.
LOOPS, VECTORS = "loops", "vectors"
kernel = functools.cache(lambda name, form: fresh_kernel(name))


def results(name, dtype, arguments, form=LOOPS, run=None):
    """Of `run`, by default the kernel that is kept for that name and form."""
    width = llvm_backend.register_bytes() // dtype.itemsize if form == VECTORS else 1
    arguments = [np.ascontiguousarray(a, dtype) for a in arguments]
    with mock.patch.object(llvm_backend, "lanes", lambda lowered: width):
        return (run or kernel(name, form))(*arguments)


def assembly(name, dtype):
    """Of the loop over numbers."""
    count, machine = arity(name), llvm_compile.target_machine()
    with mock.patch.object(llvm_backend, "lanes", lambda lowered: 1):
        text, _ = llvm_backend.source(kernel(name, LOOPS), (dtype,) * count, "F" * count)
    module = llvm_compile.llvm.parse_assembly(text)
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    llvm_compile.optimise(module, machine)
    return machine.emit_assembly(module)


# Points

SPECIAL = [0.0, 1.0, 2.0, 3.0, 0.5, 1.5, 2.5, 7.3, 1e30, 1e-30, 1e-40, 2.0**24 + 2, 2.0**53 + 2, np.inf]
SPECIAL = np.array([sign * x for x in SPECIAL for sign in (1, -1)] + [np.nan])

DOMAIN = {"log": (0, np.inf), "log2": (0, np.inf), "log10": (0, np.inf), "sqrt": (0, np.inf),
          "log1p": (-1, np.inf), "arcsin": (-1, 1), "arccos": (-1, 1), "arctanh": (-1, 1), "erfinv": (-1, 1),
          "arccosh": (1, np.inf), "gamma": (-183, 172), "lgamma": (-1e6, np.inf)}
FURTHEST = [6381956970095103.0 * 2.0**797]      # the float64 that is nearest to a multiple of pi/2
BORDERS = {   # where results leave the format, become denormal or integers
    "exp": [-745.2, -708.4, 709.79, -103.98, -87.4, 88.73], "exp2": [-1074.9, -1022.1, 1023.9, -149.9, 127.9],
    "erfc": [26.5, 27.2, 9.2, 10.05], "sinh": [709.8, 710.4, 89.1], "cosh": [709.8, 710.4, 89.1],
    "i0": [713.9, 8.0, 91.9], "expit": [-745.1, -708.4, -103.9, -87.4, 36.8, 16.7], "tanh": [9.0, 19.1],
}


def some_floats(rng, dtype, count):
    """Of all exponents alike."""
    kind = {SINGLE: np.int32, DOUBLE: np.int64}[dtype]
    drawn = rng.integers(np.iinfo(kind).min, np.iinfo(kind).max, count, dtype=kind).view(dtype)
    return drawn[np.isfinite(drawn)]


def points(name, dtype, count):
    """In neighbourhoods of `count` arguments each."""
    rng = np.random.default_rng(7)
    low, high = DOMAIN.get(name, (-np.inf, np.inf))
    near = 1 + rng.normal(size=count) * 10 ** rng.uniform(-6, -0.5, count)
    borders = np.outer(BORDERS.get(name, [1.0]), 1 + 1e-3 * rng.normal(size=20)).ravel()
    usual = rng.normal(size=count)
    x = np.concatenate([some_floats(rng, dtype, count), usual, 30 * usual, np.tanh(2 * usual), near, borders,
                        quarter_turns(rng, count // 2), FURTHEST])
    x = x[np.abs(x) < np.finfo(dtype).max].astype(dtype)
    return [x[(x >= low) & (x <= high)]]


def quarter_turns(rng, count):
    """Near multiples of pi/2."""
    return np.round(2.0 ** rng.uniform(0, 28, count)) * (np.pi / 2)


def powers(rng, dtype, count):
    """x > 0 and y with results over the whole range."""
    usual = rng.normal(size=count)
    x = np.abs(np.concatenate([some_floats(rng, dtype, count), usual, 1 + 0.01 * usual])).astype(dtype)
    x = np.where((x == 0) | (x == 1), 1.5, x).astype(float)
    limit = 103 if dtype == SINGLE else 744
    return x, rng.uniform(-limit, limit, x.size) / np.log(x)


def pairs(name, dtype, count):
    rng = np.random.default_rng(8)
    x, y = rng.normal(size=(2, 3 * count))
    if name == "power":
        x, y = powers(rng, dtype, count)
    elif name not in elementary.OF_THE_LARGEST:
        x = x * 10 ** rng.uniform(-4, 4, 3 * count)
    return [x.astype(dtype), y.astype(dtype)]


def arguments(name, dtype, count=250):
    return (points if arity(name) == 1 else pairs)(name, dtype, count)


def special_arguments(name):
    if arity(name) == 1:
        return [SPECIAL]
    return [np.array(column) for column in zip(*product(SPECIAL, SPECIAL))]


# Errors

def worst_error(name, dtype, arguments, values):
    """In units in the last place, and where it is."""
    worst = (0.0, None)
    for *point, value in zip(*arguments, values):
        error = error_at(name, dtype, [float(x) for x in point], float(value))
        worst = max(worst, (error, point), key=lambda each: each[0])
    return worst


def error_at(name, dtype, point, value):
    expected = exact(name)(*map(mpf, point))
    with np.errstate(over="ignore", under="ignore"):
        rounded = dtype.type(float(expected))
    if not np.isfinite(rounded):
        return 0.0 if value == rounded else np.inf
    scale = abs(float(rounded))
    if name in elementary.OF_THE_LARGEST:
        scale = max(scale, *map(abs, point))
    if name in elementary.OF_ONE_AT_LEAST:
        scale = max(scale, 1.0)
    unit = np.spacing(max(dtype.type(scale), np.finfo(dtype).smallest_subnormal))
    return float(abs(value - expected) / mpf(float(unit)))
