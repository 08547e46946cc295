"""Closures met at run time: one program serves all closures of one code object, what a closure has captured
being arguments of it."""

from __future__ import annotations

import functools
from types import CellType, FunctionType, SimpleNamespace
from typing import Any

from ctxdispatch_contexts.reverse.assigned import assigned_free, is_empty
from ctxdispatch_contexts.reverse.entry import Entry
from ctxdispatch_contexts.reverse.entry_keys import ById
from ctxdispatch_contexts.reverse.errors import DerivativeError, user_position
from ctxdispatch_contexts.reverse.owned import Bounded
from ctxdispatch_contexts.reverse.program import CALL, Mode
from ctxdispatch_contexts.reverse.sources import ClosureSource

_entries = Bounded(1024)


def closure_entry(
    context: Any, mode: Mode, callee: FunctionType, n: int, kwnames: tuple[str, ...], *, bound: bool = True
) -> Entry:
    """The entry for calls callee(*n arguments, **kwnames), of any closure of that code. `bound`: no argument
    is left to defaults."""
    code, namespace = callee.__code__, callee.__globals__
    defaults = (None, None) if bound else (callee.__defaults__, callee.__kwdefaults__)
    key = (context, mode, code, ById(namespace), n, kwnames, *map(ById, defaults))
    return _entries.get_or_make(
        key, lambda: Entry(ClosureSource(code, namespace, n, kwnames, *defaults), mode, context)
    )


def call_closure(context: Any, callee: FunctionType, args: tuple[Any, ...], kwnames: tuple[str, ...]) -> Any:
    """(y, pullback) of callee(*args): what the function captured, and its defaults, are arguments."""
    if (name := assigned_free(callee.__code__)) is not None:
        raise DerivativeError(
            f"{callee.__qualname__} assigns to {name!r}, a variable of the function around it (`nonlocal`); "
            "return the new value instead",
            user_position(),
        )
    captured = tuple(map(contents, callee.__closure__ or ()))
    found = _bind(callee, args, kwnames)
    values, names, places = found or (args, kwnames, tuple(range(len(args))))
    entry = closure_entry(context, CALL, callee, len(values) - len(names), names, bound=found is not None)
    y, pullback = entry.function(*captured, *values)
    return y, functools.partial(_as_closure, pullback, callee.__code__.co_freevars, places)


def _bind(
    callee: FunctionType, args: tuple[Any, ...], kwnames: tuple[str, ...]
) -> tuple[tuple[Any, ...], tuple[str, ...], tuple[int, ...]] | None:
    """The values of all parameters, the names of those that go by keyword, and where each argument went.
    None where there are star parameters, or the call does not fit."""
    code = callee.__code__
    n, given = code.co_argcount, len(args) - len(kwnames)
    names = code.co_varnames[: n + code.co_kwonlyargcount]
    if code.co_flags & 0x0C or given > n:
        return None
    defaults = callee.__defaults__ or ()
    values = dict(zip(names[n - len(defaults) : n], defaults, strict=True)) | (callee.__kwdefaults__ or {})
    taken = (*names[:given], *kwnames)
    if len(set(taken)) < len(taken) or not set(kwnames) <= set(names[code.co_posonlyargcount :]):
        return None
    values |= dict(zip(taken, args, strict=True))
    if len(values) < len(names):
        return None
    return tuple([values[k] for k in names]), names[n:], tuple([names.index(k) for k in taken])


def contents(cell: CellType) -> Any:
    """What a closure has captured; DerivativeError where that is not bound."""
    if is_empty(cell):
        raise DerivativeError("a closure with a variable that is not bound yet was called", user_position())
    return cell.cell_contents


def _as_closure(pullback: Any, names: tuple[str, ...], places: tuple[int, ...], g: Any) -> Any:
    given = pullback(g)
    n = len(names)
    captured = given[:n]
    mine = (
        None
        if all(c is None for c in captured)
        else SimpleNamespace(**dict(zip(names, captured, strict=True)))
    )
    return (mine, *[given[n + place] for place in places])
