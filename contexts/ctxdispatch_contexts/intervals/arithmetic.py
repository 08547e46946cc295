"""Arithmetic on bounds: what has a `lo` and a `hi`, numbers or arrays of float64, gives the `Box` of results.

A bound of -inf or inf says that there is none. The number inf is the box [inf, inf]; where an operation on it
has no value (inf - inf, 0 * inf), a bound is a NaN, which no `Interval` is made of.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ctxdispatch_contexts.intervals import rounding

__undispatched__ = True


class Box(NamedTuple):
    lo: Any
    hi: Any


def add(a: Any, b: Any) -> Box:
    return Box(rounding.add(a.lo, b.lo)[0], rounding.add(a.hi, b.hi)[1])


def subtract(a: Any, b: Any) -> Box:
    return add(a, Box(-b.hi, -b.lo))


def multiply(a: Any, b: Any) -> Box:
    found = _hull([rounding.mul(x, y) for x in (a.lo, a.hi) for y in (b.lo, b.hi)])
    nothing = (is_infinite(a) & has_zero(b)) | (is_infinite(b) & has_zero(a))
    return Box(np.where(nothing, np.nan, found.lo), found.hi)


def divide(a: Any, b: Any) -> Box:
    """All numbers where the divisor may be 0."""
    zero = has_zero(b)
    divisors = np.where(zero, 1.0, b.lo), np.where(zero, 1.0, b.hi)
    found = _hull([rounding.div(x, y) for x in (a.lo, a.hi) for y in divisors])
    return Box(np.where(zero, -np.inf, found.lo), np.where(zero, np.inf, found.hi))


def _hull(bounds: list[rounding.Bounds]) -> Box:
    lows, highs = [low for low, _ in bounds], [high for _, high in bounds]
    return Box(np.fmin.reduce(lows), np.fmax.reduce(highs))


def floor_divide(a: Any, b: Any) -> Box:
    return Box(*map(np.floor, divide(a, b)))


def remainder(a: Any, b: Any) -> Box:
    """a - (a // b) b, which has the sign of b and is not larger; b without 0."""
    found = subtract(a, multiply(floor_divide(a, b), b))
    least, most = np.minimum(b.lo, 0.0), np.maximum(b.hi, 0.0)
    return Box(np.clip(found.lo, least, most), np.clip(found.hi, least, most))


def has_zero(a: Any) -> Any:
    return (a.lo <= 0.0) & (a.hi >= 0.0)


def is_infinite(a: Any) -> Any:
    """The number inf, or -inf."""
    return (a.lo == a.hi) & np.isinf(a.lo)


def whole_power(x: Any, n: int) -> Box:
    """x to the power n >= 0: an odd power's bounds are those of the bounds; an even one is that of |x|."""
    if n % 2:
        return Box(_power_of_point(x.lo, n).lo, _power_of_point(x.hi, n).hi)
    largest = np.maximum(np.abs(x.lo), np.abs(x.hi))
    smallest = np.where(has_zero(x), 0.0, np.minimum(np.abs(x.lo), np.abs(x.hi)))
    return Box(np.maximum(_power_of_point(smallest, n).lo, 0.0), _power_of_point(largest, n).hi)


def _power_of_point(x: Any, n: int) -> Box:
    result, square = Box(np.ones_like(x), np.ones_like(x)), Box(x, x)
    while n:
        if n & 1:
            result = _product(result, square)
        square, n = (_product(square, square) if n > 1 else square), n >> 1
    return result


def _product(a: Box, b: Box) -> Box:
    return _hull([rounding.mul(x, y) for x in a for y in b])


def matmul(a: Any, b: Any) -> Box:
    """Sums of products, one term at a time."""
    rows = Box(a.lo[None], a.hi[None]) if np.ndim(a.lo) == 1 else a
    columns = Box(b.lo[:, None], b.hi[:, None]) if np.ndim(b.lo) == 1 else b
    shape = np.matmul(np.broadcast_to(0.0, np.shape(a.lo)), np.broadcast_to(0.0, np.shape(b.lo))).shape
    total = Box(0.0, 0.0)
    for k in range(rows.lo.shape[-1]):
        left = Box(*(x[..., :, k, None] for x in (rows.lo, rows.hi)))
        right = Box(*(x[..., None, k, :] for x in (columns.lo, columns.hi)))
        term = multiply(left, right)
        total = term if k == 0 else add(total, term)
    return Box(*(_laid(bound, shape) for bound in total))


def _laid(bound: Any, shape: tuple[int, ...]) -> Any:
    return np.reshape(bound, shape) if np.size(bound) == np.prod(shape) else np.full(shape, bound)


def summed(x: Any, axes: tuple[int, ...], keepdims: bool) -> Box:
    """Term by term."""
    return _folded(add, x, axes, keepdims, 0.0)


def multiplied(x: Any, axes: tuple[int, ...], keepdims: bool) -> Box:
    return _folded(multiply, x, axes, keepdims, 1.0)


def _folded(f: Any, x: Any, axes: tuple[int, ...], keepdims: bool, first: float) -> Box:
    for axis in sorted(axes, reverse=True):
        low, high = np.moveaxis(x.lo, axis, 0), np.moveaxis(x.hi, axis, 0)
        result = Box(np.full(low.shape[1:], first), np.full(low.shape[1:], first))
        for k in range(len(low)):
            result = f(result, Box(low[k], high[k]))
        x = Box(*(np.expand_dims(bound, axis) for bound in result)) if keepdims else result
    return Box(*x) if isinstance(x, Box) else Box(x.lo, x.hi)


def accumulated(f: Any, x: Any, axis: int) -> Box:
    """f of the first, of the first two, ... along the axis."""
    low, high = np.moveaxis(x.lo, axis, 0), np.moveaxis(x.hi, axis, 0)
    items = [Box(a, b) for a, b in zip(low, high)]
    for k in range(1, len(items)):
        items[k] = f(items[k - 1], items[k])
    if not items:
        return Box(x.lo.copy(), x.hi.copy())
    return Box(*(np.moveaxis(np.stack([item[side] for item in items]), 0, axis) for side in (0, 1)))
