"""Numbers that a run follows though they were there before it (`remembered.py`)."""

from __future__ import annotations

import types
from typing import Any, NamedTuple


class Suspect(NamedTuple):
    """A number or array, the place of the test by which it is suspected, and whether the program stores to
    where it was found."""

    value: Any
    at: Any
    stored: bool


class Suspects:
    """Of one run."""

    def __init__(self) -> None:
        self.found: dict[int, Suspect] = {}
        self.left: dict[int, Any] = {}
        """What earlier runs have left: `left.py`."""
        self.texts: dict[int, Any] = {}
        """What was made of values that depend on what is differentiated."""
        self._tests: set[tuple[types.CodeType, int]] = set()

    def is_first(self, frame: types.FrameType) -> bool:
        """The first time that the test, where the frame stands, has this outcome."""
        test = frame.f_code, frame.f_lasti
        known = test in self._tests
        self._tests.add(test)
        return not known
