"""What the functions of NumPy cost that are neither ufuncs nor products, by their arguments and results.

Reductions are so many steps of a ufunc; linear algebra has the leading terms of Golub and Van Loan, "Matrix
Computations". What is in no table has no flops.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ctxdispatch_contexts.counting.elementwise import chosen, each, kind_of, reduction
from ctxdispatch_contexts.counting.products import PRODUCTS, multiply_adds

Cost = Callable[..., float]


def _factor(*values: Any) -> int:
    """Of complex arithmetic, where a multiplication and an addition are eight operations in place of two."""
    return 4 if any(np.iscomplexobj(v) for v in values) else 1


# -- reductions ------------------------------------------------------------------------------------


def _reduces(ufunc: np.ufunc) -> Cost:
    def flops(out: Any, a: Any, *_: Any, where: Any = True, **__: Any) -> float:
        return reduction(ufunc, out, a, where)

    return flops


def _moments(per_element: int, per_result: int) -> Cost:
    """`var` has a mean, a difference, a square and another mean for each element."""

    def flops(out: Any, a: Any, *_: Any, where: Any = True, **__: Any) -> float:
        kind = kind_of(out, np.asarray(a))
        weight = each(np.add, kind)
        return weight * (per_element * chosen(np.shape(a), where) + per_result * np.size(out))

    return flops


def _average(out: Any, a: Any, axis: Any = None, weights: Any = None, *_: Any, **__: Any) -> float:
    """The products, their sum and that of the weights, and a division."""
    made = out[0] if isinstance(out, tuple) else out
    if weights is None:
        return reduction(np.add, made, a)
    size, kind = np.size(a), kind_of(made)
    weighted = (each(np.multiply, kind) + each(np.add, kind)) * size
    return weighted + each(np.add, kind) * size + each(np.divide, kind) * np.size(made)


def _per_result(ufunc: np.ufunc, weight: int = 1) -> Cost:
    def flops(out: Any, *_: Any, **__: Any) -> float:
        return weight * each(ufunc, kind_of(out)) * np.size(out)

    return flops


def _diff(out: Any, a: Any, n: int = 1, axis: int = -1, *_: Any, **__: Any) -> float:
    length = np.shape(out)[axis]
    lengths = sum(length + k for k in range(n))
    return each(np.subtract, kind_of(out)) * lengths * (np.size(out) // max(1, length))


def _trace(out: Any, a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, *_: Any, **__: Any) -> float:
    length = np.diagonal(np.asarray(a), offset, axis1, axis2).shape[-1]
    return each(np.add, kind_of(out)) * length * np.size(out)


def _polyval(out: Any, p: Any, x: Any) -> float:
    """By Horner's rule."""
    return multiply_adds(out, np.size(p) * np.size(x))


def _trapezoid(out: Any, y: Any, x: Any = None, *_: Any, **__: Any) -> float:
    """A sum of neighbours, a product, a division, and an addition, a step; and that, where `x` is given."""
    kind = kind_of(out)
    steps = np.size(y) - np.size(out)
    adds = 2 + (x is not None and np.ndim(x) == np.ndim(y))
    once = each(np.subtract, kind) * (np.size(x) - 1) if x is not None and np.ndim(x) < np.ndim(y) else 0
    return steps * (adds * each(np.add, kind) + each(np.multiply, kind) + each(np.divide, "f")) + once


def _sum(out: Any, items: Any, start: Any = 0) -> float:
    """Python's own, of the rows of an array."""
    return reduction(np.add, out, items) if isinstance(items, np.ndarray) else 0


# -- linear algebra, transforms --------------------------------------------------------------------


def _square(cost: float) -> Cost:
    def flops(_: Any, a: Any, *__: Any, **___: Any) -> float:
        *batch, m, n = np.shape(a)
        return cost * math.prod(batch) * m * n * min(m, n) * _factor(a)

    return flops


def _solve(out: Any, a: Any, b: Any) -> float:
    n = np.shape(a)[-1]
    batch = math.prod(np.shape(a)[:-2])
    return (2 / 3 * n**3 * batch + 2 * n * np.size(out)) * _factor(a, b)


def _norm(_: Any, x: Any, *__: Any, **___: Any) -> float:
    return 2 * np.size(x) * (2 if np.iscomplexobj(x) else 1)


def _fft(_: Any, a: Any, n: Any = None, axis: int = -1, *__: Any, **___: Any) -> float:
    return _transformed(a, [n], [axis])


def _fft2(_: Any, a: Any, s: Any = None, axes: Any = (-2, -1), *__: Any, **___: Any) -> float:
    return _transformed(a, s, axes)


def _fftn(_: Any, a: Any, s: Any = None, axes: Any = None, *__: Any, **___: Any) -> float:
    ndim = np.ndim(a)
    return _transformed(a, s, range(ndim - (len(s) if s else ndim), ndim) if axes is None else axes)


def _transformed(a: Any, lengths: Any, axes: Any) -> float:
    """5 N log2 N for each transform of N numbers."""
    shape = np.shape(a)
    now = [shape[axis] for axis in axes]
    count = math.prod(n or length for n, length in zip(lengths or now, now))
    return 5 * count * math.log2(max(2, count)) * np.size(a) / max(1, math.prod(now))


# -- tables ----------------------------------------------------------------------------------------

_REDUCTIONS: dict[str, Cost] = {
    **dict.fromkeys(("sum", "cumsum", "mean"), _reduces(np.add)),
    **dict.fromkeys(("prod", "cumprod"), _reduces(np.multiply)),
    "var": _moments(4, 0), "std": _moments(4, 1),
}  # fmt: skip

FUNCTIONS: dict[Any, Cost] = {
    **PRODUCTS,
    **{getattr(np, name): cost for name, cost in _REDUCTIONS.items()},
    **{getattr(np, f"nan{name}"): cost for name, cost in _REDUCTIONS.items()},
    **{f: cost for name, cost in (("cumulative_sum", "sum"), ("cumulative_prod", "prod"))
       if (f := getattr(np, name, None)) for cost in [_REDUCTIONS[cost]]},
    np.average: _average, np.diff: _diff, np.ediff1d: _per_result(np.subtract), np.trace: _trace,
    np.ptp: _per_result(np.subtract), np.polyval: _polyval, np.trapezoid: _trapezoid,
    builtins.sum: _sum,
    np.linalg.solve: _solve, np.linalg.norm: _norm,
    np.linalg.inv: _square(2), np.linalg.det: _square(2 / 3), np.linalg.slogdet: _square(2 / 3),
    np.linalg.cholesky: _square(1 / 3), np.linalg.qr: _square(4), np.linalg.svd: _square(22),
    np.linalg.svdvals: _square(4), np.linalg.eigh: _square(9), np.linalg.eigvalsh: _square(4 / 3),
    np.linalg.eig: _square(25), np.linalg.eigvals: _square(10), np.linalg.lstsq: _square(4),
    np.linalg.pinv: _square(22),
    **dict.fromkeys((np.fft.fft, np.fft.ifft, np.fft.rfft, np.fft.irfft), _fft),
    **dict.fromkeys((np.fft.fft2, np.fft.ifft2, np.fft.rfft2, np.fft.irfft2), _fft2),
    **dict.fromkeys((np.fft.fftn, np.fft.ifftn, np.fft.rfftn, np.fft.irfftn), _fftn),
}  # fmt: skip
"""Flops of functions: of the result, then the arguments."""
