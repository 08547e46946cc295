"""Programs that store to their arrays, as simulations do: `python -m benchmarks --mutation`.

    lattice        a table whose every row is written 15 times (van Merriënboer et al. 2018, listing 8)
    Gauss-Seidel   one sweep over a grid, point by point, in place
    heat           steps of an explicit scheme over slices, the boundary set anew in every one
    filter         each number from the one before, in place

Gradients, but where the name says `tangent` (along one direction) or `hvp` (the Hessian times a vector).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from . import peers, second_order
from .second_order import HVP, TANGENT, SecondOrder, Tools
from .workloads import Workload, rng

WRITES = 15
"""Of a row of the lattice."""

__all__ = ["Storing", "all_workloads", "directed", "grids", "lattices", "prepare"]


@dataclass(frozen=True)
class Storing(Workload):
    """`targets`: column -> how many times as long as that ours may take."""

    targets: Mapping[str, float] = field(default_factory=dict)


def all_workloads() -> list[Storing | SecondOrder]:
    return [*lattices(2000, (300, 900)), *grids(200, 200, 100), *directed(300, 200, 100)]


def prepare(column: str, workload: Storing | SecondOrder) -> peers.Prepared | str:
    of = second_order if isinstance(workload, SecondOrder) else peers
    return of.prepare(column, workload)


def lattices(size: int, rows: tuple[int, ...]) -> list[Storing]:
    most = {"primal": 4.5}
    return [
        *(_lattice(f"lattice, {n} rows", lattice, lattice_by_hand, size, n, most) for n in rows),
        _lattice(f"lattice of sines, {rows[0]} rows", sines, sines_by_hand, size, rows[0], {}),
    ]


def grids(swept: int, plate: int, steps: int) -> list[Storing]:
    """On `swept` x `swept` and `plate` x `plate` points."""
    return [
        Storing(f"Gauss-Seidel, {swept} x {swept}", gauss_seidel, gauss_seidel_by_hand,
                partial(_fields, swept), (0, 1), targets={"primal": 4.0}),
        Storing(f"Gauss-Seidel of an argument, {swept} x {swept}", relaxed, relaxed_by_hand,
                partial(_fields, swept), (0, 1), targets={"primal": 4.0}),
        Storing(f"heat, {plate} x {plate}, {steps} steps", heat, heat_by_hand,
                partial(_warm, plate, steps), (0, 1), static_argnums=(2,)),
    ]  # fmt: skip


def directed(length: int, plate: int, steps: int) -> list[SecondOrder]:
    """Along one direction: of a filter of `length` numbers, of a plate of `plate` x `plate` points."""

    def row(name: str, program: Any, tools: Tools, by_hand: Any, args: Any) -> SecondOrder:
        most = {"primal": 5.0 if tools is TANGENT else 20.0}
        return SecondOrder(name, program, tools, by_hand, args, most, directed=True)

    signal = partial(_signal, length)
    return [
        row(f"filter, {length}, tangent", filtered, TANGENT, filtered_tangent, signal),
        row(f"heat, {plate} x {plate}, {steps} steps, tangent", heat, TANGENT, heat_tangent,
            partial(_warming, plate, steps)),
        row(f"filter, {length}, hvp", filtered, HVP, filtered_hvp, signal),
    ]  # fmt: skip


def _lattice(
    name: str, program: Any, by_hand: Any, size: int, rows: int, most: Mapping[str, float]
) -> Storing:
    return Storing(
        name, program, by_hand, lambda: (rng().normal(size=size), rows), static_argnums=(1,), targets=most
    )


def lattice(x, rows):
    """The mean of a table of shape (rows, len(x)), each row made of the one above."""
    table = np.zeros((rows, len(x)))
    table[0] = x
    for i in range(1, rows):
        table[i] = table[i - 1]
        for _ in range(WRITES):
            table[i] = np.add(table[i], 1.0)
    return np.mean(table)


def lattice_by_hand(x, rows):
    table_bar = np.full((rows, len(x)), 1.0 / (rows * len(x)))
    for i in range(rows - 1, 0, -1):
        table_bar[i - 1] += table_bar[i]
    return table_bar[0]


def sines(x, rows):
    """The same with a write whose partial is of what it writes over."""
    table = np.zeros((rows, len(x)))
    table[0] = x
    for i in range(1, rows):
        table[i] = table[i - 1]
        for _ in range(WRITES):
            table[i] = np.sin(table[i])
    return np.mean(table)


def sines_by_hand(x, rows):
    row, before = x, []
    for _ in range((rows - 1) * WRITES):
        before.append(row)
        row = np.sin(row)
    each = 1.0 / (rows * len(x))
    row_bar = np.full(len(x), each)
    for i in range(len(before) - 1, -1, -1):
        row_bar = row_bar * np.cos(before[i])
        if i % WRITES == 0:
            row_bar = row_bar + each
    return row_bar


# -- grids ---------------------------------------------------------------------------------------------------


def _fields(n: int) -> tuple[Any, ...]:
    random = rng()
    return random.normal(size=(n, n)), random.normal(size=(n, n))


def sweep(u, f):
    """One of Poisson's equation, each point from neighbours of which two are new; u, f of one shape."""
    n, m = u.shape
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - f[i, j])


def sweep_backward(u_bar):
    """f's cotangent; that of u, in place, from that after the sweep to that before."""
    n, m = u_bar.shape
    f_bar = np.zeros((n, m))
    for i in range(n - 2, 0, -1):
        for j in range(m - 2, 0, -1):
            part = 0.25 * u_bar[i, j]
            u_bar[i, j] = 0.0
            u_bar[i - 1, j] += part
            u_bar[i + 1, j] += part
            u_bar[i, j - 1] += part
            u_bar[i, j + 1] += part
            f_bar[i, j] = -part
    return f_bar


def gauss_seidel(start, f):
    u = start.copy()
    sweep(u, f)
    return np.sum(u * u)


def gauss_seidel_by_hand(start, f):
    return relaxed_by_hand(start.copy(), f)


def relaxed(u, f):
    """The same in the caller's array, which the timed calls sweep again and again."""
    sweep(u, f)
    return np.sum(u * u)


def relaxed_by_hand(u, f):
    sweep(u, f)
    u_bar = 2.0 * u
    f_bar = sweep_backward(u_bar)
    return u_bar, f_bar


def _warm(n: int, steps: int) -> tuple[Any, ...]:
    return rng().random((n, n)), 0.2, steps


def heat(u0, rate, steps):
    """The heat left after `steps` on a plate of shape (n, m), three edges cold and one closed."""
    u = u0.copy()
    for _ in range(steps):
        around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        u[1:-1, 1:-1] += rate * (around - 4.0 * u[1:-1, 1:-1])
        u[0] = 0.0
        u[-1] = 0.0
        u[:, 0] = 0.0
        u[:, -1] = u[:, -2]
    return np.sum(u * u)


def heat_by_hand(u0, rate, steps):
    u, moves = u0.copy(), []
    for _ in range(steps):
        around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        moves.append(around - 4.0 * u[1:-1, 1:-1])
        u[1:-1, 1:-1] += rate * moves[-1]
        u[0] = u[-1] = u[:, 0] = 0.0
        u[:, -1] = u[:, -2]
    u_bar, rate_bar = 2.0 * u, 0.0
    for move in reversed(moves):
        u_bar[:, -2] += u_bar[:, -1]
        u_bar[0] = u_bar[-1] = u_bar[:, 0] = u_bar[:, -1] = 0.0
        inside = u_bar[1:-1, 1:-1].copy()
        rate_bar += np.vdot(inside, move)
        inside *= rate
        u_bar[:-2, 1:-1] += inside
        u_bar[2:, 1:-1] += inside
        u_bar[1:-1, :-2] += inside
        u_bar[1:-1, 2:] += inside
        u_bar[1:-1, 1:-1] -= 4.0 * inside
    return u_bar, rate_bar


# -- along one direction -------------------------------------------------------------------------------------


def _signal(n: int) -> tuple[Any, ...]:
    return tuple(rng().normal(size=(2, n)))


def _warming(n: int, steps: int) -> tuple[Any, ...]:
    return *rng().random((2, n, n)), 0.2, steps


def filtered(x):
    y = x.copy()
    for i in range(1, len(y)):
        y[i] += y[i - 1] * 0.5
    return np.sum(y * y)


def _filter(x):
    y = x.copy()
    for i in range(1, len(y)):
        y[i] += y[i - 1] * 0.5
    return y


def filtered_tangent(x, v):
    return 2.0 * np.vdot(_filter(x), _filter(v))


def filtered_hvp(x, v):
    """Twice the filter, and then the filter backwards, of v."""
    return _filter(2.0 * _filter(v)[::-1])[::-1]


def heat_tangent(u0, v, rate, steps):
    u, moved = u0.copy(), v.copy()
    for _ in range(steps):
        for a in (u, moved):
            around = a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:]
            a[1:-1, 1:-1] += rate * (around - 4.0 * a[1:-1, 1:-1])
            a[0] = a[-1] = a[:, 0] = 0.0
            a[:, -1] = a[:, -2]
    return 2.0 * np.vdot(u, moved)
