"""Which entry serves a function or a call. See `entry.py` for what one is.

a plain function                       the entry of its own graph, kept by the function
a method, partial, callable object     the entry of the function behind it, what is bound going first
a function made again and again        the entry of its code, what it captured going first
anything else (builtins, classes)      the entry of a call of it, in a bounded table
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from types import (
    BuiltinMethodType,
    FunctionType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    WrapperDescriptorType,
)
from typing import Any

import numpy as np

from ctxdispatch.bytecode.original import is_generated
from ctxdispatch.ir import wrappers
from ctxdispatch.ir.wrappers import called
from ctxdispatch.passes.resolve import class_attribute
from ctxdispatch_contexts.derivatives.table import lowering, vjp_rule
from ctxdispatch_contexts.programs.activity import ZERO_BY_RULE
from ctxdispatch_contexts.programs.arguments import Default, check_apart, is_container
from ctxdispatch_contexts.programs.closures import closure_entry, code_entry, generated_entry
from ctxdispatch_contexts.programs.derived import DerivedSource, entry_of
from ctxdispatch_contexts.programs.entry import Entry
from ctxdispatch_contexts.programs.entry_keys import ById, holes, literal_key
from ctxdispatch_contexts.programs.errors import DerivativeError, user_position
from ctxdispatch_contexts.programs.lifting import made_at_run_time
from ctxdispatch_contexts.programs.mode import Mode
from ctxdispatch_contexts.programs.owned import Bounded, Table, generated
from ctxdispatch_contexts.programs.shared import (
    Sharing,
    cut,
    known_sharing,
    shared_call,
    shared_function,
    sharing,
)
from ctxdispatch_contexts.programs.sources import CallSource, Source

_others = Bounded(1024)

ZERO_BY_RULE.update((
    Table.get_or_make, closure_entry, code_entry, generated_entry, generated, made_at_run_time,
    is_generated, class_attribute,
))  # fmt: skip
"""To find the entry for a call is no part of the program, whatever it is that is called."""


def call_entry(
    context: Any, callee: Any, template: tuple[Any, ...], kwnames: tuple[str, ...], mode: Mode
) -> Entry:
    """The entry for calls of `callee` with the template's literals."""
    table = generated(callee) if type(callee) is FunctionType else _others
    key = (ById(callee), context, mode, literal_key(template), kwnames)
    return table.get_or_make(key, lambda: Entry(CallSource(callee, template, kwnames), mode, context))


def entry_function(f: Any, mode: Mode, context: Any, n: int, kwnames: tuple[str, ...]) -> Callable[..., Any]:
    """The self-specialising function for calls f(*n arguments, **kwnames)."""
    if is_direct(f, context) and (not mode.split or (not kwnames and n == f.__code__.co_argcount)):
        return _direct(f, mode, context)
    if not callable(f):
        raise DerivativeError(
            f"{f!r} is not callable; give a function, or an object with __call__", user_position()
        )
    behind = None if context.ad_ruled(f) else function_behind(f)
    if behind is not None:
        made = functools.partial(_bound, mode=mode, context=context, n=n, kwnames=kwnames)
        return _of_state(f, made) if type(f) is functools.partial else made(*behind)
    if (
        context.ad_ruled(f)
        or not made_at_run_time(f)
        or is_generated(f.__code__)
        or f.__code__.co_flags & 0x0C
    ):
        return _called(f, mode, context, n, kwnames)
    return generated(f).get_or_make(
        (context, mode, n, kwnames, ById(f.__code__)), lambda: _shared_call(f, mode, context, n, kwnames)
    )


def _called(f: Any, mode: Mode, context: Any, n: int, kwnames: tuple[str, ...]) -> Callable[..., Any]:
    """By a program of its own."""
    function = call_entry(context, f, holes(n + len(kwnames)), kwnames, mode).function
    if not kwnames:
        return function
    if not mode.split:
        return lambda *args, **kwargs: function(*args, *[kwargs[k] for k in kwnames])
    return lambda *args, **kwargs: cut(function(*args, *[kwargs[k] for k in kwnames]), 0, n)


def _shared_call(
    f: FunctionType, mode: Mode, context: Any, n: int, kwnames: tuple[str, ...]
) -> Callable[..., Any]:
    own = functools.partial(_called, f, mode, context, n, kwnames)
    known = known_sharing(f, mode, context, n)
    if known is not None:
        return known.function_for(f, own)  # type: ignore[no-any-return]
    recipes = _sharing(f, mode, context).recipes
    return own() if recipes is None else shared_call(f, mode, context, n, own, recipes)


def _direct(f: FunctionType, mode: Mode, context: Any) -> Callable[..., Any]:
    table = generated(f)
    inner = entry_of(f)

    def make() -> Callable[..., Any]:
        known = known_sharing(f, mode, context) if inner is None else None
        if known is not None:
            return known.function_for(f)  # type: ignore[no-any-return]
        recipes = _sharing(f, mode, context).recipes if inner is None else None
        if recipes is None:
            return Entry(direct_source(f), mode, context, _again).function
        return shared_function(f, mode, context, _again, recipes)

    code = None if inner is not None else ById(f.__code__)  # an entry's changes all the time
    return table.get_or_make((context, mode, code, len(f.__defaults__ or ())), make)


def _holds_data(cell: Any) -> bool:
    """A number or an array: nothing that decides what a program is."""
    try:
        return isinstance(cell.cell_contents, (int, float, complex, np.ndarray, np.generic))
    except ValueError:
        return False


def _sharing(f: FunctionType, mode: Mode, context: Any) -> Sharing:
    at_once = mode.shared and bool(f.__closure__) and all(map(_holds_data, f.__closure__ or ()))
    return generated(f).get_or_make((sharing, at_once), lambda: sharing(f, mode, context, at_once))


def direct_source(f: FunctionType) -> Source | DerivedSource:
    """Where the graph of `f` comes from: its code, or the program that `f` runs where it is a derivative."""
    inner = entry_of(f)
    return Source(f) if inner is None else DerivedSource(inner)


def _again(f: FunctionType, mode: Mode, context: Any, *args: Any) -> Any:
    """`f` is no longer what the function was made for that was called: its signature is another, or it has a
    rule. What was left out is left out again."""
    inner = entry_of(f)
    if inner is not None:  # the function below has changed
        assert isinstance(inner.source, (Source, DerivedSource))
        below, code = inner.source.function, inner.source.function.__code__
        f = entry_function(below, inner.mode, inner.context, code.co_argcount, ())  # type: ignore[assignment]
    given = next((i for i, a in enumerate(args) if a is Default), len(args))
    names = f.__code__.co_varnames
    named = {names[i]: a for i, a in enumerate(args) if i > given and a is not Default}
    return entry_function(f, mode, context, given, tuple(named))(*args[:given], **named)


def is_direct(f: Any, context: Any) -> bool:
    """A plain function: its own graph is what is differentiated, its own signature the entry's."""
    if type(f) is not FunctionType or context.ad_ruled(f):
        return False
    code = f.__code__
    return code.co_kwonlyargcount == 0 and not code.co_flags & 0x0C


# -- what has arguments bound to it --------------------------------------------------------------------------

Behind = tuple[Any, tuple[Any, ...], dict[str, Any]]


def function_behind(f: Any) -> Behind | None:
    """(function, arguments, keywords) where f(*a, **k) is function(*arguments, *a, **keywords, **k)."""
    if type(f) is MethodType:
        return f.__func__, (f.__self__,), {}
    if type(f) is functools.partial:
        return f.func, f.args, f.keywords
    if type(f) in BUILTIN_METHODS and (function := function_of_class(f)) is not None:
        return function, (f.__self__,), {}
    call = called(type(f)) if wrappers.held(f) is None or wrappers.is_bound(f) else None
    return (call, (f,), {}) if call is not None and not issubclass(type(f), type) else None


BUILTIN_METHODS = (BuiltinMethodType, MethodWrapperType)
DESCRIPTORS = (MethodDescriptorType, WrapperDescriptorType)


def function_of_class(bound: Any) -> Any:
    """The function of the class behind a bound method of a builtin; None for one with a meaning of its own
    (np.add.reduce)."""
    if vjp_rule(bound) is not None or lowering(bound) is not None:
        return None
    found = class_attribute(type(bound.__self__), bound.__name__)
    return found if type(found) in DESCRIPTORS else None


def _of_state(f: functools.partial[Any], made: Callable[..., Any]) -> Callable[..., Any]:
    """What is `made` of a partial, which may be changed in place."""
    known: tuple[Any, Any] = ((), None)

    def of_partial(*args: Any, **kwargs: Any) -> Any:
        nonlocal known
        state = (f.func, f.args, *f.keywords, *f.keywords.values())
        if len(state) != len(known[0]) or not all(map(operator.is_, state, known[0])):
            known = state, made(f.func, f.args, f.keywords)
        return known[1](*args, **kwargs)

    return of_partial


def _bound(
    function: Any, first: tuple[Any, ...], keywords: dict[str, Any], mode: Mode, context: Any, n: int,
    kwnames: tuple[str, ...],
) -> Callable[..., Any]:  # fmt: skip
    k = len(first)
    names = (*(name for name in keywords if name not in kwnames), *kwnames)
    inner = entry_function(function, mode.after(k, n), context, k + n, names)
    bound = functools.partial(inner, *first, **keywords)
    if any(map(is_container, keywords.values())):
        return _checked(bound, [*keywords.values()], k if mode.split else None, n)
    if not mode.split:
        return bound
    return lambda *args, **kwargs: cut(bound(*args, **kwargs), k, n)


def _checked(bound: Any, keywords: list[Any], k: int | None, n: int) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        check_apart(keywords, args)
        y = bound(*args, **kwargs)
        return y if k is None else cut(y, k, n)

    return call


ZERO_BY_RULE.update((call_entry, entry_function, is_direct, function_of_class))
