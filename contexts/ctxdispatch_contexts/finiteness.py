"""Whether values are finite: what a result holds, and what can be said of operands.

Invariant: `finite` is True only of operands that were looked at as a whole; what may hold numbers out of
reach (iterators, dicts, bytes, long lists, objects) makes it False.
"""

from __future__ import annotations

import math
import random
import types
from collections.abc import Iterable, Iterator
from numbers import Number
from typing import Any

import numpy as np

MOST = 1000
"""As many items of a list are looked at."""

FINITE, COUNT, WORD, NOTHING, UNKNOWN = "finite", "count", "word", "nothing", "unknown"
"""What an operand is: data that is finite; an integer, which may be a mere parameter; a string, which may be
data or a parameter; no data at all; or data that is not finite or cannot be looked at."""

NO_DATA = (
    bool, type(None), type, np.dtype, slice, type(...), types.FunctionType, types.BuiltinFunctionType,
    types.MethodType, types.ModuleType, np.ufunc, type(np._NoValue),
    random.Random, np.random.Generator, np.random.RandomState, np.random.BitGenerator,
)  # fmt: skip


def numbers_in(result: Any) -> Iterator[Any]:
    """The floating-point numbers and arrays that `result` is, or has in a tuple. What is masked is 1."""
    if isinstance(result, tuple):
        for item in result:
            if not isinstance(item, tuple):
                yield from numbers_in(item)
    elif isinstance(result, np.ndarray | np.generic):
        if result.dtype.kind in "fc":
            yield _unmasked(result)
    elif isinstance(result, float | complex):
        yield result


def bad_in(number: Any, nan: bool = True, inf: bool = True) -> Any:
    """Which elements of a number or an array are NaNs or infinite, as an array of bools; None if none are."""
    good = np.isfinite(number)
    if np.all(good):
        return None
    bad = ~good if nan and inf else np.isnan(number) if nan else np.isinf(number) & ~np.isnan(number)
    return bad if np.any(bad) else None


def finite(operands: Iterable[Any]) -> bool:
    """Whether the data among `operands` is numbers, all of them finite, and there is some."""
    found = set()
    for operand in operands:
        kind = _kind(operand, 3)
        if kind is UNKNOWN:
            return False
        found.add(kind)
    return FINITE in found or (COUNT in found and WORD not in found)


def _kind(value: Any, depth: int) -> str:
    if issubclass(type(value), NO_DATA):
        return NOTHING
    if isinstance(value, np.ndarray | np.generic):
        return _of_array(value)
    if isinstance(value, float | complex):
        return FINITE if bad_in(value) is None else UNKNOWN
    if isinstance(value, int):
        return COUNT
    if isinstance(value, str):
        return WORD
    if isinstance(value, list | tuple | set | frozenset):
        return _of_items(value, depth)
    return _of_object(value)


def _of_array(value: Any) -> str:
    if value.dtype.kind in "iub":
        return COUNT if value.ndim == 0 else FINITE
    return FINITE if value.dtype.kind in "fc" and bad_in(_unmasked(value)) is None else UNKNOWN


def _of_items(value: Any, depth: int) -> str:
    if len(value) > MOST or not depth:
        return UNKNOWN
    found = {_kind(item, depth - 1) for item in value}
    for kind in (UNKNOWN, FINITE, COUNT, WORD):
        if kind in found:
            return FINITE if kind is COUNT else kind
    return NOTHING


def _of_object(value: Any) -> str:
    """Of classes that say what they are as a number or an array."""
    try:
        if isinstance(value, Number):
            return FINITE if math.isfinite(value) else UNKNOWN  # type: ignore[arg-type]
        if isinstance(value, range) or hasattr(type(value), "__array__"):
            return _of_array(np.asarray(value))
    except Exception:  # of the user's class
        return UNKNOWN
    return UNKNOWN


def _unmasked(value: Any) -> Any:
    if isinstance(value, np.ma.MaskedArray) and np.ma.getmaskarray(value).shape == value.shape:
        return value.filled(1)  # of `np.matmul` it may have the mask of an operand, of another shape
    return np.asarray(value) if isinstance(value, np.ndarray) else value
