"""What a view shows of the memory that it lies in: the same numbers, or others made of their bytes."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ctxdispatch_contexts.programs.errors import MissingRuleError, user_position

Array = np.ndarray[Any, Any]
Dtype = np.dtype[Any]


def check_view(array: Array, of: Array) -> None:
    if is_other(array, of):
        raise MissingRuleError(
            f"a view shows an array of dtype {of.dtype} that depends on what is differentiated as one of "
            f"dtype {array.dtype}, of which the numbers are others; convert it (`.astype`), or look at what "
            "is no part of the derivative (`stop_gradient(x)`)",
            user_position(),
        )


def is_other(array: Array, of: Array) -> bool:
    """The numbers of a view are others than those of the array, made of the same bytes. (Memory of bytes is
    what is stored there; that of shadows, in a run of a run, is such.)"""
    if (array.dtype == of.dtype and array.flags.aligned) or of.dtype == np.uint8:
        return False
    if not {part for _, part in _parts(array.dtype)} <= {part for _, part in _parts(of.dtype)}:
        return True
    size = of.dtype.itemsize
    if not array.nbytes or not of.nbytes or any(stride % size for stride in of.strides):
        return False
    start = array.__array_interface__["data"][0] - of.__array_interface__["data"][0]
    return _is_between(array.dtype, of.dtype, start % size, math.gcd(size, *array.strides))


@functools.lru_cache(1024)
def _is_between(dtype: Dtype, of: Dtype, start: int, step: int) -> bool:
    """Elements that begin `start` bytes into one of dtype `of`, or any number of steps from there, have parts
    that share bytes with a float and are not that float."""
    size = of.itemsize
    known = {(at % size, part) for at, part in _parts(of)}
    floats = [(at, at + part.itemsize) for at, part in known if part.kind == "f"]
    floats += [(low + size, high + size) for low, high in floats]
    starts = range(start % step, size, step)
    places = {((first + at) % size, part) for first in starts for at, part in _parts(dtype)}
    return any(low < at + part.itemsize and at < high for at, part in places - known for low, high in floats)


@functools.lru_cache(1024)
def _parts(dtype: Dtype) -> tuple[tuple[int, Dtype], ...]:
    """The real numbers that its elements consist of, and where they lie."""
    if dtype.names is not None:
        known: Any = dtype.fields
        fields = [known[name] for name in dtype.names]
        return tuple([(at + k, part) for field, at, *_ in fields for k, part in _parts(field)])
    if dtype.subdtype is not None:
        item, shape = dtype.subdtype
        return tuple([(n * item.itemsize + k, p) for n in range(math.prod(shape)) for k, p in _parts(item)])
    if dtype.kind != "c":
        return ((0, dtype),)
    real = np.empty(0, dtype).real.dtype
    return (0, real), (real.itemsize, real)
