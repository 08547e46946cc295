"""Programs of another file than those that call them."""

import numpy as np


def reads_memory(v):
    w = v * 2.0
    return np.frombuffer(w).sum()  # here


def factorizes(v):
    w = np.stack([v, v * v], 1)[[0, 1, 0]]
    return np.linalg.qr(w, mode="complete")[0].sum()  # here


def sums(energy, v):
    w = v * 1.0
    return energy.of(w).sum()  # here
