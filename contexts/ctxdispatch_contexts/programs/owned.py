"""What is generated for a function is kept by that function: as long as it lives, and no longer.

A table from functions to programs could not be weak: a program refers to the function it was made of (its
guards look at it), and would keep its own key alive. In the function's `__dict__` the two are a cycle that
the garbage collector sees.

What has no `__dict__` of its own (builtins), or is met under another object each time (closures: their code),
is in a bounded table, the least recently made dropped.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from types import FunctionType
from typing import Any, TypeVar

T = TypeVar("T")

ATTRIBUTE = "__ctxdispatch__"

_lock = threading.RLock()


class Table(dict[Hashable, Any]):
    """Values by key; one per key, however many threads ask at once."""

    __slots__ = ()

    def get_or_make(self, key: Hashable, make: Callable[[], T]) -> T:
        found: T | None = self.get(key)
        if found is not None:
            return found
        with _lock:
            return self[key] if key in self else self._put(key, make())  # type: ignore[no-any-return]

    def put(self, key: Hashable, value: Any) -> None:
        with _lock:
            self._put(key, value)

    def _put(self, key: Hashable, value: T) -> T:
        self[key] = value
        return value


class Generated(Table):
    """What was generated for `owner`, by what it was generated for."""

    __slots__ = ("owner",)

    def __init__(self, owner: FunctionType | None = None) -> None:
        self.owner = owner

    def __reduce__(self) -> tuple[type[Generated], tuple[()]]:
        """Nothing goes along where a function is pickled by value."""
        return Generated, ()

    def __repr__(self) -> str:
        return f"<{len(self)} generated programs>"


class Bounded(Table):
    """At most `size` values, the oldest dropped."""

    __slots__ = ("_size",)

    def __init__(self, size: int) -> None:
        self._size = size

    def _put(self, key: Hashable, value: T) -> T:
        super()._put(key, value)
        if len(self) > self._size:
            del self[next(iter(self))]
        return value


def generated(function: FunctionType) -> Generated:
    """What was generated for this very function: `functools.wraps` copies attributes."""
    found = function.__dict__.get(ATTRIBUTE)
    if type(found) is Generated and found.owner is function:
        return found
    with _lock:
        found = function.__dict__.get(ATTRIBUTE)
        if type(found) is not Generated or found.owner is not function:
            found = function.__dict__[ATTRIBUTE] = Generated(function)
        return found


def for_code(f: FunctionType, key: Hashable, make: Callable[[], T]) -> T:
    """What is made for `f`, found again as long as its code, and the number of its defaults, stay what they
    are. Not of closures for their code: of this very function."""
    table, code, defaults = generated(f), f.__code__, len(f.__defaults__ or ())
    found = table.get((for_code, key))
    if found is None or found[0] is not code or found[1] != defaults:
        found = table[for_code, key] = (code, defaults, make())
    return found[2]  # type: ignore[no-any-return]
