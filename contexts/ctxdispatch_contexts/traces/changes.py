"""What a run changes of what was there before: it has to be as it was when the run ends (a setting that holds
for a while, a depth that is counted up and down). Where it is not, it is put back: the trace is none."""

from __future__ import annotations

import types
from typing import Any, NamedTuple

from ctxdispatch.dispatch.reach import ABSENT, is_python, lookup
from ctxdispatch_contexts.traces.kinds import MAPPINGS, fixed
from ctxdispatch_contexts.traces.origins import same_contents


class OfList(NamedTuple):
    owner: list[Any]
    items: list[Any]

    def is_back(self) -> bool:
        return _are(self.owner, self.items)

    def put_back(self) -> None:
        self.owner[:] = self.items


class OfMapping(NamedTuple):
    owner: Any
    keys: list[Any]
    items: list[Any]

    def is_back(self) -> bool:
        return same_contents(self.owner, self.keys) and _are([*self.owner.values()], self.items)

    def put_back(self) -> None:
        base = type(self.owner) if hasattr(type(self.owner), "move_to_end") else dict  # a Counter adds
        base.clear(self.owner)
        for key, item in zip(self.keys, self.items, strict=True):
            base.__setitem__(self.owner, key, item)


class OfAttribute(NamedTuple):
    owner: Any
    name: str
    before: Any

    def is_back(self) -> bool:
        return _is(_attribute(self.owner, self.name), self.before)

    def put_back(self) -> None:
        put = type.__setattr__ if issubclass(type(self.owner), type) else object.__setattr__
        put(self.owner, self.name, self.before)


class Changes:
    def __init__(self) -> None:
        self._changed: dict[tuple[int, str | None], OfList | OfMapping | OfAttribute] = {}

    def of_items(self, owner: Any) -> bool:
        """Before `owner` gets other items; whether they could be put back."""
        if (id(owner), None) not in self._changed:
            if type(owner) is list:
                self._changed[id(owner), None] = OfList(owner, [*owner])
            elif type(owner) in MAPPINGS:
                self._changed[id(owner), None] = OfMapping(owner, [*owner], [*owner.values()])
            else:
                return False
        return True

    def of_attribute(self, owner: Any, name: str) -> bool:
        """Before there is something else; whether it could be put back. Not where there is nothing, for the
        order of attributes would be another."""
        if (id(owner), name) not in self._changed:
            before = _attribute(owner, name) if _is_plain_store(owner, name) else ABSENT
            if before is ABSENT:
                return False
            self._changed[id(owner), name] = OfAttribute(owner, name, before)
        return True

    def end(self) -> bool:
        """Whether all is as it was; it is so afterwards."""
        was_so = True
        for change in reversed(self._changed.values()):
            if not change.is_back():
                change.put_back()
                was_so = False
        return was_so


def _is_plain_store(owner: Any, name: str) -> bool:
    """It is put where attributes of that object are, and nobody else is asked."""
    cls, found = type(owner), lookup(type(owner), name)
    if (fixed(owner) and not issubclass(cls, type)) or is_python(lookup(cls, "__setattr__")):
        return False
    return type(found) is types.MemberDescriptorType or not hasattr(type(found), "__set__")


def _attribute(owner: Any, name: str) -> Any:
    slot = lookup(type(owner), name)
    if type(slot) is not types.MemberDescriptorType:
        return getattr(owner, "__dict__", {}).get(name, ABSENT)
    try:
        return slot.__get__(owner)
    except AttributeError:
        return ABSENT


def _are(now: list[Any], before: list[Any]) -> bool:
    return len(now) == len(before) and all(map(_is, now, before))


def _is(now: Any, before: Any) -> bool:
    """Another whole number may be an equal one."""
    return now is before or (type(now) is type(before) is int and bool(now == before))
