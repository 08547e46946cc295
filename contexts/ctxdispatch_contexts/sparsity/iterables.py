"""Rules for what goes through iterables: iterators, `itertools`, displays.

Of what ends, all items are taken at once (`Cursor`): the place in it can be saved, and set back.
"""

from __future__ import annotations

import builtins
import itertools
import operator
from typing import Any

import numpy as np

from ctxdispatch_contexts.sparsity.journal import Cursor
from ctxdispatch_contexts.sparsity.values import Array, Either, Flat, Tracked

Args = list[Any]
Kwargs = dict[str, Any]


def collecting(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    """list(iterable), zip(*iterables), ..."""
    return run.born(f(*[iterable(run, a) for a in args], **kwargs))


def eagerly(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    """An iterator over what is there now."""
    ends = any if f in (builtins.zip, builtins.map) else all
    endless = args and not ends(not isinstance(a, ENDLESS) for a in args) and not _sliced(f, args)
    out = f(*[iterable(run, a) for a in args], **kwargs)
    return run.born(out if endless else Cursor(list(out)))


ENDLESS = (
    itertools.count,
    itertools.cycle,
    itertools.repeat,
    itertools.chain,
    builtins.zip,
    builtins.enumerate,
)
"""What is made of iterators that end is a `Cursor`."""


def _sliced(f: Any, args: Args) -> bool:
    return f is itertools.islice and args[1 if len(args) == 2 else 2] is not None


def flattened(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    """chain.from_iterable(iterables)"""
    return eagerly(run, itertools.chain, list(iterable(run, args[0])), kwargs)


def repeated(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    out = f(*args, **kwargs)
    return run.born(Cursor(list(out)) if len(args) + len(kwargs) > 1 else out)


def cycled(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    return run.born(f(list(iterable(run, args[0]))))


def iterable(run: Any, v: Any) -> Any:
    if isinstance(v, Either):
        run.refuse(v.what)
    if isinstance(v, (Array, Flat, np.ndarray, np.flatiter)):
        return run.iterator(v)
    if isinstance(v, Cursor):
        run.journal.touch(v)
    elif type(v).__flags__ & (1 << 9) and not isinstance(v, (list, tuple, dict, set, frozenset, Tracked)):
        return _taken(run, v)
    return v


def _taken(run: Any, v: Any) -> Any:
    """The items of an object with Python methods."""
    if isinstance(v, type) or (not hasattr(type(v), "__iter__") and not hasattr(type(v), "__getitem__")):
        return v
    iterator, items = run.iterator(v), []
    while True:
        try:
            items.append(run.advance(iterator))
        except StopIteration:
            return Cursor(items)


def iter_(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    return run.iterator(args[0]) if len(args) == 1 else run.born(iter(*args))


def next_(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    try:
        return run.advance(args[0])
    except StopIteration:
        if len(args) > 1:
            return args[1]
        raise


def unpacking(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    return f(iterable(run, run.lifted(args[0])), *args[1:])


def any_all(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    items = list(iterable(run, args[0]))
    if not any(isinstance(run.lifted(x), (Tracked, Either)) for x in items):
        return f(items)
    return run.scalar(f([bool(run.sampled(x)) for x in items]), 0)


def reversed_(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    v = run.lifted(args[0])
    if isinstance(v, (Array, np.ndarray)):
        return run.iterator(run.call(operator.getitem, [v, slice(None, None, -1)], {}))
    return eagerly(run, f, [v], kwargs)
