"""What another machine, or another installation, is refused: played on this one, whichever it is."""

import contextlib
import sys
from types import ModuleType, SimpleNamespace
from unittest import mock

import numpy as np

from ctxdispatch import broadcast
from ctxdispatch_contexts.broadcast import backends, cuda_backend, cuda_table, llvm_compile
from tests.refusals.refusal_table import refused

X = np.array([1.0, 2.0])


class OnDevice:
    """An array of a GPU, as far as a kernel sees before it runs there."""

    def __init__(self, array):
        self.array, self.dtype, self.shape = array, array.dtype, array.shape

    @property
    def __cuda_array_interface__(self):
        return {**self.array.__array_interface__, "version": 3}


def cupy(available=True):
    made = ModuleType("cupy")
    made.cuda = SimpleNamespace(is_available=lambda: available)
    made.asarray = lambda x: x
    made.empty = lambda shape, dtype: OnDevice(np.empty(shape, dtype))
    made.ndarray = OnDevice
    return made


@contextlib.contextmanager
def installed(module):
    """`import cupy` finds it; fails where it is None."""
    cuda_backend.cupy_module.cache_clear()
    with mock.patch.dict(sys.modules, {"cupy": module}):
        yield
    cuda_backend.cupy_module.cache_clear()


@refused("backend='compiled' needs the extra `jit`; pip install 'ctxdispatch[jit]'")
def no_compiler():
    with mock.patch.object(backends, "has_compiler", lambda: False):
        return broadcast(lambda x: x * 3.0, X, backend="compiled")  # here


@refused(
    "arrays of a GPU need CuPy (import of cupy halted; None in sys.modules); pip install 'ctxdispatch[cuda]'"
)
def no_cupy():
    with installed(None):
        return broadcast(lambda x: x * 3.0, OnDevice(X))  # here


@refused("arrays of a GPU need one, and CuPy finds no CUDA device; check the driver")
def no_device():
    with installed(cupy(available=False)):
        return broadcast(lambda x: x * 3.0, OnDevice(X))  # here


@refused(
    "operand 'a' of <lambda> is a numpy.ndarray, others are on the GPU; move it there first: cupy.asarray"
)
def one_operand_on_the_host():
    with installed(cupy()):
        return broadcast(lambda x, a: x * a, OnDevice(X), X)  # here


@refused("numpy.tan of (float64) cannot be part of a kernel that runs on a GPU; run it on arrays of NumPy")
def an_instruction_that_gpus_have_not():
    with installed(cupy()), mock.patch.dict(cuda_table.TABLE, {"tan": {}}):
        return broadcast(lambda x: np.tan(x), OnDevice(X))  # here


@refused(
    "the machine code of this kernel calls __truncsfhf2, which the process does not have: this processor "
    "lacks an instruction, such as conversions of float16; use other dtypes, or backend='reference'"
)
def an_instruction_that_this_processor_has_not():
    with mock.patch.object(llvm_compile, "undefined_symbols", lambda _: ["__truncsfhf2"]):
        return broadcast(lambda x: x * 3.0, X, backend="compiled")  # here
