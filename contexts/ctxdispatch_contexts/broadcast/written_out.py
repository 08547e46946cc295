"""`broadcast` as plain Python, one element after the other: for contexts that follow code (tracing, counting,
sparsity), which see the calls that `f` makes."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np


def elementwise(f: Callable[..., Any], *arrays: Any, out: Any = None, **options: Any) -> Any:
    """What broadcast(f, *arrays, out=out, **options) gives, as far as rounding goes."""
    whole = np.broadcast_arrays(*arrays)
    shape = whole[0].shape
    flat = [a.reshape(-1) for a in whole]
    results = [f(*[a[i] for a in flat]) for i in range(reduce(operator.mul, shape, 1))]
    if results and isinstance(results[0], tuple):
        found: Any = tuple([
            np.array([r[k] for r in results]).reshape(shape) for k in range(len(results[0]))
        ])  # fmt: skip
    else:
        found = np.array(results).reshape(shape)
    return found if out is None else _stored(found, out)


def _stored(found: Any, out: Any) -> Any:
    for each, result in zip(out, found) if isinstance(out, tuple) else ((out, found),):
        each[...] = result
    return out


def over_items(f: Callable[..., Any], *operands: Any) -> Any:
    """broadcast(f, *operands) where a list of objects is among them: numbers and vectors beside it are what
    they are for each of its items."""
    lengths = [len(a) for a in operands if isinstance(a, (list, tuple)) or np.ndim(a) == 1]
    results = []
    for i in range(max(lengths)):
        args = [_item(a, i) for a in operands]
        results.append(f(*args))
    return np.array(results)


def _item(operand: Any, i: int) -> Any:
    if isinstance(operand, (list, tuple)) or np.ndim(operand) == 1:
        return operand[i] if len(operand) > 1 else operand[0]
    return operand
