"""Calls at run time: (y, pullback) of a call whose callee or argument types the program did not know.

Every kind of callable comes down to a function with Python code, for which there is an entry, or to a rule. The first
cotangent that `call_any`'s pullback gives is the callee's: a namespace of what the callee holds (`__self__` of a
method, the captured variables of a closure), or None.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from types import FunctionType, SimpleNamespace
from typing import Any

from ctxdispatch.dispatch import rules as context_rules
from ctxdispatch_contexts.reverse.entry_keys import HOLE, holes
from ctxdispatch_contexts.reverse.entry_table import call_entry, closure_entry
from ctxdispatch_contexts.reverse.errors import DerivativeError, user_position


@functools.lru_cache(maxsize=256)
def dynamic(context: type[ADContext], kwnames: tuple[str, ...]) -> Callable[..., Any]:
    """(callee, *args) -> (y, pullback), the pullback's first cotangent being the callee's."""

    def call(callee: Any, *args: Any) -> Any:
        return call_any(context, callee, args, kwnames)

    return call


def static(context: type[ADContext], callee: Any, template: tuple[Any, ...], kwnames: tuple[str, ...]) -> Any:
    """(*args) -> (y, pullback), args being those for the holes of the template."""
    if context.has_rules(callee) if _hashable(callee) else False:
        return functools.partial(_by_rule, context, callee, template, kwnames)
    if made_at_run_time(callee):
        return functools.partial(_without_callee, context, callee, template, kwnames)
    return call_entry(context, callee, template, kwnames).function


def _hashable(callee: Any) -> bool:
    try:
        hash(callee)
    except TypeError:
        return False
    return True


def _filled(template: tuple[Any, ...], args: tuple[Any, ...]) -> tuple[Any, ...]:
    rest = iter(args)
    return tuple([next(rest) if t is HOLE else t for t in template])


def _without_callee(context: Any, callee: Any, template: Any, kwnames: tuple[str, ...], *args: Any) -> Any:
    y, pullback = call_any(context, callee, _filled(template, args), kwnames)
    return y, functools.partial(_drop_callee, pullback, template)


def _drop_callee(pullback: Any, template: tuple[Any, ...], g: Any) -> Any:
    return _at_holes(pullback(g)[1:], template)


def _at_holes(cotangents: Any, template: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple([c for c, t in zip(cotangents, template, strict=True) if t is HOLE])


def _by_rule(context: Any, callee: Any, template: Any, kwnames: tuple[str, ...], *args: Any) -> Any:
    filled = _filled(template, args)
    n = len(filled) - len(kwnames)
    rule = context.find_rule(callee, tuple(map(type, filled[:n])))
    if rule is None:
        return call_entry(context, callee, template, kwnames).function(*args)
    result = rule(context(), *filled[:n], **dict(zip(kwnames, filled[n:], strict=True)))
    if not (isinstance(result, tuple) and len(result) == 2):
        raise DerivativeError(
            f"the rule for {context_rules.name_of(callee)} returned a {type(result).__name__}; "
            "a rule returns (y, pullback)",
            user_position(),
        )
    y, pullback = result
    return y, functools.partial(_pull_rule, callee, pullback, n, template)


def _pull_rule(callee: Any, pullback: Any, n: int, template: tuple[Any, ...], g: Any) -> Any:
    """One cotangent per positional argument; one alone need not be in a tuple. NotImplemented is None."""
    given = pullback(g)
    given = given if isinstance(given, tuple) else (given,)
    if len(given) != n:
        raise DerivativeError(
            f"the pullback of the rule for {context_rules.name_of(callee)} gave {len(given)} cotangents for {n} "
            "arguments; give one per positional argument, None where there is none",
            user_position(),
        )
    every = (*(None if c is NotImplemented else c for c in given), *[None] * (len(template) - n))
    return _at_holes(every, template)


def call_any(context: type[ADContext], callee: Any, args: tuple[Any, ...], kwnames: tuple[str, ...] = ()) -> Any:
    """(y, pullback) of callee(*args) for a callee that only run time knows."""
    if type(callee) is types.MethodType:
        y, pullback = call_any(context, callee.__func__, (callee.__self__, *args), kwnames)
        return y, functools.partial(_as_method, pullback)
    if type(callee) is functools.partial:
        return _call_partial(context, callee, args, kwnames)
    if made_at_run_time(callee) and not context.has_rules(callee):
        return _call_closure(context, callee, args, kwnames)
    call = getattr(type(callee), "__call__", None)
    if isinstance(call, FunctionType) and not isinstance(callee, type):
        return _call_object(context, call, callee, args, kwnames)
    y, pullback = static(context, callee, holes(len(args)), kwnames)(*args)
    return y, functools.partial(_with_callee, pullback)


def _with_callee(pullback: Any, g: Any) -> Any:
    return (None, *pullback(g))


def _call_object(context: Any, call: FunctionType, obj: Any, args: tuple[Any, ...], kwnames: tuple[str, ...]) -> Any:
    """obj(*args) is call(obj, *args): the object's cotangent is the callee's."""
    return static(context, call, holes(len(args) + 1), kwnames)(obj, *args)


def _as_method(pullback: Any, g: Any) -> Any:
    _, bound, *rest = pullback(g)
    return (None if bound is None else SimpleNamespace(__self__=bound), *rest)


def _call_partial(context: Any, callee: Any, args: tuple[Any, ...], kwnames: tuple[str, ...]) -> Any:
    n = len(args) - len(kwnames)
    keywords = {**callee.keywords, **dict(zip(kwnames, args[n:], strict=True))}
    flat = (*callee.args, *args[:n], *keywords.values())
    y, pullback = call_any(context, callee.func, flat, tuple(keywords))
    return y, functools.partial(_as_partial, pullback, len(callee.args), len(args), kwnames, tuple(keywords))


def _as_partial(
    pullback: Any, bound: int, total: int, kwnames: tuple[str, ...], keywords: tuple[str, ...], g: Any
) -> Any:
    func, *rest = pullback(g)
    named = dict(zip(keywords, rest[len(rest) - len(keywords) :], strict=True))
    positional = rest[bound : bound + total - len(kwnames)]
    mine = SimpleNamespace(func=func, args=tuple(rest[:bound]), keywords={k: named[k] for k in keywords if k not in kwnames})
    return (mine, *positional, *(named[k] for k in kwnames))


# -- closures ---------------------------------------------------------------------------------------------------


def made_at_run_time(callee: Any) -> bool:
    """A function that another one makes, maybe anew at each call."""
    return type(callee) is FunctionType and bool(callee.__closure__ or "<locals>" in callee.__qualname__)


def _call_closure(context: Any, callee: FunctionType, args: tuple[Any, ...], kwnames: tuple[str, ...]) -> Any:
    """One program per code object: what the function captured, and its defaults, are arguments."""
    contents = tuple(_contents(cell) for cell in callee.__closure__ or ())
    missing = callee.__code__.co_argcount - len(args)
    filled = args
    if callee.__defaults__ and not kwnames and 0 < missing <= len(callee.__defaults__):
        filled = (*args, *callee.__defaults__[-missing:])
    entry = closure_entry(context, callee, len(filled) - len(kwnames), kwnames)
    y, pullback = entry.function(*contents, *filled)
    return y, functools.partial(_as_closure, pullback, callee.__code__.co_freevars, len(args))


def _contents(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        raise DerivativeError("a closure with a variable that is not bound yet was called", user_position()) from None


def _as_closure(pullback: Any, names: tuple[str, ...], total: int, g: Any) -> Any:
    given = pullback(g)
    n = len(names)
    captured = given[:n]
    mine = None if all(c is None for c in captured) else SimpleNamespace(**dict(zip(names, captured, strict=True)))
    return (mine, *given[n : n + total])


