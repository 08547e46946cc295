"""Kernels on a GPU: what the reference back end computes, to rounding."""

import numpy as np
import pytest
from kernels import F4, FUNCTIONS, hmlstm, hmlstm_cell, kernel_and_places, kernel_of, reference, some
from random_scalar_programs import seeded_program

from ctxdispatch_contexts.broadcast import backends

cupy = pytest.importorskip("cupy")

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not cupy.cuda.is_available(), reason="there is no CUDA device"),
]


def check(kernel, operands, rtol=1e-11):
    found = backends.run(kernel, [cupy.asarray(x) for x in operands], None)
    for want, got in zip(reference(kernel, operands), found, strict=True):
        assert isinstance(got, cupy.ndarray) and got.dtype == want.dtype
        np.testing.assert_allclose(got.get(), want, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_and_their_partials(name):
    case = FUNCTIONS[name]
    operands = [some(d, seed=i) for i, d in enumerate(case.dtypes)]
    operands = [abs(x) / 2.5 for x in operands] if name == "kepler" else operands
    operands = [x + 1 for x in operands] if name == "collatz" else operands
    kernel = kernel_of(case.function, *case.kinds)
    check(kernel, operands)
    check(kernel.partials([i for i, kind in enumerate(case.kinds) if kind is float]), operands, 1e-9)


def test_an_hmlstm_cell_in_single_precision():
    kernel = kernel_of(hmlstm_cell, *(float,) * 4, int, int)
    check(kernel, hmlstm(10_000), 2e-6)
    check(kernel.partials((0, 1, 2, 3)), hmlstm(10_000), 2e-6)
    check(kernel.pullback((0, 1, 2, 3), (0,)), [*hmlstm(10_000), some(F4, 10_000)], 2e-6)


@pytest.mark.parametrize("seed", range(10))
def test_random_programs(seed):
    program = seeded_program(seed)
    kernel, places = kernel_and_places(program.function, *program.kinds)
    operands = program.operands(100, seed)
    check(kernel, [operands[i] for i in places], 1e-9)


def scaled(x, a, n):
    return a * x + n, x > a


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i4"])
@pytest.mark.parametrize("shapes", [((3, 4), (4,), (3, 1)), ((), (), ()), ((5,), (), ()), ((0, 2), (2,), ())])
def test_operands_broadcast_and_keep_their_dtype(dtype, shapes):
    kernel = kernel_of(scaled, float, float, int)
    rng = np.random.default_rng(0)
    x, a, n = (np.asarray(rng.integers(0, 9, s).astype(d)) for s, d in zip(shapes, (dtype, dtype, "i1")))
    y, more = kernel(*map(cupy.asarray, (x, a, n)))
    assert (y.dtype, y.shape) == ((a * x + n).dtype, np.broadcast_shapes(*shapes))
    np.testing.assert_array_equal(y.get(), a * x + n)
    np.testing.assert_array_equal(more.get(), np.broadcast_to(x > a, y.shape))


def test_strides_numbers_and_out():
    kernel = kernel_of(scaled, float, float, int)
    x = cupy.arange(24, dtype=F4).reshape(4, 6)[::2, ::-1].T
    y, _ = kernel(x, 0.5, 3)
    assert y.dtype == F4
    np.testing.assert_array_equal(y.get(), 0.5 * x.get() + 3)
    out = cupy.empty((6, 2), np.float64), cupy.empty((2, 6), bool).T
    assert kernel.into(out, x, 0.5, 3) is out
    np.testing.assert_array_equal(out[0].get(), 0.5 * x.get() + 3)
    np.testing.assert_array_equal(out[1].get(), x.get() > 0.5)


def test_out_may_overlap_an_operand():
    kernel = kernel_of(lambda x, y: x + 2 * y, float, float)
    memory = cupy.arange(100_000, dtype=np.float64)
    want = 3 * memory[:-1].get()
    kernel.into(memory[1:], memory[:-1], memory[:-1])
    np.testing.assert_array_equal(memory[1:].get(), want)
