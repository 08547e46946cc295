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
from ctxdispatch_contexts.programs.errors import MissingRuleError, described, user_position
from ctxdispatch_contexts.recording import conversions, following, leaves
from ctxdispatch_contexts.recording.callees import SETS, Callee, is_plain
from ctxdispatch_contexts.recording.items import spread

Args = tuple[Any, ...]
Copied = dict[int, tuple[Any, Any]]
"""Copies, by identity, and what they are of."""
Kwargs = dict[str, Any]


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
    if type(value) is deque or issubclass(type(value), (*SETS, *_OF_DICTS)) or gives_by_code(type(value)):
        return True
    return issubclass(type(value), np.ndarray) and (beside or type(value) is not np.ndarray)


_OF_DICTS = (dict, type({}.values()))


def is_gone_through(value: Any) -> bool:
    """An iterator; rules are for sequences."""
    return is_iterator(value) or type(value) is np.flatiter


def holds_iterator(value: Any) -> bool:
    return is_gone_through(value) or _holds_flat(value)


def goes_by_item(callee: Any, args: Args) -> bool:
    """It does something with each item of an iterator before the next one is made. (Of several operands, max
    and min compare these.)"""
    return 0 < len(args) <= _BY_ITEM.get(id(callee), 0) and is_gone_through(args[0])


_BY_ITEM = {id(f): code.__code__.co_argcount for f, code in conversions.ONE_BY_ONE.items()}


def by_code(ctx: Any, callee: Any, args: Args, kwargs: Kwargs) -> tuple[Any, Args]:
    """What does the same with each item by itself, where these are objects, or None; and the arguments, as
    the first item has been taken then."""
    taken = iter(spread(ctx, args[0]))
    first = [*itertools.islice(taken, 1)]
    alone = kwargs.get("key") is not None or any(map(conversions.is_object, first))
    code = conversions.ONE_BY_ONE[callee] if first and alone else None
    return code, (itertools.chain(first, taken), *args[1:])


def operands(
    ctx: Any, callee: Any, known: Callee, ruled: bool, args: Args, kwargs: Kwargs
) -> tuple[Args, Kwargs, Copied]:
    """With lists for the iterators that a rule's callee goes through, and watched ones where C code may."""
    of_arrays = known.fact is not None and "__array__" in known.fact.methods
    if ruled and not of_arrays:
        return _as_they_were(ctx, args, kwargs)
    # What makes arrays of sequences takes an iterator for one object, but for some of NumPy's Python code.
    watched = known.code is not None if ruled else following.takes_items(callee, known.fact)

    flats = [a for a in args if type(a) is np.flatiter]
    if watched and ruled and flats:
        _leave(callee, args, kwargs, flats)

    def taken(value: Any) -> Any:
        if ruled and (type(value) is np.flatiter or _holds_flat(value)):
            return with_arrays(ctx, value)
        return following.watched_items(ctx, callee, value) if watched and is_iterator(value) else value

    return tuple(map(taken, args)), kwargs, {}


def _holds_flat(value: Any) -> bool:
    """A sequence of which an array is made, with an iterator of another one for an array in it."""
    return type(value) in (list, tuple) and any(
        type(item) is np.flatiter or _holds_flat(item) for item in value
    )


def with_arrays(ctx: Any, value: Any) -> Any:
    """`value` with the elements of arrays for iterators of them."""
    if type(value) is np.flatiter:
        return resolve(ctx, operator.getitem)(value, slice(None))
    return type(value)([with_arrays(ctx, item) for item in value]) if _holds_flat(value) else value


def _leave(callee: Any, args: Args, kwargs: Kwargs, flats: list[Any]) -> None:
    """The iterators of arrays where NumPy's Python code leaves them, which a call tells that runs nothing."""
    given = [*args, *kwargs.values()]
    parts = [part for a in given for part in (a if type(a) in (list, tuple) else (a,))]
    if any(is_iterator(part) or (callable(part) and not issubclass(type(part), type)) for part in parts):
        if any(flat.index < flat.base.size for flat in flats):
            raise MissingRuleError(
                f"{described(callee)} may go through an iterator of an array (`flat`), and runs what is "
                "given beside it; give it an array (`a.ravel()`)",
                user_position(),
            )
    elif "out" not in kwargs:
        callee(*args, **kwargs)


def _as_they_were(ctx: Any, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs, Copied]:
    """Something is done with each item before the next is made: that may store into the array that was the
    one before, or into another operand, which is read with the first item, if there is one."""
    copy, copied = resolve(ctx, np.ndarray.copy), dict[int, tuple[Any, Any]]()

    def kept(value: Any) -> Any:
        if not issubclass(type(value), np.ndarray):
            return value
        made = copy(value)
        copied[id(made)] = made, value
        return made

    given = list(args)
    for i, value in enumerate(args):
        if is_gone_through(value):
            taken = iter(spread(ctx, value))
            first = [kept(item) for item in itertools.islice(taken, 1)]
            if first:
                given[:] = [a if is_gone_through(a) else kept(a) for a in given]
                kwargs = {name: kept(a) for name, a in kwargs.items()}
            given[i] = [*first, *map(kept, taken)]
    return tuple(given), kwargs, copied


def picked(copied: Copied, out: Any) -> Any:
    """What a callee has returned that picks one of its operands, or of their items: that itself."""
    return copied[id(out)][1] if id(out) in copied else out


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
    taken = conversions.of_dtype(ctx, np.dtype(dtype), taken)
    made = np.fromiter(taken, dtype, count, **kwargs)
    return resolve(ctx, np.array)(taken, made.dtype) if ctx.record.any_active(taken) else made


RULES: dict[Any, Callable[..., Any]] = {
    itertools.accumulate: _accumulate, itertools.starmap: _starmap, _FROM_ITERABLE: _chained,
    np.fromiter: _from_iterator,
}  # fmt: skip
