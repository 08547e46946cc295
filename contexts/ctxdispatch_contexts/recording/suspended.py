"""Generators and coroutines that a run did not make: their code is not under its context.

    batches = (b for b in data)      made before: next(batches) is a constant of the run
    g.send(x)                        refused, where x is differentiated, or what g's variables hold is

What is awaited or gone through by methods of the user's own is under the context: `awaited`, `gone_through`.
"""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator
from typing import Any

from ctxdispatch.dispatch.compiling import Rewritten, code_for
from ctxdispatch.dispatch.overdub import resolve
from ctxdispatch.dispatch.reach import bind, special
from ctxdispatch.ir.sites import CONTEXT
from ctxdispatch_contexts.programs.errors import MissingRuleError, user_position
from ctxdispatch_contexts.recording.callees import is_plain

OURS = ("ctxdispatch.", "ctxdispatch_contexts.")

_PREFIX: dict[type, str] = {
    types.GeneratorType: "gi", types.CoroutineType: "cr", types.AsyncGeneratorType: "ag",
}  # fmt: skip
"""Of the attributes that say what one is doing."""

KINDS = frozenset(_PREFIX)


def check(ctx: Any, args: tuple[Any, ...]) -> None:
    """MissingRuleError where one among `args` would compute with what is differentiated, out of sight."""
    for value in args:
        if type(value) in _PREFIX and (frame := _frame_out_of_sight(ctx, value)) is not None:
            given = [a for a in args if a is not value]
            if ctx.record.any_active([*given, *_parts(frame.f_locals.values())]):
                _refuse(value)


def _refuse(value: Any) -> None:
    raise MissingRuleError(
        f"the {type(value).__name__} {value.__qualname__!r} was not made by the function that is "
        "differentiated: its code is not followed, but what it is given or holds depends on what is "
        "differentiated; make it in the function",
        user_position(),
    )


def _frame_out_of_sight(ctx: Any, value: Any) -> Any:
    """Its frame, if it goes on and is not under a context. The code of this package computes nothing."""
    prefix = _PREFIX[type(value)]
    frame, code = getattr(value, f"{prefix}_frame"), getattr(value, f"{prefix}_code")
    if frame is None or _asks(code) or str(frame.f_globals.get("__name__", "")).startswith(OURS):
        return None
    return frame if _computes(ctx, code, frame.f_globals) else None


def _asks(code: types.CodeType) -> bool:
    """It has a context."""
    return any(name.startswith(CONTEXT) for name in code.co_freevars)


def _computes(ctx: Any, code: types.CodeType, namespace: dict[str, Any]) -> bool:
    """Under the context it would ask for it. (The code of `(v for v in items)` is the same under any.)"""
    cells = tuple([types.CellType() for _ in code.co_freevars])
    made = code_for(ctx, types.FunctionType(code, namespace, closure=cells))
    return made is not None and not (isinstance(made, Rewritten) and not _asks(made.code))


def _parts(values: Iterable[Any]) -> Iterator[Any]:
    """The values, and the attributes of objects of the user's among them."""
    for value in values:
        yield value
        if not is_plain(value) and not isinstance(value, type):
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
