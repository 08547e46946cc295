"""Tracebacks as the plain run has them: without the frames of the engine and of what comes with it.

Invariant: an exception that passes keeps its type, arguments, notes and chain; only entries of its traceback
go. Generated programs stand in the user's file, at the user's lines, and stay.

    except BaseException as error:
        show_users_frames(error)
        raise                           with no value: so the frame that does this is no entry again

It is written out where it is needed. A decorator would be the engine's, and nobody looks into the engine: a
run around the run would not see what is differentiated.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from types import CodeType, TracebackType

from ctxdispatch.ir.leaves import is_ours

Place = tuple[str, str, int]

_full = False


def show_all() -> None:
    """From now on all frames stay, whatever the environment says."""
    global _full
    _full = True


def show_users_frames(error: BaseException) -> None:
    """It leaves here for the user. With CTXDISPATCH_TRACEBACK=full, as it is."""
    if not _full and os.environ.get("CTXDISPATCH_TRACEBACK") != "full":
        clean(error)


def clean(
    error: BaseException, start: CodeType | None = None, hidden: frozenset[Place] = frozenset()
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
    tb: TracebackType | None, start: CodeType | None, hidden: frozenset[Place]
) -> TracebackType | None:
    """`tb` from the program's outermost frame on, without the engine's entries and those of `hidden`."""
    entries = list(_entries(tb))
    if start is None and not hidden and not any(map(_is_ours, entries)):
        return tb  # maybe of an error that is handled meanwhile, around the call
    begins = [i + 1 for i, entry in enumerate(entries) if entry.tb_frame.f_code is start]
    made = None
    for entry in reversed(entries[begins[0] if begins else 0 :]):
        if not (_is_ours(entry) or place_of(entry.tb_frame.f_code) in hidden):
            line = -1 if entry.tb_lineno is None else entry.tb_lineno  # -1: as its instruction says, none
            made = TracebackType(made, entry.tb_frame, entry.tb_lasti, line)
    return made


def _entries(tb: TracebackType | None) -> Iterator[TracebackType]:
    while tb is not None:
        yield tb
        tb = tb.tb_next


def place_of(code: CodeType) -> Place:
    """Of `code` and of what contexts made of it."""
    return code.co_filename, code.co_qualname, code.co_firstlineno


def _is_ours(entry: TracebackType) -> bool:
    return is_ours(entry.tb_frame.f_globals.get("__name__"))
