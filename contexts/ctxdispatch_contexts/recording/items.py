"""The items that C code takes out of arrays: each is read by the class's own code, if it has some."""

from __future__ import annotations

import builtins
import functools
import operator
from typing import Any

import numpy as np

from ctxdispatch.dispatch.context import Args
from ctxdispatch.dispatch.overdub import resolve
from ctxdispatch.dispatch.reach import special
from ctxdispatch.facts import fact_of, operands
from ctxdispatch_contexts.recording import arrays


def all_spread(ctx: Any, callee: Any, args: Args) -> Args:
    if callee is reversed:
        return tuple([_backwards(ctx, a) for a in args])
    later = callee is builtins.iter or hasattr(callee, "__next__")
    fact = fact_of(callee)
    through = fact.iterates if fact is not None and callee is _FROM_KEYS else ALL
    return tuple([spread(ctx, a, later) if through.has(i) else a for i, a in enumerate(args)])


ALL = operands("0..")
_FROM_KEYS = dict.__dict__["fromkeys"]


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
