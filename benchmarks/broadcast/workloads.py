"""The workloads: what is broadcast over what, its derivative by hand, and how long ours may take.

primal         the program of arrays, in NumPy
hand           value and partial derivatives by hand, in NumPy (by_hand.py)
in place       likewise with as few arrays and operations as may be
reverse        the program of arrays in our reverse mode, one NumPy operation at a time
fused          the same with chains of operations fused, as our reverse mode has it by default
torch          likewise, eager
jax            likewise under `jit`, with new memory for every result, as JAX has it
jax donated    the same, which stores its results where the ones before were
floor          the same bytes in and out, copied into memory that is there
forward        the value alone, by hand, in place
parts          of the loss: our kernels, and the products of matrices, without the rest
ours           the function of numbers, as one kernel
on a GPU       `cupy`, `seven kernels`, `ours on GPU` (gpu.py)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any

import numpy as np

from ..peers import Prepared, checked
from ..workloads import rng
from . import by_hand, gpu, ours, peers, programs

SIZES = (512, 1024, 2048, 4096)
ARITIES = range(1, 19)

NO_GPU: Mapping[str, None] = dict.fromkeys(gpu.COLUMNS)

Maker = Callable[["Broadcast"], Prepared | None]


@dataclass(frozen=True, eq=False)
class Broadcast:
    """`kernel` is of numbers, `arrays` the same of arrays. The first `wrt` arguments are differentiated;
    `seed`: the last argument is the cotangent, else ones are. `own`: columns made in another way than others'
    are, or (None) not there. `targets`: column -> how many times as long as that ours may take.
    `moved`: arrays that are read and written. `series`, `varies`, `at`: the plot, what it is over, and where
    in it this is."""

    name: str
    kernel: Callable[..., Any]
    arrays: Callable[..., Any]
    by_hand: Callable[..., Any]
    make_args: Callable[[], tuple[Any, ...]]
    wrt: int
    targets: Mapping[str, float] = field(default_factory=dict)
    own: Mapping[str, Maker | None] = field(default_factory=dict)
    seed: bool = False
    moved: tuple[int, int] | None = None
    series: str = ""
    varies: str = "n"
    at: int = 0

    def args(self) -> tuple[Any, ...]:
        return arguments(self)

    def prepare(self, column: str) -> Prepared | None:
        make = self.own[column] if column in self.own else MAKERS.get(column)
        return make and make(self)


def prepare(column: str, workload: Broadcast) -> Prepared | str:
    return checked(column, partial(workload.prepare, column), partial(expected, workload))


@lru_cache(maxsize=1)
def arguments(workload: Broadcast) -> tuple[Any, ...]:
    """All columns read the same memory; that of one workload is kept."""
    return workload.make_args()


@lru_cache(maxsize=1)
def expected(workload: Broadcast) -> tuple[Any, ...]:
    """By hand in float64, in the dtype of the arguments."""
    args = arguments(workload)
    y, partials = workload.by_hand(*[a.astype(np.float64) for a in args])
    return tuple([np.asarray(a, args[0].dtype) for a in (y, *partials)])


def primal(workload: Broadcast) -> Prepared:
    args = workload.args()
    return Prepared(workload.arrays, args[: len(args) - workload.seed], None)


def hand(workload: Broadcast) -> Prepared:
    return Prepared(workload.by_hand, workload.args(), peers.flat)


MAKERS: dict[str, Maker] = {
    "primal": primal, "hand": hand, "reverse": ours.reverse, "fused": ours.fused,
    "torch": peers.torch, "jax": peers.jax, "jax donated": peers.jax_donated, "floor": peers.floor,
    "ours": ours.partials, "cupy": gpu.by_hand, "ours on GPU": gpu.ours,
}  # fmt: skip

AGAINST = ("hand", "in place", "fused", "floor", "parts")
"""Columns that ours is shown as a multiple of."""


def all_workloads(sizes: Iterable[int] | None = None) -> list[Broadcast]:
    return [
        *(cell(n, kind) for kind in ("random", "uniform") for n in sizes or SIZES),
        cell_kept(2048),
        cell_pullback(2048),
        cell_loss(1024),
        *(arity(n) for n in ARITIES),
        kepler(1 << 20),
    ]


# -- the cell update of an HM-LSTM ---------------------------------------------------------------------------


def cell(n: int, kind: str) -> Broadcast:
    targets = {"hand": 0.25, "jax": 0.25, "jax donated": 0.5, "floor": 1.3} if n == 2048 else {}
    return Broadcast(
        f"HM-LSTM, {kind} flags, n = {n}", programs.update, programs.update_of_arrays, by_hand.update,
        partial(cell_data, n, kind), 4, targets,
        own={"in place": in_place, "seven kernels": gpu.seven_kernels},
        series=f"HM-LSTM, {kind} flags", at=n,
    )  # fmt: skip


def cell_data(n: int, kind: str) -> tuple[np.ndarray, ...]:
    """c, f, i, g (n, n); z1, z2 (n,): zeros and ones, in runs of 32 where they are uniform over warps."""
    random = rng()
    matrices = random.normal(size=(4, n, n)).astype(np.float32)
    run = 32 if kind == "uniform" else 1
    flags = np.repeat(random.integers(0, 2, (2, -(-n // run))), run, axis=1)[:, :n]
    return (*matrices, *flags.astype(np.float32))


def seeded_data(n: int) -> tuple[np.ndarray, ...]:
    return *cell_data(n, "random"), np.random.default_rng(1).normal(size=(n, n)).astype(np.float32)


def cell_kept(n: int) -> Broadcast:
    """Value, and cotangents by partial derivatives that were stored along with it."""
    return Broadcast(
        f"HM-LSTM, value and vjp, n = {n}", programs.update_kept, programs.update_of_arrays,
        by_hand.update_pulled, partial(seeded_data, n), 4, {"primal": 0.5},
        own={"ours": ours.kept, "forward": forward, **NO_GPU}, seed=True, moved=(9, 9),
    )  # fmt: skip


def cell_pullback(n: int) -> Broadcast:
    """The cotangents alone, of a value with its partial derivatives that are there."""
    elsewhere = dict.fromkeys(("hand", "reverse", "fused", "torch", "jax", "jax donated"))
    return Broadcast(
        f"HM-LSTM, vjp alone, n = {n}", programs.update_kept, programs.update_of_arrays,
        by_hand.update_pulled, partial(seeded_data, n), 4, {"primal": 0.5, "forward": 0.5},
        own={**elsewhere, "ours": ours.pullback, "forward": forward, **NO_GPU}, seed=True, moved=(5, 4),
    )  # fmt: skip


def in_place(workload: Broadcast) -> Prepared:
    return Prepared(by_hand.update_in_place, workload.args(), peers.flat)


def forward(workload: Broadcast) -> Prepared:
    """The value by hand, in place."""
    return Prepared(by_hand.update_value, workload.args()[:6], None)


def cell_loss(n: int) -> Broadcast:
    return Broadcast(
        f"HM-LSTM in a loss, n = {n}", programs.loss, programs.loss_of_arrays, by_hand.loss,
        partial(loss_data, n), 5,
        own={"ours": ours.value_and_grad, "parts": ours.parts, "floor": None, **NO_GPU},
    )  # fmt: skip


def loss_data(n: int) -> tuple[np.ndarray, ...]:
    *matrices, z1, z2 = cell_data(n, "random")
    W = np.random.default_rng(2).normal(size=(n, n)) / np.sqrt(n)
    return *matrices, W.astype(np.float32), z1, z2


# -- how the number of arguments tells, and a loop that ends where it ends -----------------------------------


def arity(n: int) -> Broadcast:
    targets = {"reverse": 0.2, "jax": 1.0, "jax donated": 1.0} if 2 <= n <= 8 else {"jax": 1.0}
    return Broadcast(
        f"product of tanh, N = {n}", programs.product(n), programs.product_of_arrays, by_hand.product,
        partial(arity_data, n), n, targets if n <= 8 else {}, series="product of tanh", varies="N",
        at=n,
    )  # fmt: skip


def arity_data(n: int, rows: int = 1024, columns: int = 1024) -> tuple[np.ndarray, ...]:
    return tuple(rng().random((n, rows, columns), np.float32))


def kepler(n: int) -> Broadcast:
    return Broadcast(
        f"Kepler's equation, {n} elements", programs.kepler, programs.kepler_of_arrays, by_hand.kepler,
        partial(kepler_data, n), 2, {"jax": 0.2, "jax donated": 0.2},
        own={"jax": peers.jax_kepler, "jax donated": peers.jax_kepler_donated},
    )  # fmt: skip


def kepler_data(n: int) -> tuple[np.ndarray, ...]:
    """Mean anomalies, and eccentricities up to 0.9."""
    random = rng()
    return random.uniform(0.0, 2.0 * np.pi, n), random.uniform(0.0, 0.9, n)
