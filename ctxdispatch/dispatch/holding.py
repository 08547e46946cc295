"""What an object holds that says so by no attribute: views, iterators, generators, bound methods, partials.

    held_by(iter([x]))       [[x]]

Invariants: nothing is taken from an iterator for it, and the engine's own objects are left out. No tuple is
looked into that C code may still be filling, or emptying (`zip_longest`): it is asked what it refers to, as
the garbage collector asks.
"""

from __future__ import annotations

import functools
import gc
import itertools
import types
from collections.abc import Callable
from typing import Any

from ctxdispatch.dispatch.context import Context
from ctxdispatch.dispatch.reach import CMETHOD, Engine
from ctxdispatch.dispatch.strip import VIEWS, Giving, Strip, Untagging, is_iterator
from ctxdispatch.ir.own_builtins import own as __builtins__  # type: ignore[no-redef]  # noqa: F401
from ctxdispatch.ir.sites import CELL, CONTEXT


def is_holder(value: Any) -> bool:
    return issubclass(type(value), (*_HELD,)) or is_iterator(value)


def held_by(value: Any) -> list[Any]:
    """What a holder holds."""
    known = next((held for cls, held in _HELD.items() if issubclass(type(value), cls)), referents)
    return [item for item in known(value) if not issubclass(type(item), _OF_ENGINE)]


def referents(value: Any) -> list[Any]:
    """What an object of C code refers to, with what its own tuples and nodes refer to in their place."""
    found = gc.get_referents(value)
    for part in found:  # grows
        if type(part) in _INSIDES:
            found += gc.get_referents(part)
    return [part for part in found if type(part) not in _INSIDES]


_INSIDES = (tuple, itertools._tee_dataobject)  # type: ignore[attr-defined]


def metadata_of(value: Any) -> list[Any]:
    """What the engine gives to items that are taken from `value`."""
    return [*value.args[1]] if issubclass(type(value), Giving) else []


def _in_partial(value: functools.partial[Any]) -> list[Any]:
    return [] if issubclass(type(value), Giving) else [value.func, *value.args, *value.keywords.values()]


def _in_method(value: Any) -> list[Any]:
    return [] if issubclass(type(value.__self__), types.ModuleType | type) else [value.__self__]


def _in_generator(value: types.GeneratorType[Any, Any, Any]) -> list[Any]:
    local = {} if value.gi_frame is None else value.gi_frame.f_locals
    return [item for name, item in local.items() if not name.startswith((CELL, CONTEXT))]


_METHODS: tuple[type, ...] = (
    types.MethodType, types.BuiltinMethodType, types.MethodWrapperType, CMETHOD,
)  # fmt: skip

_HELD: dict[type, Callable[[Any], list[Any]]] = {
    functools.partial: _in_partial,
    types.GeneratorType: _in_generator,
    Untagging: lambda value: [value.iterator],
    **dict.fromkeys(_METHODS, _in_method),
    **dict.fromkeys(VIEWS, gc.get_referents),
}
_OF_ENGINE = (Context, Engine, Strip, types.NoneType)
