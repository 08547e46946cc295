"""Iteration: `iter`, `next`, and whatever takes an iterable and goes through it in C.

    %y = list(%x)        %s = stand_in(%x);  %y = list(%s)

Iterables without methods written in Python are handed on as they are.
"""

from __future__ import annotations

import builtins
import collections
import functools
import itertools
import operator
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from ctxdispatch.dispatch.protocols.conversions import truth
from ctxdispatch.dispatch.protocols.operators import HANDLERS as OPERATORS
from ctxdispatch.dispatch.protocols.standins import ITERATION, stand_in
from ctxdispatch.dispatch.reach import Engine, Handlers, Total, invoke, lookup, running, special
from ctxdispatch.dispatch.tags import bare, kind
from ctxdispatch.facts import NONE, Fact, Operands, fact, operands, python_rows, with_rows
from ctxdispatch.ir import primitives
from ctxdispatch.ir.own_builtins import own as __builtins__  # type: ignore[no-redef]  # noqa: F401

HANDLERS = Handlers()

# -- iterators -------------------------------------------------------------------------------------


@HANDLERS.runs(builtins.iter)
def _iter(engine: Engine, ctx: Any, f: Any, /, *args: Any, **kwargs: Any) -> Any:
    if kwargs or not args:
        return engine.native(ctx, f)(*args, **kwargs)
    if len(args) == 2:
        asked = engine.handed(ctx, args[0]) if callable(args[0]) else args[0]
        return engine.native(ctx, f)(asked, args[1])
    cls = kind(args[0]) if len(args) == 1 else object
    if special(cls, "__iter__") is None:
        by_index = lookup(cls, "__iter__") is None and not issubclass(type(args[0]), dict)
        return engine.native(ctx, f)(*[stand_in(engine, ctx, a) if by_index else a for a in args])
    out = invoke(engine, ctx, args[0], "__iter__")
    if lookup(kind(out), "__next__") is None:
        raise TypeError(f"iter() returned non-iterator of type {kind(out).__name__!r}")
    return out


@HANDLERS.runs(builtins.next)
def _next(engine: Engine, ctx: Any, f: Any, /, *args: Any, **kwargs: Any) -> Any:
    if kwargs or len(args) not in (1, 2) or special(kind(args[0]), "__next__") is None:
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
    iterator = bare(iterator)
    step = special(type(iterator), "__next__")
    if step is None:
        return iterator
    if type(step) is types.FunctionType:
        return map(engine.resolve(ctx, step), itertools.repeat(iterator))
    return iter(stand_in(engine, ctx, iterator))


@HANDLERS.runs(primitives.delegated)
def _delegated(engine: Engine, ctx: Any, f: Any, iterable: Any, /) -> Any:
    """`yield from iterable`: generators and coroutines are no others' to iterate over."""
    iterable = bare(iterable)
    if type(iterable) in _SUSPENDED:
        return iterable
    iterator = engine.resolve(ctx, builtins.iter)(iterable)
    if special(kind(iterator), "__next__") is None:
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
    """Which operands are gone through."""

    operands: Operands = NONE
    natively: tuple[type, ...] = ()
    """Classes whose instances the function does not iterate over: it looks into them."""

    def replaced(
        self, engine: Engine, ctx: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Any, ...]:
        """The positional operands with stand-ins; `kwargs` gets them."""
        for name in self.operands.names:
            if name in kwargs:
                kwargs[name] = stand_in(engine, ctx, kwargs[name])
        has = self.operands.has
        return tuple([self._through(engine, ctx, a) if has(i) else a for i, a in enumerate(args)])

    def _through(self, engine: Engine, ctx: Any, iterable: Any) -> Any:
        return iterable if issubclass(type(iterable), self.natively) else stand_in(engine, ctx, iterable)


_SETS = (set, frozenset)
_DICTS = (dict, collections.OrderedDict, collections.defaultdict)
_NATIVELY: dict[Any, tuple[type, ...]] = {
    **dict.fromkeys((*_SETS, primitives.set_update), _SETS),
    **dict.fromkeys(_DICTS, (dict,)),
}
"""What sets and dicts look into, by what does: others of their kind."""


def iterables_of(f: Any, row: Fact) -> Iterables:
    """Those whose `__iter__` it runs; of a method's own object it does not."""
    if "__iter__" not in row.methods:
        return Iterables()
    owner = getattr(f, "__objclass__", None)
    through = row.iterates if owner is None else row.iterates.without(0)
    return Iterables(through, _NATIVELY.get(owner or getattr(f, "__self__", f), ()))


def splat(engine: Engine, ctx: Any, f: Any, iterable: Any) -> Any:
    """f(*iterable): an error names `f`, not what runs in its place."""
    cls = kind(iterable)
    if not (hasattr(cls, "__iter__") or hasattr(cls, "__getitem__")):
        name = primitives.name_of_callee(f)
        raise TypeError(f"{name} argument after * must be an iterable, not {cls.__name__}")
    return stand_in(engine, ctx, iterable)


def _going_through(iterables: Iterables) -> Total:
    def run(engine: Engine, ctx: Any, f: Any, /, *args: Any, **kwargs: Any) -> Any:
        return engine.native(ctx, f)(*iterables.replaced(engine, ctx, args, kwargs), **kwargs)

    return running(run)


def _only_goes_through(f: Any, row: Fact) -> bool:
    """It asks iterables for nothing but their items."""
    if not row.methods <= _OF_ITEMS or row.calls or not row.known:
        return False
    return bool(iterables_of(f, row).operands)


_ASKED = (python_rows.ITERATION, python_rows.KEYS, python_rows.TRUTH, python_rows.NUMBER)
_OF_ITEMS = fact(methods=" ".join([*_ASKED, "copy add radd mul rmul array_ufunc"])).methods
"""What may be asked of items, and of iterables as such: who asks more may not take a stand-in.
An item that is an array asks the others for `__array_ufunc__`."""

ITERABLES = {f: iterables_of(f, row) for f, row in with_rows() if _only_goes_through(f, row)}
for _f in (bytearray.extend, collections._count_elements):  # type: ignore[attr-defined]
    ITERABLES[_f] = Iterables(operands("1"))  # they ask more of other operands
HANDLERS |= {f: _going_through(iterables) for f, iterables in ITERABLES.items()}


@HANDLERS.runs(builtins.any, builtins.all)
def _quantifier(engine: Engine, ctx: Any, f: Any, /, *args: Any, **kwargs: Any) -> Any:
    """any, all: each item's truth is asked when its turn comes."""
    if kwargs or len(args) != 1 or not goes_through(args[0]):
        return engine.native(ctx, f)(*args, **kwargs)
    return engine.native(ctx, f)(map(functools.partial(truth, engine, ctx), stand_in(engine, ctx, args[0])))


def goes_through(iterable: Any) -> bool:
    """Whether it can be gone through: else the function itself has to say that it cannot."""
    cls = kind(iterable)
    return lookup(cls, "__iter__", lookup(cls, "__getitem__")) is not None


@HANDLERS.runs(builtins.bytes, builtins.bytearray)
def _bytes(engine: Engine, ctx: Any, f: Any, /, *args: Any, **kwargs: Any) -> Any:
    if len(args) == 1 and not kwargs:
        looked_into = issubclass(type(args[0]), str) or _is_buffer(args[0])
        others = () if looked_into else ("__index__", *ITERATION)
        args = (stand_in(engine, ctx, args[0], ("__bytes__", *others)),)
    return engine.native(ctx, f)(*args, **kwargs)


def _is_buffer(value: Any) -> bool:
    """Whether it hands out its memory, or would if that were not closed."""
    if lookup(kind(value), "__buffer__") is not None:
        return True
    try:
        memoryview(value)
    except TypeError:
        return False
    except (ValueError, BufferError):
        return True
    return True


@HANDLERS.runs(itertools.chain.__dict__["from_iterable"])
def _chain(engine: Engine, ctx: Any, f: Any, /, *args: Any, **kwargs: Any) -> Any:
    """chain.from_iterable: the iterables are taken one by one, and gone through."""
    if len(args) != 2 or kwargs or not goes_through(args[1]):
        return engine.native(ctx, f)(*args, **kwargs)
    cls, iterables = args
    each = map(functools.partial(stand_in, engine, ctx), stand_in(engine, ctx, iterables))
    return engine.native(ctx, f)(cls, each)


# -- sums ------------------------------------------------------------------------------------------


@HANDLERS.runs(builtins.sum)
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
    return special(kind(value), "__add__") is not None or special(kind(value), "__radd__") is not None


def _until(stop: Callable[[Any], bool], items: Iterable[Any], held: list[Any]) -> Iterator[Any]:
    """The items before the first that is `stop`, which goes by its class; that one goes into `held`."""
    passed = None
    for item in items:
        if kind(item) is not passed:
            if stop(item):
                held.append(item)
                return
            passed = kind(item)
        yield item


BY_FIRST = (list, tuple, set, frozenset, enumerate, iter, next)
"""Those that leave what is of a class of C code to the interpreter, called with that alone."""
