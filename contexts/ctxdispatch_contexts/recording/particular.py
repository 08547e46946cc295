"""Functions of NumPy's, and of ours, that a run has a rule of its own for."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ctxdispatch.dispatch.overdub import beyond_rules, resolve
from ctxdispatch.ir import primitives
from ctxdispatch_contexts.derivatives.vectorizing import VECTORIZE_CALL, vectorize_call
from ctxdispatch_contexts.recording import following, memory, overrides, subclasses, suspended
from ctxdispatch_contexts.reverse import keeping, seeds

RULES: dict[Any, Any] = {
    np.ndarray.__array_ufunc__: overrides.of_array,
    primitives.awaited: suspended.awaited,
    primitives.gone_through: suspended.gone_through,
}


def _rule(callee: Any) -> Callable[..., Any]:
    return functools.partial(RULES.setdefault, callee)


@_rule(VECTORIZE_CALL)
def _vectorized(ctx: Any, self: Any, func: Any, args: Any) -> Any:
    """Not by the ufunc that it keeps, which calls its function where nothing is written down."""
    return beyond_rules(ctx, VECTORIZE_CALL if ctx.record.closed else vectorize_call)(self, func, args)


@_rule(np.frompyfunc)
def _ufunc_of(ctx: Any, f: Any, /, *args: Any, **kwargs: Any) -> Any:
    """It calls `f` from C, whatever it is: a function, an object of a class, what a decorator made."""
    if ctx.record.closed or not callable(f):
        return np.frompyfunc(f, *args, **kwargs)
    made = np.frompyfunc(following.Later(ctx, f), *args, **kwargs)
    ctx.record.ufuncs[id(made)] = made
    return made


@_rule(np.from_dlpack)
def _from_dlpack(ctx: Any, array: Any, /, **kwargs: Any) -> Any:
    """Of an array, a view."""
    if type(array) is np.ndarray and not kwargs and not ctx.record.closed:
        return array[...]
    return beyond_rules(ctx, np.from_dlpack)(array, **kwargs)


@_rule(np.matrix.__getitem__)
def _item_of_matrix(ctx: Any, matrix: Any, index: Any) -> Any:
    """It gives its result two axes by setting its shape, which nobody has seen by then."""
    return subclasses.formed(resolve(ctx, operator.getitem)(subclasses.plain(matrix), index), matrix[index])


@_rule(memory.view_of)
def _view_of(ctx: Any, buffer: Any) -> Any:
    """A run around another knows the memory by the same array."""
    return memory.view_of(buffer) if ctx.record.ended else ctx.record.view(buffer)


@_rule(seeds.check_cotangent)
def _seeded(ctx: Any, g: Any, signature: Any) -> Any:
    return resolve(ctx, seeds.converted)(g, seeds.check_cotangent(g, signature))


@_rule(keeping.apart)
def _kept_apart(ctx: Any, y: Any, kept: Any, copy: Any = keeping.copied) -> Any:
    """`copy`: where this is itself recorded, that of the run within."""
    return keeping.apart(y, kept, resolve(ctx, copy))
