"""Minima with constraints, by the implicit function theorem on the conditions of Karush, Kuhn and Tucker
(Nocedal and Wright, "Numerical Optimization", 12.3; Fiacco, "Introduction to Sensitivity Analysis", 1983).

    grad f(x) - A^T m = 0,  c(x) = t        c: the active constraints, A their slopes, t their limits
    [H  -A^T] [dx]     [d(grad f) - dA^T m]
    [A    0 ] [dm] = - [dc - dt           ]       H: of f - m c

The multipliers m are found by least squares. Where one of an inequality is zero, so that it might as well not
be active, there is no derivative (strict complementarity). Variables at their bounds do not move.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ctxdispatch.dispatch.overdub import resolve

ACTIVE = 1e-4
"""So close, relative, to its limit a constraint is active; multipliers below are zero."""


class Constraint(NamedTuple):
    """low <= f(x, *rest) <= high"""

    f: Any
    rest: tuple[Any, ...]
    low: Any
    high: Any


class Active(NamedTuple):
    """Rows of a constraint, which are at a limit; `sign` is +1 at the lower one, 0 where both are."""

    of: Constraint
    rows: Any
    upper: Any
    sign: Any


def read(given: Any) -> list[Constraint]:
    """The `constraints` that `minimize` is given."""
    return [_read(each) for each in (given if issubclass(type(given), (list, tuple)) else [given])]


def _read(each: Any) -> Constraint:
    if issubclass(type(each), dict):
        args = each.get("args", ())
        high = 0.0 if each["type"].lower() == "eq" else np.inf
        return Constraint(each["fun"], args if issubclass(type(args), tuple) else (args,), 0.0, high)
    if hasattr(each, "A"):
        return Constraint(_linear, (each.A,), each.lb, each.ub)
    return Constraint(each.fun, (), each.lb, each.ub)


def _linear(x: Any, matrix: Any) -> Any:
    return matrix @ x


def values(f: Any, x: Any, rest: tuple[Any, ...]) -> Any:
    return np.reshape(np.asarray(f(x, *rest)), -1)


def active(constraint: Constraint, x: Any) -> Active:
    """What of it is at a limit, at x."""
    c = np.array(values(constraint.f, x, constraint.rest))
    low, high = (np.broadcast_to(np.array(limit, float), c.shape) for limit in constraint[2:])
    near = ACTIVE * (1.0 + np.abs(c))
    at_low, at_high = np.abs(c - low) <= near, np.abs(c - high) <= near
    rows = np.flatnonzero(at_low | at_high)
    sign = np.where(at_low & at_high, 0.0, np.where(at_low, 1.0, -1.0))
    return Active(constraint, rows, at_high[rows], sign[rows])


def residual(of: Active, x: Any) -> Any:
    """c - t, of the rows that are active."""
    c = values(of.of.f, x, of.of.rest)
    limits = [np.broadcast_to(np.asarray(limit), np.shape(c)) for limit in of.of[2:]]
    return c[of.rows] - np.stack([limits[int(up)][row] for row, up in zip(of.rows, of.upper, strict=True)])


def slopes(of: Active, x: Any, derivative: Any) -> Any:
    """A, of which the function `derivative` finds that of all rows."""
    return np.reshape(np.asarray(derivative(x, *of.of.rest)), (-1, np.size(x)))[of.rows]


def curvature(of: Active, x: Any, multipliers: Any) -> Any:
    """The Hessian of the sum of multipliers times constraints."""
    from ctxdispatch_contexts.higher import jacfwd

    n = np.size(x)
    second = np.reshape(np.asarray(jacfwd(jacfwd(of.of.f))(x, *of.of.rest)), (-1, n, n))[of.rows]
    return np.tensordot(multipliers, second, 1)


def conditions(g: Any, parts: Any, multipliers: Any) -> Any:
    """What is zero at the minimum; `parts`: (A, c - t) of each constraint."""
    stationary = g - np.concatenate([a for a, _ in parts]).T @ multipliers
    return np.concatenate([stationary, np.concatenate([c for _, c in parts])])


def written(ctx: Any, every: list[Active], x: Any) -> list[tuple[Any, Any]]:
    """(A, c - t) of each, written down."""
    from ctxdispatch_contexts.higher import jacfwd

    return [
        (resolve(ctx, slopes)(each, x, jacfwd(each.of.f)), resolve(ctx, residual)(each, x)) for each in every
    ]


def system(hessian: Any, every: list[Active], x: Any, a: Any, multipliers: Any) -> Any:
    """The matrix of the conditions' derivative."""
    at = np.cumsum([len(each.rows) for each in every])[:-1]
    parts = zip(every, np.split(multipliers, at), strict=True)
    h = hessian - sum(curvature(each, x, m) for each, m in parts)
    return np.block([[h, -a.T], [a, np.zeros((len(a), len(a)))]])
