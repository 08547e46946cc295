"""What code that is not followed may change: its state before, and how that is had again.

    taken = Snapshot(run, f, args)
    taken.changed()    the containers, objects, arrays, classes and modules' variables that are not what they
                       were
    taken.restore()    they are again
    taken.told()       as they are now, with the journal able to take that back
"""

from __future__ import annotations

import array
import io
import types
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np

from ctxdispatch.dispatch.reach import HEAPTYPE
from ctxdispatch.ir.leaves import is_ours
from ctxdispatch_contexts.sparsity.callees import of_library
from ctxdispatch_contexts.sparsity.errors import described
from ctxdispatch_contexts.sparsity.journal import Cursor, is_mutable
from ctxdispatch_contexts.sparsity.run import held
from ctxdispatch_contexts.sparsity.values import root_of

BUFFERS = (bytearray, array.array)
"""What holds numbers, and no objects."""


class Snapshot:
    """Of all that `things` lead to, the first of which is the callee; and the functions' modules."""

    def __init__(self, run: Any, named: list[Any], *things: Any) -> None:
        self.run = run
        if type(things[0]) is types.FunctionType:
            self._check_iterators(things[0], run.reachable(*things[:3], named))
        found = run.reachable(*things, named)
        arrays = [root_of(a) for a in run.reachable(*things, named, arrays=True)]
        functions = [f for f in found if type(f) is types.FunctionType]
        spaces = [f.__globals__ for f in functions if f is things[0] or not of_library(f)]
        mutable = [t for t in found if is_mutable(t) or issubclass(type(t), BUFFERS)]
        arrays = [a for a in arrays if issubclass(type(a), np.ndarray)]
        kept = {id(t): t for t in (*mutable, *arrays, *spaces)}
        self.things = [(t, self._state(t), _shallow(t)) for t in kept.values()]
        classes = {type(t) for t in found} | {v for v in named if issubclass(type(v), type)}
        self.classes = [(cls, dict(vars(cls))) for cls in classes if _may_change(cls)]

    def _check_iterators(self, f: Any, found: list[Any]) -> None:
        for thing in found:
            cls = type(thing)  # proxies have the methods of anything
            if issubclass(cls, Iterator) and not issubclass(cls, (Cursor, io.IOBase, *weakref.ProxyTypes)):
                self.run.refuse(
                    f"{described(f)} is not looked into, and could advance a {type(thing).__name__}, which "
                    "cannot be set back; pass it a list"
                )

    def _state(self, thing: Any) -> Any:
        return thing[:] if issubclass(type(thing), array.array) else self.run.journal.save(thing)

    def _set(self, thing: Any, state: Any) -> None:
        if issubclass(type(thing), array.array):
            thing[:] = state
        else:
            self.run.journal.restore(thing, state)

    def _changed(self) -> list[tuple[Any, Any]]:
        return [(t, state) for t, state, old in self.things if not _same(old, _shallow(t))]

    def changed(self) -> list[Any]:
        """Arrays do not count: it is seen what becomes of them."""
        found = [t for t, _ in self._changed() if not issubclass(type(t), np.ndarray)]
        return found + [cls for cls, state in self.classes if not _same_items(state, dict(vars(cls)))]

    def restore(self) -> None:
        for thing, state in self._changed():
            self._set(thing, state)
        for cls, state in self.classes:
            now = dict(vars(cls))
            for name in now.keys() - state.keys():
                delattr(cls, name)
            for name in [n for n in state if now.get(n) is not state[n]]:
                setattr(cls, name, state[name])

    def told(self) -> None:
        for thing, before in self._changed():
            after = self._state(thing)
            self._set(thing, before)
            self.run.touch(thing)
            self._set(thing, after)


def _may_change(cls: type) -> bool:
    return bool(cls.__flags__ & HEAPTYPE) and not of_library(cls) and not is_ours(cls.__module__)


def _shallow(thing: Any) -> list[Any]:
    """What it holds: numbers as bytes, all else by identity."""
    if issubclass(type(thing), Cursor):
        return [thing.items]
    if issubclass(type(thing), (np.ndarray, *BUFFERS)):
        return [thing.tobytes() if issubclass(type(thing), np.ndarray) else bytes(thing)]
    return list(thing.values()) if issubclass(type(thing), dict) else held(thing)


def _same(old: list[Any], new: list[Any]) -> bool:
    return len(old) == len(new) and all(map(_is_same, old, new))


def _is_same(x: Any, y: Any) -> bool:
    return x is y or (type(x) is bytes and x == y)


def _same_items(old: dict[str, Any], new: dict[str, Any]) -> bool:
    return old.keys() == new.keys() and all(new[name] is old[name] for name in old)
