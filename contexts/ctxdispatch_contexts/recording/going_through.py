"""What goes through items in C: it is given what gives items that the run knows.

itertools.accumulate(x)      the items of an array are written down as they are read
chain.from_iterable([x, x])  of each of those that it gives, too
math.fsum(items)             of a class of the user's: `__iter__` and `__next__` are under the context
"""

from __future__ import annotations

import builtins
import functools
import itertools
import operator
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from ctxdispatch.dispatch.overdub import ENGINE, beyond_rules, resolve
from ctxdispatch.dispatch.protocols.standins import stand_in
from ctxdispatch.dispatch.strip import is_iterator
from ctxdispatch_contexts.programs.by_code import gives_by_code
from ctxdispatch_contexts.recording import leaves
from ctxdispatch_contexts.recording.callees import SETS, Callee, is_plain
from ctxdispatch_contexts.recording.items import spread

Args = tuple[Any, ...]


def through(ctx: Any, items: Any) -> Any:
    """What C code is to go through in the place of `items`."""
    return stand_in(ENGINE, ctx, spread(ctx, items, later=True))


# -- what computes with items --------------------------------------------------------------------------------

_OF_ONE = frozenset(map(id, (builtins.min, builtins.max)))


def _count(callee: Any, known: Callee, args: Args) -> int:
    if id(callee) in _OF_ONE:
        return int(len(args) == 1)
    if getattr(callee, "__module__", None) == "statistics":
        return len(args)
    return known.through


def listed(ctx: Any, callee: Any, known: Callee, args: Args) -> Args:
    """The arguments, as lists where no rule knows what they are, or their class says what the items are."""
    count = _count(callee, known, args)
    if not count:
        return args
    beside, taken = not all(map(is_plain, args)), resolve(ctx, leaves.listed)
    return tuple([
        taken(a) if i < count and _is_of_its_own(a, beside) else a for i, a in enumerate(args)
    ])  # fmt: skip


def _is_of_its_own(value: Any, beside: bool) -> bool:
    """Its class says what its items are, or no rule knows such containers, or what is `beside` it."""
    if type(value) is deque or isinstance(value, (*SETS, *_OF_DICTS)) or gives_by_code(type(value)):
        return True
    return isinstance(value, np.ndarray) and (beside or type(value) is not np.ndarray)


_OF_DICTS = (dict, type({}.values()))


def is_gone_through(value: Any) -> bool:
    """An iterator; rules are for sequences."""
    return is_iterator(value) or type(value) is np.flatiter


# -- rules ---------------------------------------------------------------------------------------------------


def _accumulate(ctx: Any, items: Any, function: Any = None, /, *args: Any, **kwargs: Any) -> Any:
    """It adds in C where it is given no function."""
    function = kwargs.pop("func", function)
    add = operator.add if function is None else function
    return beyond_rules(ctx, itertools.accumulate)(through(ctx, items), add, *args, **kwargs)


def _starmap(ctx: Any, function: Any, items: Any, /) -> Any:
    """It spreads each of the items in C."""
    return beyond_rules(ctx, itertools.starmap)(function, _each(ctx, items))


_FROM_ITERABLE = itertools.chain.__dict__["from_iterable"]


def _chained(ctx: Any, cls: Any, items: Any, /) -> Any:
    return beyond_rules(ctx, _FROM_ITERABLE)(cls, _each(ctx, items))


def _each(ctx: Any, items: Any) -> Any:
    return map(functools.partial(through, ctx), through(ctx, items))


def _from_iterator(ctx: Any, items: Any, dtype: Any, count: int = -1, **kwargs: Any) -> Any:
    """np.fromiter stores the items as they come."""
    if ctx.record.closed:
        return np.fromiter(items, dtype, count, **kwargs)
    taken = [*itertools.islice(through(ctx, items), count if count >= 0 else None)]
    made = np.fromiter(taken, dtype, count, **kwargs)
    return resolve(ctx, np.array)(taken, made.dtype) if ctx.record.any_active(taken) else made


RULES: dict[Any, Callable[..., Any]] = {
    itertools.accumulate: _accumulate, itertools.starmap: _starmap, _FROM_ITERABLE: _chained,
    np.fromiter: _from_iterator,
}  # fmt: skip
