"""As much of CuPy as kernels use, with the host's memory and the host's compiler: arrays are NumPy's."""

from __future__ import annotations

import ctypes
import re
from types import ModuleType, SimpleNamespace

import numpy as np
from cuda_host import SHIM, compiled

C_NAMES = {
    "bool": "bool", "int8": "signed char", "int16": "short", "int32": "int", "int64": "long long",
    "uint8": "unsigned char", "uint16": "unsigned short", "uint32": "unsigned int",
    "uint64": "unsigned long long", "float16": "_Float16", "float32": "float", "float64": "double",
}  # fmt: skip


class ndarray(np.ndarray):
    @property
    def __cuda_array_interface__(self):
        return {**self.__array_interface__, "version": 3}

    @property
    def data(self):
        return SimpleNamespace(ptr=self.ctypes.data)

    def __getitem__(self, index):
        return np.asarray(super().__getitem__(index)).view(ndarray)


def asarray(x):
    if isinstance(x, ndarray):
        return x
    if hasattr(x, "__cuda_array_interface__"):
        holder = SimpleNamespace(__array_interface__=x.__cuda_array_interface__, kept=x)
        return np.asarray(holder).view(ndarray)
    return np.array(x).view(ndarray)


class ElementwiseKernel:
    """Checks what CuPy checks, then runs the operation in a loop."""

    made = 0

    def __init__(self, in_params, out_params, operation, name, reduce_dims=True, preamble="", options=()):
        assert re.fullmatch(r"[a-zA-Z_]\w*", name, re.ASCII)
        ElementwiseKernel.made += 1
        self.name, self.options = name, options
        self.inputs, self.outputs = _parameters(in_params), _parameters(out_params)
        assert not {"i", "n"} & {n for _, n in self.inputs + self.outputs}
        params = [f"const {C_NAMES[t]} *_raw_{n}" for t, n in self.inputs]
        params += [f"{C_NAMES[t]} *_raw_{n}" for t, n in self.outputs]
        names = [f"const {C_NAMES[t]} &{n} = _raw_{n}[i];" for t, n in self.inputs]
        names += [f"{C_NAMES[t]} &{n} = _raw_{n}[i];" for t, n in self.outputs]
        self.text = "\n".join(
            [f'#include "{SHIM}"', "#include <cstddef>", preamble,
             f'extern "C" void {name}({", ".join(params)}, ptrdiff_t size) {{',
             f"for (ptrdiff_t i = 0; i < size; ++i) {{ {' '.join(names)} {operation}; }}", "}"]
        )  # fmt: skip
        self.library = compiled(self.text)

    def __call__(self, *args):
        assert len(args) == len(self.inputs) + len(self.outputs)
        for x, (type_, _) in zip(args, self.inputs + self.outputs):
            assert isinstance(x, (ndarray, np.generic, bool, int, float)) and x.dtype == type_
        outputs = args[len(self.inputs) :]
        shape = np.broadcast_shapes(*(np.shape(x) for x in args))
        assert all(y.shape == shape for y in outputs)
        given = [np.array(np.broadcast_to(x, shape), order="C") for x in args]
        pointers = [ctypes.c_void_p(x.ctypes.data) for x in given]
        getattr(self.library, self.name)(*pointers, ctypes.c_ssize_t(given[0].size))
        for y, found in zip(outputs, given[len(self.inputs) :]):
            y[...] = found


def _parameters(text):
    return [tuple(part.split()) for part in text.split(", ")]


def module(available=True):
    found = ModuleType("cupy")
    found.ndarray, found.asarray, found.ElementwiseKernel = ndarray, asarray, ElementwiseKernel
    found.empty = lambda shape, dtype: np.empty(shape, dtype).view(ndarray)
    found.may_share_memory = np.may_share_memory
    found.cuda = SimpleNamespace(is_available=lambda: available)
    return found
