"""What a context class says wrongly: told where the class is made or the rule is added, not when it runs.

Nothing here is called for a dispatched call.
"""

from __future__ import annotations

import difflib
import inspect
from dataclasses import FrozenInstanceError
from types import FunctionType
from typing import Any, NoReturn

from ctxdispatch.ir.own_builtins import own as __builtins__  # type: ignore[no-redef]  # noqa: F401

SIGNATURES = {
    "prehook": ("self", "f", "args", "kwargs"),
    "posthook": ("self", "out", "f", "args", "kwargs"),
    "fallback": ("self", "f", "args", "kwargs"),
    "transform": ("self", "graph"),
    "program": ("self", "f", "args", "kwargs"),
    "enter": ("self", "f", "args", "kwargs"),
    "report": ("self", "options"),
}
"""What may be overridden, and how it is called."""

CLASS_METHODS = ("add_options", "from_options")
SPELLED = ("prehook", "posthook", "fallback", "transform", *CLASS_METHODS)
"""Names that another one is taken for a misspelling of."""

VARARGS, VARKEYWORDS = inspect.CO_VARARGS, inspect.CO_VARKEYWORDS


def check_class(cls: Any) -> None:
    """TypeError or ValueError for what the body of `cls` cannot mean."""
    for name, value in vars(cls).items():
        if type(value) is FunctionType:
            _check_name(cls, name, value)
            _check_signature(cls, name, value)
    if vars(cls).get("intercepts") is not None:
        check_intercepts(cls)


def check_kind(kind: Any, where: str) -> None:
    """ValueError where `kind` is none of the kinds of operation."""
    from ctxdispatch.dispatch.plan import KINDS

    if not issubclass(type(kind), str) or kind not in KINDS:
        hint = _closest(kind, KINDS) if issubclass(type(kind), str) else ""
        raise ValueError(f"{where}: no kind {kind!r}{hint}; there are {', '.join(map(repr, KINDS))}")


def check_intercepts(cls: Any) -> None:
    said = cls.intercepts
    if issubclass(type(said), str):
        raise TypeError(f'{cls.__name__}.intercepts is a tuple of kinds, ("{said}",), not "{said}"')
    for kind in said:
        if issubclass(type(kind), str):
            check_kind(kind, f"{cls.__name__}.intercepts")


def _closest(name: str, names: Any) -> str:
    near = difflib.get_close_matches(name, names, n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def _check_name(cls: Any, name: str, f: FunctionType) -> None:
    known = any(name in vars(base) for base in cls.__mro__[1:])
    if name.startswith("_") or known:
        return
    near = difflib.get_close_matches(name.replace("_", ""), [n.replace("_", "") for n in SPELLED], 1, 0.9)
    meant = next((n for n in SPELLED if n.replace("_", "") in near), None)
    if meant is not None:
        raise TypeError(
            f"{_named(cls, name, f)} is never called; did you mean {meant!r}? (If not, give it another name.)"
        )


def _check_signature(cls: Any, name: str, f: FunctionType) -> None:
    if name in CLASS_METHODS:
        raise TypeError(f"{_named(cls, name, f)} is a method of the class: write @classmethod above it")
    wanted = SIGNATURES.get(name)
    if wanted is None or _takes(f, len(wanted)):
        return
    raise TypeError(f"{_named(cls, name, f)} must be {name}({', '.join(wanted)}), not {_head(name, f)}")


def _takes(f: FunctionType, count: int) -> bool:
    """Whether f can be called with so many positional arguments. (self, f, *args, **kwargs) can, but does not
    mean it."""
    code, flags = f.__code__, f.__code__.co_flags
    required = code.co_argcount - len(f.__defaults__ or ())
    keywords = len(f.__kwdefaults__ or ()) == code.co_kwonlyargcount
    if flags & VARARGS and flags & VARKEYWORDS and code.co_argcount == count - 2 > 0 and count > 3:
        return False
    return keywords and required <= count and (bool(flags & VARARGS) or count <= code.co_argcount)


def _head(name: str, f: Any) -> str:
    return f"{name}{inspect.signature(f, follow_wrapped=False)}"


def _named(cls: Any, name: str, f: Any) -> str:
    return f"{cls.__name__}.{name} ({_place(f)})"


def _place(f: Any) -> str:
    return f"{f.__code__.co_filename}:{f.__code__.co_firstlineno}"


# -- rules -----------------------------------------------------------------------------------------


def check_callee(cls: Any, callee: Any, types: tuple[Any, ...]) -> None:
    """Of `@cls.rule(callee, *types)`."""
    if not callable(callee) and not issubclass(type(callee), classmethod):
        raise TypeError(f"@{cls.__name__}.rule takes the function that the rule is for, not {callee!r}")
    if getattr(callee, "__name__", None) == "_" and type(callee) is FunctionType and not types:
        what = f"write @{cls.__name__}.rule(function) above it"
        raise TypeError(f"@{cls.__name__}.rule takes the function that the rule is for, not the rule: {what}")
    for each in types:
        if not issubclass(type(each), type | tuple | list):
            how = f"@{cls.__name__}.rule(function, type, ...) above the rule"
            raise TypeError(f"{each!r} is no type of an argument: write {how}")


def check_rule(cls: Any, callee: Any, types: tuple[Any, ...], rule: Any) -> None:
    """Of what is registered for `callee`: it is given the context first."""
    if not callable(rule):
        raise TypeError(f"a rule of {cls.__name__} is a function of (ctx, *arguments), not {rule!r}")
    if type(rule) is not FunctionType or rule.__code__.co_flags & VARARGS:
        return
    count = rule.__code__.co_argcount
    if count < len(types) + 1:
        wanted = ", ".join(["ctx", *(getattr(t, "__name__", "type") for t in types)])
        name = getattr(callee, "__name__", callee)
        raise TypeError(
            f"the rule of {cls.__name__} for {name} ({_place(rule)}) is called with ({wanted}, ...), "
            f"the context first: it cannot be {_head(rule.__name__, rule)}"
        )


# -- instances -------------------------------------------------------------------------------------


def refuse_change(self: Any, name: str, *value: Any) -> NoReturn:
    """`__setattr__` and `__delattr__` of contexts."""
    raise FrozenInstanceError(
        f"cannot assign to field {name!r}: an instance of {type(self).__name__} never changes; keep state "
        f"in a field that is a list, a dict or an object (`{name}: list = field(default_factory=list)`)"
    )


def no_context(ctx: Any, name: str) -> TypeError:
    """What to say where the first argument of `overdub` or `recurse` is no context."""
    call = f"{name}(ctx, f, *args)"
    if issubclass(type(ctx), type):
        return TypeError(f"{call} takes an instance: {ctx.__name__}(...), not the class {ctx.__name__}")
    if issubclass(type(ctx), tuple | list):
        return TypeError(f"{call} takes one context; of several: overdub(outer, overdub, inner, f, *args)")
    if issubclass(type(ctx), str):
        return TypeError(f"{call} takes a context, not its name: ctxdispatch.contexts.find({ctx!r})()")
    return TypeError(f"{call} takes a context first, not {ctx!r}")
