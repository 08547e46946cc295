"""Callable objects made by C code that read their argument, or stand for a class."""

from __future__ import annotations

import builtins
import contextlib
import operator
import types
from typing import Any

from ctxdispatch.dispatch.protocols.attributes import HANDLERS as ATTRIBUTES
from ctxdispatch.dispatch.protocols.containers import HANDLERS as CONTAINERS
from ctxdispatch.dispatch.reach import HEAPTYPE, Engine, Total, of_class, running
from ctxdispatch.ir.own_builtins import own as __builtins__  # type: ignore[no-redef]  # noqa: F401


def _native(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether no Python code can take part, or the call is an error."""
    if len(args) != 1 or kwargs:
        return True
    return not (type(args[0]).__flags__ & HEAPTYPE or issubclass(type(args[0]), type | dict))


def _one_or_all(out: list[Any]) -> Any:
    return out[0] if len(out) == 1 else tuple(out)


def _itemgetter(engine: Engine, ctx: Any, f: Any, /, *args: Any, **kwargs: Any) -> Any:
    if _native(args, kwargs):
        return engine.native(ctx, f)(*args, **kwargs)
    read = CONTAINERS[operator.getitem](engine, ctx, operator.getitem)
    return _one_or_all([read(args[0], key) for key in f.__reduce__()[1]])


def _attrgetter(engine: Engine, ctx: Any, f: Any, /, *args: Any, **kwargs: Any) -> Any:
    if _native(args, kwargs):
        return engine.native(ctx, f)(*args, **kwargs)
    return _one_or_all([_along(engine, ctx, args[0], path) for path in f.__reduce__()[1]])


def _along(engine: Engine, ctx: Any, value: Any, path: str) -> Any:
    for name in path.split("."):
        value = ATTRIBUTES[builtins.getattr](engine, ctx, builtins.getattr)(value, name)
    return value


def _methodcaller(engine: Engine, ctx: Any, f: Any, /, *args: Any, **kwargs: Any) -> Any:
    if len(args) != 1 or kwargs:
        return engine.native(ctx, f)(*args, **kwargs)
    make, passed = f.__reduce__()
    if make is operator.methodcaller:
        (name, *passed), named = passed, {}
    else:
        (name,), named = make.args, make.keywords
    return engine.resolve(ctx, _along(engine, ctx, args[0], name))(*passed, **named)


def _alias(engine: Engine, ctx: Any, f: Any, /, *args: Any, **kwargs: Any) -> Any:
    """C[int](...) is C(...), which is told what it was called as if it takes attributes."""
    made = engine.resolve(ctx, f.__origin__)(*args, **kwargs)
    with contextlib.suppress(AttributeError, TypeError):
        made.__orig_class__ = f
    return made


def _make(engine: Engine, ctx: Any, f: Any, /, *args: Any, **kwargs: Any) -> Any:
    """type.__call__(cls, ...), as the `__call__` of a metaclass calls it."""
    target = of_class(engine, ctx, args[0]) if args and issubclass(type(args[0]), type) else None
    if target is None:
        return engine.native(ctx, f)(*args, **kwargs)
    return target(*args[1:], **kwargs)


HANDLERS: dict[Any, Total] = {type.__call__: running(_make)}

BY_TYPE: dict[type, Total] = {
    operator.itemgetter: running(_itemgetter),
    operator.attrgetter: running(_attrgetter),
    operator.methodcaller: running(_methodcaller),
    types.GenericAlias: running(_alias),
}
