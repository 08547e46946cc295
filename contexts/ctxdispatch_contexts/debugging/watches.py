"""Watch expressions: stop when a value changes."""

from __future__ import annotations

import copy
from collections.abc import Callable
from enum import Enum
from types import FrameType
from typing import Any

import numpy as np


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


def _equal(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    try:
        same = a == b
        return bool(same) if np.ndim(same) == 0 else np.shape(a) == np.shape(b) and bool(np.all(same))
    except Exception:
        return False
