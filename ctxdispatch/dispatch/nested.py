"""Contexts within contexts: what the context `outer` runs in place of the engine's own functions, where
programs of `ctx` call them."""

from __future__ import annotations

import functools
from typing import Any

from ctxdispatch.dispatch import memory, reach, rules
from ctxdispatch.dispatch.context import Context
from ctxdispatch.dispatch.overdub import (
    ENGINE,
    assigning,
    beyond_rules,
    by_types,
    dispatch,
    fallback,
    gathered,
    hooking,
    inherits_fallback,
    overdub,
    recurse,
    seen,
    selected,
    splatted,
    stepping,
)
from ctxdispatch.dispatch.plan import plan
from ctxdispatch.dispatch.protocols import iteration
from ctxdispatch.dispatch.reach import Engine
from ctxdispatch.dispatch.refusals import left
from ctxdispatch.dispatch.tags import kind
from ctxdispatch.ir.own_builtins import own as __builtins__  # type: ignore[no-redef]  # noqa: F401


def _overdub_under(engine: Engine, outer: Any, ctx: Context, f: Any, /, *args: Any, **kwargs: Any) -> Any:
    try:
        out = engine.resolve(outer, ctx.program(f, args, kwargs))(*args, **kwargs)
    except BaseException as error:
        left(ctx, error)
        raise
    left(ctx)
    return out


def _recurse_under(engine: Engine, outer: Any, ctx: Context, f: Any, /, *args: Any, **kwargs: Any) -> Any:
    return engine.resolve(outer, beyond_rules(ctx, f))(*args, **kwargs)


def _fallback_under(engine: Engine, outer: Any, ctx: Context, f: Any, /, *args: Any, **kwargs: Any) -> Any:
    if inherits_fallback(type(ctx)):
        return engine.resolve(outer, f)(*args, **kwargs)
    return engine.resolve(outer, ctx.fallback)(f, args, kwargs)


def _assigning_under(engine: Engine, outer: Any, ctx: Context, f: Any, /, *args: Any, **kwargs: Any) -> Any:
    try:
        return _fallback_under(engine, outer, ctx, f, *args, **kwargs)
    finally:
        if memory.is_assignment(args):
            ctx._memory.check()


def _by_types_under(engine: Engine, outer: Any, ctx: Context, f: Any, /, *args: Any, **kwargs: Any) -> Any:
    rule = rules.find(type(ctx), f, tuple(map(kind, args)))
    if rule is None:
        return engine.resolve(outer, beyond_rules(ctx, f))(*args, **kwargs)
    return engine.resolve(outer, rule)(ctx, *args, **kwargs)


def _dispatch_under(engine: Engine, outer: Any, ctx: Context, f: Any, /, *args: Any, **kwargs: Any) -> Any:
    own = seen(f)
    ctx.prehook(own, args, kwargs)
    target = selected(ctx, f, args)
    run = engine.resolve(outer, target)
    hooks = plan(type(outer)).hooks(f)
    shown = seen(target)
    if hooks:
        outer.prehook(shown, args, kwargs)
    out = run(*args, **kwargs)
    if hooks:
        outer.posthook(out, shown, args, kwargs)
    ctx.posthook(out, own, args, kwargs)
    return out


def _hooking_under(engine: Engine, outer: Any, ctx: Context, f: Any, /) -> Any:
    return functools.partial(_dispatch_under, engine, outer, ctx, f)


def _stepping_under(engine: Engine, outer: Any, iterable: Any, iterator: Any, ctx: Context, /) -> Any:
    return iteration.stepping(reach.composed(engine, outer, ENGINE), ctx, iterable, iterator)


def _splatted_under(engine: Engine, outer: Any, args: Any, f: Any, ctx: Context, /) -> Any:
    if type(args) is tuple:
        return args
    own = getattr(type(ctx), "_splat", None)
    items = args if own is None else engine.resolve(outer, own)(ctx, args)
    return iteration.splat(reach.composed(engine, outer, ENGINE), ctx, f, items)


def _gathered_under(engine: Engine, outer: Any, args: Any, f: Any, ctx: Context, /) -> tuple[Any, ...]:
    return tuple(_splatted_under(engine, outer, args, f, ctx))


UNDER: dict[Any, Any] = {
    overdub: _overdub_under,
    recurse: _recurse_under,
    fallback: _fallback_under,
    dispatch: _dispatch_under,
    hooking: _hooking_under,
    stepping: _stepping_under,
    splatted: _splatted_under,
    gathered: _gathered_under,
    by_types: _by_types_under,
    assigning: _assigning_under,
}
