"""NumPy's own protocol for classes that say themselves what its functions do with them (NEP 13, NEP 18).

np.sin(q)     type(q).__array_ufunc__(q, np.sin, "__call__", q)
np.sum(q)     type(q).__array_function__(q, np.sum, (type(q),), (q,), {})
              type(q).sum(q), which NumPy's Python code calls
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ctxdispatch.dispatch.reach import special
from ctxdispatch_contexts.programs.converting import has_methods_of_arrays
from ctxdispatch_contexts.sparsity.values import Tracked

Args = list[Any]
Kwargs = dict[str, Any]


def overridden(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    """What the first class returns that has one and does not return NotImplemented; else NotImplemented."""
    if type(f) is np.ufunc:
        return _of_ufunc(run, f, args, kwargs)
    return _of_function(run, f, args, kwargs) if hasattr(f, "_implementation") else NotImplemented


def _of_ufunc(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    for v in (*args, *kwargs.values()):
        method = special(type(v), "__array_ufunc__")
        if method is not None:
            out = run.call(method, [v, f, "__call__", *args], kwargs)
            if out is not NotImplemented:
                return out
    return NotImplemented


def _of_function(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    found = [(v, special(type(v), "__array_function__")) for v in _operands([*args, *kwargs.values()])]
    classes = tuple(dict.fromkeys(type(v) for v, method in found if method is not None))
    for v, method in found:
        if method is not None:
            out = run.call(method, [v, f, classes, tuple(args), kwargs], {})
            if out is not NotImplemented:
                return out
    given = [v.sample if issubclass(type(v), Tracked) else v for v in (*args, *kwargs.values())]
    if any(map(has_methods_of_arrays, map(type, given))):
        return run.call(f._implementation, args, kwargs)
    return NotImplemented


def _operands(things: Args) -> Iterator[Any]:
    """Arguments, and the items of sequences among them."""
    for v in things:
        yield v
        if isinstance(v, (list, tuple)):
            yield from v


__all__ = ["overridden"]
