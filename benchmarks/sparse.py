"""The third table: sparse Jacobians and Hessians as SciPy arrays, and the patterns they have.

By hand means: the pattern is laid out beforehand, and every entry is written at its place in it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse

from . import programs
from .peers import Prepared, checked, with_modules
from .workloads import rng

Make = Callable[[Callable[..., Any], Any], Callable[..., Any]]


@dataclass(frozen=True)
class Sparse:
    """`ours` and `asdex` make of the program and its argument what gives the sparse array; `by_hand` makes it
    of the argument. `targets`: column -> how many times as long as that ours may take."""

    name: str
    program: Callable[..., Any]
    ours: Make
    by_hand: Callable[[Any], Callable[..., Any]] | None
    make_argument: Callable[[], Any]
    targets: Mapping[str, float]
    asdex: Make | None = None

    def prepare(self, column: str) -> Prepared | None:
        x = self.make_argument()
        if column == "primal":
            return Prepared(self.program, (x,), None)
        if column == "hand":
            return self.by_hand and Prepared(self.by_hand(x), (x,), entries)
        make = {"ours": self.ours, "asdex": self.asdex}[column]
        return make and Prepared(make(self.program, x), (x,), entries)

    def expected(self) -> tuple[Any, ...]:
        x = self.make_argument()
        return entries((self.by_hand or partial(self.ours, self.program))(x)(x))


def prepare(column: str, workload: Sparse) -> Prepared | str:
    return checked(column, partial(workload.prepare, column), workload.expected)


def entries(found: Any) -> tuple[Any, ...]:
    """Where the entries are, and what."""
    array = scipy.sparse.csr_array(found)
    array.sort_indices()
    return array.data.astype(float), array.indices.astype(int), array.indptr.astype(int)


def all_workloads() -> list[Sparse]:
    return [hessian(100), jacobian(71), pattern(96)]


# -- the Hessian of the Rosenbrock function, tridiagonal -----------------------------------------------------


def hessian(n: int) -> Sparse:
    return Sparse(
        f"sparse Hessian, Rosenbrock n = {n}", programs.rosenbrock, our_hessian, rosenbrock_by_hand,
        lambda: rng().normal(size=n), {"hand": 3.5},
    )  # fmt: skip


def our_hessian(f: Callable[..., Any], x: Any) -> Callable[..., Any]:
    from ctxdispatch import sparse_hessian

    return sparse_hessian(f, x)


def rosenbrock_by_hand(x: Any) -> Callable[..., Any]:
    n = len(x)
    i = np.arange(n)
    columns = np.stack([i - 1, i, i + 1], 1).ravel()[1:-1].astype(np.int32)
    starts = np.clip(3 * np.arange(n + 1) - 1, 0, 3 * n - 2).astype(np.int32)

    def hessian(x: Any) -> Any:
        left = x[:-1]
        data = np.empty(3 * n - 2)
        diagonal = data[::3]
        diagonal[:-1] = (1200.0 * left) * left - 400.0 * x[1:] + 2.0
        diagonal[-1] = 0.0
        diagonal[1:] += 200.0
        data[1::3] = data[2::3] = -400.0 * left
        return scipy.sparse.csr_array((data, columns, starts), shape=(n, n))

    return hessian


# -- the Brusselator on a grid of N x N points, two unknowns each --------------------------------------------

A, B, ALPHA = 3.4, 1.0, 0.1


def brusselator(N: int) -> Callable[..., Any]:
    n, scale = N * N, ALPHA * (N - 1) ** 2

    def around(w):
        return np.roll(w, 1, 0) + np.roll(w, -1, 0) + np.roll(w, 1, 1) + np.roll(w, -1, 1)

    def right_hand_side(y):
        u, v = y[:n].reshape(N, N), y[n:].reshape(N, N)
        reaction = u * u * v
        du = B + reaction - (A + 1.0) * u + scale * (around(u) - 4.0 * u)
        dv = A * u - reaction + scale * (around(v) - 4.0 * v)
        return np.concatenate((du.ravel(), dv.ravel()))

    return right_hand_side


def state(N: int) -> Any:
    return rng().random(2 * N * N)


def jacobian(N: int) -> Sparse:
    return Sparse(
        f"sparse Jacobian, Brusselator, {2 * N * N} unknowns", brusselator(N), our_jacobian,
        brusselator_by_hand, partial(state, N), {"hand": 2.0},
    )  # fmt: skip


def our_jacobian(f: Callable[..., Any], x: Any) -> Callable[..., Any]:
    from ctxdispatch import sparse_jacobian

    return sparse_jacobian(f, x)


def brusselator_by_hand(y: Any) -> Callable[..., Any]:
    """Six entries in every row: its own unknown, four neighbours, the other unknown of the point."""
    n = y.size // 2
    N = int(n**0.5)
    columns, order = _stencil(N)
    starts = np.arange(0, 12 * n + 1, 6, dtype=np.int32)
    scale = ALPHA * (N - 1) ** 2

    def jacobian(y: Any) -> Any:
        u, v = y[:n], y[n:]
        uv, uu = 2.0 * u * v, u * u
        data = np.empty((2 * n, 6))
        top, bottom = data[:n], data[n:]
        top[:, 0], top[:, 1:5], top[:, 5] = uv - (A + 1.0) - 4.0 * scale, scale, uu
        bottom[:, 0], bottom[:, 1:5], bottom[:, 5] = -uu - 4.0 * scale, scale, A - uv
        return scipy.sparse.csr_array((data.ravel()[order], columns, starts), shape=(2 * n, 2 * n))

    return jacobian


def _stencil(N: int) -> tuple[Any, Any]:
    """The columns of all rows, sorted within each; where in its row, as it is written, each entry stands."""
    n = N * N
    own = np.arange(n).reshape(N, N)
    near = [own, *(np.roll(own, shift, axis) for axis in (0, 1) for shift in (1, -1))]
    u = np.stack([*near, own + n], -1).reshape(n, 6)
    v = np.stack([*(w + n for w in near), own], -1).reshape(n, 6)
    columns = np.concatenate([u, v])
    order = np.argsort(columns, axis=1)
    flat = (order + 6 * np.arange(2 * n)[:, None]).ravel()
    return np.take_along_axis(columns, order, 1).ravel().astype(np.int32), flat


def pattern(N: int) -> Sparse:
    return Sparse(
        f"pattern, Brusselator, {2 * N * N} unknowns", brusselator(N), our_pattern, None, partial(state, N),
        {"asdex": 1 / 20}, asdex_pattern,
    )  # fmt: skip


def our_pattern(f: Callable[..., Any], x: Any) -> Callable[..., Any]:
    from ctxdispatch import jacobian_sparsity

    return lambda x: jacobian_sparsity(f, x).scipy()


def asdex_pattern(f: Callable[..., Any], x: Any) -> Callable[..., Any]:
    import asdex
    import jax

    program = with_modules(f, jax.numpy)

    def pattern(x: Any) -> Any:
        bcoo = asdex.jacobian_sparsity(program, x).to_bcoo()
        places = np.asarray(bcoo.indices).T
        return scipy.sparse.coo_array((np.ones(places.shape[1]), tuple(places)), shape=bcoo.shape)

    return pattern
