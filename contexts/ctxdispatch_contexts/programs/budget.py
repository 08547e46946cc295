"""How long the making of a program may take where there is another way: the run is recorded, and traced."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import TypeVar

R = TypeVar("R")
SECONDS = 10.0
"""Of processor time."""
SHORTLY = 2.0
"""The same where a run may have a trace instead, which takes less, and for a part of a run."""

_ends: ContextVar[float | None] = ContextVar("ends", default=None)


class TooLong(Exception):
    """The time is over."""


def seconds(shortly: bool) -> float:
    return min(SHORTLY, SECONDS) if shortly else SECONDS


def in_time(most: float | None, make: Callable[..., R], *args: object) -> R | None:
    """make(*args), what is made within included; None where it takes more seconds than `most`."""
    if most is None or _ends.get() is not None:
        return make(*args)
    token = _ends.set(time.thread_time() + most)
    try:
        return make(*args)
    except TooLong:
        return None
    finally:
        _ends.reset(token)


def steps(most: int) -> Iterator[int]:
    """Of making a program, so long as there is time."""
    for step in range(most):
        check()
        yield step


def check() -> None:
    """Raises where the time is over."""
    ends = _ends.get()
    if ends is not None and time.thread_time() > ends:
        raise TooLong
