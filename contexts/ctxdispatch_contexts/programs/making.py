"""Programs that are made of programs: those in between are made once while the outermost one is compiled.

Inference asks what a call returns, round after round, at each level of `grad(grad(grad(f)))`. Nothing is kept
longer: what a program takes for granted may be otherwise the next time.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import TracebackType
from typing import Any


class Making:
    """Open while a program is compiled. Not thread-safe: for those who hold the compiler's lock."""

    def __init__(self) -> None:
        self._depth = 0
        self._cuts = 0
        self._made: dict[Hashable, Any] = {}

    def __enter__(self) -> None:
        self._depth += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._depth -= 1
        if not self._depth:
            self._made.clear()

    def cut(self) -> None:
        """A recursive function was asked for while it was being made: what comes of it knows less than what
        is made from the beginning, and is not kept."""
        self._cuts += 1

    def get_or_make(self, key: Hashable, make: Callable[[], Any]) -> Any:
        if key in self._made:
            return self._made[key]
        before = self._cuts
        made = make()
        if self._depth and self._cuts == before:
            self._made[key] = made
        return made


_OPENED: ContextVar[bool] = ContextVar("opened", default=True)


@contextmanager
def variables_opened(opened: bool) -> Iterator[None]:
    """Whether programs take for granted what objects and containers in variables hold. One that finds
    something else there at each call (a function made anew) would be made at each."""
    token = _OPENED.set(opened)
    try:
        yield
    finally:
        _OPENED.reset(token)


def opens_variables() -> bool:
    return _OPENED.get()
