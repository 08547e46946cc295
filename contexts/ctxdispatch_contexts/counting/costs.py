"""What operations cost, in floating-point operations and bytes.

Arithmetic on floats is one flop each; elementary functions, and powers, count `ELEMENTARY` (about what a
polynomial approximation takes); complex arithmetic as it is done in real numbers; whole numbers nothing.
Array functions count per element of the result, reductions per element of the operand, linear algebra by the
leading terms of Golub and Van Loan, "Matrix Computations". Views and copies are no flops; views move no bytes
either.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from types import BuiltinMethodType
from typing import Any

import numpy as np

ELEMENTARY = 10

# -- operators -------------------------------------------------------------------------------------

WEIGHTS: dict[Any, int] = {
    **{getattr(operator, name): 1 for name in "add sub mul truediv neg iadd isub imul itruediv".split()},
    **{getattr(operator, name): 2 for name in "floordiv mod ifloordiv imod".split()},
    operator.pow: ELEMENTARY, operator.ipow: ELEMENTARY,
}  # fmt: skip
"""Flops of an operator on floats; others have none."""

COMPLEX = {
    operator.add: 2, operator.iadd: 2, operator.sub: 2, operator.isub: 2, operator.neg: 2,
    operator.mul: 6, operator.imul: 6, operator.truediv: 11, operator.itruediv: 11,
    np.add: 2, np.subtract: 2, np.negative: 2, np.multiply: 6, np.divide: 11,
}  # fmt: skip
OTHER_COMPLEX = 4
"""Times what the function costs on floats."""

MATMULS = {operator.matmul, operator.imatmul}


def operator_cost(operation: Any, operands: tuple[Any, ...]) -> tuple[float, int]:
    """Flops, and bytes read and written, of `operation` on operands that are not both Python floats."""
    if operation in MATMULS:
        return matmul(*operands)
    kind, size, nbytes = _elementwise(operands)
    weight = WEIGHTS.get(operation, 0)
    if kind == "c":
        weight = COMPLEX.get(operation, OTHER_COMPLEX * weight)
    return (weight * size if kind in "fc" else 0), nbytes


_KINDS = {float: "f", complex: "c", int: "i", bool: "b"}


def _elementwise(operands: tuple[Any, ...]) -> tuple[str, int, int]:
    """The kind of the result ("" where an operand is no number), its size, the bytes that are moved."""
    kinds, shapes, nbytes = "", [], 0
    for operand in operands:
        kind = _KINDS.get(type(operand))
        if kind is None:
            if not isinstance(operand, np.ndarray | np.generic):
                return "", 0, 0
            kind = operand.dtype.kind
            shapes.append(operand.shape)
            nbytes += operand.nbytes if isinstance(operand, np.ndarray) else 0
        kinds += kind
    kind = next((k for k in "cf" if k in kinds), "i")
    try:
        size = math.prod(np.broadcast_shapes(*shapes))
    except ValueError:
        return "", 0, 0  # the operation raises
    width = max((o.itemsize for o in operands if isinstance(o, np.ndarray)), default=0)
    return kind, size, nbytes + width * size


# -- calls -----------------------------------------------------------------------------------------

Arguments = tuple[Any, ...]


def _factor(*values: Any) -> int:
    """Of complex arithmetic, where a multiplication and an addition are eight operations in place of two."""
    return 4 if any(np.iscomplexobj(v) for v in values) else 1


def matmul(a: Any, b: Any, *_: Any) -> tuple[float, int]:
    """2 m n k; the bytes of the operands and of the result."""
    a, b = np.asarray(a), np.asarray(b)
    if "O" in (a.dtype.kind, b.dtype.kind) or not a.ndim or not b.ndim:
        return 0, 0
    rows = math.prod(a.shape[:-1])
    columns = b.shape[-1] if b.ndim > 1 else 1
    batch = 1
    if a.ndim > 1 and b.ndim > 2:
        batch = math.prod(np.broadcast_shapes(a.shape[:-2], b.shape[:-2])) / max(1, math.prod(a.shape[:-2]))
    size = rows * columns * batch
    flops = 2 * size * a.shape[-1] * _factor(a, b) if a.dtype.kind in "fc" or b.dtype.kind in "fc" else 0
    return flops, int(a.nbytes + b.nbytes + size * max(a.itemsize, b.itemsize))


def einsum(subscripts: Any, *operands: Any) -> float:
    """A multiplication per operand but one, and an addition, for each combination of all indices."""
    if not isinstance(subscripts, str):
        return 0
    sizes: dict[str, int] = {}
    for labels, operand in zip(subscripts.split("->")[0].split(","), operands):
        sizes.update(zip(labels.strip(), np.shape(operand)))
    return max(1, len(operands)) * math.prod(sizes.values()) * _factor(*operands)


def _square(cost: float) -> Callable[..., float]:
    def flops(a: Any, *_: Any) -> float:
        *batch, m, n = np.shape(a)
        return cost * math.prod(batch) * m * n * min(m, n) * _factor(a)

    return flops


def _solve(a: Any, b: Any, *_: Any) -> float:
    n = np.shape(a)[-1]
    columns = np.size(b) / max(1, n)
    return (2 / 3 * n**3 + 2 * n * n * columns) * _factor(a, b)


def _fft(a: Any, n: Any = None, *_: Any) -> float:
    length = n or np.shape(a)[-1]
    return 5 * length * math.log2(max(2, length)) * np.size(a) / max(1, np.shape(a)[-1])


def _per_element(weight: float) -> Callable[..., float]:
    def flops(a: Any, *_: Any) -> float:
        dtype = np.asarray(a).dtype
        return weight * np.size(a) * (2 if dtype.kind == "c" else dtype.kind == "f")

    return flops


CALLS: dict[Any, Callable[..., float]] = {
    np.einsum: einsum, np.linalg.solve: _solve,
    np.linalg.inv: _square(2), np.linalg.det: _square(2 / 3), np.linalg.slogdet: _square(2 / 3),
    np.linalg.cholesky: _square(1 / 3), np.linalg.qr: _square(4), np.linalg.svd: _square(22),
    np.linalg.eigh: _square(9), np.linalg.eig: _square(25), np.linalg.eigvalsh: _square(4 / 3),
    np.linalg.lstsq: _square(4), np.linalg.pinv: _square(22), np.linalg.norm: _per_element(2),
    np.fft.fft: _fft, np.fft.ifft: _fft, np.fft.rfft: _fft, np.fft.irfft: _fft,
    **dict.fromkeys((np.sum, np.prod, np.mean, np.cumsum, np.cumprod, np.diff), _per_element(1)),
    **dict.fromkeys((np.var, np.std), _per_element(4)),
    sum: lambda a, *_: _per_element(1)(a) if _is_array(a) else 0,
    math.fsum: lambda a, *_: len(a) if hasattr(a, "__len__") else 0,
}  # fmt: skip
"""Flops of functions, by their arguments."""

PRODUCTS = {np.dot, np.matmul, np.vdot, np.inner}
METHODS = {
    "sum": 1, "prod": 1, "mean": 1, "cumsum": 1, "cumprod": 1, "trace": 1, "var": 4, "std": 4,
}  # fmt: skip
"""Flops per element of methods of arrays."""

CHEAP = {
    np.add, np.subtract, np.multiply, np.divide, np.negative, np.absolute, np.sqrt, np.square,
    np.reciprocal, math.sqrt, math.fabs, math.fma if hasattr(math, "fma") else math.fabs,
}  # fmt: skip
FREE = {
    math.floor, math.ceil, math.trunc, math.isnan, math.isinf, math.isfinite, math.frexp, math.ldexp,
    math.modf, math.copysign, math.nextafter, math.ulp, math.gcd, math.lcm, math.comb, math.perm,
    math.factorial, math.isqrt,
    np.positive, np.conjugate, np.sign, np.floor, np.ceil, np.trunc, np.rint, np.isnan, np.isinf, np.isfinite,
    np.maximum, np.minimum, np.fmax, np.fmin, np.signbit, np.copysign, np.spacing, np.nextafter,
}  # fmt: skip
"""Comparisons, and what looks at the bits of a number."""

_OF_MATH = {f for f in vars(math).values() if callable(f)}


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray)


def call_cost(f: Any, out: Any, args: Arguments) -> tuple[float, int]:
    """Flops, and bytes read and written, of f(*args), which returned `out`."""
    if isinstance(f, np.ufunc):
        return _ufunc(f, out, args)
    if isinstance(f, BuiltinMethodType) and _is_array(f.__self__):
        return _method(f.__self__, f.__name__, out, args)
    if f in PRODUCTS:
        return matmul(*args[:2])
    cost = CALLS.get(f)
    if cost is None and f in _OF_MATH:
        return (_weight(f) if type(out) is float else 0), 0
    return (0 if cost is None else cost(*args)), (_moved(out, args) if cost or _is_of_numpy(f) else 0)


def _ufunc(f: np.ufunc, out: Any, args: Arguments) -> tuple[float, int]:
    if f is np.matmul:
        return matmul(*args[:2])
    dtype = np.asarray(out[0] if isinstance(out, tuple) else out).dtype
    operands = np.asarray(args[0]).dtype if args else dtype
    weight = _weight(f) * (dtype.kind in "fc")
    if "c" in (dtype.kind, operands.kind):
        weight = COMPLEX.get(f, OTHER_COMPLEX * _weight(f))
    return weight * np.size(out[0] if isinstance(out, tuple) else out), _moved(out, args)


def _weight(f: Any) -> int:
    return 1 if f in CHEAP else 0 if f in FREE or _compares(f) else ELEMENTARY


def _compares(f: Any) -> bool:
    return isinstance(f, np.ufunc) and all(types.endswith("?") for types in f.types if types[0] in "df")


def _method(a: np.ndarray[Any, Any], name: str, out: Any, args: Arguments) -> tuple[float, int]:
    if name == "dot":
        return matmul(a, *args)
    return _per_element(METHODS.get(name, 0))(a), _moved(out, (a, *args))


def _is_of_numpy(f: Any) -> bool:
    return (getattr(f, "__module__", None) or "").startswith("numpy")


def _moved(out: Any, args: Arguments) -> int:
    """Arrays read and written; a result that shares its memory with an operand is a view."""
    arrays = [a for a in args if _is_array(a)]
    results = [o for o in (out if isinstance(out, tuple) else (out,)) if _is_array(o)]
    if results and all(any(r is not a and np.may_share_memory(r, a) for a in arrays) for r in results):
        return 0
    written = sum(r.nbytes for r in results)
    return sum(a.nbytes for a in arrays) + written
