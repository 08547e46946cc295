"""Products of arrays: each is so many multiplications, and additions that begin with zero."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from ctxdispatch.ir.registry import Registry
from ctxdispatch_contexts.counting.elementwise import are_numbers, each, kind_of

PRODUCTS: Registry[Callable[..., float]] = Registry()

# -- of two operands -------------------------------------------------------------------------------


def multiplications(out: Any, count: float) -> float:
    return count * each(np.multiply, kind_of(out))


def multiply_adds(out: Any, count: float) -> float:
    kind = kind_of(out)
    return count * (each(np.multiply, kind) + each(np.add, kind))


def operator_cost(operation: Any, a: Any, b: Any) -> tuple[float, int]:
    """Of a @ b, which is still to be done: flops, and bytes read and written."""
    if not are_numbers(operation, (a, b)):
        return 0, 0
    a, b = np.asarray(a), np.asarray(b)
    result = np.matmul.resolve_dtypes((a.dtype, b.dtype, None))[-1]
    batch = math.prod(np.broadcast_shapes(a.shape[:-2], b.shape[:-2]))
    size = batch * (a.shape[-2] if a.ndim > 1 else 1) * (b.shape[-1] if b.ndim > 1 else 1)
    written = size * result.itemsize if a.ndim > 1 or b.ndim > 1 else 0
    return multiply_adds(result, size * a.shape[-1]), a.nbytes + b.nbytes + written


_OF_LATER_NUMPY = [f for name in ("vecdot", "matvec", "vecmat") if (f := getattr(np, name, None))]


@PRODUCTS.of(np.dot, np.inner, np.matmul, np.linalg.matmul, np.linalg.vecdot, *_OF_LATER_NUMPY)
def along_last(out: Any, a: Any, b: Any, /, *_: Any, axis: int = -1, **__: Any) -> float:
    """`a` has the axis that is summed over as its last; where one is a number, nothing is summed."""
    if not np.ndim(a) or not np.ndim(b):
        return multiplications(out, np.size(out))
    return multiply_adds(out, np.size(out) * np.shape(a)[axis])


@PRODUCTS.of(np.vdot)
def vdot(out: Any, a: Any, b: Any) -> float:
    return multiply_adds(out, np.size(a))


@PRODUCTS.of(np.outer, np.linalg.outer, np.kron)
def outer(out: Any, *_: Any, **__: Any) -> float:
    return multiplications(out, np.size(out))


@PRODUCTS.of(np.tensordot, np.linalg.tensordot)
def tensordot(out: Any, a: Any, b: Any, axes: Any = 2) -> float:
    """What is summed over is in both operands and not in the result."""
    summed = math.sqrt(np.size(a) * np.size(b) / max(1, np.size(out)))
    return multiply_adds(out, np.size(out) * round(summed))


@PRODUCTS.of(np.cross, np.linalg.cross)
def cross(out: Any, a: Any, b: Any, *_: Any, **__: Any) -> float:
    """Two multiplications and a subtraction per component."""
    kind = kind_of(out)
    return (2 * each(np.multiply, kind) + each(np.subtract, kind)) * np.size(out)


@PRODUCTS.of(np.convolve)
def convolve(out: Any, a: Any, v: Any, mode: str = "full") -> float:
    """As it is defined: a multiply-add wherever the two overlap."""
    return multiply_adds(out, _overlaps(np.size(a), np.size(v), mode))


@PRODUCTS.of(np.correlate)
def correlate(out: Any, a: Any, v: Any, mode: str = "valid") -> float:
    return multiply_adds(out, _overlaps(np.size(a), np.size(v), mode))


def _overlaps(m: int, n: int, mode: str) -> int:
    m, n = min(m, n), max(m, n)
    if mode == "full":
        return m * n
    if mode == "valid":
        return m * (n - m + 1)
    left, right = m // 2, (m - 1) // 2
    return m * n - left * (left + 1) // 2 - right * (right + 1) // 2


# -- of several ------------------------------------------------------------------------------------


@PRODUCTS.of(np.linalg.multi_dot)
def multi_dot(out: Any, arrays: Sequence[Any], **_: Any) -> float:
    """In the order that takes the fewest multiplications, which is NumPy's."""
    shapes = [np.shape(a) for a in arrays]
    first = (1, *shapes[0]) if len(shapes[0]) == 1 else shapes[0]
    lengths = [*first, *(shape[1] if len(shape) > 1 else 1 for shape in shapes[1:])]
    least = {(k, k + 1): 0 for k in range(len(shapes))}
    for width in range(2, len(shapes) + 1):
        for i in range(len(shapes) - width + 1):
            j = i + width
            inner = (
                least[i, k] + least[k, j] + lengths[i] * lengths[k] * lengths[j] for k in range(i + 1, j)
            )
            least[i, j] = min(inner)
    return multiply_adds(out, least[0, len(shapes)])


@PRODUCTS.of(np.linalg.matrix_power)
def matrix_power(out: Any, a: Any, n: int) -> float:
    """Squares, and products of some of them; an inverse before, where `n` is negative."""
    size = np.shape(a)[-1]
    products = max(0, abs(n).bit_length() + abs(n).bit_count() - 2)
    inverse = 2 * each(np.multiply, kind_of(out)) if n < 0 else 0
    return multiply_adds(out, np.size(out) * size * products) + inverse * np.size(out) * size


# -- einsum ----------------------------------------------------------------------------------------

Labels = list[Hashable]


@PRODUCTS.of(np.einsum)
def einsum(out: Any, *args: Any, **_: Any) -> float:
    """For each combination of all indices a multiplication per operand but one, and an addition where any
    index is summed over. That is the sum as it is written; `optimize` finds shorter ways."""
    terms, result, operands = _spelled(args)
    found = [_labels(term, np.ndim(operand)) for term, operand in zip(terms, operands, strict=True)]
    sizes: dict[Hashable, int] = {}
    for labels, operand in zip(found, operands):
        for label, size in zip(labels, np.shape(operand)):
            sizes[label] = max(size, sizes.get(label, size))
    times = Counter(itertools.chain.from_iterable(found))
    dots = {label for label in sizes if isinstance(label, tuple)}
    kept = dots | ({label for label, n in times.items() if n == 1} if result is None else {*result})
    count, kind = math.prod(sizes.values()), kind_of(out)
    adds = each(np.add, kind) if sizes.keys() - kept else 0
    return count * ((len(operands) - 1) * each(np.multiply, kind) + adds)


def _spelled(args: Sequence[Any]) -> tuple[list[Labels], Labels | None, Sequence[Any]]:
    """The labels of each operand, of the result if they are given, and the operands. "..." is Ellipsis."""
    if isinstance(args[0], str):
        given, arrow, result = args[0].replace(" ", "").partition("->")
        return [_letters(term) for term in given.split(",")], _letters(result) if arrow else None, args[1:]
    pairs = len(args) // 2
    result = list(args[-1]) if len(args) % 2 else None
    return [list(labels) for labels in args[1 : 2 * pairs : 2]], result, args[: 2 * pairs : 2]


def _letters(term: str) -> Labels:
    before, dots, after = term.partition("...")
    return [*before, *([Ellipsis] if dots else []), *after]


def _labels(term: Labels, ndim: int) -> Labels:
    """With a label for each axis: for what "..." stands for, counted from the last."""
    if Ellipsis not in term:
        return term
    at = term.index(Ellipsis)
    return [*term[:at], *[(Ellipsis, k) for k in range(ndim - len(term), -1, -1)], *term[at + 1 :]]
