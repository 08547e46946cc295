"""Rules for what goes through iterables: iterators, `itertools`, displays.

Of what ends, all items are taken at once (`Cursor`): the place in it can be saved, and set back.
"""

from __future__ import annotations

import builtins
import collections
import itertools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ctxdispatch.ir import primitives
from ctxdispatch.ir.registry import Registry
from ctxdispatch_contexts.sparsity.journal import Cursor
from ctxdispatch_contexts.sparsity.values import Array, Either, Flat, Tracked

Args = list[Any]
Kwargs = dict[str, Any]

PYTHON: Registry[Callable[[Any, Any, Args, Kwargs], Any]] = Registry()
"""Rules for what is Python's own."""


@PYTHON.of(list, tuple, set, frozenset, collections.deque)
def collecting(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    """list(iterable), zip(*iterables), ..."""
    return run.born(f(*[iterable(run, a) for a in args], **kwargs))


@PYTHON.of(
    zip, enumerate, itertools.chain, itertools.product, itertools.islice, itertools.pairwise,
    itertools.combinations, itertools.permutations, itertools.zip_longest,
    itertools.combinations_with_replacement,
)  # fmt: skip
def eagerly(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    """An iterator over what is there now."""
    ends = any if f in (builtins.zip, builtins.map) else all
    if any(issubclass(type(a), type) or (f is itertools.chain and _has_no_items(a)) for a in args):
        return f(*args, **kwargs)  # it is no iterable, and says so when it comes to that
    endless = args and not ends(not isinstance(a, ENDLESS) for a in args) and not _sliced(f, args)
    out = f(*[iterable(run, a) for a in args], **kwargs)
    if endless:
        return run.born(out)
    return run.born(run.journal.ahead(Cursor(list(out), args), {id(a): a for a in args}))


def _has_no_items(v: Any) -> bool:
    array = v.sample if issubclass(type(v), Array) else v
    if issubclass(type(array), (np.ndarray, np.number, np.bool_)):
        return array.ndim == 0
    return not (issubclass(type(v), (Tracked, Either, Cursor)) or ITERABLE.intersection(dir(type(v))))


ITERABLE = {"__iter__", "__getitem__"}
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


@PYTHON.of(itertools.chain.from_iterable)
def flattened(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    """chain.from_iterable(iterables)"""
    return eagerly(run, itertools.chain, list(iterable(run, args[0])), kwargs)


@PYTHON.of(itertools.repeat)
def repeated(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    out = f(*args, **kwargs)
    return run.born(Cursor(list(out)) if len(args) + len(kwargs) > 1 else out)


@PYTHON.of(itertools.cycle)
def cycled(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    items = list(iterable(run, args[0]))
    Cursor([None], args)  # nobody comes to the end of a cycle
    return run.born(f(items))


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


@PYTHON.of(dict, collections.OrderedDict)
def keyed(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    """dict(pairs), of which each may be an array."""
    return run.born(f(*[_rows(run, a) for a in args], **kwargs))


def updating(run: Any, f: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """dict.update: of an array, or of a list of arrays, each row is a key and its value."""
    run.touch(args[0])
    return f(args[0], *[_rows(run, v) for v in args[1:]], **kwargs)


def _rows(run: Any, v: Any) -> Any:
    through = v if hasattr(type(v), "keys") else iterable(run, v)  # of a mapping the items are no rows
    if not isinstance(through, (list, tuple, Cursor)):
        return through
    return ([*iterable(run, row)] if isinstance(row, Array) and row.sample.ndim else row for row in through)


def _taken(run: Any, v: Any) -> Any:
    """The items of an object with Python methods."""
    cls = type(v)
    if issubclass(cls, type) or (not hasattr(cls, "__iter__") and not hasattr(cls, "__getitem__")):
        return v
    iterator, items = run.iterator(v), []
    while True:
        try:
            items.append(run.advance(iterator))
        except StopIteration:
            return Cursor(items)


@PYTHON.of(builtins.iter)
def iter_(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    return run.iterator(args[0]) if len(args) == 1 else run.born(iter(*args))


@PYTHON.of(builtins.next)
def next_(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    try:
        return run.advance(args[0])
    except StopIteration:
        if len(args) > 1:
            return args[1]
        raise


@PYTHON.of(primitives.unpack, primitives.unpack_ex)
def unpacking(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    return f(iterable(run, run.lifted(args[0])), *args[1:])


@PYTHON.of(any, all)
def any_all(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    items = list(iterable(run, args[0]))
    if not any(isinstance(run.lifted(x), (Tracked, Either)) for x in items):
        return f(items)
    return run.scalar(f([bool(run.sampled(x)) for x in items]), 0)


@PYTHON.of(builtins.reversed)
def reversed_(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    v = run.lifted(args[0])
    if isinstance(v, (Array, np.ndarray)):
        return run.iterator(run.call(operator.getitem, [v, slice(None, None, -1)], {}))
    return eagerly(run, f, [v], kwargs)
