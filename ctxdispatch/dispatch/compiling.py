"""The rewritten code of a function for a class of contexts: lifted, transformed, emitted, and kept.

code_for(ctx, f)    Rewritten    the code, and how many of its places remember something
                    None         it runs as it is: nothing is to do in it
                    UnsupportedSyntax, as a value: why it cannot be had
"""

from __future__ import annotations

import types
from typing import NamedTuple

from ctxdispatch.bytecode.errors import UnsupportedSyntax
from ctxdispatch.dispatch import cache, reach
from ctxdispatch.dispatch.context import Context
from ctxdispatch.dispatch.hidden import warn_of_hidden_rules
from ctxdispatch.dispatch.plan import plan
from ctxdispatch.ir.own_builtins import own as __builtins__  # type: ignore[no-redef]  # noqa: F401


class Rewritten(NamedTuple):
    code: types.CodeType
    places: int
    """How many of its places remember something."""


def code_for(ctx: Context, f: types.FunctionType) -> Rewritten | UnsupportedSyntax | None:
    """The rewritten code of `f` for the class of `ctx`; None: run it as it is; or why it cannot be had."""
    cls = type(ctx)
    owners = (cls, f.__code__)
    return cache.get_or_compile(id(f.__globals__), owners, lambda: _compile(ctx, f), cls._version)


def _compile(ctx: Context, f: types.FunctionType) -> Rewritten | UnsupportedSyntax | None:
    from ctxdispatch.bytecode.program import emit_program, lift_program
    from ctxdispatch.passes.snapshots import BEGIN, snapshot

    if is_machinery(type(ctx), f) or not plan(type(ctx)).active:
        return None
    warn_of_hidden_rules(type(ctx), f)
    try:
        graph = lift_program(f)
    except UnsupportedSyntax as error:
        return error.with_traceback(None)  # kept: it must not hold this frame, and through it the function
    snapshot(BEGIN, graph)
    result = ctx.transform(graph)
    if result is None:
        raise TypeError(f"{type(ctx).__name__}.transform returned None: `return super().transform(graph)`")
    snapshot(type(ctx).__name__, result)
    if result is graph and not plan(type(ctx)).transforms:
        return None
    return Rewritten(emit_program(result, f.__globals__), result.frame.sites if result.frame else 0)


def is_machinery(cls: type[Context], f: types.FunctionType) -> bool:
    """The engine's own functions, those that say themselves what a context does with them, and those of
    modules that no context is to look into: these have a global `__undispatched__`. (A context that would
    give another result for it looks there too.)"""
    namespace = f.__globals__
    if reach.own_way(f) is not None or ("__undispatched__" in namespace and not cls._looks_everywhere):
        return True
    return namespace.get("__name__", "").startswith("ctxdispatch.") and "__dispatched__" not in namespace
