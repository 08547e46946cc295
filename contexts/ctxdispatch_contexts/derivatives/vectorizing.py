"""Calls of `np.vectorize` objects, element by element."""

from __future__ import annotations

import numpy as np

from ctxdispatch_contexts.derivatives.registry import lower, read_as

VECTORIZE_CALL = np.vectorize._vectorize_call  # type: ignore[attr-defined]


@lower(VECTORIZE_CALL)
@read_as(VECTORIZE_CALL)
def vectorize_call(self, func, args):
    """Without `otypes` the first results say what the arrays are of."""
    if self.signature is not None:
        return self._vectorize_call_with_signature(func, args)
    if not args:
        return func()
    results = each(func, args)
    shape, types = np.broadcast_shapes(*[np.shape(arg) for arg in args]), self.otypes
    if not types:
        if not results:
            raise ValueError("cannot call `vectorize` on size 0 inputs unless `otypes` is set")
        first = results[0] if isinstance(results[0], tuple) else (results[0],)
        types = [np.asarray(result).dtype for result in first]
    if len(types) == 1:
        return np.array(results, dtype=types[0]).reshape(shape)
    columns = zip(*results) if results else [()] * len(types)
    return tuple([np.array([*c], dtype=t).reshape(shape) for c, t in zip(columns, types)])


def each(func, args):
    """`func` gets Python's own numbers, as those of arrays of objects are."""
    if len(args) == 1:
        return [func(x) for x in np.asarray(args[0]).ravel().tolist()]
    if len(args) == 2:
        shape = np.broadcast_shapes(np.shape(args[0]), np.shape(args[1]))
        first, second = np.broadcast_to(args[0], shape), np.broadcast_to(args[1], shape)
        return [func(x, y) for x, y in zip(first.ravel().tolist(), second.ravel().tolist())]
    shape = np.broadcast_shapes(*[np.shape(arg) for arg in args])
    columns = [np.broadcast_to(np.asarray(arg), shape).ravel().tolist() for arg in args]
    return [func(*row) for row in zip(*columns)]


def of_type(func, dtype, *args):
    """What a call of np.vectorize(func, otypes=[dtype]) gives."""
    results = each(func, args)
    shape = np.shape(args[0]) if len(args) == 1 else np.broadcast_shapes(*[np.shape(arg) for arg in args])
    return np.array(results, dtype=dtype).reshape(shape)
