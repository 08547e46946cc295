"""What a run changes of what was there before: it has to be as it was when the run ends (a setting that holds
for a while, a depth that is counted up and down). Where it is not, it is put back: the trace is none."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any, NamedTuple

from ctxdispatch.dispatch.reach import is_python, lookup
from ctxdispatch_contexts.traces.kinds import MAPPINGS, fixed

GONE = object()


class Change(NamedTuple):
    owner: Any
    now: Callable[[], Any]
    """What is there now, as `before` was."""
    before: Any
    put_back: Callable[[], Any]


class Changes:
    def __init__(self) -> None:
        self._changed: dict[tuple[int, str | None], Change] = {}

    def of_items(self, owner: Any) -> bool:
        """Before `owner` gets other items; whether they could be put back."""
        if (id(owner), None) in self._changed:
            return True
        if type(owner) is list:
            before: Any = [*owner]
            change = Change(owner, lambda: [*owner], before, lambda: owner.__setitem__(slice(None), before))
        elif type(owner) in MAPPINGS:
            before = [*owner.items()]
            change = Change(owner, lambda: [*owner.items()], before, lambda: _fill(owner, before))
        else:
            return False
        self._changed[id(owner), None] = change
        return True

    def of_attribute(self, owner: Any, name: str) -> bool:
        """Before there is something else; whether it could be put back. Not where there is nothing, for the
        order of attributes would be another."""
        if (id(owner), name) in self._changed:
            return True
        cls, found = type(owner), lookup(type(owner), name)
        if (fixed(owner) and not issubclass(cls, type)) or is_python(lookup(cls, "__setattr__")):
            return False
        if type(found) is not types.MemberDescriptorType and hasattr(type(found), "__set__"):
            return False
        before = _attribute(owner, name)
        if before is GONE:
            return False
        put = type.__setattr__ if issubclass(cls, type) else object.__setattr__
        change = Change(owner, lambda: _attribute(owner, name), before, lambda: put(owner, name, before))
        self._changed[id(owner), name] = change
        return True

    def end(self) -> bool:
        """Whether all is as it was; it is so afterwards."""
        was_so = True
        for change in reversed(self._changed.values()):
            if not _same(change.now(), change.before):
                change.put_back()
                was_so = False
        return was_so


def _fill(owner: Any, items: list[tuple[Any, Any]]) -> None:
    base = (
        type(owner) if hasattr(type(owner), "move_to_end") else dict
    )  # what `update` of a Counter does is to add
    base.clear(owner)
    for key, value in items:
        base.__setitem__(owner, key, value)


def _attribute(owner: Any, name: str) -> Any:
    slot = lookup(type(owner), name)
    if type(slot) is not types.MemberDescriptorType:
        return getattr(owner, "__dict__", {}).get(name, GONE)
    try:
        return slot.__get__(owner)
    except AttributeError:
        return GONE


def _same(now: Any, before: Any) -> bool:
    if type(before) is list and type(now) is list and now is not before:  # items
        return len(now) == len(before) and all(map(_same_item, now, before))
    return _is_it(now, before)


def _same_item(now: Any, before: Any) -> bool:
    if type(now) is type(before) is tuple and len(now) == len(before) == 2:  # an entry
        return now[0] is before[0] and _is_it(now[1], before[1])
    return _is_it(now, before)


def _is_it(now: Any, before: Any) -> bool:
    """Another whole number may be an equal one."""
    return now is before or (type(now) is type(before) is int and bool(now == before))
