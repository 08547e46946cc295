"""Generators and coroutines that a run did not make: their code is not under its context.

    batches = (b for b in data)      made before: next(batches) is a constant of the run
    g.send(x)                        refused, where x is differentiated, or what g's variables hold is

What is awaited or gone through by methods of the user's own is under the context: `awaited`, `gone_through`.
"""

from __future__ import annotations

import functools
import gc
import itertools
import types
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ctxdispatch.dispatch.compiling import Rewritten, code_for
from ctxdispatch.dispatch.overdub import resolve
from ctxdispatch.dispatch.reach import bind, special
from ctxdispatch.dispatch.strip import gives_items, is_iterator
from ctxdispatch.ir.sites import CONTEXT
from ctxdispatch_contexts.programs.errors import MissingRuleError, user_position
from ctxdispatch_contexts.recording.callees import is_plain

OURS = ("ctxdispatch.", "ctxdispatch_contexts.")

_PREFIX: dict[type, str] = {
    types.GeneratorType: "gi", types.CoroutineType: "cr", types.AsyncGeneratorType: "ag",
}  # fmt: skip
"""Of the attributes that say what one is doing."""

_OF_ARRAY = type(iter(np.zeros(1)))

_OF_SEVERAL = (map, zip, itertools.zip_longest)
"""They hold a tuple of iterators."""

_CALLING = (
    map, filter, itertools.starmap, itertools.accumulate, itertools.takewhile, itertools.dropwhile,
    itertools.filterfalse, itertools.groupby,
)  # fmt: skip
"""The functions that they hold compute; those that others hold are items."""


def check(ctx: Any, args: tuple[Any, ...]) -> None:
    """MissingRuleError where an iterator or coroutine among `args` would compute with what is differentiated,
    or read it off an array, out of sight."""
    for value in args:
        if go_on(type(value)):
            given = [a for a in args if a is not value]
            if any(_is_lost(ctx, part, given) for part in _within(value)):
                _refuse(value)


@functools.lru_cache(1024)
def go_on(cls: type) -> bool:
    """Its instances are generators, coroutines or iterators of the interpreter's own."""
    return cls in _PREFIX or gives_items(cls)


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
    parts = gc.get_referents(value)
    if type(value) not in _OF_SEVERAL:
        return parts
    return [a for part in parts for a in (part if type(part) is tuple else (part,))]


def _is_lost(ctx: Any, value: Any, given: list[Any]) -> bool:
    held, record = _held(value), ctx.record
    if type(value) is _OF_ARRAY:  # one of the run's own writes down what it reads
        return any(isinstance(a, np.ndarray) and a.ndim == 1 and record.is_active(a) for a in held)
    return _is_out_of_sight(ctx, value, held) and record.any_active([*given, *_parts(held)])


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


def _is_out_of_sight(ctx: Any, value: Any, held: list[Any]) -> bool:
    """Code that is not under a context goes on in it. The code of this package computes nothing."""
    if type(value) in _PREFIX:
        frame = _frame(value)
        return frame is not None and _computes(ctx, frame.f_code, frame.f_globals)
    functions = [f for f in held if type(f) is types.FunctionType] if type(value) in _CALLING else []
    return any(_computes(ctx, f.__code__, f.__globals__) for f in functions)


def _asks(code: types.CodeType) -> bool:
    """It has a context."""
    return any(name.startswith(CONTEXT) for name in code.co_freevars)


def _computes(ctx: Any, code: types.CodeType, namespace: dict[str, Any]) -> bool:
    """Under the context it would ask for it. (The code of `(v for v in items)` is the same under any.)"""
    if _asks(code) or str(namespace.get("__name__", "")).startswith(OURS):
        return False
    cells = tuple([types.CellType() for _ in code.co_freevars])
    made = code_for(ctx, types.FunctionType(code, namespace, closure=cells))
    return made is not None and not (isinstance(made, Rewritten) and not _asks(made.code))


def _parts(values: Iterable[Any]) -> Iterator[Any]:
    """The values, and the attributes of objects of the user's among them."""
    for value in values:
        yield value
        if is_iterator(value):
            yield from _held(value)
        elif not is_plain(value) and not isinstance(value, type):
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
