"""The module `statistics` of the standard library. It adds up in fractions, whose numerators are whole
numbers: what it computes cannot be read off its code, so its sums and what comes of them have rules.

    mean       bar(x)[i] = g / n              variance   bar(x)[i] = 2 g (x[i] - m) / (n - 1)
    harmonic   bar(x)[i] = g w y^2 / x[i]^2   stdev      bar(x)[i] = g (x[i] - m) / ((n - 1) y)

The data is a list, tuple or array of numbers, and its cotangent is of the same kind. Loaded where a program
has imported statistics (see `libraries.py`).
"""

from __future__ import annotations

import statistics

import numpy as np

from ctxdispatch_contexts.derivatives.registry import block, lower, vjp


def filled(g, data):
    return np.full(data.shape, g, data.dtype) if isinstance(data, np.ndarray) else [g] * len(data)


def shares(g, data, weights):
    """g w[i]"""
    return [g * w for w in weights] if isinstance(data, (list, tuple)) else g * np.asarray(weights)


def apart(g, data, middle):
    """g (x[i] - middle)"""
    if isinstance(data, np.ndarray):
        return g * (data - middle)
    return [g * (x - middle) for x in data]


@vjp(statistics.mean, arrays=0, linear=(0,))
def mean(g, y, data):
    return (filled(g / len(data), data),)


@block(statistics.mean)
def mean_block(data):
    if isinstance(data, np.ndarray):
        return np.add.reduce(data, axis=1) / data.shape[1]
    return sum(data) / len(data)


@vjp(statistics.fmean, arrays=0)
def fmean(g, y, data, weights=None):
    if weights is None:
        return (filled(g / len(data), data),)
    total = sum(weights)
    return (shares(g / total, data, weights), apart(g / total, data, y))


@vjp(statistics.harmonic_mean, arrays=0)
def harmonic_mean(g, y, data, weights=None):
    if weights is None:
        return (inverse_squares(g * y * y / len(data), data),)
    g = g * y / sum(weights)
    return (weighted_squares(g * y, data, weights), missed(g, y, data))


def weighted_squares(g, data, weights):
    return [g * w / (x * x) for w, x in zip(weights, data)]


def missed(g, y, data):
    return [g * (1.0 - y / x) for x in data]


def inverse_squares(g, data):
    if isinstance(data, np.ndarray):
        return g / (data * data)
    return [g / (x * x) for x in data]


@vjp(statistics.variance, arrays=0)
def variance(g, y, data, xbar=None):
    middle = sum(data) / len(data) if xbar is None else xbar
    return (apart(2.0 * g / (len(data) - 1), data, middle), about(g, data, xbar, len(data) - 1))


@vjp(statistics.pvariance, arrays=0)
def pvariance(g, y, data, mu=None):
    middle = sum(data) / len(data) if mu is None else mu
    return (apart(2.0 * g / len(data), data, middle), about(g, data, mu, len(data)))


def about(g, data, middle, n):
    """Of the point that deviations are from, where it is given."""
    return None if middle is None else -2.0 * g / n * (sum(data) - len(data) * middle)


@lower(statistics.stdev)
def stdev(data, xbar=None):
    return statistics.variance(data, xbar) ** 0.5


@lower(statistics.pstdev)
def pstdev(data, mu=None):
    return statistics.pvariance(data, mu) ** 0.5
