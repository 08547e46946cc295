"""Kernels on arrays of a GPU, but for the GPU: CuPy is `fake_cupy.py`, which compiles for the host."""

import subprocess
import sys

import fake_cupy
import numpy as np
import pytest
from cuda_host import needs_compiler
from kernels import F4, HMLSTM_TYPES, hmlstm, hmlstm_cell, kernel_of, nested, reference

from ctxdispatch_contexts.broadcast import backends, cuda_backend
from ctxdispatch_contexts.broadcast.errors import KernelError
from ctxdispatch_contexts.broadcast.kernel import Options


@pytest.fixture
def cupy(monkeypatch):
    yield from _installed(monkeypatch, fake_cupy.module())


def _installed(monkeypatch, module):
    monkeypatch.setitem(sys.modules, "cupy", module)
    cuda_backend.cupy_module.cache_clear()
    yield module
    cuda_backend.cupy_module.cache_clear()


def scaled(x, a, n):
    return a * x + n, x > a


KERNEL = kernel_of(scaled, float, float, int)


# -- errors --------------------------------------------------------------------------------------------------


def test_nothing_of_cupys_is_imported_beforehand():
    code = (
        "import sys, ctxdispatch_contexts.broadcast.mode, ctxdispatch_contexts.broadcast.cuda_backend\n"
        "assert 'cupy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


class OnDevice:
    """An array of another library."""

    def __init__(self, array):
        self.__cuda_array_interface__ = {**array.__array_interface__, "version": 3}
        self.array = array


def test_without_cupy_the_error_says_what_to_install(monkeypatch):
    for _ in _installed(monkeypatch, None):  # which makes the import fail
        with pytest.raises(KernelError, match=r"need CuPy .*; pip install 'ctxdispatch\[cuda\]'"):
            KERNEL(OnDevice(np.ones(3)), 1.0, 2)


def test_without_a_device_the_error_says_so(monkeypatch):
    for _ in _installed(monkeypatch, fake_cupy.module(available=False)):
        with pytest.raises(KernelError, match="no CUDA device"):
            KERNEL(OnDevice(np.ones(3)), 1.0, 2)


def test_arrays_of_the_host_are_refused_by_name(cupy):
    with pytest.raises(KernelError, match=r"operand 'a' of scaled is a numpy.ndarray.*cupy.asarray"):
        KERNEL(cupy.asarray(np.ones(3)), np.ones(3), 2)


def test_shapes_that_do_not_broadcast_are_named(cupy):
    with pytest.raises(KernelError, match=r"x \(3,\), a \(4,\)"):
        KERNEL(cupy.asarray(np.ones(3)), cupy.asarray(np.ones(4)), 2)


@pytest.mark.parametrize(
    "out, message",
    [
        (lambda new: (new(3),), "scaled has 2 results, and out has 1 arrays"),
        (lambda new: (np.empty(3), new(3)), r"out must be a .*ndarray, not a numpy.ndarray"),
        (lambda new: (new(4), new(3)), r"out has shape \(4,\)"),
        (lambda new: (new(3, np.int64), new(3)), "out has dtype int64, the result of scaled float64"),
    ],
)
def test_out_must_fit(cupy, out, message):
    found = out(lambda n, dtype=np.float64: cupy.empty(n, dtype))
    with pytest.raises(KernelError, match=message):
        KERNEL.into(found, cupy.asarray(np.ones(3)), 1.0, 2)


# -- results -------------------------------------------------------------------------------------------------


def check(kernel, cupy, operands):
    """The kernel gives what the reference gives; every array was CuPy's."""
    given = [cupy.asarray(x) if isinstance(x, np.ndarray) else x for x in operands]
    found = backends.run(kernel, given, None)
    types = tuple(backends.type_of(x) for x in operands)
    arrays = [np.asarray(x, backends.storage(t)) for x, t in zip(operands, types)]
    shape = np.broadcast_shapes(*(x.shape for x in arrays))
    for want, got in zip(backends.run_reference(kernel, types, arrays, shape, None), found, strict=True):
        assert isinstance(got, cupy.ndarray)
        assert (got.dtype, got.shape) == (np.asarray(want).dtype, shape)
        np.testing.assert_allclose(got, want, rtol=2e-6, atol=2e-7)


OPERANDS = [
    (np.linspace(0, 1, 12, dtype="f4").reshape(3, 4), np.ones(4, "f4"), np.arange(3)[:, None]),
    (np.arange(24.0)[::2], 0.5, 3),
    (np.arange(24.0).reshape(4, 6).T, np.float32(0.5), np.int32(3)),
    (np.array(2.0, "f4"), 1.5, 1),
    (np.ones((0, 3)), np.ones(3), 1),
    (np.ones(3, "f2"), 2.0, 1),
]


@needs_compiler
@pytest.mark.parametrize("operands", OPERANDS, ids=lambda o: f"{o[0].shape}{o[0].dtype}")
def test_operands_broadcast(cupy, operands):
    check(KERNEL, cupy, operands)


@needs_compiler
def test_derivatives_run_where_the_kernel_does(cupy):
    kernel = kernel_of(hmlstm_cell, *(float,) * 4, int, int)
    check(kernel.partials((0, 1, 2, 3)), cupy, hmlstm())
    check(kernel.pullback((0, 1, 2, 3), (0,)), cupy, [*hmlstm(), np.ones(64, F4)])


@needs_compiler
def test_a_kernel_is_made_once_per_types(cupy):
    kernel = kernel_of(nested, float, int, bool)
    before = fake_cupy.ElementwiseKernel.made
    for n in (3, 5):
        kernel(cupy.asarray(np.ones(n, F4)), 2, True)
    assert fake_cupy.ElementwiseKernel.made == before + 1
    kernel(cupy.asarray(np.ones(n)), 2, True)
    assert fake_cupy.ElementwiseKernel.made == before + 2


@needs_compiler
def test_arrays_of_other_libraries_are_taken_where_they_are(cupy):
    x = np.linspace(0, 1, 5)
    found, _ = KERNEL(OnDevice(x), 2.0, 1)
    np.testing.assert_array_equal(found, 2 * x + 1)


@needs_compiler
def test_out_takes_the_results_in_its_own_dtype(cupy):
    x = np.linspace(0, 1, 6, dtype=F4)
    out = (cupy.empty(6, np.float64), cupy.empty((2, 6), bool)[0])
    assert KERNEL.into(out, cupy.asarray(x), 2.0, 1) is out
    np.testing.assert_array_equal(out[0], 2 * x + 1)
    np.testing.assert_array_equal(out[1], x > 2)


@needs_compiler
@pytest.mark.parametrize("shift", [0, 1])
def test_out_may_be_an_operand_or_overlap_one(cupy, shift):
    kernel = kernel_of(lambda x, y: x + 2 * y, float, float)
    memory = cupy.asarray(np.arange(8.0))
    x, out = memory[: 8 - shift], memory[shift:]
    want = np.array(3 * x)
    kernel.into(out, x, x)
    np.testing.assert_array_equal(out, want)


@needs_compiler
def test_fastmath_is_cudas(cupy):
    x = cupy.asarray(np.ones(2))
    for options, flags in [(Options(), "--fmad=false"), (Options(fastmath=True), "--use_fast_math")]:
        kernel = kernel_of(scaled, float, float, int, options=options)
        kernel(x, 1.0, 2)
        assert kernel.compiled[("cuda", (x.dtype, float, int))].options == (flags,)


def test_names_that_c_has_not(cupy):
    lowered = backends.lowered_for(kernel_of(lambda größe: größe + 1, float), (F4,))
    parts = cuda_backend.Parts.of(lowered, "<lambda>")
    assert parts.name == "broadcast__lambda_" and parts.preamble.isascii()


def test_what_cupy_is_given():
    kernel = kernel_of(hmlstm_cell, *(float,) * 4, int, int)
    parts = cuda_backend.Parts.of(backends.lowered_for(kernel, HMLSTM_TYPES), "cell")
    assert parts.in_params == "float32 x0, float32 x1, float32 x2, float32 x3, int32 x4, int32 x5"
    assert parts.out_params == "float32 y0"
    assert parts.operation == (
        "float r0; element_forget(i); broadcast_cell_element(x0, x1, x2, x3, x4, x5, r0); y0 = r0;"
    )
    assert reference(kernel, hmlstm())[0].dtype == F4
