"""Which back end runs a kernel, and on what.

reference one NumPy operation at a time: `interpreter.py`
compiled  LLVM's machine code, on threads where that pays: `llvm_backend.py`
cuda      where operands are CuPy's: `cuda_backend.py`
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ctxdispatch_contexts.broadcast.dtypes import BOOL, DType, storage
from ctxdispatch_contexts.broadcast.errors import KernelError, ShapeError
from ctxdispatch_contexts.broadcast.forks import making
from ctxdispatch_contexts.broadcast.interpreter import interpret
from ctxdispatch_contexts.broadcast.lowering import Lowered, check_one_class, lower
from ctxdispatch_contexts.programs.sizes import has_compiler

if TYPE_CHECKING:
    from ctxdispatch_contexts.broadcast.kernel import Kernel


def run(kernel: Kernel, operands: Sequence[Any], out: Sequence[Any] | None) -> Sequence[Any]:
    """The outputs of `kernel`: new arrays, or those of `out` with the results stored in them."""
    if any(hasattr(x, "__cuda_array_interface__") for x in operands):
        from ctxdispatch_contexts.broadcast.cuda_backend import run as run_cuda

        return run_cuda(kernel, operands, out)
    types = types_of(kernel, operands)
    arrays = [x if isinstance(x, np.ndarray) else np.asarray(x, storage(t)) for x, t in zip(operands, types)]
    shape = broadcast_shape(kernel, arrays)
    if _is_compiled(kernel):
        from ctxdispatch_contexts.broadcast.llvm_backend import run as run_compiled

        return run_compiled(kernel, types, arrays, shape, out)
    return run_reference(kernel, types, arrays, shape, out)


def types_of(kernel: Kernel, operands: Sequence[Any]) -> tuple[DType, ...]:
    """Of the operands of one call, on every back end."""
    types = tuple([type_of(x) for x in operands])
    if int not in types:
        return types
    for param, type_, x in zip(kernel.graph.params, types, operands, strict=True):
        if type_ is int and not -(2**63) <= x < 2**63:
            raise KernelError(
                f"operand {param.name!r} is a whole number of more than 64 bits: {x}; pass it as a float"
            )
    return _where_they_fit(types, operands)


def _where_they_fit(types: tuple[DType, ...], operands: Sequence[Any]) -> tuple[DType, ...]:
    """A whole number of Python's takes the dtype of what it meets, if it fits into it."""
    short = [t for t in types if t is not int and t is not float and t.kind in "iu" and t.itemsize < 8]
    low = max((np.iinfo(t).min for t in short), default=0)
    high = min((np.iinfo(t).max for t in short), default=0)
    return tuple([
        np.dtype(np.int64) if t is int and short and not low <= x <= high else t
        for t, x in zip(types, operands, strict=True)
    ])  # fmt: skip


def type_of(x: Any) -> DType:
    """The dtype of an operand; int or float for a number of Python's."""
    if type(x) in (int, float):
        return type(x)
    if type(x) is bool:
        return BOOL
    dtype = getattr(x, "dtype", None)
    if dtype is None:
        raise KernelError(
            f"a kernel is given a {type(x).__name__}, and takes arrays and numbers; pass np.asarray(x)"
        )
    return dtype if dtype.isnative else dtype.newbyteorder("=")


def broadcast_shape(kernel: Kernel, arrays: Sequence[Any]) -> tuple[int, ...]:
    """The shape that operands have together; KernelError, with theirs, where they do not broadcast."""
    shapes = {a.shape for a in arrays}
    if len(shapes) == 1:
        return shapes.pop()
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        named = ", ".join(f"{p.name or 'an operand'} {a.shape}" for p, a in zip(kernel.graph.params, arrays))
        raise ShapeError(
            f"the operands of {kernel.name} do not broadcast: {named}; give shapes that do (x[:, None])"
        ) from None


def lowered_for(kernel: Kernel, types: tuple[DType, ...]) -> Lowered:
    """The program for operands of these types; made once."""
    found = kernel.compiled.get(types)
    if found is None:
        with making:
            held = types
            if kernel.options.python:
                held = tuple(map(as_python, types))
                check_one_class(kernel.graph, held)
            found = kernel.compiled.setdefault(types, lower(kernel.graph, held))
    return found


def as_python(type_: DType) -> DType:
    """The number of Python's that an element becomes where it is taken out of its array."""
    if type_ is int or type_ is float or type_.kind not in "fi":
        return type_
    return float if type_.kind == "f" else int


def _is_compiled(kernel: Kernel) -> bool:
    backend = kernel.options.backend
    if backend == "reference":
        return False
    if has_compiler():
        return True
    if backend == "compiled":
        raise KernelError("backend='compiled' needs the extra `jit`; pip install 'ctxdispatch[jit]'")
    _warn_once()
    return False


@cache
def _warn_once() -> None:
    warnings.warn(
        "Numba's compiler is not installed: broadcast runs on the reference back end, one NumPy operation "
        "at a time; pip install 'ctxdispatch[jit]'",
        RuntimeWarning,
        stacklevel=2,
    )


# -- the reference -------------------------------------------------------------------------------------------


def run_reference(
    kernel: Kernel, types: tuple[DType, ...], arrays: Sequence[Any], shape: tuple[int, ...],
    out: Sequence[Any] | None,
) -> Sequence[Any]:  # fmt: skip
    lowered = lowered_for(kernel, types)
    flat = [
        np.broadcast_to(a, shape).reshape(-1).astype(storage(t), copy=False) for a, t in zip(arrays, types)
    ]
    results = interpret(lowered, flat, math.prod(shape))
    shaped = [r.reshape(shape) for r in results]
    return store(kernel, shaped, out)


def store(kernel: Kernel, results: Sequence[Any], out: Sequence[Any] | None) -> Sequence[Any]:
    """`out` with the results in it; as NumPy has it, results of no dimension are numbers."""
    if out is None:
        return [r if r.ndim else r[()] for r in results]
    check_out(kernel, [r.shape for r in results], [r.dtype for r in results], out)
    for each, result in zip(out, results, strict=True):
        each[...] = result
    return out


def check_out(
    kernel: Kernel, shapes: Sequence[Any], dtypes: Sequence[Any], out: Sequence[Any], array: type = np.ndarray
) -> None:
    """KernelError where a result does not fit into its `out`, which must be an `array`."""
    if len(out) != len(dtypes):
        raise KernelError(
            f"{kernel.name} has {len(dtypes)} results, and out has {len(out)} arrays; give one per result"
        )
    for each, shape, dtype in zip(out, shapes, dtypes, strict=True):
        if not isinstance(each, array):
            raise KernelError(
                f"out must be a {_path(array)}, not a {_path(type(each))}; give one of that kind"
            )
        if each.shape != shape:
            raise KernelError(
                f"out has shape {each.shape}, the result of {kernel.name} {shape}; "
                "give an array of that shape"
            )
        if not np.can_cast(dtype, each.dtype, "same_kind"):
            raise KernelError(
                f"out has dtype {each.dtype}, the result of {kernel.name} {dtype}; "
                "give an array of that dtype"
            )


def _path(cls: type) -> str:
    return cls.__name__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__name__}"
