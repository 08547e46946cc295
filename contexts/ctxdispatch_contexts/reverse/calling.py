"""Calls at run time: (y, pullback) of a call whose callee or argument types the program did not know.

Every kind of callable comes down to a function with Python code, for which there is an entry, or to a rule.
The first cotangent that `call_any`'s pullback gives is the callee's: a namespace of what the callee holds
(`__self__` of a method, the captured variables of a closure), or None.
"""

from __future__ import annotations

import functools
import itertools
import types
from collections.abc import Callable
from dataclasses import replace
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np

from ctxdispatch.dispatch import rules as context_rules
from ctxdispatch.ir import primitives
from ctxdispatch.ir.values import hashable
from ctxdispatch.ir.wrappers import called
from ctxdispatch.passes.resolve import class_attribute
from ctxdispatch_contexts.derivatives import table
from ctxdispatch_contexts.programs.activity import ZERO_BY_RULE
from ctxdispatch_contexts.programs.entry_keys import HOLE, holes
from ctxdispatch_contexts.programs.entry_table import (
    BUILTIN_METHODS,
    DESCRIPTORS,
    call_entry,
    function_of_class,
)
from ctxdispatch_contexts.programs.errors import DerivativeError, RunTime, unresolved, user_position
from ctxdispatch_contexts.programs.lifting import made_at_run_time
from ctxdispatch_contexts.programs.methods import Method
from ctxdispatch_contexts.programs.primitive import Primitive
from ctxdispatch_contexts.programs.refusing import FOUND_AT_RUN_TIME
from ctxdispatch_contexts.programs.ruled import Ruled
from ctxdispatch_contexts.programs.stand_ins import stands_for
from ctxdispatch_contexts.reverse.closures import call_closure
from ctxdispatch_contexts.reverse.cotangents import Missing, accumulate, add_entry, entry_of
from ctxdispatch_contexts.reverse.program import CALL, ReverseMode
from ctxdispatch_contexts.reverse.walking import from_items


@functools.lru_cache(maxsize=256)
def dynamic(context: Any, kwnames: tuple[str, ...]) -> Callable[..., Any]:
    """(callee, *args) -> (y, pullback), the pullback's first cotangent being the callee's."""

    return functools.partial(_dynamically, context, kwnames)


def _dynamically(context: Any, kwnames: tuple[str, ...], callee: Any, *args: Any) -> Any:
    return call_any(context, callee, args, kwnames)


def may_reach_a_rule(fn: Any) -> bool:
    """The call of a callee, or of a method, that only run time knows."""
    if not issubclass(type(fn), functools.partial):
        return fn is None
    return fn.func is _dynamically or (fn.func is _natively and fn.args[0] is _METHOD)


def static(
    context: Any, callee: Any, template: tuple[Any, ...], kwnames: tuple[str, ...],
    wrt: tuple[int, ...] | None = None,
) -> Any:  # fmt: skip
    """(*args) -> (y, pullback), args being those for the holes of the template. What the table has a
    derivative of gives cotangents of the arguments `wrt` alone: others may have none, as the order of a
    Bessel function."""
    if isinstance(callee, Ruled):
        callee = callee.function
    if context.has_rules(callee) if hashable(callee) else False:
        return functools.partial(_by_rule, context, callee, template, kwnames)
    native = _METHOD if type(callee) is Method else _NATIVE.get(callee) if hashable(callee) else None
    if native is not None:
        return functools.partial(_natively, native, context, callee, template, kwnames)
    if isinstance(callee, RunTime):
        return functools.partial(_derivative, context, callee, template)
    if made_at_run_time(callee):
        return functools.partial(_without_callee, context, callee, template, kwnames)
    return call_entry(context, callee, template, kwnames, _mode(callee, wrt)).function


def _mode(callee: Any, wrt: tuple[int, ...] | None) -> ReverseMode:
    if wrt is None or not hashable(callee):
        return CALL
    return replace(CALL, wrt=wrt) if table.vjp_rule(callee) or table.elementwise(callee) else CALL


def is_by_rule(fn: Any) -> bool:
    """The call of a user's rule, as `static` gives it."""
    if not issubclass(type(fn), functools.partial) or fn.func is not _by_rule:
        return False
    return not table.is_of_contexts(fn.args[1])


def _filled(template: tuple[Any, ...], args: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple([t if i is None else args[i] for i, t in zip(_sources(template), template, strict=True)])


def _sources(template: tuple[Any, ...]) -> tuple[int | None, ...]:
    """Which argument fills each place of the template."""
    holes_before = itertools.accumulate((t is HOLE for t in template), initial=0)
    return tuple([n if t is HOLE else None for n, t in zip(holes_before, template, strict=False)])


def _without_callee(context: Any, callee: Any, template: Any, kwnames: tuple[str, ...], *args: Any) -> Any:
    y, pullback = call_any(context, callee, _filled(template, args), kwnames)
    return y, functools.partial(_drop_callee, pullback, template)


def _drop_callee(pullback: Any, template: tuple[Any, ...], g: Any) -> Any:
    return _at_holes(pullback(g)[1:], template)


def _at_holes(cotangents: Any, template: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple([c for c, t in zip(cotangents, template, strict=True) if t is HOLE])


def _derivative(context: Any, callee: RunTime, template: Any, *args: Any) -> Any:
    """Of another mode's derivative: through the function that it comes to, which takes parts of `args`."""
    operands = _filled(template, args)
    found = callee.resolved(operands)
    if found is None:
        raise unresolved(callee, operands)
    function, places = found
    y, pullback = call_any(context, function, tuple([place.read(operands) for place in places]))
    return y, functools.partial(_to_places, pullback, places, template)


def _to_places(pullback: Any, places: Any, template: tuple[Any, ...], g: Any) -> Any:
    cotangents: list[Any] = [None] * len(template)
    for place, cotangent in zip(places, pullback(g)[1:], strict=True):
        if place.at is not None and cotangent is not None:
            for key in reversed(place.keys):
                cotangent = add_entry(None, key, cotangent)
            cotangents[place.at] = accumulate(cotangents[place.at], cotangent)
    return _at_holes(cotangents, template)


def _by_rule(context: Any, callee: Any, template: Any, kwnames: tuple[str, ...], *args: Any) -> Any:
    filled = _filled(template, args)
    n = len(filled) - len(kwnames)
    rule = context.find_rule(callee, tuple(map(type, filled[:n])))
    if rule is None:
        return call_entry(unruled(context, callee), callee, template, kwnames, CALL).function(*args)
    y, pullback = by_rule(rule, context(), callee, filled[:n], dict(zip(kwnames, filled[n:], strict=True)))
    shapes = tuple(map(_form, filled))
    return y, functools.partial(_pull_rule, callee, pullback, n, template, shapes)


def by_rule(
    rule: Any, context: Any, callee: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, Any]:
    """(y, pullback) of `callee` as a rule of ADContext gives it."""
    result = rule(context, *args, **kwargs)
    if not (isinstance(result, tuple) and len(result) == 2):
        raise DerivativeError(
            f"the rule for {context_rules.name_of(callee)} returned a {type(result).__name__}; "
            "a rule returns (y, pullback)",
            user_position(),
        )
    return result


NUMERIC = (float, complex, np.inexact, np.ndarray)


def _pull_rule(
    callee: Any, pullback: Any, n: int, template: tuple[Any, ...], shapes: tuple[Any, ...], g: Any
) -> Any:
    """One cotangent per positional argument, or one per argument; one alone need not be in a tuple."""
    given = pullback(g)
    given = given if isinstance(given, tuple) else (given,)
    if len(given) not in (n, len(template)):
        raise DerivativeError(
            f"the pullback of the rule for {context_rules.name_of(callee)} gave {len(given)} cotangents for "
            f"{n} arguments; give one per positional argument, None where there is none",
            user_position(),
        )
    for i, (cotangent, shape) in enumerate(zip(given, shapes, strict=False)):
        _check_shape(callee, i, cotangent, shape)
    missing = Missing(context_rules.name_of(callee))
    every = (*(None if c is NotImplemented else c for c in given), *[missing] * (len(template) - len(given)))
    return _at_holes(every, template)


def _form(value: Any) -> Any:
    """The shape of a number or an array, the length of a list or tuple; None: a rule may give anything."""
    if isinstance(value, (list, tuple)):
        return len(value)
    return np.shape(value) if isinstance(value, NUMERIC) else None


def _check_shape(callee: Any, i: int, cotangent: Any, form: Any) -> None:
    """A list's cotangent may be a list, which is looked at where it is added up."""
    if form is None or cotangent is None or cotangent is NotImplemented:
        return
    listed = isinstance(form, int)
    if listed and not isinstance(cotangent, NUMERIC):
        return
    shape = np.shape(cotangent)
    if (shape[:1] != (form,)) if listed else (shape != form):
        of = f"length {form}" if listed else f"shape {form}"
        raise DerivativeError(
            f"the pullback of the rule for {context_rules.name_of(callee)} gave a cotangent of shape {shape} "
            f"for argument {i} of {of}; a cotangent has the shape of its argument",
            user_position(),
        )


class Unruled:
    """A context without its rules for one callee: what a call means for which none of them is."""

    def __init__(self, context: Any, callee: Any) -> None:
        self.context, self.callee = context, callee
        self.ad_entries = context.ad_entries

    def ad_has_rule(self, callee: Any) -> bool:
        return callee is not self.callee and self.context.ad_has_rule(callee)

    def ad_ruled(self, callee: Any) -> bool:
        return callee is not self.callee and self.context.ad_ruled(callee)


@functools.lru_cache(maxsize=256)
def unruled(context: Any, callee: Any) -> Unruled:
    return Unruled(context, callee)


def call_any(context: Any, callee: Any, args: tuple[Any, ...], kwnames: tuple[str, ...] = ()) -> Any:
    """(y, pullback) of callee(*args) for a callee that only run time knows."""
    if type(callee) is types.MethodType:
        y, pullback = call_any(context, callee.__func__, (callee.__self__, *args), kwnames)
        return y, functools.partial(_as_method, pullback)
    if (
        type(callee) in BUILTIN_METHODS
        and not context.ad_has_rule(callee)
        and (function := function_of_class(callee)) is not None
    ):
        y, pullback = call_any(context, function, (callee.__self__, *args), kwnames)
        return y, functools.partial(_as_method, pullback)
    if type(callee) is functools.partial:
        return _call_partial(context, callee, args, kwnames)
    if made_at_run_time(callee) and not context.has_rules(callee):
        return call_closure(context, callee, args, kwnames)
    call = called(type(callee))
    if call is not None and not issubclass(type(callee), (type, Primitive)):
        return _call_object(context, call, callee, args, kwnames)
    y, pullback = static(context, callee, holes(len(args)), kwnames)(*args)
    return y, functools.partial(_with_callee, pullback)


def call_with(
    context: Any, callee: Any, args: tuple[Any, ...], kwnames: tuple[str, ...], wrt: tuple[int, ...]
) -> Any:
    """`call_any` for who asks for the cotangents of the arguments `wrt` only: the others may have none."""
    if len(wrt) == len(args) or not callable(callee) or _mode(callee, wrt) is CALL:
        return call_any(context, callee, args, kwnames)
    y, pullback = static(context, callee, holes(len(args)), kwnames, wrt)(*args)
    return y, functools.partial(_with_callee, pullback)


def _with_callee(pullback: Any, g: Any) -> Any:
    return (None, *pullback(g))


def _call_object(
    context: Any, call: FunctionType, obj: Any, args: tuple[Any, ...], kwnames: tuple[str, ...]
) -> Any:
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
    mine = SimpleNamespace(
        func=func, args=tuple(rest[:bound]), keywords={k: named[k] for k in keywords if k not in kwnames}
    )
    return (mine, *positional, *(named[k] for k in kwnames))


# -- what has no entry: (y, pullback) straight away ----------------------------------------------------------


def _natively(
    native: Any, context: Any, callee: Any, template: tuple[Any, ...], kwnames: tuple[str, ...], *args: Any
) -> Any:
    y, pullback = native(context, callee, _filled(template, args), kwnames)
    return y, functools.partial(_at_template, pullback, template)


def _at_template(pullback: Any, template: tuple[Any, ...], g: Any) -> Any:
    return _at_holes(pullback(g), template)


def _call_ex(context: Any, callee: Any, operands: tuple[Any, ...], kwnames: tuple[str, ...]) -> Any:
    """f(*args, **kwargs)"""
    f, args, keywords = (*operands, None)[:3]
    items = list(args)
    keywords = keywords or {}
    y, pullback = call_any(context, f, (*items, *keywords.values()), tuple(keywords))
    return y, functools.partial(_collected, pullback, len(operands), len(items), args, tuple(keywords))


def _collected(pullback: Any, count: int, n: int, args: Any, names: tuple[str, ...], g: Any) -> Any:
    f, *rest = pullback(g)
    return (f, from_items(rest[:n], args), dict(zip(names, rest[n:], strict=True)))[:count]


def _call_method(context: Any, callee: Method, operands: tuple[Any, ...], kwnames: tuple[str, ...]) -> Any:
    """obj.name(*args): the class's function with `obj` first; an attribute of another kind is read, then
    called."""
    obj, *args = operands
    found = class_attribute(type(obj), callee.name)
    hidden = callee.name in getattr(obj, "__dict__", ())
    if issubclass(type(found), (FunctionType, *DESCRIPTORS)) and not hidden:
        y, pullback = call_any(context, found, operands, kwnames)
        return y, functools.partial(_drop_first, pullback)
    attribute, read = _read_attribute(context, getattr, (obj, callee.name), ())
    y, pullback = call_any(context, attribute, tuple(args), kwnames)
    return y, functools.partial(_through_attribute, pullback, read)


def _drop_first(pullback: Any, g: Any) -> Any:
    return pullback(g)[1:]


def _through_attribute(pullback: Any, read: Any, g: Any) -> Any:
    callee, *rest = pullback(g)
    return (None if callee is None else read(callee)[0], *rest)


def _read_attribute(context: Any, callee: Any, operands: tuple[Any, ...], kwnames: tuple[str, ...]) -> Any:
    """obj.name as a value. What is bound to `obj` has `obj` as a part."""
    obj, name = operands[:2]
    found = class_attribute(type(obj), name) if isinstance(name, str) else None
    binds = (FunctionType, *DESCRIPTORS, classmethod, staticmethod)
    if len(operands) == 2 and issubclass(type(found), binds):
        y = getattr(obj, name)
        return y, functools.partial(_of_receiver, getattr(y, "__self__", None) is obj)
    if type(obj) is types.CellType and name == "cell_contents":
        return obj.cell_contents, _of_cell
    if len(operands) == 3 and getattr(obj, name, _ABSENT) is _ABSENT:
        return operands[2], _of_default
    y, pullback = call_entry(context, getattr, (HOLE, name), (), CALL).function(obj)
    return y, functools.partial(_padded, pullback, len(operands))


_ABSENT: Any = object()


def _of_cell(g: Any) -> Any:
    """The cotangent of a cell is that of what it holds."""
    return g, None


def _of_default(g: Any) -> Any:
    return None, None, g


def _padded(pullback: Any, count: int, g: Any) -> Any:
    return (*pullback(g), *[None] * (count - 1))


def _of_receiver(bound: bool, g: Any) -> Any:
    return (entry_of(g, "__self__") if bound else None, None)


_NATIVE = {primitives.call_ex: _call_ex, getattr: _read_attribute}
_METHOD = _call_method

FOUND_AT_RUN_TIME.update((_dynamically, _natively))
ZERO_BY_RULE.update((static, dynamic, _sources))

stands_for(_dynamically, lambda args: (None, None, args[1]))
stands_for(_by_rule, lambda args: (args[1], args[2], args[3]))
stands_for(_without_callee, lambda args: (args[1], args[2], args[3]))
stands_for(_natively, lambda args: (args[2], args[3], args[4]))
stands_for(_derivative, lambda args: (args[1].callee, args[1].template if args[1].callee else None, ()))
