"""What is measured: each workload is a program, its derivative by hand, and the data for both."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from . import by_hand, programs

WIDTHS = (64, 128, 256, 512, 1024, 2048)


@dataclass(frozen=True)
class Workload:
    name: str
    program: Callable[..., Any]
    by_hand: Callable[..., Any]  # the gradients in `argnums`, a tuple of them if that is a tuple
    make_args: Callable[[], tuple[Any, ...]]
    argnums: int | tuple[int, ...] = 0
    static_argnums: tuple[int, ...] = ()  # what JAX must have as constants

    def gradients(self, result: Any) -> tuple[Any, ...]:
        """`result`, the gradients as this workload's `by_hand` gives them, as a tuple in any case."""
        return tuple(result) if isinstance(self.argnums, tuple) else (result,)


def all_workloads(widths: Iterable[int] = WIDTHS) -> list[Workload]:
    return [
        scalar("SINCOS", "sincos", 0.7),
        scalar("LOOP", "power", 1.001, 500, static_argnums=(1,)),
        scalar("sin in a loop", "sin_loop", 0.7, 500, static_argnums=(1,)),
        scalar("while x < 10000", "count_up", 0.5),
        logsumexp(100),
        logsumexp(10_000),
        Workload("logistic regression", *pair("logistic_regression"), logistic_data, (0, 1)),
        network("MNIST MLP, batch 1", [784, 32, 10], batch=1, dtype=np.float64),
        network("MNIST MLP, batch 64", [784, 32, 10], batch=64, dtype=np.float32),
        *(network(f"MLP, width {width}", [width, width, 10], batch=16, dtype=np.float32) for width in widths),
    ]


def pair(name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    return getattr(programs, name), getattr(by_hand, name)


def scalar(name: str, function: str, *args: float, static_argnums: tuple[int, ...] = ()) -> Workload:
    return Workload(name, *pair(function), lambda: args, static_argnums=static_argnums)


def logsumexp(n: int) -> Workload:
    return Workload(f"LogSumExp, n = {n}", *pair("logsumexp"), lambda: (rng().normal(size=n),))


def logistic_data() -> tuple[np.ndarray, ...]:
    random = rng()
    return 0.05 * random.normal(size=(10, 784)), np.zeros(10), random.normal(size=784), np.eye(10)[3]


def network(name: str, sizes: list[int], batch: int, dtype: Any) -> Workload:
    return Workload(name, *pair("mlp"), partial(network_data, sizes, batch, dtype), (0, 1, 2, 3))


def network_data(sizes: list[int], batch: int, dtype: Any) -> tuple[np.ndarray, ...]:
    random = rng()
    m, width, k = sizes
    W1 = random.normal(size=(m, width)) / np.sqrt(m)
    W2 = random.normal(size=(width, k)) / np.sqrt(width)
    x = random.normal(size=(batch, m))
    y = np.eye(k)[random.integers(0, k, batch)]
    return tuple(a.astype(dtype) for a in (W1, np.zeros(width), W2, np.zeros(k), x, y))


def rng() -> np.random.Generator:
    return np.random.default_rng(0)
