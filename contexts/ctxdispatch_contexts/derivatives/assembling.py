"""Arrays put together of pieces: `insert`, `piecewise`, and the objects `np.r_` and `np.c_`."""

from __future__ import annotations

import math

import numpy as np

from ctxdispatch_contexts.derivatives.linear import place, scatter
from ctxdispatch_contexts.derivatives.registry import lower, vjp
from ctxdispatch_contexts.programs.no_derivative import no_derivative

# -- insert --------------------------------------------------------------------------------------------------


@vjp(np.insert, linear=(0, 2))
def insert(g, y, arr, obj, values, axis=None):
    """Numbers of the elements, inserted likewise, tell where each of the result came from."""
    n, total = arr.size, arr.size + np.size(values)
    source = np.insert(numbers(0, arr.shape), obj, numbers(n, np.shape(values)), axis)
    both = scatter(g, source, (total,), g.dtype)
    return (both[:n].reshape(arr.shape), None, both[n:].reshape(np.shape(values)))


def numbers(start, shape):
    """Whole numbers from `start` on, in C order."""
    return start + np.arange(np.prod(shape, dtype=int)).reshape(shape)


# -- piecewise -----------------------------------------------------------------------------------------------


@lower(np.piecewise)
def piecewise(x, condlist, funclist, *args, **kw):
    """Where several conditions hold the last one counts; where none does, a function more than conditions."""
    x = np.asarray(x)
    masks = conditions(x, condlist)
    if len(funclist) not in (len(masks), len(masks) + 1):
        raise ValueError(
            f"with {len(masks)} condition(s), either {len(masks)} or {len(masks) + 1} functions are expected"
        )
    if len(funclist) > len(masks):
        masks = [*masks, np.logical_not(np.any(masks, axis=0))]
    y = np.zeros_like(x)
    for mask, function in zip(masks, funclist):
        if callable(function) or np.ndim(function) == 0:
            y = np.where(mask, piece(x, mask, function, args, kw), y)
        else:  # one value for each element chosen
            y = np.array(y)
            y[mask] = function
    return y.astype(x.dtype)


def conditions(x, condlist):
    """A list of masks, of one where there is no list; told by types, which are known before the run."""
    if isinstance(condlist, (bool, np.bool_)):
        return [np.asarray(condlist)]
    if x.ndim != 0 and not isinstance(condlist[0], (list, np.ndarray)):
        return [np.asarray(condlist, bool)]
    return [np.asarray(c, bool) for c in condlist]


def piece(x, mask, function, args, kw):
    """The function of the elements chosen, at their places in an array of zeros."""
    if not callable(function):
        return function
    chosen = x[mask]
    if chosen.size == 0:
        return 0
    found = function(chosen, *args, **kw)
    return found if np.ndim(found) == 0 else place(found, mask, x.shape, x.dtype)


# -- r_ and c_ -----------------------------------------------------------------------------------------------


@lower(type(np.r_).__getitem__)
def joined(self, key):
    """np.r_[...] and np.c_[...]: arrays, numbers and ranges joined along an axis.

    A text "axis,ndim,start" before them says along which axis, of how many dimensions at least, and where
    the axes of an array of fewer dimensions go.
    """
    items = key if isinstance(key, tuple) else (key,)
    axis, ndim, start = places(self)
    if isinstance(items[0], str):
        axis, ndim, start = directed(items[0], axis, ndim, start)
        items = items[1:]
    pieces = tuple([expanded(item, ndim, start) for item in items])
    dtype = np.result_type(*[kind(item, p) for item, p in zip(items, pieces, strict=True)])
    return np.concatenate([p.astype(dtype) for p in pieces], axis)


def places(self):
    """Those of r_ and c_ are known beforehand."""
    if type(self) is type(np.r_):
        return 0, 1, -1
    if type(self) is type(np.c_):
        return -1, 2, 0
    return self.axis, int(self.ndmin), int(self.trans1d)


def directed(text, axis, ndim, start):
    if not text[:1].isdigit() and text[:1] != "-":
        raise no_derivative("r_ and c_ where they make a matrix", "join arrays instead")
    words = [int(word) for word in text.split(",")]
    return (*words, *(axis, ndim, start)[len(words) :])


def kind(item, piece):
    """What counts for the dtype of the result: numbers of Python's own do not widen it."""
    plain = isinstance(item, (bool, int, float, complex)) and not isinstance(item, np.generic)
    return item if plain else piece.dtype


def expanded(item, ndim, start):
    """An item as an array of at least `ndim` dimensions, its own axes from `start` on."""
    a = spelled_out(item) if isinstance(item, slice) else np.asarray(item)
    return a if a.ndim >= ndim else a.reshape(amid(a.shape, ndim - a.ndim, start))


def amid(shape, free, start):
    """`shape` with `free` axes of length 1, of which `start` come first."""
    first = start + free + 1 if start < 0 else start
    return (1,) * first + shape + (1,) * (free - first)


def spelled_out(item):
    """start:stop:step, in which an imaginary step is a number of points, both ends among them."""
    start = 0 if item.start is None else item.start
    step = 1 if item.step is None else item.step
    if isinstance(step, complex):
        return np.linspace(start, item.stop, int(abs(step)))
    n = max(math.ceil((item.stop - start) / step), 0)
    return (start + step * np.arange(n)).astype(np.result_type(start, item.stop, step))
