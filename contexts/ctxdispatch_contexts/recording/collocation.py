"""Linear differential equations along a trajectory, by collocation (Radau IIA, of order 2 STAGES - 1; Hairer
and Wanner, "Solving Ordinary Differential Equations II", IV.5), which is stiffly accurate and damps what is
stiff.

    y' = f(t, y)        d' = J(t) d + dF(t),  d(t0) = d0        what y changes by, where f does by dF

On a mesh, what comes of it is linear in d0 and in dF at the stages:

    d at the end of interval k = push[k] @ d + force[k] @ dF[k]
    d at time i, in interval k = read[i] @ d + drive[i] @ dF[k]

Shapes: m intervals, s stages, n unknowns, p times; dF is (m, s * n).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial import legendre

STAGES = 8

Array = Any


def _integrals(x: Array) -> Array:
    """Of the Legendre polynomials up to degree STAGES - 1, from -1 to each x."""
    return np.stack([legendre.legval(x, legendre.legint(e, lbnd=-1)) for e in np.eye(STAGES)], axis=-1)


_ROOTS = np.sort(legendre.legroots([*[0.0] * (STAGES - 1), -1.0, 1.0]).real)
_BASIS = np.linalg.inv(legendre.legvander(_ROOTS, STAGES - 1))
NODES = np.append((0.5 * (_ROOTS + 1.0))[:-1], 1.0)
"""The stages, of the interval from 0 to 1; the last is its end."""


def weights(at: Array) -> Array:
    """(p, s): integrals from 0 to `at` of what has given values at the stages."""
    return 0.5 * _integrals(2.0 * np.asarray(at) - 1.0) @ _BASIS


MATRIX = weights(NODES)


class Maps(NamedTuple):
    """What is linear of an interval, by itself."""

    push: Array
    force: Array
    slopes: Array
    """(m, s * n, n): those at the stages, of d at the beginning"""
    inverse: Array
    """(m, s * n, s * n): those at the stages, of dF"""


def stages(edges: Array) -> Array:
    """(m, s): the times of the stages of the intervals between `edges`."""
    return edges[:-1, None] + np.diff(edges)[:, None] * NODES


def maps(steps: Array, jacobians: Array) -> Maps:
    """`steps`: (m,); `jacobians`: (m, s, n, n), at the stages."""
    m, s, n, _ = jacobians.shape
    coupling = np.einsum("k,ij,kiab->kiajb", steps, MATRIX, jacobians)
    inverse = np.linalg.inv(np.eye(s * n) - np.reshape(coupling, (m, s * n, s * n)))
    slopes = inverse @ np.reshape(jacobians, (m, s * n, n))
    push = np.eye(n) + _at_ends(steps, slopes, n)
    return Maps(push, _at_ends(steps, inverse, n), slopes, inverse)


def _at_ends(steps: Array, slopes: Array, n: int) -> Array:
    """steps * the integrals of `slopes`, over the whole of each interval."""
    m, rows, columns = slopes.shape
    return np.einsum("k,j,kjab->kab", steps, MATRIX[-1], np.reshape(slopes, (m, rows // n, n, columns)))


def readings(steps: Array, of: Maps, where: Array, at: Array) -> tuple[Array, Array, Array]:
    """(`where`, read, drive) for times that are the part `at` of the interval number `where`."""
    m, rows, n = of.slopes.shape
    scaled = steps[where, None] * weights(at)
    parts = [
        np.einsum("pj,pjab->pab", scaled, np.reshape(x, (m, rows // n, n, -1))[where])
        for x in (of.slopes, of.inverse)
    ]
    return where, np.eye(n) + parts[0], parts[1]


def _columns(force: Array, values: Array) -> Array:
    """(m, n, n + 1): what comes of forces that are the same in all stages, and of `values` (m, s, n)."""
    m, n, _ = force.shape
    same = np.reshape(force, (m, n, -1, n)).sum(axis=2)
    return np.concatenate([same, force @ np.reshape(values, (m, -1, 1))], axis=2)


def errors(steps: Array, whole: Maps, fine: Maps, whole_f: Array, fine_f: Array) -> Array:
    """(m,): how far the maps of intervals are from those of their halves (`fine`), at the middle and at the
    end, along the trajectory: of what comes of d0, of a force that does not change, and of f itself; relative
    to the largest until then."""
    m, n, _ = whole.push.shape
    _, read, drive = readings(steps, whole, np.arange(m), np.full(m, 0.5))
    of_halves = _columns(fine.force, fine_f)
    first, push = of_halves[::2], fine.push[1::2]
    both, added = push @ fine.push[::2], push @ first + of_halves[1::2]
    wrong_maps = (read - fine.push[::2], whole.push - both)
    wrong_forces = (_columns(drive, whole_f) - first, _columns(whole.force, whole_f) - added)
    state = np.concatenate([np.eye(n), np.zeros((n, n + 1))], axis=1)
    largest, out = np.abs(state), np.empty(m)
    for k in range(m):
        wrong = np.stack([maps[k] @ state for maps in wrong_maps])
        wrong[:, :, n:] += [forces[k] for forces in wrong_forces]
        state = both[k] @ state
        state[:, n:] += added[k]
        largest = np.maximum(largest, np.abs(state))
        out[k] = np.max(np.abs(wrong) / (largest + 1e-6 * largest.max(axis=0) + 1e-300))
    return np.where(np.isfinite(out), out, np.inf)


def along(found: Array, start: Array, forces: Array, of: Maps, reads: Any) -> Array:
    """`found` (p, n), and d at its times; `start` is d0, `forces` dF."""
    where, read, drive = reads
    added = np.einsum("kab,kb->ka", of.force, forces)
    at, every = start, [start]
    for k in range(len(added) - 1):
        at = of.push[k] @ at + added[k]
        every.append(at)
    moved = np.stack(every)[where]
    return found + np.einsum("pab,pb->pa", read, moved) + np.einsum("pab,pb->pa", drive, forces[where])
