"""The entries there are, by what they differentiate. See `entry.py` for what one is."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import FunctionType
from typing import Any

from ctxdispatch_contexts.reverse.closures import ClosureSource
from ctxdispatch_contexts.reverse.entry import CallSource, Entry, Source
from ctxdispatch_contexts.reverse.entry_keys import ById, holes, literal_key
from ctxdispatch_contexts.reverse.errors import DerivativeError, user_position
from ctxdispatch_contexts.reverse.program import Mode

CALL = Mode(stub=True)


class _Entries:
    """Entries by (context, what, mode), the oldest dropped. One per key, however many threads ask at once."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._lock = threading.Lock()
        self._entries: dict[Any, Entry] = {}

    def __call__(self, context: Any, mode: Mode, key: Any, make: Callable[[], Any]) -> Entry:
        full = (context, mode, key)
        found = self._entries.get(full)
        if found is not None:
            return found
        with self._lock:
            if full not in self._entries:
                self._entries[full] = Entry(make(), mode, context)
                if len(self._entries) > self._size:
                    del self._entries[next(iter(self._entries))]
            return self._entries[full]


entries = _Entries(4096)


def call_entry(context: Any, callee: Any, template: tuple[Any, ...], kwnames: tuple[str, ...]) -> Entry:
    key = (ById(callee), literal_key(template), kwnames)
    return entries(context, CALL, key, lambda: CallSource(callee, template, kwnames))


def closure_entry(context: Any, callee: FunctionType, n: int, kwnames: tuple[str, ...]) -> Entry:
    defaults = ById(callee.__defaults__) if kwnames and callee.__defaults__ else None
    key = (callee.__code__, ById(callee.__globals__), n, kwnames, defaults)
    return entries(context, CALL, key, lambda: ClosureSource(callee, n, kwnames))


def entry_function(f: Any, mode: Mode, context: Any, n: int, kwnames: tuple[str, ...]) -> Callable[..., Any]:
    """The self-specialising function for calls f(*n arguments, **kwnames)."""
    if is_direct(f, context) and (not mode.split or (not kwnames and n == f.__code__.co_argcount)):
        return entries(context, mode, ById(f), lambda: Source(f)).function
    if not callable(f):
        raise DerivativeError(f"{f!r} is not callable", user_position())
    key = (ById(f), n, kwnames)
    function = entries(context, mode, key, lambda: CallSource(f, holes(n + len(kwnames)), kwnames)).function
    if not kwnames:
        return function
    if not mode.split:
        return lambda *args, **kwargs: function(*args, *[kwargs[k] for k in kwnames])
    return lambda *args, **kwargs: _positional(function(*args, *[kwargs[k] for k in kwnames]), n)


def _positional(pair: Any, n: int) -> Any:
    """(y, pullback), the pullback without the cotangents of keyword arguments."""
    y, pullback = pair
    return y, lambda ybar: pullback(ybar)[:n]


def is_direct(f: Any, context: Any) -> bool:
    """A plain function: its own graph is what is differentiated, its own signature the entry's."""
    if type(f) is not FunctionType or context.has_rules(f):
        return False
    code = f.__code__
    return code.co_kwonlyargcount == 0 and not code.co_flags & 0x0C
