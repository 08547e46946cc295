"""The items that C code takes out of arrays: each is read by the class's own code, if it has some."""

from __future__ import annotations

import builtins
import functools
import math
import operator
from collections import deque
from typing import Any

import numpy as np

from ctxdispatch.dispatch.context import Args
from ctxdispatch.dispatch.overdub import resolve
from ctxdispatch.dispatch.reach import special
from ctxdispatch.dispatch.strip import is_iterator
from ctxdispatch_contexts.recording import arrays
from ctxdispatch_contexts.recording.callees import SETS, is_plain


def all_spread(ctx: Any, callee: Any, args: Args) -> Args:
    if callee is reversed:
        return tuple([_backwards(ctx, a) for a in args])
    later = callee is builtins.iter or hasattr(callee, "__next__")
    return tuple([spread(ctx, a, later) for a in args])


def _backwards(ctx: Any, value: Any) -> Any:
    return [*spread(ctx, value)] if _has_own_items(value) else arrays.backwards(ctx.record, value)


def spread(ctx: Any, value: Any, later: bool = False) -> Any:
    if _has_own_items(value):
        return map(functools.partial(resolve(ctx, operator.getitem), value), range(len(value)))
    return arrays.spread(ctx.record, value, later)


def _has_own_items(value: Any) -> bool:
    """An array whose class says in Python code what its items are."""
    cls = type(value)
    if cls is np.ndarray or not isinstance(value, np.ndarray) or not value.ndim:
        return False
    return special(cls, "__getitem__") is not None and not isinstance(value, (np.matrix, np.ma.MaskedArray))


# -- functions that look at the items ------------------------------------------------------------------------

_THROUGH = frozenset({builtins.sum, builtins.min, builtins.max, math.prod, math.fsum, math.dist})
_BY_IDENTITY = frozenset(map(id, _THROUGH))
_OF_DICTS = (dict, type({}.values()))


def is_gone_through(callee: Any, value: Any) -> bool:
    """The callee looks at the items, and its rule is for sequences."""
    if is_iterator(value) or type(value) is np.flatiter:
        return True
    return callee in _THROUGH and isinstance(value, (*SETS, *_OF_DICTS))


def listed(ctx: Any, callee: Any, args: Args) -> Args:
    """The arguments, lists in the place of those of which only their class, or what is beside them, says what
    their items are."""
    if id(callee) not in _BY_IDENTITY:
        return args
    beside = not all(map(is_plain, args))
    return tuple([resolve(ctx, _items)(a) if _is_apart(a, beside) else a for a in args])


def _is_apart(value: Any, beside: bool) -> bool:
    if type(value) is deque:
        return True
    return isinstance(value, np.ndarray) and (beside or type(value) is not np.ndarray)


def _items(values: Any) -> list[Any]:
    return [*values]
