"""The modes: what is done to the code object of a module before it runs.

Each mode names a factory that is called once per process and returns a function code -> code.  All of them
import the engine, "plain" too: what a test finds in `sys.modules` is the same in every mode.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from types import CodeType, ModuleType
from typing import Any

Rewrite = Callable[[CodeType], CodeType]
BASELINE = "plain"


def plain() -> Rewrite:
    return lambda code: code


def roundtrip() -> Rewrite:
    """Lift and faithful emit."""
    return resolve(ROUND_TRIP)


def identity() -> Rewrite:
    """Every call and operator is mapped, to itself: the resolve protocol."""
    return partial(resolve(DISPATCH), everything("Identity"))


def hooks() -> Rewrite:
    """A prehook and a posthook around everything: the dispatch protocol."""
    return partial(resolve(DISPATCH), everything("Hooks", prehook=ignore, posthook=ignore))


MODES: dict[str, Callable[[], Rewrite]] = {
    BASELINE: plain, "roundtrip": roundtrip, "identity": identity, "hooks": hooks,
}  # fmt: skip
ROUND_TRIP = "ctxdispatch.bytecode.faithful:round_trip"
DISPATCH = "ctxdispatch.dispatch.static:dispatch_code"


def rewriter(mode: str) -> Rewrite:
    with no_asyncio():
        with suppress(ImportError):  # a version without an opcode table has a baseline all the same
            importlib.import_module("ctxdispatch.dispatch.plan")
        rewrite = MODES[mode]()
        with suppress(Exception):  # what is wrong with it, the tests will say
            exec(rewrite(compile(SAMPLE, "<sample>", "exec")), {"__name__": "sample"})
    return rewrite


SAMPLE = """
import math
class C:
    def f(self, *args, k=1, **options):
        try:
            with self: return [a + k for a in args if a > 0]
        except (ValueError, KeyError) as error: raise TypeError(f"{error!r:>9}") from error
        finally: del self.x[0], self.x
    def __enter__(self): self.x = [math.pi]; return self
    def __exit__(self, *what): return super().__eq__(3) is False
def g(n):
    i = 0
    while i < n:
        i += (yield i) or 1
    yield from ()
async def h(x):
    async with x as y:
        async for z in y: await z
match [*g(3)], C().f(1, 2, k=3, **{"z": 0}):
    case [0, *_], [_, int() as a]: assert a == 5
"""
"""It runs once, so that what the engine imports late is there before modules are rewritten."""


def resolve(path: str) -> Any:
    module, name = path.split(":")
    return getattr(importlib.import_module(module), name)


def everything(name: str, **methods: Any) -> Any:
    """An instance of a context class that intercepts every kind of operation."""
    context = resolve("ctxdispatch:Context")
    kinds = tuple(resolve("ctxdispatch.dispatch.plan:KINDS"))
    return type(context)(name, (context,), {"__module__": __name__, "intercepts": kinds, **methods})()


def ignore(self: Any, *what: Any) -> None:
    pass


@contextmanager
def no_asyncio() -> Iterator[None]:
    """wrapt imports asyncio for functions that the engine does not use.

    The C module `_asyncio` keeps the event loop policy of the first `asyncio` that it met, in 3.11 for the
    life of the process: a second copy of `asyncio`, the one under test, would not work with it.
    """
    sys.modules["asyncio"] = ModuleType("asyncio")
    try:
        yield
    finally:
        del sys.modules["asyncio"]
