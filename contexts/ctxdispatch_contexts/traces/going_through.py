"""Operations that go through items: of arrays they are taken one by one, where they are seen."""

from __future__ import annotations

import bisect
import builtins
import collections
import functools
import heapq
import itertools
import math
import operator
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from ctxdispatch.dispatch.overdub import beyond_rules, resolve
from ctxdispatch.facts import fact_of
from ctxdispatch.ir import primitives
from ctxdispatch_contexts.traces.checks import RULES, SEES_METHODS, Args, Kwargs
from ctxdispatch_contexts.traces.kinds import VIEWS, is_iterator, is_number, is_sequence
from ctxdispatch_contexts.traces.run import Run
from ctxdispatch_contexts.traces.tracer import operates, ruled


def items(run: Run, array: np.ndarray) -> Iterator[Any]:
    """In C, which no context rewrites."""
    return map(functools.partial(run.item, array), range(run.length(array)))


@RULES.of(iter)
def iterate(run: Run, ctx: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    if len(args) == 1 and type(args[0]) is np.ndarray:
        return run.made(items(run, args[0]))
    if type(args[0]) is types.GeneratorType:
        run.generators.append(args[0])
        return f(*args)
    return run.done(f, args, kwargs)


@RULES.of(primitives.unpack, primitives.unpack_ex)
def unpacked(run: Run, ctx: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    sequence, *counts = args
    run.check_gone_through(sequence)
    out = f(run.spread(sequence) if type(sequence) is np.ndarray else sequence, *counts)
    for item in out:
        run.moved(item)
    return run.made(out)


@RULES.of(dict, collections.OrderedDict, set, frozenset, list, tuple, collections.deque)
def constructed(run: Run, ctx: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    """A container of what is gone through."""
    for a in args[:1]:
        run.check_gone_through(a)
    given = (*([*a] if is_iterator(a) else a for a in args[:1]), *args[1:])
    out = f(*given, **kwargs)
    pairs = given[0] if f in (dict, collections.OrderedDict) and given and is_sequence(given[0]) else ()
    if any(type(pair) is np.ndarray for pair in pairs):
        raise run.unfit("entries that are rows of an array")
    if f not in (list, tuple, collections.deque) and not all(map(run.is_key, out)):
        raise run.unfit("keys, or members of a set, that depend on numbers")
    return out if any(out is a for a in args) else run.made(out)


@RULES.of(vars(dict)["fromkeys"])
def keyed(run: Run, ctx: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    out = args[0].fromkeys(*args[1:])
    if not all(map(run.is_key, out)):
        raise run.unfit("keys that depend on numbers")
    return run.made(out)


def goes_through(f: Any) -> None:
    """Items of an array are taken one by one, where they are seen."""

    fact = fact_of(f)
    through = fact.iterates.has if fact is not None else lambda i: True
    to_end = getattr(f, "__module__", None) == "math"  # it takes all items, and computes with them

    def rule(ctx: Any, /, *args: Any, **kwargs: Any) -> Any:
        run = ctx.run
        if not run.closed:
            args = tuple([_items_apart(run, a, to_end) if through(i) else a for i, a in enumerate(args)])
            if f is sum and args and type(args[0]) in _PLAIN:
                return added(run, ctx, args, kwargs)
        return beyond_rules(ctx, f)(*args, **kwargs)

    ruled(f)(rule)


def _items_apart(run: Run, given: Any, to_end: bool) -> Any:
    if type(given) is np.ndarray:
        return run.spread(given)
    if to_end and is_iterator(given):
        run.check_gone_through(given)
        return run.made([*given])
    return given


_PLAIN = (list, tuple, types.GeneratorType, map, filter, zip, *VIEWS)
"""Iterables of which `sum` asks nothing but their items."""


def _go_through() -> Iterator[Any]:
    """Python's own functions and classes that do."""
    spaces = (builtins, itertools, collections, math)
    for f in (f for space in spaces for f in vars(space).values() if callable(f)):
        fact = fact_of(f)
        if fact is not None and fact.iterates and f is not iter and f is not next:
            yield f


for _f in (*_go_through(), list.extend, collections.deque.extend):
    goes_through(_f)


@RULES.of(map, itertools.starmap)
def mapped(run: Run, ctx: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    return run.made(f(*args))


@RULES.of(filter, itertools.takewhile, itertools.dropwhile, itertools.filterfalse)
def filtered(run: Run, ctx: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    return run.made(f(functools.partial(_passes, ctx, args[0]), *args[1:]))


def _passes(ctx: Any, function: Any, item: Any) -> Any:
    return _is_true(ctx, item if function is None or function is bool else function(item))


def _is_true(ctx: Any, item: Any) -> Any:
    """Its `__bool__` or `__len__` is seen."""
    return resolve(ctx, bool)(item)


def _by_name(names: tuple[str, ...], args: Args, kwargs: Kwargs) -> list[Any]:
    given = dict(zip(names, args)) | kwargs
    return [given.get(name) for name in names]


@RULES.of(itertools.compress)
def compressed(run: Run, ctx: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    data, selectors = _by_name(("data", "selectors"), args, kwargs)
    return run.made(f(data, map(functools.partial(_is_true, ctx), selectors)))


@RULES.of(itertools.groupby)
def grouped(run: Run, ctx: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    items, key = _by_name(("iterable", "key"), args, kwargs)
    wrap = functools.partial(_compared, run, ctx, key)
    return run.made(map(_with_item, f(items, wrap)))


def _with_item(found: tuple[Compared, Any]) -> tuple[Any, Any]:
    return found[0].item, found[1]


@RULES.of(itertools.accumulate)
def accumulated(run: Run, ctx: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    items, function, initial = _by_name(("iterable", "func", "initial"), args, kwargs)
    if initial is not None:
        raise run.unfit("itertools.accumulate from a start")
    return run.made(map(functools.partial(_total, run, function, []), items))


def _total(run: Run, function: Any, totals: list[Any], item: Any) -> Any:
    if not totals:
        totals.append(item)
    elif function is None:
        totals[0] = run.done(operator.add, (totals[0], item), {})
    else:
        totals[0] = function(totals[0], item)
    return totals[0]


@RULES.of(sum)
def added(run: Run, ctx: Any, *rest: Any) -> Any:
    args, kwargs = rest[-2:]
    total = args[1] if len(args) > 1 else kwargs.get("start", 0)
    add = resolve(ctx, operator.add)
    for item in args[0]:
        of_numbers = is_number(total) and is_number(item)
        total = run.done(operator.add, (total, item), {}) if of_numbers else add(total, item)
    return total


class Compared:
    """An item in the hands of C code that compares it: each answer is a decision."""

    __slots__ = ("ctx", "item", "run")

    def __init__(self, run: Run, ctx: Any, item: Any) -> None:
        self.run, self.ctx, self.item = run, ctx, item

    def __lt__(self, other: Compared) -> bool:
        return self._is(operator.lt, other)

    def __eq__(self, other: object) -> bool:
        if type(other) is not Compared:
            return False
        return self.item is other.item or self._is(operator.eq, other)  # as C asks

    __hash__ = None  # type: ignore[assignment]

    def __gt__(self, other: Compared) -> bool:
        return self._is(operator.gt, other)

    def _is(self, compare: Any, other: Compared) -> bool:
        return bool(_is_true(self.ctx, resolve(self.ctx, compare)(self.item, other.item)))


@RULES.of(max, min)
def chosen(run: Run, ctx: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    """It takes an item, asks for its key, and compares, one after the other."""
    wrap = functools.partial(_compared, run, ctx, kwargs.get("key"))
    return f(*args, **(kwargs | {"key": wrap}))


def _compared(run: Run, ctx: Any, key: Any, item: Any) -> Compared:
    return Compared(run, ctx, item if key is None else key(item))


@RULES.of(sorted)
def ordered(run: Run, ctx: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    given = [*args[0]]
    key, back = kwargs.get("key"), bool(kwargs.get("reverse"))
    keys = given if key is None else [key(item) for item in given]
    compare = operator.gt if back else operator.lt
    if all(map(is_number, keys)) and not any(type(key) is np.ndarray for key in keys):
        order = sorted(range(len(given)), key=keys.__getitem__, reverse=back)
        neighbours = [*itertools.pairwise(keys[i] for i in order)]
        if all(compare(a, b) for a, b in neighbours):  # which says all about the order
            for a, b in neighbours:
                run.done(compare, (a, b), {})
            return run.made([given[i] for i in order])
    asked = [Compared(run, ctx, key) for key in keys]
    order = sorted(range(len(given)), key=asked.__getitem__, reverse=back)
    return run.made([given[i] for i in order])


@RULES.of(list.sort)
def sorted_in_place(run: Run, ctx: Any, f: Any, args: Args, kwargs: Kwargs) -> None:
    run.check_stored(args[0])
    given = [*args[0]]
    args[0].clear()  # as those see it that are called meanwhile
    try:
        found = ordered(run, ctx, sorted, (given,), kwargs)
    except Exception:
        raise run.unfit("list.sort raised something") from None
    finally:
        args[0][:] = given
    args[0][:] = found


def _in_lists() -> Iterator[Any]:
    """Functions in C that compare the items of a list."""
    for f in (*vars(heapq).values(), *vars(bisect).values()):
        fact = fact_of(f) if type(f) is types.BuiltinFunctionType else None
        if fact is not None and "__lt__" in fact.methods:
            yield f


@RULES.of(*_in_lists())
def arranged(run: Run, ctx: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    """What compares items of a list, and may store into it."""
    if not args or type(args[0]) is not list or not any(map(run.holds_values, args[:2])):
        return run.done(f, args, kwargs)
    wrap = functools.partial(Compared, run, ctx)
    apart, row = [*map(wrap, args[0])], fact_of(f)
    named = {"key": lambda asked: wrap(kwargs["key"](asked.item))} if kwargs.get("key") else {}
    if row is None or row.stores:
        run.check_stored(args[0])
    try:
        out = f(apart, *map(wrap, args[1:2]), *args[2:], **(kwargs | named))
    except Exception:
        raise run.unfit(f"{f!r} raised something") from None
    if row is None or row.stores:
        args[0][:] = [asked.item for asked in apart]
    return out.item if type(out) is Compared else out


@RULES.of(any)
def whether_any(run: Run, ctx: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    return next((True for item in args[0] if _is_true(ctx, item)), False)


@RULES.of(all)
def whether_all(run: Run, ctx: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    return next((False for item in args[0] if not _is_true(ctx, item)), True)


operates(primitives.unpack, primitives.unpack_ex)

SEES_METHODS.update({chosen, ordered, sorted_in_place, arranged, added, whether_any, whether_all})
