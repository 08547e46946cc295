"""overdub(outer, overdub, inner, f, *args): the program of the inner call, for the outer context."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

from ctxdispatch.dispatch import Context, overdub
from ctxdispatch.ir.values import hashable
from ctxdispatch_contexts.programs.entry import Entry
from ctxdispatch_contexts.programs.entry_keys import ById, holes
from ctxdispatch_contexts.programs.errors import DerivativeError, user_position
from ctxdispatch_contexts.programs.mode import Mode
from ctxdispatch_contexts.programs.owned import Bounded, generated
from ctxdispatch_contexts.programs.sources import CallSource

_others = Bounded(256)


FIRST = 2


def split(args: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Arguments of overdub: the inner context and the function, with respect to which no derivative is taken,
    and those of the function."""
    if len(args) < FIRST or not isinstance(args[0], Context):
        raise TypeError("overdub takes a context, a function, and the arguments of the function")
    return args[:FIRST], args[FIRST:]


def stacked_function(
    context: Any, first: tuple[Any, ...], n: int, kwnames: tuple[str, ...], mode: Mode
) -> Callable[..., Any]:
    """The self-specialising function of the n arguments, then those by keyword, in overdub(*first, ...)."""
    inner, f = first
    if f is overdub:
        raise DerivativeError(
            "three contexts are stacked; write the innermost into a function, `lambda x: overdub(ctx, "
            "f, x)` or "
            "`jvp` or `grad`, and stack two on that",
            user_position(),
        )
    table = generated(f) if type(f) is FunctionType and _is_transform(inner) else _others
    source = CallSource(overdub, (inner, f, *holes(n + len(kwnames))), kwnames)
    key = (stacked_function, ById(f), context, context._version, mode, _identity(inner), n, kwnames)
    return table.get_or_make(key, lambda: Entry(source, mode, context)).function


def _identity(context: Context) -> Any:
    """Transforms of one class with the same fields make the same programs; other contexts have a state."""
    return (context, type(context)._version) if _is_transform(context) else ById(context)


def _is_transform(context: Context) -> bool:
    return type(context).program is not Context.program and hashable(context)
