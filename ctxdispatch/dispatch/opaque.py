"""A call of C code: what it gets has no tags of the run, and its result has what `combine` makes of them.

    y = f(x)      x' = Strip.value(x);  y' = f(x');  Result.of(y')

Invariant: what the callee did to a copy of an operand is done to the original too (`Strip.write_back`); a
result that is an operand stays that, and what it was written of is said by a mark.
"""

from __future__ import annotations

import builtins
import functools
import types
from collections.abc import Iterator
from typing import Any

from ctxdispatch.dispatch.shadows import is_array
from ctxdispatch.dispatch.strip import ATOMS, METHODS, Giving, Strip, given, is_iterator
from ctxdispatch.dispatch.tags import Tagged
from ctxdispatch.ir.own_builtins import own as __builtins__  # type: ignore[no-redef]  # noqa: F401

IMMUTABLE: tuple[type, ...] = (
    *ATOMS, tuple, frozenset, slice, types.WrapperDescriptorType, types.MethodDescriptorType,
    types.GetSetDescriptorType, types.MappingProxyType,
)  # fmt: skip


def run_opaque(call: Any, function: tuple[Any, tuple[Any, ...]], args: Any, kwargs: Any) -> Any:
    """call.f(*args, **kwargs); `function` is the canonical form of call.f, and what it is bound to."""
    callee, bound = function
    strip = Strip(call)
    given = strip.arguments(callee, (*bound, *args))
    named = {name: strip.value(value) for name, value in kwargs.items()}
    if type(callee).__name__ == "_ArrayFunctionDispatcher":  # NumPy keeps functions as elements at most
        given = [_caught(call, strip, a) for a in given]
        named = {name: _caught(call, strip, a) for name, a in named.items()}
    if not strip.found and call.engine is None:
        return call.native(*args, **kwargs)
    f = callee if call.engine is not None or any(a is not b for a, b in zip(given, bound)) else call.f
    rest = given if f is callee else given[len(bound) :]
    watched = Watched(strip, (*given, *named.values()))
    try:
        out = call.checked(f, strip, rest, named)
    finally:
        strip.write_back()
    if strip.handed:
        out, *_ = [_given_back(strip, each) for each in (out, *given)]
    tell(call, out, args)
    if bound:
        tell(call, bound[0], args)
    return Result(call, callee, strip, (*bound, *args), given, kwargs, watched).of(out)


def _caught(call: Any, strip: Strip, value: Any) -> Any:
    """A function such that it runs under the context and returns values without tags."""
    if type(value) in (list, tuple):
        made = [_caught(call, strip, each) for each in value]
        return type(value)(made) if any(a is not b for a, b in zip(made, value)) else value
    if not issubclass(type(value), types.FunctionType | types.MethodType | functools.partial):
        return value
    strip.found = True
    made = call.catching(value, strip)
    strip.handed[id(made)] = made, value
    return made


def _given_back(strip: Strip, value: Any) -> Any:
    """`value` with the program's functions in the place of those that NumPy was handed for them."""
    if is_array(value) and value.dtype == object:
        for k, item in enumerate(value.flat):
            if id(item) in strip.handed:
                value.flat[k] = strip.handed[id(item)][1]
    return strip.handed[id(value)][1] if id(value) in strip.handed else value


def tell(call: Any, exception: Any, args: Any) -> None:
    """If it was `args` that `exception` was made of, it is remembered with which tags."""
    if issubclass(type(exception), BaseException) and len(exception.args) == len(args):
        pairs = zip(exception.args, args)
        if any(type(a) is Tagged for a in args) and all(call.bare(a) is told for told, a in pairs):
            call.ctx._told.put(exception, (exception.args, args))


# -- what the callee wrote -------------------------------------------------------------------------


class Watched:
    """The plain arrays that it is given: C code says nowhere which of its arguments it writes into."""

    def __init__(self, strip: Strip, given: tuple[Any, ...]) -> None:
        arrays = [a for a in given if is_array(a) and a.flags.writeable] if strip.metadata else []
        pure = type(strip.call.f).__name__ == "ufunc"
        self._before = [] if pure else [(a, a.copy()) for a in arrays]

    def changed(self) -> Iterator[Any]:
        return (array for array, before in self._before if array.tobytes() != before.tobytes())


WRITES: dict[Any, tuple[Any, ...]] = {builtins.print: ("file",)}
"""Functions that write into an argument: its positions and keywords."""


class Result:
    """The tag of what an opaque call returned, and of what it wrote into."""

    def __init__(
        self, call: Any, callee: Any, strip: Strip, args: Any, given: Any, kwargs: Any, watched: Watched
    ) -> None:
        self.call, self.callee, self.strip = call, callee, strip
        self.args, self.given, self.kwargs, self.watched = args, given, kwargs, watched

    def of(self, out: Any) -> Any:
        strip, call = self.strip, self.call
        out = strip.copies[id(out)][0] if id(out) in strip.copies else out
        if not strip.metadata:
            return self._lazily(out)
        if strip.shadowed or is_array(out):
            from ctxdispatch.dispatch import arrays

            done, out = arrays.elementwise(self, out)
            if done:
                return out
        wrote = self._mark_written()
        if out is None and (wrote or id(self.callee) in _NOTHING):
            return None
        if self._is_operand(out):
            self.mark(out)
            return out
        out = call.give(out, strip.metadata)
        return self._lazily(out)

    def _lazily(self, out: Any) -> Any:
        """What goes through iterators later gives items that are made of theirs."""
        if not self.strip.wraps or not is_iterator(out):
            return out
        return map(Giving(given, self.call, self.strip.metadata), out)

    def _is_operand(self, out: Any) -> bool:
        given = (*self.args, *self.kwargs.values())
        return not issubclass(type(out), IMMUTABLE) and any(out is a for a in given)

    def mark(self, value: Any) -> None:
        made = self.call.combined(self.strip.metadata, value)
        if made is None:
            return
        if is_array(value):
            self.call.ctx._shadows.fill(value, made)
        else:
            self.call.mark(value, self.strip.metadata)

    def _mark_written(self) -> bool:
        """Whether something was written into: what such a function returns, if None, says nothing."""
        into = [self.args[0]] if self._receives() else []
        for place in WRITES.get(self.callee, ()) if self.callee.__hash__ else ():
            into += self.args[place : place + 1] if issubclass(type(place), int) else [self.kwargs.get(place)]
        into += self.watched.changed()
        for value in into:
            if value is not None:
                self.mark(value)
        return bool(into)

    def _receives(self) -> bool:
        """A method of something that changes."""
        if type(self.callee) not in METHODS or not self.args:
            return False
        receiver = self.call.bare(self.args[0])
        name = type(receiver).__module__
        held = issubclass(type(receiver), (*IMMUTABLE, list, dict, set)) or is_array(receiver)
        return not held and name not in _PURE


_PURE = ("re", "datetime", "decimal", "fractions", "numpy", "numpy.random._generator", "_struct", "operator")
_NOTHING = {id(builtins.print)}
