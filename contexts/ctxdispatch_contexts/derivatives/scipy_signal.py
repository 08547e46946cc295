"""Convolutions and correlations of scipy.signal, of arrays of any dimension, along all axes or some.

    y[n] = sum over m of a[m] v[n - m]       bar(a)[m] = sum over n of g[n] v[n - m]

which is a convolution of g with v the other way round. `same` and `valid` cut the full result: their
cotangent is that of the full one, with zeros where it was cut.

Loaded where a program has imported scipy.signal (see `libraries.py`).
"""

from __future__ import annotations

import numpy as np
import scipy.signal as signal

from ctxdispatch_contexts.derivatives.linear import place, unbroadcast
from ctxdispatch_contexts.derivatives.registry import vjp


@vjp(signal.convolve, arrays=2, multilinear=(0, 1), mixed=True)
def convolve(g, y, in1, in2, mode="full", method="auto"):
    if in1.size == 0 or in2.size == 0:
        return (np.zeros_like(in1), np.zeros_like(in2))
    if in1.ndim == 0:
        return (g * in2, g * in1)
    full = uncut(g, in1.shape, in2.shape, mode, tuple(range(in1.ndim)))
    return (
        signal.convolve(full, np.flip(in2), "valid", method),
        signal.convolve(full, np.flip(in1), "valid", method),
    )


@vjp(signal.correlate, arrays=2, multilinear=(0, 1), mixed=True)
def correlate(g, y, in1, in2, mode="full", method="auto"):
    """The convolution with in2 the other way round, conjugated."""
    first, second = convolve(g, y, in1, np.conj(np.flip(in2)), mode, method)
    return (first, np.conj(np.flip(second)))


@vjp(signal.fftconvolve, signal.oaconvolve, arrays=2, multilinear=(0, 1), mixed=True)
def fftconvolve(g, y, in1, in2, mode="full", axes=None):
    """Along the other axes the arrays are multiplied, and broadcast."""
    if in1.size == 0 or in2.size == 0:
        return (np.zeros_like(in1), np.zeros_like(in2))
    if in1.ndim == 0:
        return (g * in2, g * in1)
    axes = axes_of(axes, in1.ndim)
    full = uncut(g, in1.shape, in2.shape, mode, axes)
    first = signal.fftconvolve(full, np.flip(in2, axes), "valid", axes)
    second = signal.fftconvolve(full, np.flip(in1, axes), "valid", axes)
    return (unbroadcast(first, in1.shape), unbroadcast(second, in2.shape))


def axes_of(axes, ndim):
    if axes is None:
        return tuple(range(ndim))
    return tuple([i % ndim for i in ([axes] if isinstance(axes, int) else axes)])


def uncut(g, a, b, mode, axes):
    """The cotangent of the full convolution of arrays of the shapes `a` and `b`."""
    if mode == "full":
        return g
    shape = tuple([n + m - 1 if i in axes else max(n, m) for i, (n, m) in enumerate(zip(a, b, strict=True))])
    if mode == "same":
        starts = [(whole - n) // 2 for whole, n in zip(shape, a, strict=True)]
    else:
        starts = [min(n, m) - 1 if i in axes else 0 for i, (n, m) in enumerate(zip(a, b, strict=True))]
    index = tuple([slice(start, start + n) for start, n in zip(starts, g.shape, strict=True)])
    return place(g, index, shape, g.dtype)
