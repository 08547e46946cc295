"""What a run changes of what was there before: it has to be as it was when the run ends (a setting that holds
for a while, a depth that is counted up and down). Where it is not, it is put back: the trace is none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ctxdispatch_contexts.traces.kinds import MAPPINGS, fields_of, fixed


class Change(NamedTuple):
    owner: Any
    read: Callable[[Any], dict[Any, Any]]
    before: dict[Any, Any]


class Changes:
    def __init__(self) -> None:
        self._changed: dict[int, Change] = {}

    def note(self, owner: Any) -> bool:
        """Before `owner` changes; whether it could be put back."""
        if id(owner) not in self._changed:
            read = _reader(owner)
            if read is None:
                return False
            self._changed[id(owner)] = Change(owner, read, read(owner))
        return True

    def end(self) -> bool:
        """Whether all is as it was; it is so afterwards."""
        was_so = [_put_back(change) for change in self._changed.values()]
        return all(was_so)


def _reader(owner: Any) -> Callable[[Any], dict[Any, Any]] | None:
    if type(owner) in MAPPINGS:
        return dict
    if type(owner) is list:
        return lambda items: dict(enumerate(items))
    if issubclass(type(owner), type):
        return lambda cls: dict(vars(cls))
    return None if fixed(owner) or fields_of(owner) is None else fields_of


def _put_back(change: Change) -> bool:
    owner, now, before = change.owner, change.read(change.owner) or {}, change.before
    if len(now) == len(before) and all(map(_same, now.items(), before.items())):
        return True
    if type(owner) is list:
        owner[:] = before.values()
    elif type(owner) in MAPPINGS:
        owner.clear()
        owner.update(before)
    else:
        for name in now.keys() - before.keys():
            delattr(owner, name)
        for name, value in before.items():
            if name not in now or now[name] is not value:
                setattr(owner, name, value)
    return False


def _same(now: tuple[Any, Any], before: tuple[Any, Any]) -> bool:
    """Another whole number may be an equal one."""
    (key, value), (name, held) = now, before
    return key == name and (value is held or (type(value) is type(held) is int and value == held))
