"""The CUDA C of kernels: how it reads, and, compiled for the host, what it computes.

One library has them all, so that the compiler runs once.
"""

import inspect
import math
from contextlib import suppress

import numpy as np
import pytest
from cuda_host import Library, needs_compiler
from kernels import (
    DTYPES,
    F4,
    F8,
    FUNCTIONS,
    HMLSTM_TYPES,
    I8,
    INSTRUCTIONS,
    elementwise,
    hmlstm,
    hmlstm_cell,
    instruction_kernels,
    kernel_and_places,
    kernel_of,
    some,
)
from random_scalar_programs import seeded_program

from ctxdispatch_contexts.broadcast import cuda_table
from ctxdispatch_contexts.broadcast.cuda_source import device_function
from ctxdispatch_contexts.broadcast.errors import KernelError
from ctxdispatch_contexts.broadcast.interpreter import interpret
from ctxdispatch_contexts.broadcast.lowering import lower
from ctxdispatch_contexts.derivatives import special

# -- how it reads --------------------------------------------------------------------------------------------


def halved(x, n):
    y = x
    for _ in range(n):
        y = y / 2
    return y, y > 1




HALVED = """\
__device__ __forceinline__ void halved(double x_0, long long n_1, double &result0, bool &result1)
{
    long long v2, k_4, k_6;
    double y_3, y_7;
    bool v5, v8;
    v2 = (long long)n_1;
    y_3 = x_0;
    k_4 = 0LL;
    goto b1;
b1:
    v5 = k_4 < v2;
    k_6 = (long long)((unsigned long long)k_4 + (unsigned long long)1LL);
    if (v5) { goto b2; }
    goto b3;
b2:
    y_7 = y_3 / 2.0;
    y_3 = y_7;
    k_4 = k_6;
    goto b1;
b3:
    v8 = y_3 > 1.0;
    result0 = y_3;
    result1 = v8;
    return;
}
"""


def test_a_kernel_is_one_function_with_labels_and_gotos():
    assert device_function(lower(kernel_of(halved, float, int).graph, [F8, I8]), "halved") == HALVED


def swapped(n, a, b):
    for _ in range(n):
        a, b = b, a
    return a, b


def test_what_an_edge_overwrites_is_saved_first():
    text = device_function(lower(kernel_of(swapped, int, float, float).graph, [I8, F8, F8]), "swapped")
    assert text.count("double old0 = ") == 1 and text.count("double old1 = ") == 1


def test_each_helper_is_written_once_before_it_is_called():
    def f(x, y):
        return x % y + y % x

    text = device_function(lower(kernel_of(f, float, float).graph, [F8, F8]), "f")
    assert text.count("double element_remainder_float64(double") == 1
    assert text.index("element_remainder_float64") < text.index("void f(")


@pytest.mark.parametrize(
    "value, text",
    [
        (np.float32(0.1), "0.10000000149011612f"), (np.float64(0.1), "0.1"), (np.float64(-2), "(-2.0)"),
        (np.float32(np.inf), "__int_as_float(0x7f800000)"), (np.bool_(True), "true"),
        (np.float64(-np.inf), "__longlong_as_double(0xfff0000000000000LL)"), (np.int64(7), "7LL"),
        (np.float32(np.nan), "__int_as_float(0x7fc00000)"), (np.uint32(7), "7U"), (np.int8(-3), "(-3)"),
        (np.int64(-(2**63)), "(-9223372036854775807LL - 1)"), (np.uint64(2**64 - 1), f"{2**64 - 1}ULL"),
    ],
)  # fmt: skip
def test_literals_are_exact(value, text):
    assert cuda_table.literal(value) == text


def test_what_has_no_cuda_code_is_refused_at_its_line(monkeypatch):
    def f(x):
        return x + np.exp(x)

    graph = kernel_of(f, float).graph
    monkeypatch.delitem(cuda_table.TABLE, "exp")
    line = inspect.getsourcelines(f)[1] + 1
    with pytest.raises(KernelError, match=rf"test_cuda_source.py:{line} in .*exp of \(float32\) cannot"):
        device_function(lower(graph, [F4]), "f")


# -- instructions, for all types -----------------------------------------------------------------------------

SPECIAL_FLOATS = [
    0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 3, -7, 10.25, -10.75, 0.1, 1e-5, -1e-5, 100.5, 30, 1e6 + 0.5,
    math.inf, -math.inf, math.nan,
]  # fmt: skip

WHOLE = [0, 1, 2, 3, 5, 7, 8, 31, 32, 63, 64, 100, -1, -2, -3, -8, -100]


def _values(dtype):
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind == "f":
        info = np.finfo(dtype)
        ends = [info.tiny, -info.tiny / 8, info.smallest_subnormal, info.max, -info.max]
        return np.array([*SPECIAL_FLOATS, *ends], dtype)
    info = np.iinfo(dtype)
    some = {*WHOLE, info.min, info.min + 1, info.max, info.max - 1}
    return np.array(sorted(x for x in some if info.min <= x <= info.max), dtype)


def _in_range(name, operands):
    """Where C and NumPy say what the result is."""
    first, dtype = operands[0], operands[-1].dtype
    if name == "reciprocal" and dtype.kind == "i":
        return first != 0
    if name == "power" and dtype.kind == "i":
        return operands[1] >= 0
    if name == "i0":
        return abs(first) < 80
    if name == "polygamma":
        return (first >= 0) & (first < 9) & (operands[1] > 0)
    if name in ("digamma", "gamma", "lgamma"):
        return first > 1e-5
    return np.ones(first.shape, bool)


def _operands(name, lowered):
    grid = np.meshgrid(*[_values(p.type) for p in lowered.graph.params], indexing="ij")
    operands = [g.reshape(-1) for g in grid]
    with np.errstate(all="ignore"):
        inside = _in_range(name, operands)
    return [x[inside] for x in operands]


ULPS = {"digamma": 64, "polygamma": 64, "lgamma": 8}
"""Near its zeros a logarithm of the gamma function is a difference."""

ANY_ZERO = {"maximum", "minimum", "fmax", "fmin", "polygamma"}
"""Of 0.0 and -0.0 they may choose."""


def _check(name, want, got):
    assert want.dtype == got.dtype
    if want.dtype.kind != "f":
        np.testing.assert_array_equal(got, want)
        return
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    np.testing.assert_array_equal(np.isinf(got), np.isinf(want))
    eps = np.finfo(want.dtype).eps
    slack = 4 * eps if name in ULPS else np.finfo(want.dtype).smallest_subnormal
    finite = np.isfinite(want)
    np.testing.assert_allclose(got[finite], want[finite], rtol=ULPS.get(name, 4) * eps, atol=slack)
    if name not in ANY_ZERO:
        signed = ~np.isnan(want)
        np.testing.assert_array_equal(np.signbit(got[signed]), np.signbit(want[signed]))


@needs_compiler
@pytest.mark.parametrize("name", INSTRUCTIONS)
def test_every_instruction_is_numpys(name, library):
    kinds = [*(d.name for d in DTYPES), "mixed"]
    kernels = [k for k in (f"do_{name}_{kind}" for kind in kinds) if k in library.lowered]
    assert kernels
    for kernel in kernels:
        lowered = library.lowered[kernel]
        operands = _operands(name, lowered)
        wanted = interpret(lowered, operands, len(operands[0]))
        for want, got in zip(wanted, library(kernel, operands), strict=True):
            _check(name, want, got)


EXACT = "add subtract multiply divide floor_divide remainder fmod sqrt floor ceil rint trunc negative".split()


@needs_compiler
@pytest.mark.parametrize("name", EXACT)
def test_arithmetic_is_exact(name, library):
    for dtype in (F4, F8):
        lowered = library.lowered[f"do_{name}_{dtype.name}"]
        operands = _operands("", lowered)
        (want,), (got,) = interpret(lowered, operands, len(operands[0])), library(
            f"do_{name}_{dtype.name}", operands
        )
        np.testing.assert_array_equal(got, want)


@needs_compiler
def test_gamma_functions_at_negative_numbers(library):
    x = np.array([-0.5, -1.25, -3.75, -10.5, 0.0, -2.0, 0.3])
    (got,) = library("do_digamma_float64", [x])
    poles = (x <= 0) & (x == np.rint(x))
    np.testing.assert_allclose(got[~poles], [special.digamma(v) for v in x[~poles].tolist()], rtol=1e-13)
    assert not np.isfinite(got[poles]).any()
    for n in range(5):
        (got,) = library("do_polygamma_float64", [np.full(x.size, n), x])
        expected = [special.polygamma(n, v) for v in x[~poles].tolist()]
        np.testing.assert_allclose(got[~poles], expected, rtol=1e-12, atol=1e-13)


# -- functions -----------------------------------------------------------------------------------------------

SEEDS = range(20)


def _program(seed):
    program = seeded_program(seed)
    kernel, places = kernel_and_places(program.function, *program.kinds)
    operands = program.operands(30, seed)
    return program, kernel, [operands[i] for i in places]


def _hmlstm_kernels():
    kernel = kernel_of(hmlstm_cell, *(float,) * 4, int, int)
    partials, pullback = kernel.partials((0, 1, 2, 3)), kernel.pullback((0, 1, 2, 3), (0,))
    return {
        "hmlstm": lower(kernel.graph, HMLSTM_TYPES),
        "hmlstm_partials": lower(partials.graph, HMLSTM_TYPES),
        "hmlstm_pullback": lower(pullback.graph, [*HMLSTM_TYPES, F4]),
    }


def _half(x):
    return x * 3 + 0.5


@pytest.fixture(scope="module")
def library():
    functions = {}
    for name, case in FUNCTIONS.items():
        kernel = kernel_of(case.function, *case.kinds)
        functions[name] = lower(kernel.graph, case.dtypes)
        wrt = [i for i, kind in enumerate(case.kinds) if kind is float]
        functions[f"{name}_partials"] = lower(kernel.partials(wrt).graph, case.dtypes)
    for seed in SEEDS:
        with suppress(KernelError):  # its own test says so
            _, kernel, operands = _program(seed)
            functions[f"random{seed}"] = lower(kernel.graph, [x.dtype for x in operands])
    functions["half"] = lower(kernel_of(_half, float).graph, [np.dtype("float16")])
    return Library({**instruction_kernels(), **_hmlstm_kernels(), **functions})


@needs_compiler
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_pythons(name, library):
    case = FUNCTIONS[name]
    operands = [some(d, seed=i) for i, d in enumerate(case.dtypes)]
    operands = [abs(x) / 2.5 for x in operands] if name == "kepler" else operands
    operands = [x + 1 for x in operands] if name == "collatz" else operands
    for want, got in zip(elementwise(case.function, operands), library(name, operands), strict=True):
        np.testing.assert_allclose(got, np.array(want, got.dtype), rtol=1e-12)


@needs_compiler
@pytest.mark.parametrize("name", FUNCTIONS)
def test_their_partials_are_the_references(name, library):
    case = FUNCTIONS[name]
    operands = [some(d, seed=i) for i, d in enumerate(case.dtypes)]
    operands = [abs(x) / 2.5 for x in operands] if name == "kepler" else operands
    operands = [x + 1 for x in operands] if name == "collatz" else operands
    lowered = library.lowered[f"{name}_partials"]
    wanted = interpret(lowered, operands, len(operands[0]))
    for want, got in zip(wanted, library(f"{name}_partials", operands), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-11)


@needs_compiler
@pytest.mark.parametrize("name", ["hmlstm", "hmlstm_partials", "hmlstm_pullback"])
def test_an_hmlstm_cell_in_single_precision(name, library):
    lowered = library.lowered[name]
    operands = [*hmlstm(), some(F4, 64, seed=9)][: len(lowered.graph.params)]
    wanted = interpret(lowered, operands, 64)
    for want, got in zip(wanted, library(name, operands), strict=True):
        assert got.dtype == F4
        np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-7)


@needs_compiler
@pytest.mark.parametrize("seed", SEEDS)
def test_random_programs(seed, library):
    program, _, operands = _program(seed)
    wanted = elementwise(program.function, program.operands(30, seed))
    for want, got in zip(wanted, library(f"random{seed}", operands), strict=True):
        np.testing.assert_allclose(got, np.array(want, float), rtol=1e-9, atol=1e-12, err_msg=program.source)


@needs_compiler
def test_half_precision_is_computed_in_single(library):
    x = np.array([0.1, 1.5, -3.0, 20000.0, np.inf], np.float16)
    (got,) = library("half", [x])
    assert got.dtype == np.float16
    np.testing.assert_array_equal(got, (x.astype(F4) * 3 + F4.type(0.5)).astype(np.float16))
