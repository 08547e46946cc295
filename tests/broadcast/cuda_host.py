"""Device functions compiled for the host: one library for many, called on flat arrays.

    library = Library({"f": lowered, ...})
    library("f", arrays)                         the outputs
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pytest

from ctxdispatch_contexts.broadcast.cuda_source import Source
from ctxdispatch_contexts.broadcast.cuda_table import C_TYPES, c_type

COMPILER = shutil.which("g++")
SHIM = Path(__file__).with_name("cuda_shim.h")

needs_compiler = pytest.mark.skipif(COMPILER is None, reason="there is no g++")

FLAGS = ("-O1", "-std=c++17", "-ffp-contract=off", "-shared", "-fPIC", "-w")


class Library:
    def __init__(self, lowered) -> None:
        self.lowered = lowered
        source = Source()
        for name, each in lowered.items():
            source.add(each, name)
        loops = [_loop(name, each) for name, each in lowered.items()]
        self.text = "\n".join([f'#include "{SHIM}"', source.text(), *loops])
        self.compiled = compiled(self.text)

    def __call__(self, name, operands):
        """The outputs for arrays of one length, or numbers."""
        lowered = self.lowered[name]
        dtypes = [p.type for p in lowered.graph.params]
        n = max(map(np.size, operands))
        arrays = [np.array(np.broadcast_to(x, n), d) for x, d in zip(operands, dtypes, strict=True)]
        results = [np.empty(n, d) for d in lowered.results]
        pointers = [ctypes.c_void_p(a.ctypes.data) for a in (*arrays, *results)]
        getattr(self.compiled, f"{name}_loop")(ctypes.c_longlong(n), *pointers)
        return results


def compiled(text):
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder, "kernels.cpp"), Path(folder, "kernels.so")
        source.write_text(text)
        done = subprocess.run(
            [COMPILER, *FLAGS, str(source), "-o", str(library)], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr[:4000]
        return ctypes.CDLL(str(library))


STORED = {**C_TYPES, "float16": "_Float16"}


def _loop(name, lowered):
    """Calls the function for every element."""
    inputs = [STORED[p.type.name] for p in lowered.graph.params]
    outputs = [STORED[d.name] for d in lowered.results]
    params = [f"const {t} *x{i}" for i, t in enumerate(inputs)]
    params += [f"{t} *y{i}" for i, t in enumerate(outputs)]
    args = [f"x{i}[k]" for i in range(len(inputs))] + [f"r{i}" for i in range(len(outputs))]
    declared = " ".join(f"{c_type(d)} r{i};" for i, d in enumerate(lowered.results))
    stored = " ".join(f"y{i}[k] = r{i};" for i in range(len(outputs)))
    return (
        f'extern "C" void {name}_loop(long long n, {", ".join(params)}) {{\n'
        f"    for (long long k = 0; k < n; ++k) {{ {declared} {name}({', '.join(args)}); {stored} }}\n}}"
    )
