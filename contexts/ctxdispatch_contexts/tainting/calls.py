"""One call under a context of its own: which arguments reached what it returned."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from ctxdispatch.dispatch import overdub
from ctxdispatch_contexts.tainting.context import TaintContext
from ctxdispatch_contexts.tainting.labels import Labels
from ctxdispatch_contexts.tainting.reading import labels_of, union


class Tainted(NamedTuple):
    """What `taints` returns."""

    result: Any
    labels: Any


def taints(f: Callable[..., Any], /, *args: Any, granular: bool = False, **kwargs: Any) -> Tainted:
    """(result, labels) of f(*args, **kwargs): which arguments reached which part of the result.

    `labels` is a set for a number or text, a list for a list, an array of sets for an array, a dict by name
    for an object. An argument's label is its name; with `granular` each element, item and attribute has its
    path (`x[0]`, `opts['k']`). What functions raise is raised.
    """
    ctx = TaintContext()
    marked = _by_name(f, args, kwargs)
    try:
        args = tuple(ctx.label(a, name, granular) for a, name in zip(args, marked))
        kwargs = {k: ctx.label(v, k, granular) for k, v in kwargs.items()}
        out = overdub(ctx, f, *args, **kwargs)
        labels = labels_of(ctx, out)
        return Tainted(ctx.clean(out), labels)
    finally:
        ctx.clean([*args, *kwargs.values()])


def sources(f: Callable[..., Any], granular: bool = False) -> Callable[..., Labels]:
    """The function that returns all labels that reached the result of `f`."""

    def run(*args: Any, **kwargs: Any) -> Labels:
        return union(taints(f, *args, granular=granular, **kwargs).labels)

    return run


def _by_name(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[str]:
    """The name of each positional argument."""
    try:
        parameters = [*inspect.signature(f).parameters.values()]
    except (TypeError, ValueError):
        return [f"args[{k}]" for k in range(len(args))]
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "args")
    return [*names[: len(args)], *(f"{rest}[{k}]" for k in range(len(args) - len(names)))]
