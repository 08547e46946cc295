"""Reverse mode of closures met at run time: what a closure has captured are arguments of its program."""

from __future__ import annotations

import functools
from types import FunctionType, SimpleNamespace
from typing import Any

from ctxdispatch.bytecode.original import is_generated
from ctxdispatch_contexts.programs.closures import bind_defaults, closure_entry, contents, generated_entry
from ctxdispatch_contexts.reverse.cotangents import accumulate, entries_of
from ctxdispatch_contexts.reverse.defaults import DEFAULTS, KWDEFAULTS, UNKNOWN
from ctxdispatch_contexts.reverse.program import CALL, WITHIN


def call_closure(context: Any, callee: FunctionType, args: tuple[Any, ...], kwnames: tuple[str, ...]) -> Any:
    """(y, pullback) of callee(*args): what the function captured, and its defaults, are arguments."""
    found = bind_defaults(callee, args, kwnames)
    values, names, places = found or (args, kwnames, tuple(range(len(args))))
    if is_generated(callee.__code__):
        y, pullback = generated_entry(context, WITHIN, callee).function(*values)
    else:
        captured = tuple(map(contents, callee.__closure__ or ()))
        entry = closure_entry(context, CALL, callee, len(values) - len(names), names, bound=found is not None)
        y, pullback = entry.function(*captured, *values)
    return y, functools.partial(_as_closure, pullback, callee, places, found is not None)


def _as_closure(pullback: Any, callee: FunctionType, places: tuple[int, ...], bound: bool, g: Any) -> Any:
    """The function's own cotangent is a namespace: what it captured, and its defaults where the call was left
    to them."""
    given = pullback(g)
    names = () if is_generated(callee.__code__) else callee.__code__.co_freevars
    n = len(names)
    parts = dict(zip(names, given[:n], strict=True))
    if callee.__defaults__ or callee.__kwdefaults__:
        parts |= (
            _of_defaults(callee, given[n:], places) if bound else {DEFAULTS: UNKNOWN, KWDEFAULTS: UNKNOWN}
        )
    parts = _with_inner(callee, parts)
    mine = SimpleNamespace(**parts) if [c for c in parts.values() if c is not None] else None
    return (mine, *[given[n + place] for place in places])


def _with_inner(callee: FunctionType, parts: dict[str, Any]) -> dict[str, Any]:
    """A function that has captured itself: what its own calls gave to what it captured is given to that."""
    for name, cell in zip(callee.__code__.co_freevars, callee.__closure__ or ()):
        if parts.get(name) is not None and contents(cell) is callee:
            inner = dict(entries_of(parts[name]))
            parts[name] = None
            parts = {key: _sum(parts.get(key), inner.get(key)) for key in {**parts, **inner}}
    return parts


def _sum(a: Any, b: Any) -> Any:
    return UNKNOWN if a is UNKNOWN or b is UNKNOWN else accumulate(a, b)


def _of_defaults(callee: FunctionType, given: Any, places: tuple[int, ...]) -> dict[str, Any]:
    """Cotangents of defaults: those of the parameters that no argument went to."""
    code = callee.__code__
    left = [None if i in places else c for i, c in enumerate(given)]
    first = code.co_argcount - len(callee.__defaults__ or ())
    positional = tuple(left[first : code.co_argcount])
    at = {name: i for i, name in enumerate(code.co_varnames)}
    named = {name: left[at[name]] for name in callee.__kwdefaults__ or ()}
    parts: dict[str, Any] = {}
    if [c for c in positional if c is not None]:
        parts[DEFAULTS] = positional
    if [c for c in named.values() if c is not None]:
        parts[KWDEFAULTS] = named
    return parts
