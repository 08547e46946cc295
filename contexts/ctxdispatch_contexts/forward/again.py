"""Calls of a derivative at run time, in a program that is itself differentiated.

The inner call's function is found as it would be, and its entry differentiated: the tangents of its arguments
are where the arguments are, and those of its tangents where these are. (A sweep puts its cotangents there.)
"""

from __future__ import annotations

from collections.abc import Sequence
from types import FunctionType
from typing import Any

from ctxdispatch.ir import primitives
from ctxdispatch.ir.values import hashable
from ctxdispatch.passes.resolve import class_attribute
from ctxdispatch_contexts.forward.calling import (
    BY_TYPE,
    CALLABLES,
    NATIVE,
    Arguments,
    Pair,
    RunTimeCall,
    call_any,
    entry_of_unfolded,
)
from ctxdispatch_contexts.forward.places import NOWHERE, Place
from ctxdispatch_contexts.forward.program import ForwardMode
from ctxdispatch_contexts.forward.unfold import unfold
from ctxdispatch_contexts.programs.activity import ZERO_BY_RULE
from ctxdispatch_contexts.programs.entry_keys import HOLE, holes
from ctxdispatch_contexts.programs.entry_table import DESCRIPTORS, call_entry
from ctxdispatch_contexts.programs.errors import unresolved
from ctxdispatch_contexts.programs.methods import Method

Resolved = tuple[Any, list[Place]]
"""The function of an entry, and where its operands are."""


def again(
    context: Any, callee: RunTimeCall, args: Arguments, tangents: Arguments, kwnames: tuple[str, ...],
    k: int | None,
) -> Pair:  # fmt: skip
    found = resolved(callee, args)
    if found is None:
        raise unresolved(callee, args)
    function, places = found
    operands = tuple([place.read(args) for place in places])
    moving = tuple([place.read_tangent(tangents) for place in places])
    return call_any(context, function, None, operands, moving, (), k)


def resolved(call: RunTimeCall, operands: Sequence[Any]) -> Resolved | None:
    """What a call would come to. None where it comes to no entry."""
    site = _Site(call, operands)
    places = site.values
    found = site.entry(places[0], places[1:], site.tangents[0], site.tangents[1:], call.kwnames)
    if found is None or not call.block:
        return found
    return found[0], [*found[1], Place(len(operands) - 1)]


class _Site:
    """One call: `values` and `tangents`, the places of the callee and of the arguments, and of theirs."""

    def __init__(self, call: RunTimeCall, operands: Sequence[Any]) -> None:
        self.own, self.block, self.operands = call.context, call.block, operands
        n = len(operands) - len(call.wrt) - call.block
        moved = {i: Place(n + j) for j, i in enumerate(call.wrt)}
        every = [moved.get(i, NOWHERE) for i in range(n)]
        self.values: list[Place] = [Place(i) for i in range(n)]
        self.tangents: list[Place] = every
        if call.callee is not None:
            given, moving = iter(self.values), iter(every)
            self.values = [Place(None, call.callee)]
            self.tangents = [NOWHERE]
            for item in call.template:
                self.values.append(next(given) if item is HOLE else Place(None, item))
                self.tangents.append(next(moving) if item is HOLE else NOWHERE)

    def entry(
        self, callee: Place, args: Sequence[Place], moved: Place, tangents: Sequence[Place],
        kwnames: tuple[str, ...],
    ) -> Resolved | None:  # fmt: skip
        inner = callee.read(self.operands)
        if type(inner) is RunTimeCall:
            return self._of_derivative(inner, args, tangents)
        if type(inner) is Method:
            found = self._method(inner, args[0])
            return None if found is None else self.entry(found, args, NOWHERE, tangents, kwnames)
        if inner is primitives.call_ex:
            return self._of_packed(args, tangents)
        if inner is getattr:
            return self._attribute(args, tangents[0])
        ruled = hashable(inner) and (self.own.ad_ruled(inner) or inner in NATIVE)
        return None if ruled else self._of_function(inner, (callee, *args), (moved, *tangents), kwnames)

    def _of_function(
        self, inner: Any, roots: Sequence[Place], moving: Sequence[Place], kwnames: tuple[str, ...]
    ) -> Resolved:
        found = unfold(self.own.ad_has_rule, inner, len(roots) - 1, kwnames)
        places = [roots[i].then(steps) for i, steps in found.paths]
        tangents = [moving[i].then(steps, moved=True) for i, steps in found.paths]
        at = self._present(tangents)
        return entry_of_unfolded(self.own, found, at, self.block), [*places, *(tangents[i] for i in at)]

    def _of_derivative(
        self, inner: RunTimeCall, args: Sequence[Place], tangents: Sequence[Place]
    ) -> Resolved | None:
        below = resolved(inner, [place.read(self.operands) for place in args])
        if below is None:
            return None
        function, within = below
        places = [place.among(args) for place in within]
        moving = [place.among(tangents, moved=True) for place in within]
        at = self._present(moving)
        entry = call_entry(self.own, function, holes(len(places)), (), ForwardMode(at, self.block, True))
        return entry.function, [*places, *(moving[i] for i in at)]

    def _of_packed(self, args: Sequence[Place], tangents: Sequence[Place]) -> Resolved | None:
        """f(*args, **kwargs)"""
        packed, named = args[1], args[2] if len(args) > 2 else Place(None, {})
        items, keywords = packed.read(self.operands), named.read(self.operands) or {}
        if not isinstance(items, (tuple, list)):
            return None
        steps = [(("item", i),) for i in range(len(items))], [(("item", name),) for name in keywords]
        moving = (*tangents, NOWHERE)[1:3]
        values = [p.then(s) for p, some in zip((packed, named), steps, strict=True) for s in some]
        moved = [p.then(s, moved=True) for p, some in zip(moving, steps, strict=True) for s in some]
        return self.entry(args[0], values, tangents[0], moved, tuple(keywords))

    def _method(self, method: Method, receiver: Place) -> Place | None:
        obj = receiver.read(self.operands)
        found = class_attribute(type(obj), method.name)
        hidden = method.name in getattr(obj, "__dict__", ())
        known = issubclass(type(found), (FunctionType, *DESCRIPTORS)) and not hidden
        return Place(None, found) if known else None

    def _attribute(self, args: Sequence[Place], moved: Place) -> Resolved | None:
        """obj.name, where it is no method"""
        obj, name = (place.read(self.operands) for place in args[:2])
        plain = len(args) == 2 or hasattr(obj, name)
        if not plain or issubclass(type(obj), CALLABLES) or moved.read(self.operands) is None:
            return None
        found = class_attribute(type(obj), name)
        if issubclass(type(found), (FunctionType, *DESCRIPTORS, classmethod, staticmethod)):
            return None
        entry = call_entry(self.own, getattr, (HOLE, name), (), ForwardMode((0,), self.block, True))
        return entry.function, [args[0], moved]

    def _present(self, tangents: Sequence[Place]) -> tuple[int, ...]:
        return tuple([i for i, place in enumerate(tangents) if place.read(self.operands) is not None])


RunTimeCall.resolved = resolved  # type: ignore[method-assign]
ZERO_BY_RULE.add(resolved)
"""Which function a call comes to, and where its operands are, are no numbers of the program's."""
BY_TYPE[RunTimeCall] = again
