"""What is handed to C code in place of an object whose special methods are written in Python.

    %y = list(%x)        %s = stand_in(%x);  %y = list(%s)

A stand-in has those of the methods that its object has, and runs those in Python under the context when it is
asked to. So the function does what it always does, in its own order and with its own errors.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ctxdispatch.dispatch.reach import ABSENT, HEAPTYPE, Engine, bind, invoke, lookup, special
from ctxdispatch.dispatch.tags import bare, kind
from ctxdispatch.ir.own_builtins import own as __builtins__  # type: ignore[no-redef]  # noqa: F401

ITERATION = ("__iter__", "__next__", "__getitem__", "__len__", "__length_hint__")
MAPPING = (*ITERATION, "keys")
ORDERED_MAPPING = (*MAPPING, "items")


def stand_in(engine: Engine, ctx: Any, value: Any, names: tuple[str, ...] = ITERATION) -> Any:
    """`value` itself where none of the methods called `names` is Python code; or only such as an iteration by
    C code does not ask for, but as a hint (`__len__`)."""
    cls = kind(value)
    if not cls.__flags__ & HEAPTYPE:
        return value
    own = [name for name in names if special(cls, name) is not None]
    if not own or (set(own) <= _BESIDE and lookup(cls, "__iter__") is not None):
        return value
    found = {name: lookup(cls, name, ABSENT) for name in names}
    inherited = tuple(name for name, method in found.items() if name not in own and is_method(method))
    refused = tuple(name for name, method in found.items() if method is None)
    return _class(cls.__name__, tuple(own), inherited, refused)(engine, ctx, bare(value))


def mapping(engine: Engine, ctx: Any, other: Any, names: tuple[str, ...] = MAPPING) -> Any:
    """What a dict may be updated with in place of `other`; it looks into dicts, and asks others."""
    if issubclass(type(other), dict) and lookup(kind(other), "__iter__") is dict.__iter__:
        return other
    for name in names[len(ITERATION) :]:
        if lookup(kind(other), name) is None and hasattr(other, name):  # of its own, or by `__getattr__`
            return other
    return stand_in(engine, ctx, other, names)


_BESIDE = {*ITERATION} - {"__iter__"}


def is_method(attribute: Any) -> bool:
    return attribute is not ABSENT and attribute is not None


class StandIn:
    __slots__ = ("run",)

    def __init__(self, engine: Engine, ctx: Any, value: Any) -> None:
        self.run = engine, ctx, value


@functools.lru_cache(maxsize=1024)
def _class(
    name: str, methods: tuple[str, ...], inherited: tuple[str, ...], refused: tuple[str, ...]
) -> type[StandIn]:
    """Errors name the class. `__iter__ = None` says that it cannot be gone through."""
    own = {method: _METHODS.get(method, _asking)(method) for method in methods}
    return type(name, (StandIn,), {**own, **{m: _of_c(m) for m in inherited}, **dict.fromkeys(refused)})


def _of_c(name: str) -> Callable[..., Any]:
    def method(self: StandIn, *args: Any) -> Any:
        _, _, value = self.run
        return bind(lookup(type(value), name), value)(*args)

    return method


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

