"""C functions that call back: `sorted(xs, key=f)` runs `f`.

The function is replaced by a dispatched call of it, hooks included, and iterables beside it by stand-ins.
What keeps a function for longer than the call that got it is not here where it may be shared (caches, ufuncs,
finalizers): what it runs later would run under a context that has nothing to do with it.
"""

from __future__ import annotations

import _json
import _thread
import builtins
import contextvars
import functools
import itertools
import operator
import re
from typing import Any, NamedTuple

from ctxdispatch.dispatch.protocols.conversions import truth
from ctxdispatch.dispatch.protocols.iteration import Iterables, goes_through
from ctxdispatch.dispatch.protocols.operators import HANDLERS as OPERATORS
from ctxdispatch.dispatch.protocols.standins import stand_in
from ctxdispatch.dispatch.reach import Engine, Total, running, special
from ctxdispatch.ir.own_builtins import own as __builtins__  # type: ignore[no-redef]  # noqa: F401

_NOWHERE = Iterables(0, 0)


class Callback(NamedTuple):
    """The function's place among the positional arguments, its keyword; where iterables are."""

    position: int | None = None
    keyword: str = ""
    iterables: Iterables = _NOWHERE


CALLBACKS: dict[Any, Callback] = {
    builtins.map: Callback(0, "", Iterables(1)),
    builtins.filter: Callback(0, "", Iterables(1)),
    functools.reduce: Callback(0, "", Iterables(1, 2)),
    functools.cmp_to_key: Callback(0, "mycmp"),
    itertools.starmap: Callback(0, "", Iterables(1)),
    itertools.takewhile: Callback(0, "", Iterables(1)),
    itertools.dropwhile: Callback(0, "", Iterables(1)),
    itertools.filterfalse: Callback(0, "", Iterables(1)),
    itertools.accumulate: Callback(1, "func", Iterables(0, 1, "iterable")),
    itertools.groupby: Callback(1, "key", Iterables(0, 1, "iterable")),
    re.Pattern.sub: Callback(1, "repl"),
    re.Pattern.subn: Callback(1, "repl"),
    contextvars.Context.run: Callback(1),
    _thread.start_new_thread: Callback(0, "function"),
    _json.make_encoder: Callback(1, "default"),
}
if hasattr(_thread, "start_joinable_thread"):
    CALLBACKS[_thread.start_joinable_thread] = Callback(0, "function")


def _calling_back(row: Callback) -> Total:
    def run(engine: Engine, ctx: Any, f: Any, /, *args: Any, **kwargs: Any) -> Any:
        _replace_keywords(engine, ctx, row, kwargs)
        if row.position is not None and len(args) > row.position and callable(args[row.position]):
            inner = engine.handed(ctx, args[row.position])
            args = (*args[: row.position], inner, *args[row.position + 1 :])
        return engine.native(ctx, f)(*row.iterables.replaced(engine, ctx, args), **kwargs)

    return running(run)


def _replace_keywords(engine: Engine, ctx: Any, row: Callback, kwargs: dict[str, Any]) -> None:
    if callable(kwargs.get(row.keyword)):
        kwargs[row.keyword] = engine.handed(ctx, kwargs[row.keyword])
    if row.iterables.keyword in kwargs:
        kwargs[row.iterables.keyword] = stand_in(engine, ctx, kwargs[row.iterables.keyword])


# -- order -----------------------------------------------------------------------------------------


class Ordered:
    """Stands in for a value that C code compares: `test` compares the values themselves, under the context.

    C code only ever asks `first symbol second`; where the first is no stand-in, Python asks the second the
    other way round.
    """

    __slots__ = ("test", "value")

    def __init__(self, test: Any, value: Any) -> None:
        self.test, self.value = test, value

    def first(self, other: Any) -> bool:
        out: bool = self.test(self.value, other.value if type(other) is type(self) else other)
        return out

    def second(self, other: Any) -> bool:
        out: bool = self.test(other, self.value)
        return out


class Less(Ordered):
    __slots__ = ()
    __lt__, __gt__ = Ordered.first, Ordered.second


class Greater(Ordered):
    __slots__ = ()
    __gt__, __lt__ = Ordered.first, Ordered.second


class Order(NamedTuple):
    """How a function orders items."""

    asks: Any
    stand_in: type[Ordered]
    items: Iterables

    def key(self, engine: Engine, ctx: Any, key: Any) -> Any:
        """The items' keys, such that comparing them in C runs `__lt__` under the context."""
        test = functools.partial(_true_of, engine, ctx, self.asks)
        return functools.partial(self._keyed, test, None if key is None else engine.callback(ctx, key))

    def _keyed(self, test: Any, key: Any, item: Any) -> Any:
        value = item if key is None else key(item)
        return self.stand_in(test, value) if _compares(type(value)) else value


def _true_of(engine: Engine, ctx: Any, compare: Any, left: Any, right: Any) -> bool:
    return truth(engine, ctx, OPERATORS[compare](engine, ctx, compare)(left, right))


def _compares(cls: type) -> bool:
    """Whether ordering its instances runs Python code."""
    return special(cls, "__lt__") is not None or special(cls, "__gt__") is not None


ORDERS: dict[Any, Order] = {
    builtins.sorted: Order(operator.lt, Less, Iterables(0, 1)),
    list.sort: Order(operator.lt, Less, _NOWHERE),
    builtins.min: Order(operator.lt, Less, Iterables(0, 1)),
    builtins.max: Order(operator.gt, Greater, Iterables(0, 1)),
}


def _ordering(row: Order) -> Total:
    def run(engine: Engine, ctx: Any, f: Any, /, *args: Any, **kwargs: Any) -> Any:
        key = kwargs.get("key")
        args = row.items.replaced(engine, ctx, args) if len(args) == 1 else args
        if f is sorted and key is None and len(args) == 1 and goes_through(args[0]):
            args = (list(args[0]),)  # as sorted() does first; now the items can be looked at
        if key is not None or _may_compare(args):
            kwargs["key"] = row.key(engine, ctx, key)
        return engine.native(ctx, f)(*args, **kwargs)

    return running(run)


def _may_compare(args: tuple[Any, ...]) -> bool:
    """Whether Python code orders the items: for certain not, where they can be seen and it does not."""
    items = args[0] if len(args) == 1 else args
    if type(items) not in (list, tuple, set, frozenset, dict):
        return type(items) is not range
    return any(map(_compares, set(map(type, items))))


# -- Python functions that keep a function for others to run ---------------------------------------


def _submit(engine: Engine, ctx: Any, f: Any, /, *args: Any, **kwargs: Any) -> Any:
    """What is submitted follows. The thread does not: it goes on to run what others submit."""
    if len(args) > 1:
        args = (args[0], engine.handed(ctx, args[1]), *args[2:])
    return engine.native(ctx, f)(*args, **kwargs)


PYTHON: dict[tuple[str, str], Total] = {
    ("concurrent.futures.thread", "ThreadPoolExecutor.submit"): running(_submit),
}
"""By module and qualified name, so that nothing is imported for it."""


# -- the table -------------------------------------------------------------------------------------


def _call(engine: Engine, ctx: Any, f: Any, /, *args: Any, **kwargs: Any) -> Any:
    """operator.call"""
    if not args:
        return engine.native(ctx, f)(**kwargs)
    callee, *rest = args
    return engine.resolve(ctx, callee)(*rest, **kwargs)


HANDLERS: dict[Any, Total] = {
    **{f: _calling_back(row) for f, row in CALLBACKS.items()},
    **{f: _ordering(row) for f, row in ORDERS.items()},
    operator.call: running(_call),
}
