"""The code cache: one for all that the engine and the contexts generate.

    cache.get_or_compile(key, owners, compile, stamp)    what compile() returned

Invariants:
  * an entry lives as long as every one of its owners (code objects, context classes, functions) lives;
  * each entry is compiled exactly once per stamp, however many threads ask at the same time;
  * an entry of another stamp (the version of the rules it was made by) is never returned.

Compilation holds one reentrant lock, not one per key: programs compile each other in cycles (mutual
recursion), and per-key locks taken by two threads in opposite orders would deadlock. Under the GIL nothing
is lost by it.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple, TypeVar

from ctxdispatch.ir.own_builtins import own as __builtins__  # type: ignore[no-redef]  # noqa: F401

T = TypeVar("T")
FullKey = tuple[tuple[int, ...], Hashable]


class Stats(NamedTuple):
    """`entries` there are now; `compiled`, how often `compile` ran to its end since the last `clear`."""

    entries: int
    compiled: int


class _Entry(NamedTuple):
    stamp: Hashable
    value: Any


class CodeCache:
    """Generated code by key and owners. Entries die with any of their owners; a new stamp replaces the
    entry."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._entries: dict[FullKey, _Entry] = {}
        self._owned: dict[int, tuple[weakref.ref[Any], set[FullKey]]] = {}
        self._compiled = 0

    def get(self, key: Hashable, owners: tuple[Any, ...], stamp: Hashable = None) -> Any | None:
        entry = self._entries.get((tuple(map(id, owners)), key))
        return entry.value if entry is not None and entry.stamp == stamp else None

    def get_or_compile(
        self, key: Hashable, owners: tuple[Any, ...], compile: Callable[[], T], stamp: Hashable = None
    ) -> T:
        """What fails is not kept: the exception goes to the caller and the next one tries again."""
        full = (tuple(map(id, owners)), key)
        entry = self._entries.get(full)
        if entry is not None and entry.stamp == stamp:
            return entry.value  # type: ignore[no-any-return]
        with self._lock:
            return self._compile(full, owners, compile, stamp)

    def _compile(
        self, full: FullKey, owners: tuple[Any, ...], compile: Callable[[], T], stamp: Hashable
    ) -> T:
        entry = self._entries.get(full)
        if entry is not None and entry.stamp == stamp:  # another thread was first
            return entry.value  # type: ignore[no-any-return]
        value = compile()
        self._compiled += 1
        for owner in owners:
            self._record(owner).add(full)
        self._entries[full] = _Entry(stamp, value)
        return value

    def _record(self, owner: Any) -> set[FullKey]:
        record = self._owned.get(id(owner))
        if record is None:
            address = id(owner)
            record = self._owned[address] = (weakref.ref(owner, lambda _: self._forget(address)), set())
        return record[1]

    def _forget(self, address: int) -> None:
        """The owner at `address` died. Runs in any thread at any time: plain dict operations, no lock."""
        record = self._owned.pop(address, None)
        for full in tuple(record[1]) if record else ():
            self._entries.pop(full, None)

    def clear(self) -> None:
        with self._lock:
            self._entries.clear()
            self._owned.clear()
            self._compiled = 0

    def stats(self) -> Stats:
        return Stats(len(self._entries), self._compiled)


cache = CodeCache()
get_or_compile = cache.get_or_compile
stats = cache.stats
clear = cache.clear
