"""The engine: what runs in place of a callee, and how rewritten code asks for it.

    resolve(ctx, f)          a callable: the rule for f  >  f's Python code, rewritten  >  the fallback
    select(f, *args, ctx)    the same of an operation, whose rule may be one on the types of `args`
    seen(f)                what hooks are told of a callee that a context further in has found

`transform` puts calls of these into programs, and what they return is called by the user's own code: so no
frame of the engine is on the stack while the user's code runs. They are opaque to contexts further out, which
see the callable that is called: an outer context rewrites the inner's generated program.
"""

from __future__ import annotations

import functools
import sys
import types
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from ctxdispatch.bytecode.errors import UnsupportedSyntax
from ctxdispatch.dispatch import memory, protocols, reach, rules
from ctxdispatch.dispatch.checks import no_context
from ctxdispatch.dispatch.compiling import code_for, is_machinery
from ctxdispatch.dispatch.context import Context
from ctxdispatch.dispatch.memory import Copies
from ctxdispatch.dispatch.plan import plan
from ctxdispatch.dispatch.protocols import iteration
from ctxdispatch.dispatch.reach import Engine, Target
from ctxdispatch.dispatch.refusals import left
from ctxdispatch.dispatch.tags import kind
from ctxdispatch.dispatch.tracebacks import show_users_frames
from ctxdispatch.facts import OF_FRAME as LOOKS_AT_FRAME
from ctxdispatch.facts import canonical, says
from ctxdispatch.ir import sites
from ctxdispatch.ir.own_builtins import own as __builtins__  # type: ignore[no-redef]  # noqa: F401

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
    try:
        enter = ctx.enter
    except AttributeError:
        raise no_context(ctx, "overdub") from None
    if type(enter) is types.FunctionType:
        raise no_context(ctx, "overdub")
    try:
        out = enter(f, args, kwargs)
    except RecursionError as error:
        if ctx.has_rules(f) and not hasattr(error, "__notes__"):
            error.add_note("a rule for f that calls overdub(ctx, f, ..) calls itself: use recurse")
        show_users_frames(error)
        raise
    except BaseException as error:
        left(ctx, error)
        show_users_frames(error)
        raise
    left(ctx)
    return out


def recurse(ctx: Context, f: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """`overdub` that leaves out the rule for `f` itself: for rules that wrap what they replace."""
    try:
        target = beyond_rules(ctx, f)
    except AttributeError:
        if isinstance(ctx, Context):
            raise
        raise no_context(ctx, "recurse") from None
    return target(*args, **kwargs)


def fallback(ctx: Context, f: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """What `ctx` does with a callee that has neither a rule nor Python code."""
    return ctx.fallback(f, args, kwargs)


# -- the two protocols -----------------------------------------------------------------------------


@says(known=False, raises=False)
def resolve(ctx: Context, f: Any, /) -> Target:
    """What runs in place of the callee `f`."""
    table = rules.table(type(ctx))
    if not table:
        return beyond_rules(ctx, f)
    callee, bound = (f, ()) if type(f) is types.FunctionType else canonical(f)
    found = table.get(id(callee))
    if found is None:
        return beyond_rules(ctx, f)
    rule = found[0].default
    if rule is None or found[0].typed:
        return functools.partial(by_types, ctx, callee, *bound)
    return functools.partial(rule, ctx, *bound)


def by_types(ctx: Context, callee: Any, /, *args: Any, **kwargs: Any) -> Any:
    rule = rules.find(type(ctx), callee, tuple(map(kind, args)))
    if rule is None:
        return beyond_rules(ctx, callee)(*args, **kwargs)
    return rule(ctx, *args, **kwargs)


@says(known=False, raises=False)
def beyond_rules(ctx: Context, f: Any, /) -> Target:
    """`resolve` that asks for no rule of `f` itself."""
    if ctx._beforehand:
        return native(ctx, f)
    target = _function(ctx, f) if type(f) is types.FunctionType else _reach(ctx, f)
    return native(ctx, f) if target is None else target


def _reach(ctx: Context, f: Any) -> Target | None:
    if type(f) in _BUILTIN:
        return _builtin(ctx, f)
    own = getattr(type(f), "__overdub__", None)
    if own is not None:
        return functools.partial(own, f, ctx)
    handler = protocols.BY_IDENTITY.get(id(f)) or protocols.BY_TYPE.get(type(f), reach.class_or_object)
    return handler(ENGINE, ctx, f)


_BUILTIN = (types.BuiltinMethodType, types.MethodWrapperType, reach.CMETHOD)


def _builtin(ctx: Context, f: types.BuiltinMethodType | types.MethodWrapperType) -> Target | None:
    """A C function, or a method like `xs.sort`: that is `list.sort` in the table; f.__call__ is f."""
    callee, bound = canonical(f)
    handler = protocols.BY_IDENTITY.get(id(callee))
    if type(callee) is types.FunctionType:
        target = _function(ctx, callee)
    else:
        target = None if handler is None else handler(ENGINE, ctx, callee)
    return target if target is None or not bound else functools.partial(target, *bound)


def native(ctx: Context, f: Any, /) -> Target:
    """`f` by way of the context's fallback; `f` itself where that is the inherited one, or where `f` looks at
    the frame that calls it."""
    if id(f) in memory.ASSIGNS:
        return functools.partial(assigning, ctx, f)
    return _native(ctx, f)


def _native(ctx: Context, f: Any) -> Target:
    if inherits_fallback(type(ctx)) or id(f) in _OF_FRAME:
        return f  # type: ignore[no-any-return]
    return functools.partial(fallback, ctx, f)


def assigning(ctx: Context, f: Any, /, *args: Any, **kwargs: Any) -> Any:
    """`setattr` and its like: what is remembered of a function may be no longer so."""
    try:
        return _native(ctx, f)(*args, **kwargs)
    finally:
        if memory.is_assignment(args):
            ctx._memory.check()


OF_FRAME = (super, sys._getframe, warnings.warn, *LOOKS_AT_FRAME)
"""C functions that look at the frame that calls them."""
_OF_FRAME = frozenset(map(id, OF_FRAME))


def inherits_fallback(cls: type[Context]) -> bool:
    return cls.fallback is Context.fallback


def dispatch(ctx: Context, f: Any, /, *args: Any, **kwargs: Any) -> Any:
    """A dispatched call with hooks."""
    shown = seen(f)
    ctx.prehook(shown, args, kwargs)
    out = resolve(ctx, f)(*args, **kwargs)
    ctx.posthook(out, shown, args, kwargs)
    return out


@says(known=False, raises=False)
def select(f: Any, /, *args: Any) -> Target:
    """What runs in place of the operation `f` on all of `args` but the last, which is the context."""
    *operands, ctx = args
    return selected(ctx, f, operands)


def selected(ctx: Context, f: Any, args: Sequence[Any]) -> Target:
    """`resolve` that knows the arguments, and so which rule on types it is."""
    cls = type(ctx)
    table = rules.table(cls)
    callee, bound = canonical(f) if table and type(f) is not types.FunctionType else (f, ())
    rule = rules.find(cls, callee, tuple(map(kind, (*bound, *args)))) if id(callee) in table else None
    if rule is None:
        return _operation(ctx, f, args)
    target: Target = functools.partial(rule, ctx, *bound)
    return target


def _operation(ctx: Context, f: Any, args: Sequence[Any]) -> Target:
    """`beyond_rules` that knows the arguments."""
    natively = protocols.NATIVELY.get(id(f))
    return native(ctx, f) if natively is not None and natively(args) else beyond_rules(ctx, f)


def splatted(args: Any, f: Any, ctx: Context, /) -> Any:
    """What f(*args) goes through."""
    if type(args) is tuple:
        return args
    own = getattr(type(ctx), "_splat", None)
    return iteration.splat(ENGINE, ctx, f, args if own is None else own(ctx, args))


def gathered(args: Any, f: Any, ctx: Context, /) -> tuple[Any, ...]:
    """What f(*args) goes through where hooks are told of it: they get a tuple."""
    return args if type(args) is tuple else tuple(splatted(args, f, ctx))


def callback(ctx: Context, f: Any, /) -> Target:
    """What C code gets in place of `f`."""
    hooks_itself = type(f) is functools.partial and f.func is dispatch  # of a context further in
    return hooking(ctx, f) if plan(type(ctx)).hooked and not hooks_itself else resolve(ctx, f)


def hooking(ctx: Context, f: Any, /) -> Target:
    """Calling it is a dispatched call of `f`, hooks included."""
    return functools.partial(dispatch, ctx, f)


def stepping(iterable: Any, iterator: Any, ctx: Context, /) -> Any:
    """What a loop over `iterable` takes its items from: `iterator`, its steps under `ctx`."""
    return iteration.stepping(ENGINE, ctx, iterable, iterator)


ENGINE = Engine(resolve, callback, callback, native)


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
    handler = protocols.of_function(f)
    if handler is not None:
        return handler(ENGINE, ctx, f)  # type: ignore[return-value]
    version = type(ctx)._version
    code = code_for(ctx, f) if reach.own_way(f) is None else None
    if isinstance(code, UnsupportedSyntax):
        raise UnsupportedSyntax(code.construct, code.filename, code.line, code.function)
    if code is None and is_machinery(type(ctx), f):
        return _machine(ctx, f)
    copies = Copies(f) if code is None else Copies(f, code.code, _cells(ctx, f, *code))
    ctx._memory.keep_code(copies, version)
    return copies.of(f)


def _machine(ctx: Context, f: types.FunctionType) -> Target:
    """What `ctx` runs in place of a function that is no program: what that itself says, else `f`."""
    own = reach.own_way(f)
    if own is not None:
        return functools.partial(own, ctx)
    from ctxdispatch.dispatch.nested import UNDER

    under = UNDER.get(f)
    return f if under is None else functools.partial(under, ENGINE, ctx)


def _cells(
    ctx: Context, f: types.FunctionType, code: types.CodeType, places: int
) -> tuple[types.CellType, ...]:
    """What `code` closes over that `f` does not."""
    added = code.co_freevars[len(f.__closure__ or ()) :]
    hidden = (name.startswith(sites.CELL) for name in added)
    return tuple(ctx._memory.cell(code, places) if remembers else ctx._cell for remembers in hidden)


def another(ctx: Context, f: types.FunctionType) -> Target | None:
    """`resolve` for a function of which others with the same code were rewritten, and that has no rule."""
    copies: Copies | None = ctx._memory.codes.get(id(f.__code__))
    if copies is None or copies.namespace is not f.__globals__ or id(f) in rules.table(type(ctx)):
        return None
    return copies.of(f) if reach.own_way(f) is None else None


_warned: dict[int, types.CodeType] = {}
"""By id: code that was rewritten may have no hash."""


def _warn(code: types.CodeType, error: UnsupportedSyntax) -> None:
    if id(code) not in _warned:
        _warned[id(code)] = code
        message = f"{code.co_qualname} runs without the context, it cannot be rewritten: {error}"
        warnings.warn(message, NativeCallWarning, stacklevel=4)


# -- the outermost function ------------------------------------------------------------------------


def program(ctx: Context, f: Any, /) -> Target:
    """`resolve` for the outermost function: that it cannot be rewritten is an error there."""
    ctx._memory.check()
    if id(canonical(f)[0]) in rules.table(type(ctx)):
        return resolve(ctx, f)
    if type(f) is types.FunctionType:
        return twin(ctx, f)
    if isinstance(f, Context):
        raise TypeError("of several contexts, write overdub(outer, overdub, inner, f, *args)")
    function = _python_function(f)
    if function is not None:
        twin(ctx, function)
    return resolve(ctx, f)


def _python_function(f: Any) -> types.FunctionType | None:
    while issubclass(type(f), types.MethodType | functools.partial):
        f = f.func if issubclass(type(f), functools.partial) else f.__func__
    return f if type(f) is types.FunctionType else None


@says(known=False, raises=False)
def seen(f: Any) -> Any:
    """What hooks are told: the callee where `f` is what the engine made of it for a context further in."""
    if type(f) is not functools.partial or not f.args:
        return f
    if type(f.args[0]) is not Engine:
        return f.args[1] if any(f.func is own for own in (by_types, fallback, dispatch, assigning)) else f
    told = [each for each in f.args[2:] if not issubclass(type(each), Context)]
    return told[0] if told else f  # else it is one of the engine's own, under a context
