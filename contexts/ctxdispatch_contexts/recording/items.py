"""The items that C code takes out of arrays: each is read by the class's own code, if it has some."""

from __future__ import annotations

import builtins
import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ctxdispatch.dispatch.context import Args
from ctxdispatch.dispatch.overdub import resolve
from ctxdispatch.dispatch.reach import special
from ctxdispatch.facts import ORDERING, Fact, fact_of
from ctxdispatch_contexts.programs.c_objects import shows
from ctxdispatch_contexts.recording import arrays, buffers, windows


def all_spread(ctx: Any, callee: Any, args: Args) -> Args:
    if callee in ORDERING and len(args) > 1:
        return args  # max(a, b) compares them
    if callee is reversed:
        return tuple([_backwards(ctx, a) for a in args])
    later = callee is builtins.iter or hasattr(callee, "__next__")
    through = _gone_through(fact_of(callee))
    return tuple([spread(ctx, a, later) if through(i) else a for i, a in enumerate(args)])


def _gone_through(fact: Fact | None) -> Callable[[int], bool]:
    """Which operands, as the row says; where it says nothing, all but what is kept as it is."""
    if fact is None:
        return lambda i: True
    return fact.iterates.has if fact.iterates else lambda i: not fact.keeps.has(i)


def _backwards(ctx: Any, value: Any) -> Any:
    if shows(type(value)) and hasattr(type(value), "__len__"):
        return _Items(ctx, value)
    return [*spread(ctx, value)] if _has_own_items(value) else arrays.backwards(ctx.record, value)


class _Items:
    """Those of what shows memory, as a sequence: each is read when it is asked for."""

    def __init__(self, ctx: Any, value: Any) -> None:
        self.ctx, self.value = ctx, value

    def __len__(self) -> int:
        return len(self.value)

    def __getitem__(self, index: int) -> Any:
        return resolve(self.ctx, operator.getitem)(self.value, index)


def spread(ctx: Any, value: Any, later: bool = False) -> Any:
    if _has_own_items(value):
        return map(functools.partial(resolve(ctx, operator.getitem), value), range(len(value)))
    if not shows(type(value)) or not hasattr(type(value), "__len__"):
        return arrays.spread(ctx.record, value, later)
    is_read = (later and windows.has_floats(value)) or ctx.record.is_active(value)
    return buffers.items(ctx, value) if is_read else value


def _has_own_items(value: Any) -> bool:
    """An array whose class says in Python code what its items are."""
    cls = type(value)
    if cls is np.ndarray or not issubclass(type(value), np.ndarray) or not value.ndim:
        return False
    return special(cls, "__getitem__") is not None and not issubclass(cls, (np.matrix, np.ma.MaskedArray))
