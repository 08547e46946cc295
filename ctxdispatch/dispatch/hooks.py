"""Functions that programs call for a context: hooks, and what its passes have put there.

They watch the program and are not part of it: no context further out is asked about them, or about what they
call.
"""

from __future__ import annotations

import dis
import inspect
import operator
from types import FunctionType, MethodType
from typing import Any, NamedTuple

from ctxdispatch.dispatch import reach
from ctxdispatch.dispatch.context import Context
from ctxdispatch.ir.own_builtins import own as __builtins__  # type: ignore[no-redef]  # noqa: F401
from ctxdispatch.ir.watching import UNDISPATCHED, Undispatched, is_undispatched


def overrides(cls: type[Context], *names: str) -> bool:
    return any(getattr(cls, name) is not getattr(Context, name) for name in names)


def hook(cls: type[Context], name: str) -> FunctionType | None:
    """What programs of `cls` call for the hook `name`, with the context first; None where it does nothing."""
    if not overrides(cls, name):
        return None
    found = inspect.getattr_static(cls, name)
    plain = type(found) is FunctionType and reach.own_way(found) is None
    return _marked(found if plain else _BY_NAME[name])


def _marked(f: Any) -> FunctionType:
    made = FunctionType(f.__code__, f.__globals__, f.__name__, f.__defaults__, f.__closure__)
    made.__kwdefaults__, made.__qualname__ = f.__kwdefaults__, f.__qualname__
    made.__dict__[UNDISPATCHED] = True
    return made


def _prehook(ctx: Context, f: Any, args: Any, kwargs: Any) -> None:
    ctx.prehook(f, args, kwargs)


def _posthook(ctx: Context, out: Any, f: Any, args: Any, kwargs: Any) -> None:
    ctx.posthook(out, f, args, kwargs)


_BY_NAME = {"prehook": _prehook, "posthook": _posthook}
"""For hooks that are no plain functions."""


class Reads(NamedTuple):
    """What a hook looks at: what is called, the arguments, the keywords."""

    callee: bool
    args: bool
    kwargs: bool

    def __or__(self, other: tuple[Any, ...]) -> Reads:
        return Reads(*map(operator.or_, self, other))


def reads(hook: FunctionType | None, first: int) -> Reads:
    """Of the hook whose parameter number `first` is what is called."""
    if hook is None:
        return Reads(False, False, False)
    code = hook.__code__
    plain = code.co_argcount >= first + 3 and not code.co_flags & (CO_VARARGS | CO_VARKEYWORDS)
    if not plain or not LOOKS_AROUND.isdisjoint(code.co_names):
        return Reads(True, True, True)
    used = {*code.co_cellvars}
    for instruction in dis.get_instructions(code):
        found = instruction.argval
        used.update(found if isinstance(found, tuple) else (found,) if isinstance(found, str) else ())
    return Reads(*(name in used for name in code.co_varnames[first : first + 3]))


CO_VARARGS, CO_VARKEYWORDS = 0x04, 0x08
LOOKS_AROUND = frozenset({"locals", "vars", "dir", "eval", "exec", "_getframe", "currentframe", "stack"})
"""Names by which a function may get at what it does not read."""


def told(function: Any, instance: Any, /) -> Any:
    """What hooks are told of a method that is called without having been bound: the bound method."""
    if type(function) is FunctionType:
        return MethodType(function, instance)
    if instance is None:
        return getattr(instance, function.__name__)
    return function.__get__(instance, type(instance))


# -- what is not dispatched ------------------------------------------------------------------------


def undispatched(f: Any) -> Any:
    """`f` in a form that no context dispatches where a program calls it: it runs as it is."""
    if is_undispatched(f):
        return f
    plain = type(f) is FunctionType and reach.own_way(f) is None
    return _marked(f) if plain else Undispatched(f)
