"""The columns of other tools, and the floor.

JAX on a CPU asks malloc for the memory of every result. Whether that gives new pages, which the system has to
clear, and which can take longer than all the rest, or pages that were just freed, depends on what the process
did before: the times of `jax` are of either kind, as those of NumPy are. `jax donated` gives each call the
results of the one before to store its own in (`donate_argnums`), as a loop in JAX would, and is always warm.
"""

from __future__ import annotations

import os
import types
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np

from ..peers import Prepared
from .programs import SMALL

if TYPE_CHECKING:
    from .workloads import Broadcast


def flat(result: Any) -> tuple[Any, ...]:
    """(y, partials) as one tuple."""
    y, partials = result
    return y, *partials


def with_names(program: Callable[..., Any], **names: Any) -> Callable[..., Any]:
    """The same function with those globals, also in functions of its module that it calls."""
    namespace = {**program.__globals__, **names}
    for name in set(program.__code__.co_names) - set(names):
        called = namespace.get(name)
        if isinstance(called, types.FunctionType) and called.__module__ == program.__module__:
            namespace[name] = with_names(called, **names)
    return types.FunctionType(program.__code__, namespace)


# -- torch ---------------------------------------------------------------------------------------------------


def torch_compiled(workload: Broadcast) -> Prepared:
    import torch as module

    return torch(workload, module.compile)


def torch(workload: Broadcast, transform: Callable[..., Any] = lambda program: program) -> Prepared:
    import torch

    program = transform(with_names(workload.arrays, np=torch, sigmoid=torch.sigmoid))
    args = [torch.from_numpy(a) for a in workload.args()]
    seed = args.pop() if workload.seed else None
    inputs = [a.requires_grad_() for a in args[: workload.wrt]]

    def value_and_vjp(*args: Any) -> Any:
        y = program(*args)
        return y, torch.autograd.grad(y, inputs, torch.ones_like(y) if seed is None else seed)

    return Prepared(value_and_vjp, tuple(args), lambda result: (result[0].detach(), *result[1]))


# -- JAX -----------------------------------------------------------------------------------------------------


def jax(workload: Broadcast) -> Prepared:
    return jitted(jax_vjp(workload), workload)


def jax_donated(workload: Broadcast) -> Prepared:
    return donated(jax_vjp(workload), workload)


def jax_kepler(workload: Broadcast) -> Prepared:
    return jitted(kepler_forward(), workload)


def jax_kepler_donated(workload: Broadcast) -> Prepared:
    return donated(kepler_forward(), workload)


def jax_vjp(workload: Broadcast) -> Callable[..., Any]:
    import jax

    program = with_names(workload.arrays, np=jax.numpy, sigmoid=jax.nn.sigmoid)

    def value_and_vjp(*args: Any) -> Any:
        *args, seed = args if workload.seed else (*args, None)
        inputs, rest = args[: workload.wrt], args[workload.wrt :]
        y, pull = jax.vjp(lambda *inputs: program(*inputs, *rest), *inputs)
        return y, pull(jax.numpy.ones_like(y) if seed is None else seed)

    return value_and_vjp


def kepler_forward() -> Callable[..., Any]:
    """Reverse mode refuses a `while_loop`: two tangents forward, an element at a time under `vmap`."""
    import jax

    jnp = jax.numpy

    def step(M: Any, e: Any, E: Any) -> Any:
        return (E - e * jnp.sin(E) - M) / (1.0 - e * jnp.cos(E))

    def solve(M: Any, e: Any) -> Any:
        def move(state: Any) -> Any:
            d = step(M, e, state[0])
            return state[0] - d, d

        E = jax.lax.while_loop(lambda state: jnp.abs(state[1]) >= SMALL, move, (M, jnp.ones_like(M)))[0]
        return E, E

    jacobian = jax.vmap(jax.jacfwd(solve, argnums=(0, 1), has_aux=True))

    def value_and_partials(M: Any, e: Any) -> Any:
        partials, E = jacobian(M, e)
        return E, partials

    return value_and_partials


def jitted(function: Callable[..., Any], workload: Broadcast) -> Prepared:
    import jax

    args = as_jax(workload)
    made = jax.jit(function)
    return Prepared(lambda *args: jax.block_until_ready(made(*args)), args, flat)


def donated(function: Callable[..., Any], workload: Broadcast) -> Prepared:
    import jax

    args = as_jax(workload)
    made = jax.jit(lambda before, *args: function(*args), donate_argnums=0, keep_unused=True)
    shapes = jax.eval_shape(function, *args)
    before = jax.tree.map(lambda a: jax.numpy.zeros(a.shape, a.dtype), shapes)

    def call(*args: Any) -> Any:
        nonlocal before
        before = jax.block_until_ready(made(before, *args))
        return before

    return Prepared(call, args, flat)


def as_jax(workload: Broadcast) -> tuple[Any, ...]:
    import jax

    jax.config.update("jax_enable_x64", True)
    return tuple([jax.numpy.asarray(a) for a in workload.args()])


# -- the floor -----------------------------------------------------------------------------------------------


def floor(workload: Broadcast) -> Prepared:
    """As many arrays of the largest size read, and written, as one pass over the elements must: copied one by
    one into memory that is there, or filled where more are written than read. On as many threads."""
    args = workload.args()
    whole = [a for a in args if a.size == max(a.size for a in args)]
    reads, writes = workload.moved or (len(whole), len(whole) + 1)
    given = [a for a, _ in zip(cycle(whole), range(reads))]
    stored = [np.ones_like(whole[0]) for _ in range(writes)]
    threads = int(os.environ.get("CTXDISPATCH_NUM_THREADS") or os.cpu_count() or 1)
    jobs = [
        partial(move, [a[part] for a in given], [a[part] for a in stored])
        for part in slices(len(whole[0]), threads)
    ]
    return Prepared(
        jobs[0] if threads == 1 else partial(at_once, ThreadPoolExecutor(threads), jobs), (), None
    )


def slices(n: int, count: int) -> list[slice]:
    return [slice(n * k // count, n * (k + 1) // count) for k in range(count)]


def at_once(pool: ThreadPoolExecutor, jobs: list[Callable[[], None]]) -> None:
    for done in [pool.submit(job) for job in jobs]:
        done.result()


def move(given: list[Any], stored: list[Any]) -> None:
    for a, out in zip(given, stored):
        np.copyto(out, a)
    for out in stored[len(given) :]:
        out.fill(1)
    for a in given[len(stored) :]:
        a.max()
