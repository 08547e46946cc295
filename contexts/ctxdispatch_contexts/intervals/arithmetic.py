"""Operators on bounds, and the sums and products of arrays that are made of them.

    a, b     bounds (lo, hi), of numbers or of arrays
    result   bounds of all that the operator gives for numbers between them

Where an operator has no value (x / 0, inf - inf, 0 * inf) its bounds are those of all numbers. An infinite
bound stands for numbers without bound; only the point (inf, inf) is infinity itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from ctxdispatch_contexts.intervals import rounding
from ctxdispatch_contexts.intervals.elementary import elementary
from ctxdispatch_contexts.intervals.rounding import Bounds

__undispatched__ = True

Operator = Callable[[Bounds, Bounds], Bounds]
LARGEST_POWER = 1024.0


def add(a: Bounds, b: Bounds) -> Bounds:
    low, high = rounding.add(a[0], b[0])[0], rounding.add(a[1], b[1])[1]
    return np.fmax(low, -np.inf), np.fmin(high, np.inf)  # a NaN, of inf - inf, is no bound


def neg(a: Bounds) -> Bounds:
    return -a[1], -a[0]


def sub(a: Bounds, b: Bounds) -> Bounds:
    return add(a, neg(b))


def mul(a: Bounds, b: Bounds) -> Bounds:
    found = _hull([rounding.mul(x, y) for x in a for y in b])
    return _everything(_is_infinity(a) & _has_zero(b) | _has_zero(a) & _is_infinity(b), found)


def div(a: Bounds, b: Bounds) -> Bounds:
    zero = _has_zero(b)
    divisors = [np.where(zero, 1.0, bound) for bound in b]
    found = _hull([rounding.div(x, y) for x in a for y in divisors])
    unbounded = _is_infinity(a) & _is_unbounded(b) | _is_unbounded(a) & _is_infinity(b)
    return _everything(zero | unbounded, found)


def floordiv(a: Bounds, b: Bounds) -> Bounds:
    return elementary("floor", div(a, b))


def mod(a: Bounds, b: Bounds) -> Bounds:
    return _everything(_has_zero(b), sub(a, mul(floordiv(a, b), b)))


def _hull(bounds: list[Bounds]) -> Bounds:
    """Without the NaNs. The order of the elements in memory is kept: whether `ravel` copies hangs on it."""
    return reduce(np.fmin, [low for low, _ in bounds]), reduce(np.fmax, [high for _, high in bounds])


def _everything(where: Any, a: Bounds) -> Bounds:
    return np.where(where, -np.inf, a[0]), np.where(where, np.inf, a[1])


def _has_zero(a: Bounds) -> Any:
    return (a[0] <= 0.0) & (a[1] >= 0.0)


def _is_infinity(a: Bounds) -> Any:
    return (a[0] == a[1]) & np.isinf(a[0])


def _is_unbounded(a: Bounds) -> Any:
    return np.isinf(a[0]) | np.isinf(a[1])


# -- powers ----------------------------------------------------------------------------------------


def power(a: Bounds, b: Bounds) -> Bounds:
    """Whole exponents by products and 0.5 by the square root; others as exp(b log(a)), for a above 0."""
    exponent = b[0]
    if np.all(b[0] == b[1]):
        if np.all((exponent == np.floor(exponent)) & (np.abs(exponent) <= LARGEST_POWER)):
            return _whole_powers(a, exponent)
        if np.all(exponent == 0.5):
            root = elementary("sqrt", a)
            return mul(root, (np.ones_like(exponent),) * 2)
    return elementary("exp", mul(b, elementary("log", a)))


def _whole_powers(a: Bounds, exponents: Any) -> Bounds:
    low = high = a[0] * 0.0 + exponents * 0.0
    for n in np.unique(exponents):
        found = _whole_power(a, int(abs(n)))
        found = found if n >= 0 else div((np.float64(1.0),) * 2, found)
        low, high = np.where(exponents == n, found[0], low), np.where(exponents == n, found[1], high)
    return low, high


def _whole_power(a: Bounds, n: int) -> Bounds:
    """The bounds of an odd power are those of the bounds; an even one is that of the absolute value."""
    base = a if n % 2 else elementary("absolute", a)
    low, high = _point_power(base[0], n)[0], _point_power(base[1], n)[1]
    return (low if n % 2 else np.maximum(low, 0.0)), high


def _point_power(x: Any, n: int) -> Bounds:
    result, square = (np.ones_like(x),) * 2, (x, x)
    while n:
        if n & 1:
            result = mul(result, square)
        square, n = (mul(square, square) if n > 1 else square), n >> 1
    return result


# -- arrays ----------------------------------------------------------------------------------------


def total(a: Bounds, axis: Any, keepdims: bool) -> Bounds:
    """The sum along some axes, term by term."""
    shape = np.shape(np.sum(a[0], axis=axis, keepdims=keepdims))  # NumPy says which axes there are
    ndim = np.ndim(a[0])
    given = range(ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    axes = [each % ndim for each in given] if ndim else []
    terms = tuple(np.moveaxis(bound, axes, range(len(axes))) for bound in a)
    summed_over, rest = np.shape(terms[0])[: len(axes)], np.shape(terms[0])[len(axes) :]
    terms = tuple(term.reshape(math.prod(summed_over), *rest) for term in terms)
    summed = reduce(add, zip(*terms), (np.zeros(rest), np.zeros(rest)))
    return summed[0].reshape(shape), summed[1].reshape(shape)


def matmul(a: Bounds, b: Bounds) -> Bounds:
    ndims = np.ndim(a[0]), np.ndim(b[0])
    if 0 in ndims:
        raise ValueError("matmul: a number is no operand; use *")
    rows = tuple(x[None] if ndims[0] == 1 else x for x in a)
    columns = tuple(x[:, None] if ndims[1] == 1 else x for x in b)
    columns = tuple(np.swapaxes(x, -1, -2)[..., None, :, :] for x in columns)
    found = _products_summed(tuple(x[..., :, None, :] for x in rows), columns)
    dropped = tuple(-2 + i for i in (0, 1) if ndims[i] == 1)
    return np.squeeze(found[0], dropped), np.squeeze(found[1], dropped)


def inner(a: Bounds, b: Bounds) -> Bounds:
    """Over the last axes of both."""
    if np.ndim(a[0]) == 0 or np.ndim(b[0]) == 0:
        return mul(a, b)
    between = (1,) * (np.ndim(b[0]) - 1)
    return _products_summed(tuple(x.reshape(*x.shape[:-1], *between, x.shape[-1]) for x in a), b)


def dot(a: Bounds, b: Bounds) -> Bounds:
    """Over the last axis of a, and the last but one of b."""
    if np.ndim(a[0]) and np.ndim(b[0]) > 1:
        b = tuple(np.swapaxes(x, -1, -2) for x in b)
    return inner(a, b)


def _products_summed(a: Bounds, b: Bounds) -> Bounds:
    """Over the last axes; of the others NumPy's broadcasting."""
    shapes = np.shape(a[0]), np.shape(b[0])
    if shapes[0][-1] != shapes[1][-1]:
        raise ValueError(f"{shapes[0][-1]} factors do not match {shapes[1][-1]}")
    shape = np.broadcast_shapes(shapes[0][:-1], shapes[1][:-1])
    terms = (mul(_term(a, k), _term(b, k)) for k in range(shapes[0][-1]))
    return reduce(add, terms, (np.zeros(shape), np.zeros(shape)))


def _term(a: Bounds, k: int) -> Bounds:
    return a[0][..., k], a[1][..., k]
