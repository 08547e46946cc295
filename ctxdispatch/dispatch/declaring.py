"""What is wrong with the declaration of a context class, or of a rule: said where it stands."""

from __future__ import annotations

import difflib
import warnings
from typing import Any

from ctxdispatch.ir.own_builtins import own as __builtins__  # type: ignore[no-redef]  # noqa: F401

HOOKS = ("prehook", "posthook", "fallback", "transform")


def check_class(cls: type) -> None:
    """TypeError where `intercepts` is no tuple of kinds and functions; a warning for what is like a hook."""
    declared = vars(cls).get("intercepts")
    if declared is not None:
        _check_intercepts(cls, declared)
    for name, value in vars(cls).items():
        meant = _meant(name) if callable(value) and not hasattr(cls.__mro__[1], name) else None
        if meant is not None:
            warnings.warn(
                f"{cls.__qualname__}.{name} is no hook; is it to be `{meant}`?", RuntimeWarning, stacklevel=3
            )


def _check_intercepts(cls: type, declared: Any) -> None:
    from ctxdispatch.dispatch.plan import KINDS

    if isinstance(declared, str):
        raise TypeError(f'{cls.__qualname__}.intercepts is a tuple: intercepts = ("{declared}",)')
    wrong = [each for each in declared if not (callable(each) or (isinstance(each, str) and each in KINDS))]
    if wrong:
        raise TypeError(
            f"{cls.__qualname__}.intercepts: {', '.join(map(repr, wrong))}: no kind of operation, nor a "
            f"function; the kinds are {', '.join(KINDS)}"
        )


def _meant(name: str) -> str | None:
    plain = name.lower().replace("_", "")
    close = difflib.get_close_matches(plain, HOOKS, 1, 0.9)
    return close[0] if close and name not in HOOKS else None


def check_rule(cls: type, callee: Any, types: tuple[Any, ...], function: Any) -> None:
    """TypeError where a rule could never apply."""
    where = f"{cls.__qualname__}.rule"
    if not (callable(callee) or hasattr(callee, "__get__")):
        raise TypeError(f"{where} is for a function, not for {callee!r}: give the function itself")
    for each in types:
        if not isinstance(each, type):
            raise TypeError(
                f"{where}: {each!r} is no class. After the function come the types of its arguments; the "
                f"rule itself is decorated, @{where}(function)"
            )
    if not callable(function):
        raise TypeError(f"{where}: the rule is a function(ctx, ...), not {function!r}")


def no_context(ctx: Any) -> TypeError:
    """Of overdub(ctx, f), where `ctx` is none."""
    if isinstance(ctx, type):
        name = ctx.__qualname__
        return TypeError(f"{name} is a class, the first argument a context: overdub({name}(..), f, ..)")
    if isinstance(ctx, (tuple, list)):
        return TypeError("one context at a time: overdub(outer, overdub, inner, f, ..)")
    what = getattr(ctx, "__qualname__", None) or repr(ctx)
    return TypeError(f"the first argument is the context, overdub(ctx, f, ..); {what} is none")


def no_function(f: Any) -> TypeError:
    return TypeError(f"to stack contexts write overdub(outer, overdub, {type(f).__name__}(..), f, ..)")


__all__ = ["check_class", "check_rule", "no_context", "no_function"]
