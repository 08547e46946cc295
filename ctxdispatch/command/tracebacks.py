"""Tracebacks of programs that the command line runs. What goes is `dispatch/tracebacks.py`'s."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from types import CodeType, TracebackType
from typing import Any

from ctxdispatch.dispatch.tracebacks import clean, place_of

Hook = Callable[[type[BaseException], BaseException, TracebackType | None], Any]


def hide_engine(start: CodeType, others: Iterable[CodeType] = ()) -> None:
    """From now on the hook for uncaught exceptions, whichever the program has set, is shown the user's
    frames. `start`: the function that entered the program; what is further out is not the program's.
    `others`: what runs within it for a context, and is not the program's either."""
    hidden = frozenset(map(place_of, others))
    shown: Hook = sys.excepthook

    def excepthook(kind: type[BaseException], error: BaseException, tb: TracebackType | None) -> None:
        clean(error, start, hidden)
        shown(kind, error, error.__traceback__)

    sys.excepthook = excepthook
