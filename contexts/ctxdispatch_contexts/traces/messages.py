"""Messages of `logging`: most are of a level to which nobody listens. Then nothing is done, which the trace
tests."""

from __future__ import annotations

import logging
from typing import Any

from ctxdispatch.dispatch.overdub import beyond_rules
from ctxdispatch_contexts.programs.messages import ENABLED
from ctxdispatch_contexts.traces.run import Run
from ctxdispatch_contexts.traces.tracer import ruled


def _is_heard(run: Run, logger: Any, level: Any) -> bool:
    """A decision: who listens is asked before each call."""
    if type(logger) not in (logging.Logger, logging.RootLogger) or type(level) is not int:
        raise run.unfit("a message of another logger than `logging` has")
    heard = ENABLED(logger, level)
    path = run.origins.paths.get(id(logger)) or run.lines.name(logger)
    asked = f"{run.lines.name(ENABLED)}({path}, {level})"
    run.origins.tests.append(asked if heard else f"not {asked}")
    return heard


def _of_level(name: str) -> None:
    function, level = vars(logging.Logger)[name], getattr(logging, name.upper())

    def rule(ctx: Any, /, logger: Any, *args: Any, **kwargs: Any) -> Any:
        if ctx.run.closed or _is_heard(ctx.run, logger, level):
            return beyond_rules(ctx, function)(logger, *args, **kwargs)
        return None

    ruled(function)(rule)


for _name in ("debug", "info", "warning", "error", "critical"):
    _of_level(_name)


@ruled(logging.Logger.isEnabledFor)
def enabled(ctx: Any, /, logger: Any, level: Any) -> Any:
    if ctx.run.closed:
        return logger.isEnabledFor(level)
    return _is_heard(ctx.run, logger, level)
