"""The CUDA C of kernels compiled by nvcc for sm_90: what they take of a processor.

With 32 registers and no spills a multiprocessor has as many threads as it can: 2048 (Revels et al. 2018,
section 4, count registers likewise).
"""

import re
import shutil
import subprocess

import pytest
from kernels import F4, FUNCTIONS, HMLSTM_TYPES, hmlstm_cell, instruction_kernels, kernel_of

from ctxdispatch_contexts.broadcast.cuda_backend import Parts
from ctxdispatch_contexts.broadcast.cuda_source import Source
from ctxdispatch_contexts.broadcast.cuda_table import C_TYPES
from ctxdispatch_contexts.broadcast.lowering import lower

NVCC = shutil.which("nvcc")

pytestmark = pytest.mark.skipif(NVCC is None, reason="there is no nvcc")

ARRAYS = """
#include <cstddef>

// What CuPy passes: a pointer, the size, the shape and the strides of each array of one dimension.
template <class T> struct Array {
    T *data;
    ptrdiff_t size, shape[1], strides[1];
    __device__ T &at(ptrdiff_t i) const {
        return *(T *)((char *)data + (int)strides[0] * (int)i);
    }
};

struct Indexer {
    ptrdiff_t size, shape[1], index[1];
};
"""


def cupys_kernel(lowered, name):
    """What an `ElementwiseKernel` makes of it for contiguous arrays with 32 bits of index."""
    parts = Parts.of(lowered, name)
    inputs, outputs = [text.split(", ") for text in parts[:2]]
    arrays = [(f"const {C_TYPES[p.split()[0]]}", p.split()[1]) for p in inputs]
    arrays += [(C_TYPES[p.split()[0]], p.split()[1]) for p in outputs]
    params = ", ".join(f"Array<{type_}> raw_{array}" for type_, array in arrays)
    names = " ".join(f"{type_} &{array} = raw_{array}.at(indexer.index[0]);" for type_, array in arrays)
    return f"""{ARRAYS}{parts.preamble}
extern "C" __global__ void {parts.name}({params}, Indexer indexer) {{
    #pragma unroll 1
    for (ptrdiff_t i = (ptrdiff_t)blockIdx.x * blockDim.x + threadIdx.x; i < indexer.size;
         i += (ptrdiff_t)blockDim.x * gridDim.x) {{
        indexer.index[0] = i;
        {names}
        {parts.operation}
    }}
}}
"""


def nvcc(source, folder, *flags):
    """What it says."""
    path = folder / "kernel.cu"
    path.write_text(source)
    command = [NVCC, "-arch=sm_90", "-cubin", *flags, str(path), "-o", str(folder / "kernel.cubin")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:4000]
    return done.stderr


CELL = kernel_of(hmlstm_cell, *(float,) * 4, int, int)

CELLS = {
    "value": (CELL, HMLSTM_TYPES),
    "partials": (CELL.partials((0, 1, 2, 3)), HMLSTM_TYPES),
    "pullback": (CELL.pullback((0, 1, 2, 3), (0,)), (*HMLSTM_TYPES, F4)),
}


@pytest.mark.parametrize("flags", [("--fmad=false",), ("--use_fast_math",)], ids=["exact", "fastmath"])
@pytest.mark.parametrize("name", CELLS)
def test_an_hmlstm_cell_with_its_partials_takes_32_registers_and_no_spills(name, flags, tmp_path):
    kernel, types = CELLS[name]
    said = nvcc(cupys_kernel(lower(kernel.graph, types), name), tmp_path, "-Xptxas", "-v", *flags)
    assert re.findall(r"(\d+) bytes spill", said) == ["0", "0"]
    assert int(re.search(r"Used (\d+) registers", said)[1]) <= 32


def test_all_that_kernels_are_made_of_is_cuda_c(tmp_path):
    """Loops, branches, every instruction."""
    source = Source()
    for name, case in FUNCTIONS.items():
        source.add(lower(kernel_of(case.function, *case.kinds).graph, case.dtypes), name)
    for name, lowered in instruction_kernels().items():
        if name.endswith(("bool", "float32", "int64", "mixed")):
            source.add(lowered, name)
    nvcc(source.text(), tmp_path, "-Werror", "all-warnings")
