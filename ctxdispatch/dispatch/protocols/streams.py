"""`print` writes to the object that `file` or `sys.stdout` is, by methods that may be the user's."""

from __future__ import annotations

import builtins
import functools
import sys
from collections.abc import Callable
from types import FunctionType, MethodDescriptorType
from typing import Any

from ctxdispatch.dispatch.protocols import attributes
from ctxdispatch.dispatch.protocols.conversions import as_text, text_method, truth
from ctxdispatch.dispatch.reach import Engine, Handlers, is_python, lookup
from ctxdispatch.dispatch.tags import bare, kind
from ctxdispatch.ir.leaves import is_installed
from ctxdispatch.ir.own_builtins import own as __builtins__  # type: ignore[no-redef]  # noqa: F401

HANDLERS = Handlers()


class Shown:
    """Stands in for an object that C code writes: str() of it is what str() is of that, under the context."""

    def __init__(self, show: Callable[[], str]) -> None:
        self._show = show

    def __str__(self) -> str:
        return self._show()


def stream_of_user(file: Any) -> Any:
    """What is printed to, where Python code of the user's writes it: not what a library (a notebook, a test
    runner) has put in the place of `sys.stdout`."""
    stream = getattr(sys, "stdout", None) if file is None else bare(file)
    if stream is None or writes_natively(stream):
        return None
    write = lookup(type(stream), "write", None)
    of_library = type(write) is FunctionType and is_installed(write.__code__.co_filename)
    return None if file is None and of_library else stream


def writes_natively(stream: Any) -> bool:
    """C code does, in that and in what it hands on to."""
    if not is_native(type(stream)) or changed_methods(stream):
        return False
    try:
        beneath = [getattr(stream, name) for name in ("buffer", "raw") if hasattr(stream, name)]
    except ValueError:  # it is detached, which print tells
        return True
    return all(map(writes_natively, beneath))


def changed_methods(stream: Any) -> bool:
    """It has methods of its own, in the place of its class's."""
    return not _METHODS.isdisjoint(getattr(stream, "__dict__", ()))


def is_native(cls: type | None) -> bool:
    """A class of streams of C code, as far as print is concerned."""
    if cls is None or is_python(lookup(cls, "__getattribute__")):
        return False
    return all(type(lookup(cls, name)) is MethodDescriptorType for name in _METHODS)


_GETATTR: Any = attributes.HANDLERS[builtins.getattr]
_METHODS = frozenset({"write", "flush"})


@HANDLERS.runs(builtins.print)
def _print(engine: Engine, ctx: Any, f: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Each argument becomes text when its turn comes, as some may print by themselves."""
    stream = stream_of_user(kwargs.get("file"))
    if stream is None or not _is_right(**kwargs):
        return engine.native(ctx, f)(*[_shown(engine, ctx, a) for a in args], **kwargs)
    between, end = (kwargs.get(name) for name in ("sep", "end"))
    texts: list[Any] = [text for value in args for text in (" " if between is None else between, value)][1:]
    read = _GETATTR(engine, ctx, getattr)
    for text in (*texts, "\n" if end is None else end):
        engine.resolve(ctx, read(stream, "write"))(_as_text(engine, ctx, text))
    if truth(engine, ctx, kwargs.get("flush", False)):
        engine.resolve(ctx, read(stream, "flush"))()
    return None


def _is_right(sep: Any = None, end: Any = None, file: Any = None, flush: Any = False, **others: Any) -> bool:
    """The rest `print` itself refuses, in its own words."""
    return not others and all(text is None or issubclass(kind(text), str) for text in (sep, end))


def _as_text(engine: Engine, ctx: Any, value: Any) -> Any:
    name = text_method(kind(value))
    return engine.native(ctx, str)(value) if name is None else as_text(engine, ctx, value, name)


def _shown(engine: Engine, ctx: Any, value: Any) -> Any:
    name = text_method(kind(value))
    return value if name is None else Shown(functools.partial(as_text, engine, ctx, value, name))
