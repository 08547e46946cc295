"""Generators, coroutines and iterators that a run did not make: their code is not under its context.

    batches = (b for b in data)      made before: next(batches) is a constant of the run
    g.send(x)                        refused, where x is differentiated, or what the code reaches is: g's
                                     variables, what its functions have captured, the globals that they name

What is awaited or gone through by methods of the user's own is under the context: `awaited`, `gone_through`.
"""

from __future__ import annotations

import functools
import gc
import itertools
import operator
import types
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ctxdispatch.dispatch.compiling import Rewritten, code_for
from ctxdispatch.dispatch.holding import referents
from ctxdispatch.dispatch.overdub import resolve
from ctxdispatch.dispatch.reach import bind, natively, special
from ctxdispatch.dispatch.strip import gives_items, is_iterator
from ctxdispatch.ir.leaves import is_ours
from ctxdispatch.ir.sites import CONTEXT
from ctxdispatch.ir.watching import is_undispatched
from ctxdispatch_contexts.programs.by_code import gives_by_code
from ctxdispatch_contexts.programs.errors import MissingRuleError, user_position
from ctxdispatch_contexts.recording.callees import is_plain, look_at
from ctxdispatch_contexts.recording.hidden import reaches_active

_PREFIX: dict[type, str] = {
    types.GeneratorType: "gi", types.CoroutineType: "cr", types.AsyncGeneratorType: "ag",
}  # fmt: skip
"""Of the attributes that say what one is doing."""

_BY_INDEX = (type(iter(np.zeros(1))), reversed)
"""They read the items of an array, or call `__getitem__` of an object of the user's."""

_OF_TUPLE = type(iter(()))

_OF_ITEMS = (
    itertools.repeat, itertools.cycle, itertools.product, itertools.permutations, itertools.combinations,
    itertools.combinations_with_replacement, _OF_TUPLE,
)  # fmt: skip
"""What these refer to are items; functions that others do are called."""


@natively
def check(ctx: Any, args: tuple[Any, ...]) -> None:
    """MissingRuleError where an iterator or coroutine among `args` would compute with what is differentiated,
    or read it off an array, out of sight."""
    for value in args:
        if go_on(type(value)):
            given = [a for a in args if a is not value]
            parts = _within(value)
            if any(_reads_array(ctx, part) for part in parts) or _is_lost(ctx, parts, given):
                _refuse(value)


@functools.lru_cache(1024)
def go_on(cls: type) -> bool:
    """Its instances are generators, coroutines or iterators of the interpreter's own."""
    return cls in _PREFIX or gives_items(cls)


def is_made(callee: Any, args: tuple[Any, ...], out: Any) -> bool:
    """The call has made the iterator `out`: an object of the user's may have given one that was there."""
    if callee is iter:
        return out is not args[0] and is_plain(args[0])
    return go_on(type(out))


def _within(value: Any) -> list[Any]:
    """The iterator, and those that it takes its items from."""
    found = [value]
    for part in found:  # grows
        found += [a for a in _held(part) if go_on(type(a)) and not any(a is seen for seen in found)]
    return found


def _held(value: Any) -> list[Any]:
    """What a generator's variables hold, or an iterator of C code refers to."""
    if type(value) in _PREFIX:
        frame = _frame(value)
        return [] if frame is None else [*frame.f_locals.values()]
    return referents(value)


def _reads_array(ctx: Any, value: Any) -> bool:
    """One of the run's own would write down what it reads."""
    held = _held(value) if type(value) in _BY_INDEX else ()
    return any(issubclass(type(a), np.ndarray) and a.ndim == 1 and ctx.record.is_active(a) for a in held)


def _is_lost(ctx: Any, parts: list[Any], given: list[Any]) -> bool:
    """Of the run's own iterators, what they go through and call was prepared."""
    record = ctx.record
    code = [f for part in parts if id(part) not in record.iterators for f in _out_of_sight(ctx, part)]
    if not code:
        return False
    held = [a for part in parts for a in _parts(_held(part))]
    return record.any_active([*given, *held]) or reaches_active(record, code)


def _refuse(value: Any) -> None:
    cls = type(value).__name__
    what = f"the {cls} {value.__qualname__!r}" if type(value) in _PREFIX else f"an iterator ({cls})"
    raise MissingRuleError(
        f"{what} was not made by the function that is differentiated: its code is not followed, but what it "
        "is given or holds depends on what is differentiated; make it in the function",
        user_position(),
    )


def _frame(value: Any) -> Any:
    return getattr(value, f"{_PREFIX[type(value)]}_frame")


def _out_of_sight(ctx: Any, value: Any) -> Iterator[Any]:
    """What goes on in it by code that is not under a context: functions, and objects whose methods give the
    items. The code of this package computes nothing."""
    if type(value) in _PREFIX:
        frame = _frame(value)
        if frame is not None and _computes(ctx, frame.f_code, frame.f_globals):
            yield types.FunctionType(frame.f_code, frame.f_globals, closure=_closure(frame))
    elif type(value) not in _OF_ITEMS:
        cls, held = type(value), gc.get_referents(value)
        called = [f for f in held if issubclass(type(f), _FUNCTIONS) and f is not cls]
        if type(value) is itertools.accumulate and not called:
            called = [operator.add]
        yield from (f for f in called if _is_computing(ctx, f))
        yield from _stepped(value, _held(value))


def _stepped(value: Any, held: list[Any]) -> Iterator[Any]:
    """The objects of the user's whose methods give the items."""
    begins = type(value) is itertools.chain  # with one after the other of the items of a tuple
    later = [a for part in held if type(part) is _OF_TUPLE for a in referents(part)] if begins else []
    for part in (*held, *later):
        by_next = begins or type(value) in _BY_INDEX or hasattr(type(part), "__next__")
        if by_next and gives_by_code(type(part)):
            yield part


_FUNCTIONS = (
    types.FunctionType, types.MethodType, types.BuiltinFunctionType, types.MethodDescriptorType,
    types.WrapperDescriptorType, functools.partial, np.ufunc, type,
)  # fmt: skip


def _is_computing(ctx: Any, f: Any) -> bool:
    """Not what moves objects."""
    f = f.func if issubclass(type(f), functools.partial) else f
    f = getattr(f, "__func__", f)
    if type(f) is types.FunctionType:
        return _computes(ctx, f.__code__, f.__globals__)
    known = look_at(f)
    return known.known or not known.moves


def _closure(frame: types.FrameType) -> tuple[types.CellType, ...]:
    """Cells of what a frame's free variables are."""
    local = frame.f_locals
    held = [[local[name]] if name in local else [] for name in frame.f_code.co_freevars]
    return tuple([types.CellType(*each) for each in held])


def _asks(code: types.CodeType) -> bool:
    """It has a context."""
    return any(name.startswith(CONTEXT) for name in code.co_freevars)


def _computes(ctx: Any, code: types.CodeType, namespace: dict[str, Any]) -> bool:
    """Under the context it would ask for it. (The code of `(v for v in items)` is the same under any.)"""
    if _asks(code) or is_ours(namespace.get("__name__")) or any(map(is_undispatched, code.co_consts)):
        return False  # what watches has been put there by a context, which had nothing else to do in it
    cells = tuple([types.CellType() for _ in code.co_freevars])
    made = code_for(ctx, types.FunctionType(code, namespace, closure=cells))
    return made is not None and not (issubclass(type(made), Rewritten) and not _asks(made.code))


def _parts(values: Iterable[Any]) -> Iterator[Any]:
    """The values, and the attributes of objects of the user's among them."""
    for value in values:
        yield value
        if is_iterator(value):
            yield from _held(value)
        elif not is_plain(value) and not issubclass(type(value), type):
            yield from _attributes(value).values()


def _attributes(value: Any) -> dict[str, Any]:
    try:
        return object.__getattribute__(value, "__dict__")  # type: ignore[no-any-return]
    except AttributeError:  # it has slots only
        return {}


# -- methods of the user's that instructions call ------------------------------------------------------------


class _Awaited:
    """Awaiting it goes through the iterator that the user's `__await__` gave."""

    def __init__(self, iterator: Any) -> None:
        self.iterator = iterator

    def __await__(self) -> Any:
        return self.iterator


class _Items:
    """What the user's `__aiter__` gave, whose `__anext__` is `following`."""

    def __init__(self, following: Any) -> None:
        self.following = following

    def __aiter__(self) -> _Items:
        return self

    def __anext__(self) -> Any:
        return self.following()


class _Given:
    """Its `__aiter__` gives what the user's gave."""

    def __init__(self, items: Any) -> None:
        self.items = items

    def __aiter__(self) -> Any:
        return self.items


def awaited(ctx: Any, value: Any) -> Any:
    """What to await in place of `value`: its `__await__` is under the context."""
    method = special(type(value), "__await__")
    return value if method is None else _Awaited(resolve(ctx, bind(method, value))())


def gone_through(ctx: Any, value: Any) -> Any:
    """What `async for` is to go through in place of `value`."""
    method = special(type(value), "__aiter__")
    items = value if method is None else resolve(ctx, bind(method, value))()
    if special(type(items), "__anext__") is None:
        return value if method is None else _Given(items)
    return _Items(lambda: awaited(ctx, _following(ctx, items)))


def _following(ctx: Any, items: Any) -> Any:
    return resolve(ctx, bind(special(type(items), "__anext__"), items))()
