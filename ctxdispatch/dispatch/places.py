"""What rewritten code calls where a place of it remembers nothing that fits (`memory`), and what it calls to
have it forget.

    resolve_at(f, places, site)              resolve(ctx, f)
    select_at(*operands, places, site)       select(operation, *operands, ctx)
    stacked_at(*operands, *lists, site)      resolve(ctx, g), for what runs in place of either further in
    call_at(f, *args, places, site)          resolve(ctx, f), for a callee that goes by an argument's class
    reassigned(ctx)                          an attribute was assigned to that may be a function's
    visible(names)                           what `locals()` returned
"""

from __future__ import annotations

from types import FunctionType, MethodType
from typing import Any

from ctxdispatch.dispatch import memory, rules
from ctxdispatch.dispatch.context import Context
from ctxdispatch.dispatch.overdub import another, inherits_fallback, resolve, selected
from ctxdispatch.dispatch.plan import plan
from ctxdispatch.dispatch.reach import Target
from ctxdispatch.ir.own_builtins import own as __builtins__  # type: ignore[no-redef]  # noqa: F401
from ctxdispatch.ir.sites import Site


def resolve_at(f: Any, places: list[Any], site: Site, /) -> Target:
    """`resolve`, remembered in the code if that may be; of a method, for the function that it binds."""
    if type(f) is MethodType:
        function, target = places[site.place]
        if function is not f.__func__:
            target = resolve_at(f.__func__, places, site)
        return MethodType(target, f.__self__)
    ctx = places[0]
    if type(f) is FunctionType and _comes_and_goes(f, places[site.place][0]):
        target = another(ctx, f)
        if target is not None:
            return target
    cls = type(ctx)
    version = cls._version
    held = memory.is_held_class(f)
    function = f.__init__ if held else f
    given = memory.given(function) if type(function) is FunctionType else None
    target = resolve(ctx, f)
    if memory.is_stable(f) or (held and target is not f):  # else the class may become more than it is
        _fill(places, site, (f, target), cls, version)
        if given is not None:
            ctx._memory.keep(function, given)
    return target


def _comes_and_goes(f: FunctionType, known: Any) -> bool:
    """Whether it is one of many with the same code: such are not remembered."""
    if type(known) is FunctionType and known.__code__ is f.__code__:
        return True
    return not memory.is_stable(f)


def reassigned(ctx: Context, /) -> None:
    """A function may have got other code or defaults."""
    ctx._memory.check()


def select_at(*operands: Any) -> Target:
    """`select` for the operation of the site, which comes last, after the list; what operands it was for is
    remembered in the code where the operation is the interpreter's own."""
    *given, places, site = operands
    cls = type(places[0])
    version = cls._version
    kinds = tuple(map(type, given))
    if memory.is_native(site.operation, kinds) and not plan(cls).replaces(site.operation):
        _fill(places, site, kinds if len(kinds) == 2 else (*kinds, None), cls, version)
        return site.operation  # type: ignore[no-any-return]  # called by the user's frame: it may warn
    return selected(places[0], site.operation, given)


def call_at(*operands: Any) -> Target:
    """`resolve` for the callee that comes first, before its arguments, the list and the site; remembered in
    the code where the callee runs as it is for what is of the last argument's class."""
    f, *args, places, site = operands
    ctx = places[0]
    cls: Any = type(ctx)
    version = cls._version
    kinds = tuple(map(type, args))
    if memory.is_native_call(f, kinds) and _is_left_alone(cls, f, site):
        _fill(places, site, (f, kinds[-1]), cls, version)
        return f  # type: ignore[no-any-return]
    return resolve(ctx, f)


def stacked_at(*operands: Any) -> Target:
    """What runs for several contexts; their lists, from the inside out, and the site come last. Remembered in
    the outermost's list if it is for the others, and this context has no say in it."""
    *within, below, places, site = operands
    inner = site.inner
    ctx, cls, version = places[0], type(places[0]), type(places[0])._version
    target = resolve(ctx, inner.slow(*within, below, inner))
    pair = below[inner.place]
    if _fits(pair, within, inner) and _is_left_alone(cls, within[0], site):
        for its in operands[-site.depth - 1 : -2]:
            rules.forgets(its[0].__class__, ctx._memory)
        _fill(places, site, pair, cls, version)
        if below[inner.place] is not pair:
            places[site.place] = memory.BLANK
    return target


def _fits(pair: tuple[Any, ...], operands: list[Any], site: Site) -> bool:
    """Whether what the place of `site` holds is for these operands."""
    kinds = tuple(map(type, operands[: site.count]))
    if site.calls:
        tested = kinds[1:] if site.alike else kinds[-1:]
        return pair[0] is operands[0] and all(kind is pair[1] for kind in tested)
    return all(kind is known for kind, known in zip(kinds, pair))


def _is_left_alone(cls: Any, callee: Any, site: Site) -> bool:
    if site.calls:
        return inherits_fallback(cls) and not rules.sets(cls, callee)
    return not plan(cls).rules_or_hooks(site.operation)


def _fill(places: list[Any], site: Site, pair: tuple[Any, ...], cls: type[Context], version: int) -> None:
    """With what was found out for this version of the class; rules may have changed meanwhile."""
    places[site.place] = pair
    if version != cls._version:
        places[site.place] = memory.BLANK


def visible(names: Any, /) -> Any:
    """What `locals()` or `dir()` returned, without what rewritten code adds to a function."""
    if type(names) is dict:
        for name in [name for name in names if type(name) is str and name.startswith(HIDDEN)]:
            del names[name]
    elif type(names) is list and any(type(name) is str and name.startswith(HIDDEN) for name in names):
        names[:] = [name for name in names if not name.startswith(HIDDEN)]
    return names


HIDDEN = "$"
"""How the names begin that rewritten code adds."""
