"""Keyword arguments of ufuncs, and methods of ufuncs, as Python code in terms of their plain calls.

    np.sin(x, dtype=np.float32)       np.sin(x.astype(np.float32))
    np.log(x, where=m)                zeros, with np.log(x[m]) where m is true
    np.matmul(a, b, axes=[..])        np.matmul of a and b with their core axes moved to the end
    np.hypot.reduce(a)                np.hypot(np.hypot(a[0], a[1]), a[2])
    np.hypot.outer(a, b)              np.hypot(a[:, None], b)

`spelled(callee)` is the function that does this for one of them: a template below, in which `ufunc` is the
one at hand. Which loop NumPy would run, and whether the operands may be cast to what that takes, NumPy itself
says (`ufunc.resolve_dtypes`), at compile time where the dtypes are known by then.
"""

# ruff: noqa: C419 (a list: lowerings are lifted, and a generator is a frame of its own)
from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, lru_cache
from types import BuiltinMethodType, FunctionType
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from ctxdispatch.facts import says
from ctxdispatch_contexts.derivatives.linear import place, scatter
from ctxdispatch_contexts.derivatives.registry import vjp

NoValue = np._NoValue
ufunc: Any = None
"""In a copy of a template, the ufunc that it is for."""


@cache
def spelled(callee: Any) -> Callable[..., Any] | None:
    """The Python function that means what a ufunc called with keywords, or a ufunc's method, means."""
    if type(callee) is np.ufunc:
        return _of(callee, elementwise if callee.signature is None else generalised)
    method = type(callee) is BuiltinMethodType and type(callee.__self__) is np.ufunc
    template = METHODS.get(callee.__name__) if method else None
    return None if template is None else _of(callee.__self__, template)


def _of(function: Any, template: FunctionType) -> FunctionType:
    names = {**globals(), "ufunc": function}
    made = FunctionType(template.__code__, names, template.__name__, template.__defaults__)
    made.__kwdefaults__ = template.__kwdefaults__
    return made


# -- calls ---------------------------------------------------------------------------------------------------


def elementwise(
    *operands, out=None, where=True, casting="same_kind", order="K", dtype=None, subok=True, signature=None,
    sig=None,
):  # fmt: skip
    operands = in_loop(ufunc, operands, dtype, sig if signature is None else signature, casting)
    if where is not True:
        return computed_at(ufunc, operands, where)
    return laid_out(ufunc(*operands), operands, order)


def in_loop(function, operands, dtype, signature, casting):
    """The operands in the dtypes of the loop that NumPy runs for these. Written out by number: a list of
    them would have one type for all."""
    if len(operands) == 1:
        (a,) = operands
        dtypes = loop_dtypes(function, (kind(a),), dtype, signature, casting)
        return (cast(a, dtypes[0]),)
    if len(operands) == 2:
        a, b = operands
        dtypes = loop_dtypes(function, (kind(a), kind(b)), dtype, signature, casting)
        return (cast(a, dtypes[0]), cast(b, dtypes[1]))
    if len(operands) == 3:
        a, b, c = operands
        dtypes = loop_dtypes(function, (kind(a), kind(b), kind(c)), dtype, signature, casting)
        return (cast(a, dtypes[0]), cast(b, dtypes[1]), cast(c, dtypes[2]))
    dtypes = loop_dtypes(function, tuple([kind(a) for a in operands]), dtype, signature, casting)
    return tuple([cast(a, each) for a, each in zip(operands, dtypes, strict=True)])


@cache
def loop_dtypes(function, kinds, dtype, signature, casting):
    """The dtypes of the operands in the loop for these kinds; NumPy's error where there is none."""
    if dtype is not None and signature is not None:
        raise TypeError("cannot specify both 'signature' and 'dtype'")
    if dtype is not None:
        signature = (None,) * function.nin + (dtype,) * function.nout
    if isinstance(signature, tuple):
        signature = tuple([_dtype(s) for s in signature])
    named = {"casting": casting} if signature is None else {"casting": casting, "signature": signature}
    return function.resolve_dtypes((*kinds, *[None] * function.nout), **named)[: function.nin]


def _dtype(given):
    """A dtype, or a class of dtypes, as `signature` of resolve_dtypes takes it."""
    if given is None or (issubclass(type(given), type) and issubclass(given, np.dtype)):
        return given
    return np.dtype(given)


def kind(operand):
    """The dtype; of numbers of Python's own, which do not widen the loop, the class."""
    if isinstance(operand, (np.ndarray, np.generic)):
        return operand.dtype
    if isinstance(operand, (float, complex)):
        return float if isinstance(operand, float) else complex
    return int if isinstance(operand, int) else np.asarray(operand).dtype


def cast(operand, dtype):
    if isinstance(operand, (np.ndarray, np.generic)):
        return operand if operand.dtype.char == dtype.char else operand.astype(dtype)
    if isinstance(operand, (list, tuple, complex)):
        return np.asarray(operand).astype(dtype)[()]
    if isinstance(operand, float) and dtype.char == "d":
        return operand
    return operand if isinstance(operand, int) and dtype.kind == "i" else dtype.type(operand)


def laid_out(y, operands, order):
    """The result, or each of two, in the memory order that the call asks for."""
    if order == "K":
        return y
    if order == "A":
        order = "F" if all([np.isfortran(a) or np.ndim(a) < 2 for a in operands]) else "C"
    if isinstance(y, tuple):
        return (in_order(y[0], order), in_order(y[1], order))
    return in_order(y, order)


def in_order(y, order):
    return y if np.ndim(y) == 0 else np.asarray(y, order=order)


# -- where ---------------------------------------------------------------------------------------------------


def computed_at(function, operands, where):
    """`function` where the mask is true; elsewhere, where NumPy leaves what was in the memory, zero.

    Only there is it computed, so that nothing comes of operands outside of its domain.
    """
    mask = mask_of(where)
    if len(operands) == 1:
        (a,) = operands
        shape = common_shape(mask.shape, np.shape(a))
        mask = np.broadcast_to(mask, shape)
        y = function(np.broadcast_to(a, shape)[mask])
    elif len(operands) == 2:
        a, b = operands
        shape = common_shape(mask.shape, np.shape(a), np.shape(b))
        mask = np.broadcast_to(mask, shape)
        y = function(np.broadcast_to(a, shape)[mask], np.broadcast_to(b, shape)[mask])
    else:
        shape = common_shape(mask.shape, *[np.shape(a) for a in operands])
        mask = np.broadcast_to(mask, shape)
        y = function(*chosen(operands, mask, shape))
    if isinstance(y, tuple):
        return (placed(y[0], mask, shape), placed(y[1], mask, shape))
    return placed(y, mask, shape)


def mask_of(where):
    """NumPy makes masks of lists of numbers, and of arrays of booleans alone."""
    if isinstance(where, np.ndarray):
        return where if where.dtype == bool else where.astype(bool, casting="safe")
    return np.asarray(where, bool)


@says(known=False)
@lru_cache(maxsize=1024)
def common_shape(*shapes):
    return np.broadcast_shapes(*shapes)


def chosen(operands, mask, shape):
    return tuple([np.broadcast_to(a, shape)[mask] for a in operands])


def placed(y, mask, shape):
    return place(y, mask, shape, y.dtype)[()]


# -- generalised ufuncs --------------------------------------------------------------------------------------


def generalised(
    *operands, out=None, casting="same_kind", order="K", dtype=None, subok=True, signature=None, sig=None,
    axes=None, axis=None, keepdims=False,
):  # fmt: skip
    a, b = in_loop(ufunc, operands, dtype, sig if signature is None else signature, casting)
    if axes is None and axis is None and keepdims is False:
        return laid_out(ufunc(a, b), (a, b), order)
    if ones_along(ufunc, np.ndim(a), np.ndim(b), axes, axis, keepdims) < 0:
        raise AssertionError  # a product that nobody reads would not be computed, nor refused
    if axis is not None or axes is not None:
        a = core_last(a, axes[0] if axis is None else axis)
        b = core_last(b, axes[1] if axis is None else axis)
    y, kept = ufunc(a, b), result_axes(axes)
    if keepdims:
        y = np.expand_dims(y, kept[0] if axis is None else axis)
    elif axes is not None and len(axes) > 2 and len(kept) > 0:
        y = np.moveaxis(y, tuple(range(-len(kept), 0)), kept)
    return laid_out(y, (a, b), order)


def ones_along(function, n, m, axes, axis, keepdims):
    """1; NumPy's own error where they are not for this ufunc, or for operands of so many dimensions."""
    a, b = np.ones((1,) * n), np.ones((1,) * m)
    if axes is not None and axis is not None:
        return np.min(function(a, b, axes=axes, axis=axis))
    if axes is None and axis is None:
        return np.min(function(a, b, keepdims=keepdims))
    if keepdims is False:
        return np.min(function(a, b, axes=axes) if axis is None else function(a, b, axis=axis))
    if axis is None:
        return np.min(function(a, b, axes=axes, keepdims=keepdims))
    return np.min(function(a, b, axis=axis, keepdims=keepdims))


def core_last(a, axes):
    """The axes that the ufunc works on are the last ones."""
    axes = axes if isinstance(axes, tuple) else (axes,)
    return np.moveaxis(a, axes, tuple(range(-len(axes), 0)))


def result_axes(axes):
    """The axes of the result that `axes` names; the last one is where keepdims puts one of its own."""
    if axes is None or len(axes) < 3:
        return (-1,)
    return axes[2] if isinstance(axes[2], tuple) else (axes[2],)


# -- methods -------------------------------------------------------------------------------------------------


def reduce(array, axis=0, dtype=None, out=None, keepdims=False, initial=NoValue, where=True):
    """One element after the other, those along several axes as if along one."""
    a = np.asarray(array) if dtype is None else np.asarray(array).astype(dtype)
    axes = reduced_axes(ufunc, axis, a.ndim)
    rows = in_front(a, axes)
    start = ufunc.identity if initial is NoValue else initial
    if start is None:
        check_first(ufunc, len(rows), where)
        y = folded(ufunc, rows[0], rows[1:])
    else:
        y = np.broadcast_to(np.asarray(start, a.dtype), rows.shape[1:])
        if where is True:
            y = folded(ufunc, y, rows)
        else:
            y = folded_at(ufunc, y, rows, in_front(np.broadcast_to(where, a.shape), axes))
    return np.expand_dims(y, axes) if keepdims else y[()]


def folded(function, y, rows):
    for i in range(len(rows)):
        y = function(y, rows[i])
    return y


def folded_at(function, y, rows, mask):
    """Where the mask is false, nothing may come of an operand outside of the domain."""
    for i in range(len(rows)):
        y = np.where(mask[i], function(y, np.where(mask[i], rows[i], 0.5)), y)
    return y


@cache
def reduced_axes(function, axis, ndim):
    """The axes, in order; NumPy's error where the ufunc cannot go along several."""
    function.reduce(np.ones((1,) * ndim), axis=axis)
    if ndim == 0 or axis == ():
        return ()
    return tuple(sorted(normalize_axis_tuple(range(ndim) if axis is None else axis, ndim)))


@says(known=False, raises=False)
@cache
def leading(axes):
    return tuple(range(len(axes)))


def in_front(a, axes):
    """Those axes as one, the first; of length 1 where there are none."""
    if len(axes) == 1:
        return np.moveaxis(a, axes[0], 0)
    moved = np.moveaxis(a, axes, leading(axes))
    return moved.reshape((math.prod(moved.shape[: len(axes)]), *moved.shape[len(axes) :]))


def check_first(function, n, where):
    """NumPy's error where there is nothing to begin with."""
    if n == 0 or where is not True:
        function.reduce(np.ones(n), initial=None, where=np.ones(n, bool) if where is not True else True)


def accumulate(array, axis=0, dtype=None, out=None):
    a = np.asarray(array) if dtype is None else np.asarray(array).astype(dtype)
    if a.shape[axis] == 0:
        return a.copy()
    return np.stack(running(ufunc, np.moveaxis(a, axis, 0)), axis)


def running(function, rows):
    found = [rows[0]]
    for i in range(1, len(rows)):
        found.append(function(found[-1], rows[i]))
    return found


def reduceat(array, indices, axis=0, dtype=None, out=None):
    a = np.asarray(array) if dtype is None else np.asarray(array).astype(dtype)
    if len(indices) == 0:
        return np.take(a, [], axis)
    rows = np.moveaxis(a, axis, 0)
    starts, ends = segments(indices, len(rows))
    return np.stack([folded(ufunc, rows[i], rows[i + 1 : j]) for i, j in zip(starts, ends)], axis)


def segments(indices, n):
    """Where each begins and ends: where the next one begins, or after one element where that lies before."""
    starts = [int(i) for i in indices]
    if any([i < 0 or i >= n for i in starts]):
        raise IndexError(f"an index of reduceat is out of bounds for an axis of length {n}")
    return starts, [j if j > i else i + 1 for i, j in zip(starts, [*starts[1:], n], strict=True)]


def outer(
    A, B, /, *, out=None, where=True, casting="same_kind", order="K", dtype=None, subok=True, signature=None,
    sig=None,
):  # fmt: skip
    a, chosen = np.reshape(A, np.shape(A) + (1,) * np.ndim(B)), sig if signature is None else signature
    if where is True and casting == "same_kind" and order == "K" and dtype is None and chosen is None:
        return ufunc(a, B)
    if chosen is None:
        return ufunc(a, B, where=where, casting=casting, order=order, dtype=dtype)
    if dtype is not None:
        raise TypeError("cannot specify both 'signature' and 'dtype'")
    return ufunc(a, B, where=where, casting=casting, order=order, signature=chosen)


METHODS = {"reduce": reduce, "accumulate": accumulate, "reduceat": reduceat, "outer": outer}


@vjp(np.add.reduceat, linear=(0,), unless="out")
def add_reduceat(g, y, array, indices, axis=0, dtype=None, out=None):
    """Each element gets the cotangents of the segments that it is in."""
    n = array.shape[axis]
    starts, ends = segments(indices, n)
    lengths = np.subtract(ends, starts)
    within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    rows = np.moveaxis(g, axis, 0)
    each = rows[np.repeat(np.arange(len(starts)), lengths)]
    shape = (n, *rows.shape[1:])
    return (np.moveaxis(scatter(each, np.repeat(starts, lengths) + within, shape, g.dtype), 0, axis),)
