"""`print` writes to the object that `file` or `sys.stdout` is, by methods that may be the user's."""

from __future__ import annotations

import builtins
import functools
import sys
from collections.abc import Callable
from types import FunctionType, MethodDescriptorType
from typing import Any

from ctxdispatch.dispatch.protocols.conversions import as_text, text_method
from ctxdispatch.dispatch.reach import Engine, Handlers, lookup
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
    stream = sys.stdout if file is None else bare(file)
    if stream is None or writes_natively(type(stream)):
        return None
    write = lookup(type(stream), "write", None)
    of_library = type(write) is FunctionType and is_installed(write.__code__.co_filename)
    return None if file is None and of_library else stream


def writes_natively(cls: type | None) -> bool:
    return cls is not None and type(lookup(cls, "write", None)) is MethodDescriptorType


@HANDLERS.runs(builtins.print)
def _print(engine: Engine, ctx: Any, f: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Each argument becomes text when its turn comes, as some may print by themselves."""
    stream = stream_of_user(kwargs.get("file"))
    if stream is None or not _is_plain(**kwargs):
        return engine.native(ctx, f)(*[_shown(engine, ctx, a) for a in args], **kwargs)
    between, end = (kwargs.get(name) for name in ("sep", "end"))
    for i, value in enumerate(args):
        if i:
            engine.resolve(ctx, stream.write)(" " if between is None else between)
        engine.resolve(ctx, stream.write)(_as_text(engine, ctx, value))
    engine.resolve(ctx, stream.write)("\n" if end is None else end)
    if kwargs.get("flush"):
        engine.resolve(ctx, stream.flush)()
    return None


def _is_plain(sep: Any = None, end: Any = None, file: Any = None, flush: Any = False, **others: Any) -> bool:
    return not others and all(type(text) in (str, type(None)) for text in (sep, end)) and type(flush) is bool


def _as_text(engine: Engine, ctx: Any, value: Any) -> Any:
    name = text_method(kind(value))
    return engine.native(ctx, str)(value) if name is None else as_text(engine, ctx, value, name)


def _shown(engine: Engine, ctx: Any, value: Any) -> Any:
    name = text_method(kind(value))
    return value if name is None else Shown(functools.partial(as_text, engine, ctx, value, name))
