"""Tracebacks as the plain run has them: without the frames of the engine.

Invariant: an exception that passes keeps its type, arguments, notes and chain; only entries of its traceback
go.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Container, Iterable, Iterator
from types import CodeType, TracebackType
from typing import Any

from ctxdispatch.ir.leaves import is_ours

Place = tuple[str, str, int]
Hook = Callable[[type[BaseException], BaseException, TracebackType | None], Any]


def hide_engine(start: CodeType, others: Iterable[CodeType] = ()) -> None:
    """From now on the hook for uncaught exceptions, whichever the program has set, is shown the user's
    frames. `start`: the function that entered the program; what is further out is not the program's.
    `others`: what runs within it for a context, and is not the program's either."""
    hidden = frozenset(map(_place, others))
    shown: Hook = sys.excepthook

    def excepthook(kind: type[BaseException], error: BaseException, tb: TracebackType | None) -> None:
        clean(error, start, hidden)
        shown(kind, error, error.__traceback__)

    sys.excepthook = excepthook


def clean(
    error: BaseException, start: CodeType | None = None, hidden: Container[Place] = frozenset()
) -> None:
    """Take the engine's entries out of the tracebacks of `error` and of all that it leads to, in place."""
    for each in chain(error):
        each.__traceback__ = rebuilt(each.__traceback__, start, hidden)


def chain(error: BaseException) -> Iterator[BaseException]:
    """`error`, its causes and contexts, and the members of groups, each once."""
    seen: set[int] = set()
    work: list[BaseException | None] = [error]
    while work:
        each = work.pop()
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        work += [each.__cause__, each.__context__]
        work += each.exceptions if isinstance(each, BaseExceptionGroup) else ()


def rebuilt(
    tb: TracebackType | None, start: CodeType | None, hidden: Container[Place]
) -> TracebackType | None:
    """`tb` from the program's outermost frame on, without the engine's entries and those of `hidden`."""
    entries = list(_entries(tb))
    begins = [i + 1 for i, entry in enumerate(entries) if entry.tb_frame.f_code is start]
    made = None
    for entry in reversed(entries[begins[0] if begins else 0 :]):
        if not (_is_ours(entry) or _place(entry.tb_frame.f_code) in hidden):
            made = TracebackType(made, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return made


def _entries(tb: TracebackType | None) -> Iterator[TracebackType]:
    while tb is not None:
        yield tb
        tb = tb.tb_next


def _place(code: CodeType) -> Place:
    """Of `code` and of what contexts made of it."""
    return code.co_filename, code.co_qualname, code.co_firstlineno


def _is_ours(entry: TracebackType) -> bool:
    return is_ours(entry.tb_frame.f_globals.get("__name__"))
