"""The engine: what runs in place of a callee, and how rewritten code asks for it.

    resolve(ctx, f)        a callable: the rule for f  >  f's Python code, rewritten  >  the fallback
    dispatch(ctx, f, ...)  prehook; resolve(ctx, f)(...); posthook

`transform` puts calls of these two into programs; both are opaque to contexts further out, which see the
callable that `resolve` returned: an outer context rewrites the inner's generated program.
"""

from __future__ import annotations

import functools
import types
import warnings
import weakref
from collections.abc import Callable
from typing import Any

from ctxdispatch.bytecode.errors import UnsupportedSyntax
from ctxdispatch.dispatch import cache, protocols, reach, rules
from ctxdispatch.dispatch.context import Context
from ctxdispatch.dispatch.plan import plan
from ctxdispatch.dispatch.reach import Engine, Target

Args = tuple[Any, ...]
Kwargs = dict[str, Any]


class NativeCallWarning(RuntimeWarning):
    """A callee could not be rewritten and ran as it is: nothing in it was dispatched."""


# -- public ----------------------------------------------------------------------------------------


def overdub(ctx: Context, f: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Run f(*args, **kwargs) with every call in it, and in what it calls, dispatched on `ctx`.

    What that means and returns is the context's: `ADContext` returns (y, pullback). Raises
    UnsupportedSyntax where `f` itself cannot be rewritten; a callee that cannot runs natively, with a
    NativeCallWarning once.
    """
    return ctx.enter(f, args, kwargs)


def recurse(ctx: Context, f: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """`overdub` that leaves out the rule for `f` itself: for rules that wrap what they replace."""
    return beyond_rules(ctx, f)(*args, **kwargs)


def fallback(ctx: Context, f: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """What `ctx` does with a callee that has neither a rule nor Python code."""
    return ctx.fallback(f, args, kwargs)


# -- the two protocols -----------------------------------------------------------------------------


def resolve(ctx: Context, f: Any, /) -> Target:
    """What runs in place of the callee `f`."""
    callee, bound = (f, ()) if type(f) is types.FunctionType else rules.canonical(f)
    found = rules.table(type(ctx)).get(id(callee))
    if found is None:
        return beyond_rules(ctx, f)
    rule = found[0].default
    if rule is None or found[0].typed:
        return functools.partial(_by_types, ctx, callee, *bound)
    return functools.partial(rule, ctx, *bound)


def _by_types(ctx: Context, callee: Any, /, *args: Any, **kwargs: Any) -> Any:
    rule = rules.find(type(ctx), callee, tuple(map(type, args)))
    if rule is None:
        return beyond_rules(ctx, callee)(*args, **kwargs)
    return rule(ctx, *args, **kwargs)


def beyond_rules(ctx: Context, f: Any, /) -> Target:
    """`resolve` that asks for no rule of `f` itself."""
    target = _function(ctx, f) if type(f) is types.FunctionType else _reach(ctx, f)
    return native(ctx, f) if target is None else target


def _reach(ctx: Context, f: Any) -> Target | None:
    if type(f) is types.BuiltinMethodType:
        return _builtin(ctx, f)
    own = getattr(type(f), "__overdub__", None)
    if own is not None:
        return functools.partial(own, f, ctx)
    handler = protocols.BY_IDENTITY.get(id(f)) or reach.BY_TYPE.get(type(f), reach.class_or_object)
    return handler(_ENGINE, ctx, f)


def _builtin(ctx: Context, f: types.BuiltinMethodType) -> Target | None:
    """A C function, or a method like `xs.sort`: that is `list.sort` in the table."""
    callee, bound = rules.canonical(f)
    handler = protocols.BY_IDENTITY.get(id(callee))
    target = None if handler is None else handler(_ENGINE, ctx, callee)
    return target if target is None or not bound else functools.partial(target, *bound)


def native(ctx: Context, f: Any, /) -> Target:
    """`f` by way of the context's fallback; `f` itself where that is the inherited one."""
    return f if _default_fallback(type(ctx)) else functools.partial(fallback, ctx, f)


def _default_fallback(cls: type[Context]) -> bool:
    return cls.fallback is Context.fallback


def dispatch(ctx: Context, f: Any, /, *args: Any, **kwargs: Any) -> Any:
    """A dispatched call with hooks."""
    seen = f if type(f) is not functools.partial else _seen(f)
    ctx.prehook(seen, args, kwargs)
    out = resolve(ctx, f)(*args, **kwargs)
    ctx.posthook(out, seen, args, kwargs)
    return out


def operate(ctx: Context, f: Any, /, *args: Any) -> Any:
    """A dispatched operator without hooks."""
    cls = type(ctx)
    if id(f) in rules.table(cls):
        rule = rules.find(cls, f, tuple(map(type, args)))
        if rule is not None:
            return rule(ctx, *args)
    return beyond_rules(ctx, f)(*args)


def callback(ctx: Context, f: Any, /) -> Target:
    """What C code gets in place of `f`."""
    return hooking(ctx, f) if plan(type(ctx)).hooked else resolve(ctx, f)


def hooking(ctx: Context, f: Any, /) -> Target:
    """Calling it is a dispatched call of `f`, hooks included."""
    return functools.partial(dispatch, ctx, f)


_ENGINE = Engine(resolve, callback, native, beneath=lambda f: f)


# -- functions -------------------------------------------------------------------------------------


def _function(ctx: Context, f: types.FunctionType) -> Target | None:
    """The rewritten `f`. None, after a warning, where it cannot be rewritten."""
    try:
        return twin(ctx, f)
    except UnsupportedSyntax as error:
        _warn(f.__code__, error)
        return None


def twin(ctx: Context, f: types.FunctionType) -> Target:
    """`_twin`, remembered by the context for functions without closure: those are called again and again."""
    if f.__closure__ is not None:
        return _twin(ctx, f)
    known: _Remembered | None = ctx._twins.get(id(f))
    if (
        known is not None
        and known.code is f.__code__
        and known.version == type(ctx)._version
        and known.defaults is f.__defaults__
        and known.kwdefaults is f.__kwdefaults__
    ):
        return known.made
    made = _twin(ctx, f)
    if len(ctx._twins) >= REMEMBERED:
        ctx._twins.clear()
    ctx._twins[id(f)] = _Remembered(f, made, type(ctx)._version)
    return made


class _Remembered:
    __slots__ = ("function", "code", "defaults", "kwdefaults", "version", "made")

    def __init__(self, f: types.FunctionType, made: Target, version: int) -> None:
        self.function = f
        self.code, self.defaults, self.kwdefaults = f.__code__, f.__defaults__, f.__kwdefaults__
        self.version, self.made = version, made


REMEMBERED = 1024
"""More functions than this, and a context forgets them all: they may be lambdas made in a loop."""


def _twin(ctx: Context, f: types.FunctionType) -> Target:
    """`f` with its code rewritten, `f` itself where nothing is to do in it. Raises UnsupportedSyntax."""
    code = code_for(ctx, f)
    if type(code) is types.CodeType:
        return _rebuilt(ctx, f, code)
    if isinstance(code, UnsupportedSyntax):
        raise UnsupportedSyntax(code.construct, code.filename, code.line, code.function)
    return _machine(ctx, f) if _machinery(f) else f


def _machine(ctx: Context, f: types.FunctionType) -> Target:
    """What `ctx` runs in place of a function that is no program: what that itself says, else `f`."""
    own = f.__dict__.get("__overdub__")
    if own is not None:
        return functools.partial(own, ctx)
    under = _UNDER.get(f)
    return f if under is None else functools.partial(under, _ENGINE, ctx)


def _rebuilt(ctx: Context, f: types.FunctionType, code: types.CodeType) -> types.FunctionType:
    closure = f.__closure__ or ()
    if len(code.co_freevars) > len(closure):
        closure = (*closure, ctx._cell)
    made = types.FunctionType(code, f.__globals__, f.__name__, f.__defaults__, closure)
    made.__kwdefaults__ = f.__kwdefaults__
    return made


def code_for(ctx: Context, f: types.FunctionType) -> types.CodeType | UnsupportedSyntax | None:
    """The rewritten code of `f` for the class of `ctx`; None: run it as it is; or why it cannot be had."""
    cls = type(ctx)
    owners = (cls, f.__code__)
    return cache.get_or_compile(id(f.__globals__), owners, lambda: _compile(ctx, f), cls._version)


def _compile(ctx: Context, f: types.FunctionType) -> types.CodeType | UnsupportedSyntax | None:
    from ctxdispatch.bytecode.emit import make_function
    from ctxdispatch.bytecode.lift import lift
    if _machinery(f) or not plan(type(ctx)).active:
        return None
    try:
        graph = lift(f)
    except UnsupportedSyntax as error:
        return error.with_traceback(None)  # kept: it must not hold this frame, and through it the function
    result = ctx.transform(graph)
    if result is graph and not plan(type(ctx)).transforms:
        return None
    emitted: types.FunctionType = make_function(
        result, f.__globals__, tuple(types.CellType() for _ in result.cells)
    )
    return emitted.__code__


def _machinery(f: types.FunctionType) -> bool:
    """The engine's own functions, and those that say themselves what a context does with them."""
    return "__overdub__" in f.__dict__ or f.__globals__.get("__name__", "").startswith("ctxdispatch.")


_warned: weakref.WeakSet[types.CodeType] = weakref.WeakSet()


def _warn(code: types.CodeType, error: UnsupportedSyntax) -> None:
    if code not in _warned:
        _warned.add(code)
        message = f"{code.co_qualname} runs without the context, it cannot be rewritten: {error}"
        warnings.warn(message, NativeCallWarning, stacklevel=4)


# -- the outermost function ------------------------------------------------------------------------


def program(ctx: Context, f: Any, /) -> Target:
    """`resolve` for the outermost function: that it cannot be rewritten is an error there."""
    if id(rules.canonical(f)[0]) in rules.table(type(ctx)):
        return resolve(ctx, f)
    if type(f) is types.FunctionType:
        return twin(ctx, f)
    function = _python_function(f)
    if function is not None:
        twin(ctx, function)
    return resolve(ctx, f)


def _python_function(f: Any) -> types.FunctionType | None:
    while isinstance(f, types.MethodType | functools.partial):
        f = f.func if isinstance(f, functools.partial) else f.__func__
    return f if isinstance(f, types.FunctionType) else None


# -- contexts within contexts ----------------------------------------------------------------------
# What the context `outer` runs in place of the engine's own functions, where programs of `ctx` call them.


def _overdub_under(engine: Engine, outer: Any, ctx: Context, f: Any, /, *args: Any, **kwargs: Any) -> Any:
    return engine.resolve(outer, ctx.program(f, args, kwargs))(*args, **kwargs)


def _recurse_under(engine: Engine, outer: Any, ctx: Context, f: Any, /, *args: Any, **kwargs: Any) -> Any:
    return engine.resolve(outer, beyond_rules(ctx, f))(*args, **kwargs)


def _fallback_under(engine: Engine, outer: Any, ctx: Context, f: Any, /, *args: Any, **kwargs: Any) -> Any:
    if _default_fallback(type(ctx)):
        return engine.resolve(outer, f)(*args, **kwargs)
    return engine.resolve(outer, ctx.fallback)(f, args, kwargs)


def _by_types_under(engine: Engine, outer: Any, ctx: Context, f: Any, /, *args: Any, **kwargs: Any) -> Any:
    rule = rules.find(type(ctx), f, tuple(map(type, args)))
    if rule is None:
        return engine.resolve(outer, beyond_rules(ctx, f))(*args, **kwargs)
    return engine.resolve(outer, rule)(ctx, *args, **kwargs)


def _dispatch_under(engine: Engine, outer: Any, ctx: Context, f: Any, /, *args: Any, **kwargs: Any) -> Any:
    engine.resolve(outer, ctx.prehook)(f, args, kwargs)
    out = _operate_under(engine, outer, ctx, f, *args, **kwargs)
    engine.resolve(outer, ctx.posthook)(out, f, args, kwargs)
    return out


def _operate_under(engine: Engine, outer: Any, ctx: Context, f: Any, /, *args: Any, **kwargs: Any) -> Any:
    target = resolve(ctx, f)
    run = engine.resolve(outer, target)
    if not plan(type(outer)).hooks(f):
        return run(*args, **kwargs)
    seen = _seen(target)
    engine.beneath(outer.prehook)(seen, args, kwargs)
    out = run(*args, **kwargs)
    engine.beneath(outer.posthook)(out, seen, args, kwargs)
    return out


def _hooking_under(engine: Engine, outer: Any, ctx: Context, f: Any, /) -> Any:
    return functools.partial(_dispatch_under, engine, outer, ctx, f)


def _seen(f: Any) -> Any:
    """What hooks are told: the callee where `f` is what the engine made of it for a context further in."""
    if type(f) is not functools.partial or not f.args:
        return f
    if type(f.args[0]) is Engine:
        return f.args[2]
    return f.args[1] if f.func in (_by_types, fallback) else f


_UNDER: dict[Any, Any] = {
    overdub: _overdub_under,
    recurse: _recurse_under,
    fallback: _fallback_under,
    dispatch: _dispatch_under,
    operate: _operate_under,
    hooking: _hooking_under,
    _by_types: _by_types_under,
}


def is_stub(f: Any) -> bool:
    """Whether `f` is a function by which rewritten code reaches the engine."""
    return f is dispatch or f is operate or f is hooking or f is resolve
