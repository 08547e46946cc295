"""Programs of another file than those that call them."""

import numpy as np


def reads_memory(v):
    w = v * 2.0
    return np.frombuffer(w).sum()  # here


def takes_a_quantile(v):
    w = v * 2.0
    return np.quantile(w, 0.3, method="lower")  # here


def counts(v):
    return np.unique(v * 2.0, return_counts=True)[0].sum()  # here
