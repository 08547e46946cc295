"""Kernels on CuPy arrays: the program of a thread (`cuda_source.py`) inside a `cupy.ElementwiseKernel`, which
does the broadcasting, the strides and the launch, on CuPy's current device and stream.

CuPy is imported here, when the first array of a GPU comes. Results are CuPy arrays, of no dimension too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ctxdispatch_contexts.broadcast.backends import broadcast_shape, check_out, lowered_for, types_of
from ctxdispatch_contexts.broadcast.cuda_source import device_function
from ctxdispatch_contexts.broadcast.cuda_table import c_type
from ctxdispatch_contexts.broadcast.dtypes import DType, storage
from ctxdispatch_contexts.broadcast.errors import KernelError
from ctxdispatch_contexts.broadcast.lowering import Lowered

if TYPE_CHECKING:
    from ctxdispatch_contexts.broadcast.kernel import Kernel, Options


def run(kernel: Kernel, operands: Sequence[Any], out: Sequence[Any] | None) -> Sequence[Any]:
    """The outputs of `kernel` on CuPy arrays, and numbers: new CuPy arrays, or those of `out`."""
    cupy = cupy_module()
    given = [_on_device(kernel, i, x, cupy) for i, x in enumerate(operands)]
    types = types_of(kernel, given)
    given = [x if isinstance(x, cupy.ndarray) else storage(t).type(x) for x, t in zip(given, types)]
    shape = broadcast_shape(kernel, given)
    lowered = lowered_for(kernel, types)
    if out is not None:
        check_out(kernel, [shape] * len(lowered.results), lowered.results, out, cupy.ndarray)
    results = [
        each if out is not None and _takes(each, dtype, given, cupy) else cupy.empty(shape, dtype)
        for each, dtype in zip(out or lowered.results, lowered.results, strict=True)
    ]
    elementwise(kernel, types, cupy)(*given, *results)
    return results if out is None else _stored(out, results)


def _takes(out: Any, dtype: np.dtype[Any], operands: Sequence[Any], cupy: Any) -> bool:
    """Whether results can be written there while operands are read: none of these is seen to change."""
    return out.dtype == dtype and not any(
        isinstance(x, cupy.ndarray) and cupy.may_share_memory(x, out) and not _same(x, out) for x in operands
    )


def _same(a: Any, b: Any) -> bool:
    """Element by element: then a thread has read what it overwrites."""
    return (a.data.ptr, a.dtype, a.shape, a.strides) == (b.data.ptr, b.dtype, b.shape, b.strides)


def _stored(out: Sequence[Any], results: Sequence[Any]) -> Sequence[Any]:
    for each, result in zip(out, results, strict=True):
        if each is not result:
            each[...] = result
    return out


# -- operands ------------------------------------------------------------------------------------------------


@cache
def cupy_module() -> Any:
    """CuPy; KernelError where it is missing, or has no device."""
    try:
        import cupy
    except ImportError as error:
        raise KernelError(f"arrays of a GPU need CuPy ({error}); pip install 'ctxdispatch[cuda]'") from error
    if not cupy.cuda.is_available():
        raise KernelError("arrays of a GPU need one, and CuPy finds no CUDA device; check the driver")
    return cupy


def _on_device(kernel: Kernel, i: int, x: Any, cupy: Any) -> Any:
    """The operand as a CuPy array, without a copy, or as the number that it is."""
    if hasattr(x, "__cuda_array_interface__"):
        return cupy.asarray(x)
    if isinstance(x, (bool, int, float, np.generic)):
        return x
    name = kernel.graph.params[i].name or str(i)
    raise KernelError(
        f"operand {name!r} of {kernel.name} is a {type(x).__module__}.{type(x).__name__}, others are on the "
        "GPU; move it there first: cupy.asarray"
    )


# -- the kernel ----------------------------------------------------------------------------------------------


def elementwise(kernel: Kernel, types: tuple[DType, ...], cupy: Any) -> Any:
    """The `ElementwiseKernel` for operands of these types; made once. CuPy compiles it per device and
    layout."""
    key = ("cuda", types)
    found = kernel.compiled.get(key)
    if found is None:
        parts = Parts.of(lowered_for(kernel, types), kernel.name)
        made = cupy.ElementwiseKernel(*parts, options=_flags(kernel.options))
        found = kernel.compiled.setdefault(key, made)
    return found


def _flags(options: Options) -> tuple[str, ...]:
    """a * b + c is rounded twice, as on a CPU, unless with `fastmath`."""
    return ("--use_fast_math",) if options.fastmath else ("--fmad=false",)


FORGET = """
__device__ __forceinline__ void element_forget(ptrdiff_t &i) {
#ifdef __CUDACC__
    asm volatile("" : "+l"(i));
#endif
}"""
"""The index is what it was, but the compiler no longer knows by how much it grows from turn to turn of CuPy's
loop. Otherwise it keeps a pointer per operand and result, of two registers each, that it moves along: an
HM-LSTM cell with its partials took 44 registers, and takes 26."""


class Parts(NamedTuple):
    """The first arguments of an `ElementwiseKernel`, in its order."""

    in_params: str
    out_params: str
    operation: str
    name: str
    reduce_dims: bool
    preamble: str

    @classmethod
    def of(cls, lowered: Lowered, name: str) -> Parts:
        """Results go by way of variables: CuPy has a type of its own for float16, and another name for
        int64."""
        own = "broadcast_" + re.sub(r"\W", "_", name, flags=re.ASCII)
        inputs, outputs = [p.type for p in lowered.graph.params], lowered.results
        called = [f"x{i}" for i in range(len(inputs))] + [f"r{i}" for i in range(len(outputs))]
        operation = [f"{c_type(d)} r{i};" for i, d in enumerate(outputs)]
        operation += ["element_forget(i);", f"{own}_element({', '.join(called)});"]
        operation += [f"y{i} = r{i};" for i in range(len(outputs))]
        return cls(
            ", ".join(f"{d.name} x{i}" for i, d in enumerate(inputs)),
            ", ".join(f"{d.name} y{i}" for i, d in enumerate(outputs)),
            " ".join(operation), own, True, f"{FORGET}\n{device_function(lowered, f'{own}_element')}",
        )  # fmt: skip
