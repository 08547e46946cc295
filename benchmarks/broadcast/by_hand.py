"""Values and partial derivatives as a careful person writes them in NumPy: the yardstick of every column.

Each returns (y, partials), a partial derivative per leading argument, as reverse mode with ones has it. CuPy
runs the same code with its own `np` (gpu.py).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .programs import SMALL, sigmoid

Array = Any


def update(c: Array, f: Array, i: Array, g: Array, z1: Array, z2: Array) -> tuple[Array, tuple[Array, ...]]:
    sf, si, tg = sigmoid(f), sigmoid(i), np.tanh(g)
    flushed = z1 != 0
    copied = ~flushed & (z2 != 1)
    gated = si * tg
    y = np.where(flushed, gated, np.where(copied, c, sf * c + gated))
    dc = np.where(flushed, 0.0, np.where(copied, 1.0, sf))
    df = np.where(flushed | copied, 0.0, c * sf * (1.0 - sf))
    di = np.where(copied, 0.0, gated * (1.0 - si))
    dg = np.where(copied, 0.0, si * (1.0 - tg * tg))
    return y, (dc, df, di, dg)


# -- the same in place, flags as factors ---------------------------------------------------------------------


def sigmoid_in_place(x: Array) -> Array:
    """By way of tanh, without a division."""
    y = 0.5 * x
    np.tanh(y, out=y)
    y *= 0.5
    y += 0.5
    return y


def flags(z1: Array, z2: Array, dtype: Any) -> tuple[Array, ...]:
    """Ones where a column is updated, where it is updated or flushed, where it is copied."""
    flushed = z1 != 0
    updated = ~flushed & (z2 == 1)
    new = flushed | updated
    return updated.astype(dtype), new.astype(dtype), (~new).astype(dtype)


def update_value(c: Array, f: Array, i: Array, g: Array, z1: Array, z2: Array) -> Array:
    updated, new, copied = flags(z1, z2, c.dtype)
    y = sigmoid_in_place(f)
    y *= updated
    y += copied
    y *= c
    gated = sigmoid_in_place(i)
    gated *= np.tanh(g)
    gated *= new
    y += gated
    return y


def update_in_place(c: Array, f: Array, i: Array, g: Array, z1: Array, z2: Array) -> Any:
    updated, new, copied = flags(z1, z2, c.dtype)
    sf, si, tg = sigmoid_in_place(f), sigmoid_in_place(i), np.tanh(g)
    dc = sf * updated
    df = 1.0 - sf
    df *= dc
    df *= c
    dc += copied
    si *= new
    dg = tg * tg
    np.subtract(1.0, dg, out=dg)
    dg *= si
    y = np.multiply(dc, c, out=sf)
    di = np.multiply(tg, si, out=tg)
    y += di
    np.subtract(1.0, si, out=si)
    di *= si
    return y, (dc, df, di, dg)


# -- of the other workloads ----------------------------------------------------------------------------------


def product(*xs: Array) -> tuple[Array, tuple[Array, ...]]:
    """Each derivative times what stands before it and after it: nothing is divided by."""
    signs = [sign(x) for x in xs]
    factors = [np.tanh(x) for x in xs]
    for t, s in zip(factors, signs):
        t *= s
    after = [None]
    for t in factors[:0:-1]:
        after.append(t if after[-1] is None else after[-1] * t)
    before, partials = None, []
    for t, partial, rest in zip(factors, signs, reversed(after)):
        partial *= 1.0 - t * t
        for others in before, rest:
            if others is not None:
                partial *= others
        partials.append(partial)
        before = t if before is None else before * t
    return before, tuple(partials)


def sign(x: Array) -> Array:
    """1 above 1/2, else -1; np.where takes several times as long."""
    s = (x > 0.5).astype(x.dtype)
    s *= 2.0
    s -= 1.0
    return s


def kepler(M: Array, e: Array) -> tuple[Array, tuple[Array, ...]]:
    """Newton's method on what has not arrived, and the derivatives of the implicit function."""
    E, left = M.copy(), None
    while left is None or left.size:
        x, a, m = (E, e, M) if left is None else (E[left], e[left], M[left])
        d = (x - a * np.sin(x) - m) / (1.0 - a * np.cos(x))
        going = np.flatnonzero(np.abs(d) >= SMALL)
        if left is None:
            E -= d
            left = going
        else:
            E[left] = x - d
            left = left[going]
    dM = 1.0 / (1.0 - e * np.cos(E))
    return E, (dM, np.sin(E) * dM)


def pulled(seed: Array, y: Array, partials: tuple[Array, ...]) -> tuple[Array, tuple[Array, ...]]:
    """The same with the partial derivatives times a cotangent, in place."""
    for partial in partials:
        partial *= seed
    return y, partials


def update_pulled(*args: Array) -> tuple[Array, tuple[Array, ...]]:
    *args, seed = args
    return pulled(seed, *update(*args))


def loss(c: Array, f: Array, i: Array, g: Array, W: Array, z1: Array, z2: Array) -> Any:
    y, partials = update(c, f, i, g, z1, z2)
    found = y @ W
    value = np.vdot(found, found)
    found *= 2.0
    dW = y.T @ found
    return value, (*pulled(found @ W.T, y, partials)[1], dW)


def products(y: Array, W: Array) -> tuple[Array, Array]:
    """Those of matrices that the loss takes."""
    found = y @ W
    return found @ W.T, y.T @ found
