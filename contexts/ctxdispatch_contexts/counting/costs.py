"""What operations cost, in floating-point operations and bytes.

Arithmetic on floats is one flop each; elementary functions, and powers, count `ELEMENTARY` (about what a
polynomial approximation takes); complex arithmetic as it is done in real numbers; whole numbers nothing. It
is the dtype of the result that says which it is. Sums and products of arrays begin with zero, or one: adding
n numbers is n flops. Views and copies are no flops; views move no bytes either.

    elementwise    operators, ufuncs, `math`
    products       `@`, `np.dot`, `np.einsum`, ...
    functions      reductions, linear algebra, transforms
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from types import BuiltinMethodType
from typing import Any

import numpy as np

from ctxdispatch.ir.wrappers import called
from ctxdispatch_contexts.counting import elementwise, products
from ctxdispatch_contexts.counting.elementwise import ELEMENTARY, OPERATORS, each
from ctxdispatch_contexts.counting.functions import FUNCTIONS

__all__ = ["ELEMENTARY", "WEIGHTS", "call_cost", "operator_cost"]

WEIGHTS: dict[Any, int] = {operation: each(ufunc, "f") for operation, ufunc in OPERATORS.items()}
"""Flops of an operator on floats; others have none."""

_MATMULS = (operator.matmul, operator.imatmul)
_NOTHING: dict[str, Any] = {}


def operator_cost(operation: Any, operands: Sequence[Any]) -> tuple[float, int]:
    """Flops, and bytes read and written, of `operation`, which is still to be done."""
    if operation in _MATMULS:
        return products.operator_cost(operation, *operands)
    return elementwise.operator_cost(operation, operands)


def call_cost(f: Any, out: Any, args: Sequence[Any], kwargs: dict[str, Any] = _NOTHING) -> tuple[float, int]:
    """Flops, and bytes read and written, of f(*args, **kwargs), which returned `out`."""
    if type(f) is BuiltinMethodType and isinstance(f.__self__, np.ndarray):
        f, args = getattr(np, f.__name__, None), (f.__self__, *args)
        return _flops(f, out, args, kwargs), _moved(out, args, kwargs)
    if f in OPERATORS or f in _MATMULS:
        return operator_cost(f, args)
    if type(f) is BuiltinMethodType and type(f.__self__) is np.ufunc:
        return elementwise.method_flops(f, out, args, kwargs), _moved(out, args, kwargs)
    flops = elementwise.math_flops(f, out, args)
    if flops is not None:
        return flops, 0
    if type(f) is np.ufunc:
        args = args[: f.nin]
    seen = f in FUNCTIONS or _is_of_numpy(f)
    return _flops(f, out, args, kwargs), _moved(out, args, kwargs) if seen else 0


def _flops(f: Any, out: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> float:
    cost = FUNCTIONS.get(f)
    if cost is not None:
        return cost(out, *args, **kwargs)
    return elementwise.ufunc_flops(f, out, args, kwargs) if type(f) is np.ufunc else 0


def _is_of_numpy(f: Any) -> bool:
    """And in C: an object of NumPy's that Python code calls is followed."""
    if called(type(f)) is not None:
        return False
    return type(f) is np.ufunc or (getattr(f, "__module__", None) or "").startswith("numpy")


# -- bytes -----------------------------------------------------------------------------------------


def _moved(out: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> int:
    """Arrays read and written; a result that shares its memory with an operand is a view."""
    read = [*_arrays([*args, *(value for name, value in kwargs.items() if name != "out")])]
    written = [*_arrays([out])]
    if written and all(any(w is not r and np.may_share_memory(w, r) for r in read) for w in written):
        return 0
    return sum(a.nbytes for a in (*read, *written))


def _arrays(values: Sequence[Any]) -> Iterator[np.ndarray[Any, Any]]:
    """Also those in a list or tuple (`np.stack`)."""
    for value in values:
        if isinstance(value, np.ndarray):
            yield value
        elif type(value) in (list, tuple):
            yield from (item for item in value if isinstance(item, np.ndarray))
