"""The functions that are broadcast, of numbers, and the same of arrays, for tools that have no kernels.

Peers run the code of those of arrays with their own `np` and `sigmoid` (peers.py).
"""

from __future__ import annotations

from collections.abc import Callable
from math import cos, exp, sin, tanh
from typing import Any

import numpy as np

from ctxdispatch import broadcast

# -- of numbers ----------------------------------------------------------------------------------------------


def sigmoid_of_number(x):
    return 1.0 / (1.0 + exp(-x))


def update(c, f, i, g, z1, z2):
    """The cell update of an HM-LSTM (Revels et al. 2018, equation 12): flush, copy or update."""
    if z1 == 0:
        if z2 == 1:
            return sigmoid_of_number(f) * c + sigmoid_of_number(i) * tanh(g)
        return c
    return sigmoid_of_number(i) * tanh(g)


def factor(x):
    return tanh(x if x > 0.5 else -x)


def product(n: int) -> Callable[..., Any]:
    """(x0, .., xn-1) -> the product of tanh(g(x)), where g(x) is x above 1/2, else -x (section 3.4.1)."""
    names = [f"x{i}" for i in range(n)]
    source = f"lambda {', '.join(names)}: {' * '.join(f'factor({x})' for x in names)}"
    return eval(source, {"factor": factor})


SMALL = 1e-10


def kepler(M, e):
    """E with E - e sin(E) = M, by Newton's method."""
    E = M
    while True:
        d = (E - e * sin(E) - M) / (1.0 - e * cos(E))
        E -= d
        if abs(d) < SMALL:
            return E


# -- with products of matrices around, and partial derivatives that are kept ---------------------------------


def update_kept(c, f, i, g, z1, z2):
    return broadcast(update, c, f, i, g, z1, z2, partials="store")


def loss(c, f, i, g, W, z1, z2):
    return np.sum((broadcast(update, c, f, i, g, z1, z2) @ W) ** 2)


# -- of arrays -----------------------------------------------------------------------------------------------


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


def update_of_arrays(c, f, i, g, z1, z2):
    new = sigmoid(i) * np.tanh(g)
    return np.where(z1 == 0, np.where(z2 == 1, sigmoid(f) * c + new, c), new)


def product_of_arrays(*xs):
    y = 1.0
    for x in xs:
        y = y * np.tanh(np.where(x > 0.5, x, -x))
    return y


def kepler_of_arrays(M, e):
    """As long as any element goes on."""
    E = M
    while True:
        d = (E - e * np.sin(E) - M) / (1.0 - e * np.cos(E))
        E = E - d
        if np.all(np.abs(d) < SMALL):
            return E


def loss_of_arrays(c, f, i, g, W, z1, z2):
    return np.sum((update_of_arrays(c, f, i, g, z1, z2) @ W) ** 2)
