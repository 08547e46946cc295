"""What is handed to C code in place of an object whose special methods are written in Python.

    %y = list(%x)        %s = stand_in(%x);  %y = list(%s)

A stand-in has those of the methods that its object has in Python, and runs each under the context when it is
asked to. So the function does what it always does, in its own order and with its own errors.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ctxdispatch.dispatch.reach import ABSENT, HEAPTYPE, Engine, invoke, lookup, special
from ctxdispatch.ir.own_builtins import own as __builtins__  # type: ignore[no-redef]  # noqa: F401

ITERATION = ("__iter__", "__next__", "__getitem__", "__len__", "__length_hint__")
MAPPING = (*ITERATION, "keys")
ORDERED_MAPPING = (*MAPPING, "items")


def stand_in(engine: Engine, ctx: Any, value: Any, names: tuple[str, ...] = ITERATION) -> Any:
    """`value` itself where none of the methods called `names` is Python code."""
    cls = type(value)
    if not cls.__flags__ & HEAPTYPE:
        return value
    own = tuple(name for name in names if special(cls, name) is not None)
    if not own:
        return value
    refused = tuple(name for name in names if lookup(cls, name, ABSENT) is None)
    return _class(cls.__name__, own, refused)(engine, ctx, value)


class StandIn:
    __slots__ = ("run",)

    def __init__(self, engine: Engine, ctx: Any, value: Any) -> None:
        self.run = engine, ctx, value


@functools.lru_cache(maxsize=1024)
def _class(name: str, methods: tuple[str, ...], refused: tuple[str, ...]) -> type[StandIn]:
    """Errors name the class. `__iter__ = None` says that it cannot be gone through."""
    namespace = {method: _METHODS.get(method, _asking)(method) for method in methods}
    return type(name, (StandIn,), {**namespace, **dict.fromkeys(refused)})


def _asking(name: str) -> Callable[..., Any]:
    def method(self: StandIn, *args: Any) -> Any:
        engine, ctx, value = self.run
        return invoke(engine, ctx, value, name, *args)

    return method


def _iterating(name: str) -> Callable[..., Any]:
    def method(self: StandIn) -> Any:
        engine, ctx, value = self.run
        out = invoke(engine, ctx, value, name)
        return self if out is value else stand_in(engine, ctx, out)

    return method


_METHODS = dict.fromkeys(("__iter__", "keys", "items"), _iterating)

