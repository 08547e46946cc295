"""The columns that are ours: of numbers as a kernel, of arrays one operation at a time."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

import ctxdispatch

from ..peers import Prepared
from . import by_hand, programs
from .peers import flat

if TYPE_CHECKING:
    from .workloads import Broadcast


def partials(workload: Broadcast) -> Prepared:
    context = ctxdispatch.BroadcastContext(wrt=tuple(range(workload.wrt)))
    return Prepared(partial(ctxdispatch.overdub, context, workload.kernel), workload.args(), flat)


def kept(workload: Broadcast) -> Prepared:
    """The last argument is the cotangent."""

    def value_and_vjp(*args: Any) -> Any:
        *args, seed = args
        y, pull = ctxdispatch.vjp(workload.kernel, *args)
        return y, pull(seed)[: workload.wrt]

    return Prepared(value_and_vjp, workload.args(), flat)


def pullback(workload: Broadcast) -> Prepared:
    *args, seed = workload.args()
    y, pull = ctxdispatch.vjp(workload.kernel, *args)
    return Prepared(pull, (seed,), lambda cotangents: (y, *cotangents[: workload.wrt]))


def value_and_grad(workload: Broadcast) -> Prepared:
    made = ctxdispatch.value_and_grad(workload.kernel, argnums=tuple(range(workload.wrt)))
    return Prepared(made, workload.args(), flat)


def reverse(workload: Broadcast) -> Prepared:
    """Of the program of arrays, one operation at a time."""
    return of_arrays(workload, ctxdispatch.ADContext(fuse=False))


def fused(workload: Broadcast) -> Prepared:
    return of_arrays(workload, ctxdispatch.ADContext())


def of_arrays(workload: Broadcast, context: ctxdispatch.ADContext) -> Prepared:
    """The cotangent is there beforehand."""
    seed = seed_of(workload)

    def value_and_vjp(*args: Any) -> Any:
        y, pull = ctxdispatch.overdub(context, workload.arrays, *args)
        return y, pull(seed)[: workload.wrt]

    args = workload.args()
    return Prepared(value_and_vjp, args[: len(args) - workload.seed], flat)


def seed_of(workload: Broadcast) -> Any:
    """The cotangent of the result: the last argument, or ones."""
    args = workload.args()
    return args[-1] if workload.seed else np.ones_like(workload.arrays(*args))


# -- the parts of the loss -----------------------------------------------------------------------------------


def kernels(workload: Broadcast) -> Prepared:
    """The cell update of the loss, and its vjp, with no product of matrices."""
    c, f, i, g, _, z1, z2 = workload.args()

    def value_and_vjp(*args: Any) -> Any:
        y, pull = ctxdispatch.vjp(cell_update, *args)
        return y, pull(y)

    return Prepared(value_and_vjp, (c, f, i, g, z1, z2), None)


def cell_update(c, f, i, g, z1, z2):
    return ctxdispatch.broadcast(programs.update, c, f, i, g, z1, z2)


def parts(workload: Broadcast) -> Prepared:
    """The same, and the products that the loss takes, by hand: what it should cost."""
    cell = kernels(workload)
    W = workload.args()[4]

    def both(*args: Any) -> Any:
        y, _ = cell.call(*args)
        return by_hand.products(y, W)

    return Prepared(both, cell.args, None)
