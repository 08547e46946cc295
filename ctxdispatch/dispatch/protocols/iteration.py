"""Iteration: `iter`, `next`, and whatever takes an iterable and goes through it in C.

    %y = list(%x)        %s = stand_in(%x);  %y = list(%s)

Iterables without methods written in Python are handed on as they are.
"""

from __future__ import annotations

import builtins
import collections
import functools
import itertools
import math
import operator
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from ctxdispatch.dispatch.protocols.conversions import truth
from ctxdispatch.dispatch.protocols.operators import HANDLERS as OPERATORS
from ctxdispatch.dispatch.protocols.standins import ITERATION, stand_in
from ctxdispatch.dispatch.reach import Engine, Total, invoke, lookup, running, special
from ctxdispatch.ir import primitives
from ctxdispatch.ir.own_builtins import own as __builtins__  # type: ignore[no-redef]  # noqa: F401

# -- iterators -------------------------------------------------------------------------------------


def _iter(engine: Engine, ctx: Any, f: Any, /, *args: Any, **kwargs: Any) -> Any:
    if kwargs or not args:
        return engine.native(ctx, f)(*args, **kwargs)
    if len(args) == 2:
        asked = engine.handed(ctx, args[0]) if callable(args[0]) else args[0]
        return engine.native(ctx, f)(asked, args[1])
    cls = type(args[0]) if len(args) == 1 else object
    if special(cls, "__iter__") is None:
        by_index = lookup(cls, "__iter__") is None and not isinstance(args[0], dict)
        return engine.native(ctx, f)(*[stand_in(engine, ctx, a) if by_index else a for a in args])
    out = invoke(engine, ctx, args[0], "__iter__")
    if lookup(type(out), "__next__") is None:
        raise TypeError(f"iter() returned non-iterator of type {type(out).__name__!r}")
    return out


def _next(engine: Engine, ctx: Any, f: Any, /, *args: Any, **kwargs: Any) -> Any:
    if kwargs or len(args) not in (1, 2) or special(type(args[0]), "__next__") is None:
        return engine.native(ctx, f)(*args, **kwargs)
    try:
        return invoke(engine, ctx, args[0], "__next__")
    except StopIteration:
        if len(args) == 1:
            raise
    return args[1]


def stepping(engine: Engine, ctx: Any, iterable: Any, iterator: Any) -> Any:
    """iter(iterable), or a C iterator that takes its steps under `ctx` where they are Python code."""
    if type(iterator) is _BY_INDEX and iterator is not iterable:
        return iter(stand_in(engine, ctx, iterable))
    step = special(type(iterator), "__next__")
    if step is None:
        return iterator
    if type(step) is types.FunctionType:
        return map(engine.resolve(ctx, step), itertools.repeat(iterator))
    return iter(stand_in(engine, ctx, iterator))


def _delegated(engine: Engine, ctx: Any, f: Any, iterable: Any, /) -> Any:
    """`yield from iterable`: generators and coroutines are no others' to iterate over."""
    if type(iterable) in _SUSPENDED:
        return iterable
    iterator = engine.resolve(ctx, builtins.iter)(iterable)
    if special(type(iterator), "__next__") is None:
        return stepping(engine, ctx, iterable, iterator)
    return Delegate(engine, ctx, iterator)


_SUSPENDED = (types.GeneratorType, types.CoroutineType)


class Delegate:
    """An iterator of the user's that gets what is sent or thrown into the generator that delegates to it."""

    def __init__(self, engine: Engine, ctx: Any, iterator: Any) -> None:
        self._run, self._iterator = (engine, ctx), iterator

    def __iter__(self) -> Delegate:
        return self

    def __next__(self) -> Any:
        return invoke(*self._run, self._iterator, "__next__")

    def __getattr__(self, name: str) -> Any:
        engine, ctx = self._run
        return engine.resolve(ctx, engine.resolve(ctx, getattr)(self._iterator, name))


class _Old:
    def __getitem__(self, index: int) -> Any:
        raise IndexError(index)


_BY_INDEX: type = type(iter(_Old()))
"""The interpreter's iterator over what has no `__iter__`."""


# -- functions that go through iterables -----------------------------------------------------------


class Iterables(NamedTuple):
    """Which positional arguments are iterables, under which keyword one may be."""

    first: int = 0
    last: int | None = None
    """None: all from `first` on."""
    keyword: str = ""
    natively: tuple[type, ...] = ()
    """Classes whose instances the function does not iterate over: it looks into them."""

    def replaced(self, engine: Engine, ctx: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
        end = len(args) if self.last is None else self.last
        through = (self._through(engine, ctx, a) for a in args[self.first : end])
        return (*args[: self.first], *through, *args[end:])

    def _through(self, engine: Engine, ctx: Any, iterable: Any) -> Any:
        return iterable if isinstance(iterable, self.natively) else stand_in(engine, ctx, iterable)


def splat(engine: Engine, ctx: Any, f: Any, iterable: Any) -> Any:
    """f(*iterable): an error names `f`, not what runs in its place."""
    cls = type(iterable)
    if not (hasattr(cls, "__iter__") or hasattr(cls, "__getitem__")):
        name = primitives.name_of_callee(f)
        raise TypeError(f"{name} argument after * must be an iterable, not {cls.__name__}")
    return stand_in(engine, ctx, iterable)


_ONE = Iterables(0, 1)
_OF_SELF = Iterables(1, 2)
_SETS = (set, frozenset)
_TO_SET = Iterables(0, 1, natively=_SETS)
_INTO_SET = Iterables(1, natively=_SETS)

ITERABLES: dict[Any, Iterables] = {
    builtins.list: _ONE, builtins.tuple: _ONE,
    builtins.set: _TO_SET, builtins.frozenset: _TO_SET, builtins.enumerate: Iterables(0, 1, "iterable"),
    builtins.zip: Iterables(), dict.__dict__["fromkeys"]: _OF_SELF,
    list.extend: _OF_SELF, list.__init__: _OF_SELF, list.__iadd__: _OF_SELF,
    set.__init__: _INTO_SET, set.update: _INTO_SET, set.union: _INTO_SET, frozenset.union: _INTO_SET,
    str.join: _OF_SELF, bytes.join: _OF_SELF, bytearray.extend: _OF_SELF,
    collections._count_elements: _OF_SELF,  # type: ignore[attr-defined]
    collections.deque: Iterables(0, 1, "iterable"),
    collections.deque.extend: _OF_SELF, collections.deque.extendleft: _OF_SELF,
    collections.deque.__iadd__: _OF_SELF,
    math.fsum: _ONE, math.prod: _ONE, math.dist: Iterables(0, 2),
    itertools.chain: Iterables(), itertools.zip_longest: Iterables(), itertools.product: Iterables(),
    itertools.cycle: _ONE, itertools.islice: _ONE, itertools.pairwise: _ONE, itertools.tee: _ONE,
    itertools.permutations: Iterables(0, 1, "iterable"),
    itertools.combinations: Iterables(0, 1, "iterable"),
    itertools.combinations_with_replacement: Iterables(0, 1, "iterable"),
    itertools.compress: Iterables(0, 2),
    primitives.list_extend: _OF_SELF,
    primitives.set_update: _INTO_SET, primitives.unpack: _ONE, primitives.unpack_ex: _ONE,
}  # fmt: skip


if hasattr(math, "sumprod"):
    ITERABLES[math.sumprod] = Iterables(0, 2)


def _going_through(row: Iterables) -> Total:
    def run(engine: Engine, ctx: Any, f: Any, /, *args: Any, **kwargs: Any) -> Any:
        if row.keyword in kwargs:
            kwargs[row.keyword] = stand_in(engine, ctx, kwargs[row.keyword])
        return engine.native(ctx, f)(*row.replaced(engine, ctx, args), **kwargs)

    return running(run)


def _quantifier(engine: Engine, ctx: Any, f: Any, /, *args: Any, **kwargs: Any) -> Any:
    """any, all: each item's truth is asked when its turn comes."""
    if kwargs or len(args) != 1 or not goes_through(args[0]):
        return engine.native(ctx, f)(*args, **kwargs)
    return engine.native(ctx, f)(map(functools.partial(truth, engine, ctx), stand_in(engine, ctx, args[0])))


def goes_through(iterable: Any) -> bool:
    """Whether it can be gone through: else the function itself has to say that it cannot."""
    cls = type(iterable)
    return lookup(cls, "__iter__", lookup(cls, "__getitem__")) is not None


def _bytes(engine: Engine, ctx: Any, f: Any, /, *args: Any, **kwargs: Any) -> Any:
    if len(args) == 1 and not kwargs:
        looked_into = isinstance(args[0], str) or _is_buffer(args[0])
        others = () if looked_into else ("__index__", *ITERATION)
        args = (stand_in(engine, ctx, args[0], ("__bytes__", *others)),)
    return engine.native(ctx, f)(*args, **kwargs)


def _is_buffer(value: Any) -> bool:
    """Whether it hands out its memory, or would if that were not closed."""
    if lookup(type(value), "__buffer__") is not None:
        return True
    try:
        memoryview(value)
    except TypeError:
        return False
    except (ValueError, BufferError):
        return True
    return True


def _chain(engine: Engine, ctx: Any, f: Any, /, *args: Any, **kwargs: Any) -> Any:
    """chain.from_iterable: the iterables are taken one by one, and gone through."""
    if len(args) != 2 or kwargs or not goes_through(args[1]):
        return engine.native(ctx, f)(*args, **kwargs)
    cls, iterables = args
    each = map(functools.partial(stand_in, engine, ctx), stand_in(engine, ctx, iterables))
    return engine.native(ctx, f)(cls, each)


# -- sums ------------------------------------------------------------------------------------------


def _sum(engine: Engine, ctx: Any, f: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Native until the first number whose operators are Python code, which is added under the context."""
    start = args[1] if len(args) == 2 else kwargs.get("start", 0)
    if not args or len(args) + len(kwargs) > 2 or kwargs.keys() - START or not goes_through(args[0]):
        return engine.native(ctx, f)(*args, **kwargs)
    items = map(next, itertools.repeat(iter(stand_in(engine, ctx, args[0]))))
    held: list[Any] = []
    if not _adds(start):
        start = engine.native(ctx, f)(_until(_adds, items, held), start)
        if not held:
            return start
    add = OPERATORS[operator.add](engine, ctx, operator.add)
    return functools.reduce(add, itertools.chain(held, items), start)


START = {"start"}
"""The keyword of `sum`."""


def _adds(value: Any) -> bool:
    """Whether adding it runs Python code."""
    return special(type(value), "__add__") is not None or special(type(value), "__radd__") is not None


def _until(stop: Callable[[Any], bool], items: Iterable[Any], held: list[Any]) -> Iterator[Any]:
    """The items before the first that is `stop`, which goes by its class; that one goes into `held`."""
    passed = None
    for item in items:
        if type(item) is not passed:
            if stop(item):
                held.append(item)
                return
            passed = type(item)
        yield item


BY_FIRST = (list, tuple, set, frozenset, enumerate, iter, next)
"""Those that leave what is of a class of C code to the interpreter, called with that alone."""

# -- the table -------------------------------------------------------------------------------------

HANDLERS: dict[Any, Total] = {
    **{f: _going_through(row) for f, row in ITERABLES.items()},
    builtins.iter: running(_iter),
    builtins.next: running(_next),
    primitives.delegated: running(_delegated),
    builtins.any: running(_quantifier),
    builtins.all: running(_quantifier),
    builtins.sum: running(_sum),
    itertools.chain.__dict__["from_iterable"]: running(_chain),
    builtins.bytes: running(_bytes),
    builtins.bytearray: running(_bytes),
}
