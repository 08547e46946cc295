"""Operations of a recorded run that are refused: the run remembers it, and ends as it would plainly."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ctxdispatch.dispatch.overdub import beyond_rules
from ctxdispatch.dispatch.refusals import came_through_program
from ctxdispatch_contexts.programs.errors import Refused
from ctxdispatch_contexts.recording.record import Record

Run = Callable[..., Any]


def refused(ctx: Any, error: Refused, run: Run, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """An operation of the program has raised `error`; run(*args, **kwargs) is what it does plainly."""
    record: Record = ctx.record
    if not record.ended and not error.is_apart_from(ctx) and not came_through_program(ctx, error):
        record.refuse(error)
        if not record.refusals.is_own_thread():
            return run(*args, **kwargs)
    raise error


def guarded(f: Any, rule: Run) -> Run:
    """`rule`, of what it refuses the run is told."""
    return functools.partial(_guarded, f, rule)


def _guarded(f: Any, rule: Run, ctx: Any, /, *args: Any, **kwargs: Any) -> Any:
    try:
        return rule(ctx, *args, **kwargs)
    except Refused as error:
        return refused(ctx, error, functools.partial(beyond, ctx, f), args, kwargs)


def beyond(ctx: Any, f: Any, /, *args: Any, **kwargs: Any) -> Any:
    return beyond_rules(ctx, f)(*args, **kwargs)
