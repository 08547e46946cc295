"""Random orders of what is differentiated: `shuffle` and `permutation` of NumPy's generators.

The order that is drawn depends on how many items there are, and not on what they are; it is that of whole
numbers in their place, drawn by the same generator, which has the same state then.
"""

from __future__ import annotations

import numpy as np

from ctxdispatch_contexts.derivatives.registry import lower


@lower(np.random.Generator.shuffle)
def shuffle(self, x, axis=0):
    if isinstance(x, np.ndarray):
        order = np.arange(x.shape[axis])
        self.shuffle(order)
        x[...] = np.take(x, order, axis)
        return
    order = np.arange(len(x))
    self.shuffle(order)
    x[:] = [x[i] for i in order]


@lower(np.random.RandomState.shuffle)
def shuffle_first(self, x):
    shuffle(self, x)


@lower(np.random.Generator.permutation)
def permutation(self, x, axis=0):
    whole = isinstance(x, (int, np.integer))
    x = np.arange(x) if whole else np.asarray(x)
    order = np.arange(x.shape[axis])
    self.shuffle(order)
    return order if whole else np.take(x, order, axis)


@lower(np.random.RandomState.permutation)
def permutation_first(self, x):
    return permutation(self, x)
