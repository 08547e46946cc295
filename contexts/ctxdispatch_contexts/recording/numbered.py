"""Numbers that say which element is which, for functions that move elements of arrays.

    sources, tags = numbers(array, value)      move(sources, tags) as move(array, value) does
    places(sources)                            where each element of `array` came from

Where `value` lies in the memory of `array`, the numbers lie in one memory too, in the same way: NumPy does
not always read such a value before it writes (`g[1] = g[:, 2]`, `a[mask] = a[::-1]`), and the derivative goes
by what it reads.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ctxdispatch_contexts.programs.errors import MutationError, user_position
from ctxdispatch_contexts.recording.addresses import address, bounds
from ctxdispatch_contexts.recording.memory import Array


def numbers(array: Array, value: Any) -> tuple[Array, Array]:
    """The elements of `array`, from 0 on, and those of `value` behind them."""
    tags = np.arange(array.size, array.size + np.size(value)).reshape(np.shape(value))
    if not issubclass(type(value), np.ndarray) or not np.may_share_memory(array, value):
        return np.arange(array.size).reshape(array.shape), tags
    dtype = _dtype(array, value)
    low, high = (pick(ends) for pick, ends in zip((min, max), zip(bounds(array), bounds(value))))
    memory = np.zeros(high - low, np.uint8)
    mine, theirs = (np.ndarray(a.shape, dtype, memory, address(a) - low, a.strides) for a in (array, value))
    theirs[...] = tags
    mine[...] = np.arange(array.size).reshape(array.shape)  # last: what is in both is the array's
    return mine, theirs


def _dtype(array: Array, value: Array) -> np.dtype[Any]:
    """Of whole numbers as large as the elements."""
    size = array.dtype.itemsize
    dtype = np.dtype(f"i{size}") if size <= 8 else array.dtype
    exact = size > 8 or array.size + value.size <= np.iinfo(dtype).max
    if array.dtype == value.dtype and exact:
        return dtype
    raise MutationError(
        "an array is given a value that lies in its own memory and is of another dtype, or of one that "
        "cannot number the elements; give it a copy of the value (`v.copy()`)",
        user_position(),
    )


def places(sources: Array) -> Array:
    return np.array(sources.real, np.intp)


__all__ = ["numbers", "places"]
