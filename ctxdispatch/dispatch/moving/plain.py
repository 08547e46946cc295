"""Rows for what looks at operands as wholes: how they run, and whether their tags count."""

from __future__ import annotations

import _thread
import builtins
import collections
import contextvars
import copy
import functools
import operator
import sys
import types
import warnings
import weakref
from collections.abc import Callable
from typing import Any

from ctxdispatch.dispatch.opaque import run_opaque
from ctxdispatch.dispatch.shadows import is_array
from ctxdispatch.dispatch.strip import Strip
from ctxdispatch.dispatch.where import user_frame
from ctxdispatch.facts import DICT_VIEWS, IDENTITY, RUNS_TEXT, TRUTH
from ctxdispatch.ir import matching, primitives
from ctxdispatch.ir.own_builtins import own as __builtins__  # type: ignore[no-redef]  # noqa: F401
from ctxdispatch.ir.registry import Registry
from ctxdispatch.ir.wrappers import WRAPPERS

Row = Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]
HANDLED: Registry[Row] = Registry()
"""Rows that are not derived from facts."""


def opaque(call: Any, args: Any, kwargs: Any) -> Any:
    return run_opaque(call, (call.f, ()), args, kwargs)


@HANDLED.of(
    functools.partial, types.SimpleNamespace, types.MappingProxyType, types.MethodType,
    _thread.start_new_thread, builtins.super, staticmethod, classmethod, property, operator.call,
    operator.itemgetter, *WRAPPERS,
)  # fmt: skip
def as_it_is(call: Any, args: Any, kwargs: Any) -> Any:
    return call.native(*args, **kwargs)


if hasattr(_thread, "start_joinable_thread"):
    HANDLED[_thread.start_joinable_thread] = as_it_is


@HANDLED.of(contextvars.ContextVar.set, contextvars.ContextVar.get, contextvars.Context.run)
def of_receiver(call: Any, args: Any, kwargs: Any) -> Any:
    """A method of C code that hands on its operands as they are; it wants its instance bare."""
    return call.native(*map(call.bare, args[:1]), *args[1:], **kwargs)


@HANDLED.of(
    builtins.type, builtins.id, builtins.callable, builtins.hasattr, matching.match_sequence,
    matching.match_mapping, object.__new__, object.__init__, weakref.ref, weakref.proxy, type.__call__,
    object.__init_subclass__,
)  # fmt: skip
def without_tags(call: Any, args: Any, kwargs: Any) -> Any:
    """The operands without theirs, and none for the result."""
    return call.native(*map(call.bare, args), **{k: call.bare(v) for k, v in kwargs.items()})


@HANDLED.of(builtins.isinstance, builtins.issubclass)
def classes(call: Any, args: Any, kwargs: Any) -> Any:
    """isinstance, issubclass: of a tuple of classes too."""
    return without_tags(call, tuple(Strip(call).value(a) if type(a) is tuple else a for a in args), kwargs)


@HANDLED.of(builtins.len, builtins.bool, *TRUTH, *IDENTITY)
def about(call: Any, args: Any, kwargs: Any) -> Any:
    """Depends on the operands alone, not on what is in them: `not xs`, `len(xs)`, `x is y`."""
    strip = Strip(call)
    strip.metadata = call.held(*args)
    for a in map(call.bare, args):
        strip.metadata += call.ctx._shadows.metadata(a) if is_array(a) else ()
    return call.give(call.checked(call.f, strip, [*map(call.bare, args)], kwargs), strip.metadata)


@HANDLED.of(*RUNS_TEXT)
def evaluate(call: Any, args: Any, kwargs: Any) -> Any:
    """eval, exec: without namespaces they look at the frame that calls them, which is not the user's here."""
    strip = Strip(call)
    source, namespaces = [*map(strip.value, args[:1])], [*map(call.bare, args[1:])]
    named = {name: call.bare(value) for name, value in kwargs.items()}
    frame = user_frame()
    if not namespaces and "globals" not in named and frame is not None:
        local = frame.f_locals
        namespaces = [frame.f_globals, local if type(local) is dict else dict(local)]
    out = call.native(*source, *namespaces, **named)
    return out if call.f is builtins.exec else call.give(out, strip.metadata)


@HANDLED.of(warnings.warn)
def warn(call: Any, args: Any, kwargs: Any) -> Any:
    """warnings.warn, which counts frames, from the one that calls it: ours, up to the user's, are none."""
    strip = Strip(call)
    given = [strip.value(a) for a in args]
    named = {name: strip.value(value) for name, value in kwargs.items()}
    target = call.find(call.f)
    if target is call.f:
        level = given.pop(2) if len(given) == 3 else named.pop("stacklevel", 1)
        named["stacklevel"] = level + _depth()
    return target(*given, **named)


def _depth() -> int:
    """How many frames are between the user's and the caller, which counts."""
    user, frame, depth = user_frame(), sys._getframe(1), 0
    while frame is not None and frame is not user:
        frame, depth = frame.f_back, depth + 1  # type: ignore[assignment]
    return depth if frame is not None else 0


@HANDLED.of(primitives.enter, primitives.enter_async)
def enter(call: Any, args: Any, kwargs: Any) -> Any:
    """`with`: the exit, and what entering returned."""
    leave, entered = call.native(*map(call.bare, args))
    return leave, call.give(entered, call.held(*args))


@HANDLED.of(*DICT_VIEWS, list.copy, dict.copy, set.copy, collections.deque.copy, copy.copy, copy.deepcopy)
def view(call: Any, args: Any, kwargs: Any) -> Any:
    """d.keys(), xs.copy(): it has the tag of the whole."""
    return call.give(call.native(call.bare(args[0]), *args[1:], **kwargs), call.held(args[0]))


@HANDLED.of(types.GeneratorType.send, types.GeneratorType.throw, types.GeneratorType.close)
def resume(call: Any, args: Any, kwargs: Any) -> Any:
    """generator.send(x), which moves it; throw(x)"""
    rest = args[1:] if call.f.__name__ == "send" else map(call.bare, args[1:])
    return call.give(call.native(call.bare(args[0]), *rest, **kwargs), call.held(args[0]))
