"""C functions that call back: `sorted(xs, key=f)` runs `f`.

The function is replaced by a dispatched call of it, hooks included, and iterables beside it by stand-ins.
What keeps a function for longer than the call that got it is not here where it may be shared (caches, ufuncs,
finalizers): what it runs later would run under a context that has nothing to do with it.
"""

from __future__ import annotations

import _json
import _thread
import builtins
import functools
import operator
from types import FunctionType, WrapperDescriptorType
from typing import Any, NamedTuple

from ctxdispatch.dispatch.protocols.conversions import truth
from ctxdispatch.dispatch.protocols.iteration import HANDLERS as ITERATION
from ctxdispatch.dispatch.protocols.iteration import goes_through, iterables_of
from ctxdispatch.dispatch.protocols.operators import HANDLERS as OPERATORS
from ctxdispatch.dispatch.reach import Engine, Handlers, Total, running, special
from ctxdispatch.dispatch.tags import bare, kind
from ctxdispatch.facts import ORDERING, Fact, fact, fact_of, with_rows
from ctxdispatch.ir.own_builtins import own as __builtins__  # type: ignore[no-redef]  # noqa: F401
from ctxdispatch.ir.wrappers import CALLS

HANDLERS = Handlers()


def _calling_back(f: Any, row: Fact) -> Total:
    def run(engine: Engine, ctx: Any, f: Any, /, *args: Any, **kwargs: Any) -> Any:
        for name in row.calls.names:
            if callable(kwargs.get(name)):
                kwargs[name] = engine.handed(ctx, kwargs[name])
        has = row.calls.has
        args = tuple([engine.handed(ctx, a) if has(i) and callable(a) else a for i, a in enumerate(args)])
        return engine.native(ctx, f)(*through.replaced(engine, ctx, args, kwargs), **kwargs)

    through = iterables_of(f, row)
    return running(run)


def _is_called_back(f: Any, row: Fact) -> bool:
    """C code of Python's that calls an operand. Not NumPy's, which has Python code in between; no method of
    what is called; no class body."""
    if not row.calls or type(f) is FunctionType or f is builtins.__build_class__ or f in ITERATION:
        return False
    of_itself = hasattr(f, "__objclass__") and (row.calls.has(0) or f.__name__ == "__call__")
    return not (of_itself or "__array_interface__" in row.methods)


_LATER = {
    functools.cmp_to_key: fact(calls="0 mycmp"),
    _json.make_encoder: fact(calls="1 default"),
    _thread.start_new_thread: fact(calls="0 function"),
    getattr(_thread, "start_joinable_thread", None): fact(calls="0 function"),
}
"""What hands on what is called by others."""
CALLING = {f: row for f, row in with_rows() if _is_called_back(f, row)}
HANDLERS |= {f: _calling_back(f, row) for f, row in (*CALLING.items(), *_LATER.items()) if f is not None}

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

    def key(self, engine: Engine, ctx: Any, key: Any) -> Any:
        """The items' keys, such that comparing them in C runs `__lt__` under the context."""
        test = functools.partial(_true_of, engine, ctx, self.asks)
        return functools.partial(self._keyed, test, None if key is None else engine.callback(ctx, key))

    def _keyed(self, test: Any, key: Any, item: Any) -> Any:
        value = item if key is None else key(item)
        return self.stand_in(test, value) if _compares(kind(value)) else value


def _true_of(engine: Engine, ctx: Any, compare: Any, left: Any, right: Any) -> bool:
    return truth(engine, ctx, OPERATORS[compare](engine, ctx, compare)(left, right))


def _compares(cls: type) -> bool:
    """Whether ordering its instances runs Python code."""
    return special(cls, "__lt__") is not None or special(cls, "__gt__") is not None


def _ordering(f: Any) -> Total:
    order = Order(operator.gt, Greater) if f is builtins.max else Order(operator.lt, Less)
    through = iterables_of(f, fact_of(f) or fact())

    def run(engine: Engine, ctx: Any, f: Any, /, *args: Any, **kwargs: Any) -> Any:
        key = kwargs.get("key")
        args = through.replaced(engine, ctx, args, {}) if len(args) == 1 else args
        if f is sorted and key is None and len(args) == 1 and goes_through(args[0]):
            args = (list(args[0]),)  # as sorted() does first; now the items can be looked at
        if key is not None or _may_compare(args):
            kwargs["key"] = order.key(engine, ctx, key)
        return engine.native(ctx, f)(*args, **kwargs)

    return running(run)


def _may_compare(args: tuple[Any, ...]) -> bool:
    """Whether Python code orders the items: for certain not, where they can be seen and it does not."""
    items = bare(args[0]) if len(args) == 1 else args
    if type(items) not in (list, tuple, set, frozenset, dict):
        return type(items) is not range
    return any(map(_compares, set(map(kind, items))))


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


@HANDLERS.runs(operator.call)
def _call(engine: Engine, ctx: Any, f: Any, /, *args: Any, **kwargs: Any) -> Any:
    """operator.call"""
    if not args:
        return engine.native(ctx, f)(**kwargs)
    callee, *rest = args
    return engine.resolve(ctx, callee)(*rest, **kwargs)


def _call_wrapper(engine: Engine, ctx: Any, f: Any, /, *args: Any, **kwargs: Any) -> Any:
    """The `__call__` of a class of wrappers."""
    fits = bool(args) and issubclass(type(args[0]), f.__objclass__)
    run = engine.resolve(ctx, CALLS[f]) if fits else engine.native(ctx, f)
    return run(*args, **kwargs)


HANDLERS |= {call: running(_call_wrapper) for call in CALLS if type(call) is WrapperDescriptorType}
HANDLERS |= {f: _ordering(f) for f in ORDERING}
