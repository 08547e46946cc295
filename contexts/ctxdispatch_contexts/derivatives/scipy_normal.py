"""The probability that two normal variables exceed two bounds, which `scipy.stats.multivariate_normal.cdf` of
two dimensions is made of:

    L(h, k, r) = P(X > h, Y > k),  X, Y standard normal, correlated by r
    dL/dh = -phi(h) Phi((r h - k) / s),  dL/dr = phi2(h, k; r),  s^2 = 1 - r^2

(Drezner and Wesolowsky, "On the computation of the bivariate normal integral", 1990; the derivative with
respect to r is Plackett's, 1954.) Of three dimensions and more SciPy estimates by random numbers in C.

Loaded where a program has imported scipy.stats (see `libraries.py`).
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtr
from scipy.stats import _stats_pythran

from ctxdispatch_contexts.derivatives.registry import vjp


def upper(g, y, h, k, r):
    """The cotangents of the bounds and of the correlation."""
    s = np.sqrt((1.0 - r) * (1.0 + r))
    of_h = -np.exp(-0.5 * h * h) / math.sqrt(2.0 * math.pi) * ndtr((r * h - k) / s)
    of_k = -np.exp(-0.5 * k * k) / math.sqrt(2.0 * math.pi) * ndtr((r * k - h) / s)
    of_r = np.exp(-0.5 * (h * h - 2.0 * r * h * k + k * k) / (s * s)) / (2.0 * math.pi * s)
    return (g * of_h, g * of_k, g * of_r)


if hasattr(_stats_pythran, "_bvnu"):
    vjp(_stats_pythran._bvnu)(upper)
