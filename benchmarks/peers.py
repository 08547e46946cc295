"""The columns: how each tool makes the gradient of a workload, as its user would, ready to be called.

A peer runs the very code object of the program, with its own `np` and `math` put in place of NumPy's.
"""

import types
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from .workloads import Workload


@dataclass(frozen=True)
class Prepared:
    """`call(*args)` is timed; `gradients` makes a tuple of its result (None: no gradient)."""

    call: Callable[..., Any]
    args: tuple[Any, ...]
    gradients: Callable[[Any], tuple[Any, ...]] | None


def primal(workload: Workload) -> Prepared:
    return Prepared(workload.program, workload.make_args(), None)


def hand(workload: Workload) -> Prepared:
    return Prepared(workload.by_hand, workload.make_args(), workload.gradients)


def ours(workload: Workload) -> Prepared:
    from ctxdispatch import grad

    gradient = grad(workload.program, argnums=workload.argnums)
    return Prepared(gradient, workload.make_args(), workload.gradients)


def autograd(workload: Workload) -> Prepared:
    import autograd
    import autograd.numpy as anp

    gradient = autograd.grad(with_modules(workload.program, anp), argnum=workload.argnums)
    return Prepared(gradient, workload.make_args(), workload.gradients)


def torch(workload: Workload) -> Prepared:
    import torch

    program = with_modules(workload.program, torch_as_numpy())
    positions = workload.argnums if isinstance(workload.argnums, tuple) else (workload.argnums,)
    args = as_torch(workload.make_args())
    inputs = [args[i].requires_grad_() for i in positions]
    return Prepared(lambda *args: torch.autograd.grad(program(*args), inputs), args, tuple)


def jax(workload: Workload) -> Prepared:
    import jax

    jax.config.update("jax_enable_x64", True)
    gradient = jax.jit(
        jax.grad(with_modules(workload.program, jax.numpy), argnums=workload.argnums),
        static_argnums=workload.static_argnums,
    )
    args = as_jax(workload.make_args())
    return Prepared(lambda *args: jax.block_until_ready(gradient(*args)), args, workload.gradients)


COLUMNS = {"primal": primal, "hand": hand, "ours": ours, "autograd": autograd, "torch": torch, "jax": jax}


def with_modules(program: Callable[..., Any], module: Any) -> Callable[..., Any]:
    """The same program with `module` for both `np` and `math`, in the functions too that it captured."""
    captured = [cell.cell_contents for cell in program.__closure__ or ()]
    cells = [with_modules(c, module) if isinstance(c, types.FunctionType) else c for c in captured]
    namespace = {**program.__globals__, "np": module, "math": module}
    return types.FunctionType(program.__code__, namespace, closure=tuple(map(types.CellType, cells)))


def torch_as_numpy() -> Any:
    import torch

    names = "sin cos exp log tanh sum mean"
    return types.SimpleNamespace(**{name: getattr(torch, name) for name in names.split()})


def as_torch(args: tuple[Any, ...]) -> tuple[Any, ...]:
    import torch

    return tuple(a if isinstance(a, int) else torch.tensor(a, dtype=torch_dtype(a)) for a in args)


def as_jax(args: tuple[Any, ...]) -> tuple[Any, ...]:
    import jax

    return tuple(jax.numpy.asarray(a) if isinstance(a, np.ndarray) else a for a in args)


def torch_dtype(value: Any) -> Any:
    import torch

    return torch.float32 if getattr(value, "dtype", None) == np.float32 else torch.float64


def prepare(column: str, workload: Workload) -> Prepared | str:
    return checked(column, partial(COLUMNS[column], workload), partial(reference, workload))


def reference(workload: Workload) -> tuple[Any, ...]:
    return workload.gradients(workload.by_hand(*workload.make_args()))


def checked(
    column: str, make: Callable[[], Prepared | None], expected: Callable[[], tuple[Any, ...]]
) -> Prepared | str:
    """The column's derivative, called once and checked against the one by hand; or why there is none: "-"
    where `make` gives None, for the workload has no such column."""
    try:
        prepared = make()
    except ImportError as error:
        return f"refused: {error}" if column == "ours" else "not installed"
    if prepared is None:
        return "-"
    try:
        result = prepared.call(*prepared.args)
    except Exception as error:
        return f"refused: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
    if prepared.gradients and not agree(prepared.gradients(result), expected()):
        return "wrong"
    return prepared


def agree(gradients: tuple[Any, ...], expected: tuple[Any, ...]) -> bool:
    return len(gradients) == len(expected) and all(map(close, gradients, expected))


def close(a: Any, b: Any) -> bool:
    """Equal in shape, dtype and, to rounding relative to the largest entry, in value."""
    a, b = np.asarray(a), np.asarray(b)
    tolerance = 1e-4 if b.dtype == np.float32 else 1e-10
    return a.shape == b.shape and a.dtype == b.dtype and np.abs(a - b).max() <= tolerance * np.abs(b).max()
