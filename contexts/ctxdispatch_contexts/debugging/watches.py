"""Watch expressions: stop when a value changes."""

from __future__ import annotations

import copy
from collections.abc import Callable
from enum import Enum
from types import FrameType
from typing import Any

import numpy as np

from ctxdispatch.dispatch.reach import HEAPTYPE


class Absent(Enum):
    """A member, so that a copy of it is the same one."""

    ABSENT = "(not defined)"

    def __repr__(self) -> str:
        return self.value


class Watch:
    """An expression in one call of a function. Its value is copied (deeply, where that is possible), so what
    is changed in place is a change."""

    def __init__(
        self, number: int, expression: str, frame: FrameType, value: Callable[[str, FrameType], Any]
    ) -> None:
        self.number, self.expression, self.frame = number, expression, frame
        self._evaluate = value
        self.value = _copied(self._now())

    def _now(self) -> Any:
        try:
            return self._evaluate(self.expression, self.frame)
        except Exception:
            return Absent.ABSENT

    def changed(self) -> tuple[Any, Any] | None:
        """(before, now) if it is another than when it was last asked."""
        before, now = self.value, self._now()
        if _equal(before, now):
            return None
        self.value = _copied(now)
        return before, now


def _copied(value: Any) -> Any:
    try:
        return copy.deepcopy(value)
    except Exception:
        return value


def _equal(before: Any, now: Any) -> bool:
    """Whether nothing was changed. A copy has no identity: objects without an `__eq__` are what they hold."""
    left, seen = [(before, now)], set()
    while left:
        a, b = left.pop()
        if a is b or (id(a), id(b)) in seen:
            continue
        seen.add((id(a), id(b)))
        parts = _parts(a, b)
        if parts is None:
            return False
        left += parts
    return True


def _parts(a: Any, b: Any) -> list[tuple[Any, Any]] | None:
    """What is to be equal for `a` and `b` to be so; None if they differ."""
    if type(a) is not type(b):
        return None
    if isinstance(a, np.ndarray) and a.dtype != object:
        same = a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind in "fcmM")
        return [] if same else None
    if type(a).__eq__ is object.__eq__ and type(a).__flags__ & HEAPTYPE:
        return [(object.__getstate__(a), object.__getstate__(b))]
    if isinstance(a, list | tuple):
        return [*zip(a, b)] if len(a) == len(b) else None
    if isinstance(a, dict):
        return [(a[k], b[k]) for k in a] if a.keys() == b.keys() else None
    try:
        nans = isinstance(a, float | complex) and a != a and b != b
        return [] if nans or np.all(a == b) else None
    except Exception:  # of the program's class: it cannot be said, so it is shown
        return None
