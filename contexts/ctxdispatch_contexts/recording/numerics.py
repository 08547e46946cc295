"""What the rules of `solvers.py` compute, and what is written down of it."""

from __future__ import annotations

from typing import Any

import numpy as np

NODES, WEIGHTS = np.polynomial.legendre.leggauss(21)


def scaled(x: Any, value: Any, constant: Any, slope: Any) -> Any:
    """x, with the derivative -d(value) / slope."""
    return x - (value - constant) / slope


def newton_step(x: Any, value: Any, constant: Any, inverse: Any) -> Any:
    """x, with the derivative -inverse @ d(value)."""
    return x - np.reshape(inverse @ np.reshape(np.asarray(value) - constant, -1), np.shape(x))


def with_value(y: Any, like: Any) -> Any:
    """`like`, which is y but for rounding."""
    return like if np.ndim(y) == 0 else np.reshape(like, np.shape(y))


def integral(y: Any, value: Any, constant: Any, slope: Any = 1.0) -> Any:
    """y, and the derivative slope * d(value)."""
    return y + (value - constant) * slope


def gauss(f: Any, rest: tuple[Any, ...], a: Any, b: Any, mesh: Any) -> Any:
    """The integral of f on quad's own intervals, each halved: those that its adaptive rule found fine enough.
    For infinite limits they are of t in (0, 1], x = (1 - t) / t from the finite one (from 0) on."""
    sign, low, high = (1.0, a, b) if a <= b else (-1.0, b, a)
    total = 0.0
    for t, w in _nodes(mesh):
        if np.isfinite(low) and np.isfinite(high):
            total = total + w * (high - low) * f(low + (high - low) * t, *rest)
            continue
        far, w = (1.0 - t) / t, w / (t * t)
        if np.isfinite(low):
            total = total + w * f(low + far, *rest)
        elif np.isfinite(high):
            total = total + w * f(high - far, *rest)
        else:
            total = total + w * (f(far, *rest) + f(-far, *rest))
    return sign * total


def _nodes(mesh: Any) -> list[tuple[float, float]]:
    """Of the interval from 0 to 1."""
    out = []
    n = mesh["last"]
    first, last = min(mesh["alist"][:n]), max(mesh["blist"][:n])
    starts, ends = ((mesh[name][:n] - first) / (last - first) for name in ("alist", "blist"))
    for low, high in zip(starts.tolist(), ends.tolist(), strict=True):
        middle = 0.5 * (low + high)
        for a, b in ((low, middle), (middle, high)):
            half = 0.5 * (b - a)
            out += zip((a + half * (NODES + 1.0)).tolist(), (half * WEIGHTS).tolist(), strict=True)
    return out
