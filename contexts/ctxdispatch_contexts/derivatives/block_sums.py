"""Block forms (see `blocks.py`) of sums, and of conversions of numbers."""

from __future__ import annotations

import builtins
import math

import numpy as np

from ctxdispatch_contexts.derivatives.blocks import after, behind, blocks_in, flat, level
from ctxdispatch_contexts.derivatives.lowerings import sum_of
from ctxdispatch_contexts.derivatives.reductions import NoValue, everywhere
from ctxdispatch_contexts.derivatives.registry import block, of

# -- along axes ----------------------------------------------------------------------------------------------


@block(np.sum, *of(np.ndarray, "sum"), *of(np.generic, "sum"))
def sum_(a, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=True):
    keep = keepdims is not NoValue and keepdims
    if everywhere(where):
        return np.add.reduce(a, axis=behind(axis, a), dtype=dtype, keepdims=keep)
    return np.add.reduce(a, axis=behind(axis, a), dtype=dtype, keepdims=keep, where=where)


@block(np.add.reduce)
def add_reduce(a, axis=0, dtype=None, out=None, keepdims=False, initial=None, where=True):
    return sum_(a, axis, dtype, out, keepdims, initial, where)


@block(np.mean, *of(np.ndarray, "mean"), *of(np.generic, "mean"))
def mean(a, axis=None, dtype=None, out=None, keepdims=False, *, where=True):
    keep = keepdims is not NoValue and keepdims
    if not everywhere(where):
        return np.mean(a, axis=behind(axis, a), dtype=dtype, keepdims=keep, where=where)
    if dtype is not None or a.dtype.itemsize == 2 or isinstance(axis, tuple) or a.ndim == 1:
        return np.mean(a, axis=behind(axis, a), dtype=dtype, keepdims=keep)
    n = math.prod(a.shape[1:]) if axis is None else a.shape[after(axis)]
    return np.add.reduce(a, axis=behind(axis, a), keepdims=keep) / n


@block(np.trace, *of(np.ndarray, "trace"))
def trace(a, offset=0, axis1=0, axis2=1, dtype=None, out=None):
    return a.trace(offset, after(axis1), after(axis2), dtype)


@block(*of(np.linalg, "trace"))
def linalg_trace(x, /, *, offset=0, dtype=None):
    return x.trace(offset, -2, -1, dtype)


@block(np.cumsum, *of(np.ndarray, "cumsum"), *of(np.generic, "cumsum"))
def cumsum(a, axis=None, dtype=None, out=None):
    if axis is None or a.ndim == 1:
        return np.add.accumulate(flat(a), 1, dtype)
    return np.add.accumulate(a, after(axis), dtype)


@block(np.add.accumulate)
def add_accumulate(a, axis=0, dtype=None, out=None):
    return np.add.accumulate(a, after(axis), dtype)


# -- of sequences --------------------------------------------------------------------------------------------


@block(builtins.sum, sum_of)
def sum_items(items, start=0):
    if isinstance(items, np.ndarray):
        items = np.add.reduce(items, axis=1)
        return added((items, start)) if isinstance(start, np.ndarray) else items
    return added((*items, start)) if isinstance(start, np.ndarray) else added(items)


def added(items):
    """The sum of blocks of arrays that broadcast."""
    ndim = max([item.ndim for item in items]) - 1
    return sum([level(item, ndim) for item in items[1:]], level(items[0], ndim))


@block(math.fsum)
def fsum(seq):
    if isinstance(seq, np.ndarray):
        return np.add.reduce(seq, axis=1)
    return np.add.reduce(blocks_in(seq), axis=0)


# -- numbers -------------------------------------------------------------------------------------------------


def numbers(x):
    """A block of arrays of one element as one of numbers."""
    return x if x.ndim == 1 else x.reshape(x.shape[0])


def wide(x):
    """In the precision of Python's numbers."""
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)


@block(builtins.float)
def float_(x):
    return numbers(x).astype(np.float64)


@block(np.float16)
def float16(x):
    return x.astype(np.float16)


@block(np.float32)
def float32(x):
    return x.astype(np.float32)


@block(np.float64)
def float64(x):
    return x.astype(np.float64)


@block(np.complex64)
def complex64(x):
    return x.astype(np.complex64)


@block(np.complex128)
def complex128(x):
    return x.astype(np.complex128)


@block(float.conjugate, float.real, float.__float__)
def same(x):
    return x


@block(float.imag)
def nothing(x):
    return np.zeros(x.shape)


@block(builtins.complex)
def complex_(real=0.0, imag=0.0):
    if isinstance(imag, np.ndarray):
        return numbers(real) + 1j * numbers(imag)
    return numbers(real).astype(np.complex128)


@block(complex.conjugate)
def complex_conjugate(z):
    return np.conjugate(z)


@block(complex.real)
def complex_real(z):
    return z.real


@block(complex.imag)
def complex_imag(z):
    return z.imag


@block(np.ndarray.item, *of(np.generic, "item"))
def item(a, *args):
    if len(args) == 0:
        return wide(numbers(a))
    if len(args) == 1 and isinstance(args[0], int):
        return wide(flat(a)[:, args[0]])
    return wide(a[(slice(None), *(args if isinstance(args[0], int) else args[0]))])


@block(np.ndarray.tolist, *of(np.generic, "tolist"))
def tolist(a):
    return listed(wide(a))


def listed(a):
    """Nested lists of blocks of numbers: what `blocked` undoes."""
    return a if a.ndim == 1 else [listed(a[:, i]) for i in range(a.shape[1])]
