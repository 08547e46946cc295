"""`ADContext`: reverse mode as a context. `overdub(ADContext(), f, *args)` is (f(*args), pullback)."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from types import FunctionType, SimpleNamespace
from typing import Any

from ctxdispatch.dispatch import Context
from ctxdispatch.dispatch import rules as context_rules
from ctxdispatch_contexts.derivatives.table import elementwise, vjp_rule
from ctxdispatch_contexts.reverse.activity import has_zero_derivative
from ctxdispatch_contexts.reverse.containers import REVERSED
from ctxdispatch_contexts.reverse.entry import CallSource, Entry, Source
from ctxdispatch_contexts.reverse.entry_keys import HOLE, ById, holes, literal_key
from ctxdispatch_contexts.reverse.errors import DerivativeError, user_position
from ctxdispatch_contexts.reverse.program import Mode

CALL = Mode(stub=True)


class ADContext(Context):
    """Reverse-mode automatic differentiation (Innes 2018).

    `overdub(ADContext(), f, *args)` returns `(y, pullback)`: `pullback(ybar)` is a tuple with one cotangent per
    argument. With `argnums` (an int or a tuple of them) only these arguments get one, and only what they need is
    computed; the tuple still has one entry per argument.

    A rule of this class, `@ADContext.rule(f)` or `@ADContext.rule(f, type, ...)`, is called as rule(ctx, *args,
    **kwargs) and returns (y, pullback) for f; the pullback gives one cotangent per positional argument.
    """

    argnums: int | tuple[int, ...] | None = None

    def program(self, f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[..., Any]:
        wrt = self.argnums
        wrt = (wrt,) if isinstance(wrt, int) else wrt
        return entry_function(f, Mode(wrt=wrt, checked=True), type(self), len(args), tuple(kwargs))

    @classmethod
    def ad_has_rule(cls, callee: Any) -> bool:
        """Calls of `callee` are not looked into."""
        try:
            hash(callee)
        except TypeError:
            return False
        if cls.has_rules(callee):
            return True
        return bool(elementwise(callee) or vjp_rule(callee) or has_zero_derivative(callee) or callee in REVERSED)

    @classmethod
    def ad_entries(cls, callee: Any, template: tuple[Any, ...], kwnames: tuple[str, ...]) -> Any:
        """What differentiates calls of `callee` at run time, see `calls.py`."""
        if callee is None:
            return _dynamic(cls, kwnames)
        return _static(cls, callee, template, kwnames)


@functools.lru_cache(maxsize=256)
def _dynamic(context: type[ADContext], kwnames: tuple[str, ...]) -> Callable[..., Any]:
    """(callee, *args) -> (y, pullback), the pullback's first cotangent being the callee's."""

    def call(callee: Any, *args: Any) -> Any:
        return call_any(context, callee, args, kwnames)

    return call


def _static(context: type[ADContext], callee: Any, template: tuple[Any, ...], kwnames: tuple[str, ...]) -> Any:
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
    y, pullback = _static(context, callee, holes(len(args)), kwnames)(*args)
    return y, functools.partial(_with_callee, pullback)


def _with_callee(pullback: Any, g: Any) -> Any:
    return (None, *pullback(g))


def _call_object(context: Any, call: FunctionType, obj: Any, args: tuple[Any, ...], kwnames: tuple[str, ...]) -> Any:
    """obj(*args) is call(obj, *args): the object's cotangent is the callee's."""
    return _static(context, call, holes(len(args) + 1), kwnames)(obj, *args)


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


# -- the entries there are --------------------------------------------------------------------------------------


class _Entries:
    """Entries by (context, what, mode), the least recently used dropped."""

    def __init__(self, size: int) -> None:
        self._find = functools.lru_cache(maxsize=size)(self._make)

    @staticmethod
    def _make(context: Any, mode: Mode, key: Any, make: _Key) -> Entry:
        return make.entry(context, mode)

    def __call__(self, context: Any, mode: Mode, key: Any, make: Callable[[], Any]) -> Entry:
        return self._find(context, mode, key, _Key(key, make))


class _Key:
    """Carries the maker along; equal by the key alone."""

    def __init__(self, key: Any, make: Callable[[], Any]) -> None:
        self.key, self.make = key, make

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def entry(self, context: Any, mode: Mode) -> Entry:
        return Entry(self.make(), mode, context)


entries = _Entries(4096)


def call_entry(context: Any, callee: Any, template: tuple[Any, ...], kwnames: tuple[str, ...]) -> Entry:
    key = (ById(callee), literal_key(template), kwnames)
    return entries(context, CALL, key, lambda: CallSource(callee, template, kwnames))


def closure_entry(context: Any, callee: FunctionType, n: int, kwnames: tuple[str, ...]) -> Entry:
    from ctxdispatch_contexts.reverse.closures import ClosureSource

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
    return lambda *args, **kwargs: function(*args, *[kwargs[k] for k in kwnames])


def is_direct(f: Any, context: Any) -> bool:
    """A plain function: its own graph is what is differentiated, its own signature the entry's."""
    if type(f) is not FunctionType or context.has_rules(f):
        return False
    code = f.__code__
    return code.co_kwonlyargcount == 0 and not code.co_flags & 0x0C
