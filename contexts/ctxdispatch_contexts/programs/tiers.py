"""Which tier runs, and why it is not the best one.

Reasons are kept where programs are made, which is rare. What a call runs is watched only while somebody asks
(`explain`): all entries are stubs then, so that every call of one comes by `Entry.miss`. Otherwise nothing is
asked and nothing is counted.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ctxdispatch.bytecode.errors import UnsupportedSyntax
from ctxdispatch_contexts.programs.errors import (
    DerivativeError,
    MissingRuleError,
    MutationError,
    Refused,
    of_library,
    user_position,
)

if TYPE_CHECKING:
    from types import CodeType

    from ctxdispatch.ir.graph import Graph
    from ctxdispatch_contexts.programs.entry import Entry
    from ctxdispatch_contexts.programs.mode import Mode
    from ctxdispatch_contexts.programs.specialised import Recorder, Specialised


@dataclass(frozen=True)
class Reason:
    """Why there is no program: `what`, what to write instead, and `position`, file:line in function; the
    `column` of what is meant there, from 0 on, where that is known. `lasts`: there is none either of what is
    done where nothing is raised, nor with types that a run notes."""

    what: str
    remedy: str = ""
    position: str | None = None
    column: int | None = None
    lasts: bool = field(default=False, repr=False)

    def __str__(self) -> str:
        place = "" if self.position is None else f"{self.position}: "
        return f"{place}{self.what}; {self.remedy}" if self.remedy else f"{place}{self.what}"


CHECKED = Reason("rules are checked where they are used", "leave out debug=True, or debug_rules()")
OF_KIND = Reason(
    "an argument is, or holds, a subclass of np.ndarray, a deque, an array.array or something tagged",
    "give arrays (np.asarray) and lists",
)
TRACED = Reason("it has a program for what one run did, where another does the same")
OTHERWISE = Reason("the run did something else than those of which it has programs")
TOO_LONG = Reason(
    "making its program takes too long", "take it apart, or go through fewer things of different types",
    lasts=True,
)  # fmt: skip
LEFT = Reason(
    "it reads what an earlier recorded run has left in an object", "compute it in each run, or pass it"
)


RAISED = Reason(
    "the compiled attempt raised, or has raised before and is left out for a while, or NumPy is to raise "
    "(np.seterr)"
)
SHARED = Reason(
    "the compiled program is not for arguments like these (arrays that share memory, an object that is read "
    "by another name too, numbers that an earlier run has left)",
    "pass copies",
)


def joined(first: Reason, why: Reason | None) -> Reason:
    return first if why is None else Reason(f"{first.what}; {why.what}", why.remedy, why.position)


# -- `tier` --------------------------------------------------------------------------------------------------


def check_tier(tier: Any) -> None:
    if tier not in (None, "python"):
        raise DerivativeError(f"tier={tier!r} is none; write tier='python', or leave it out", user_position())


def check_recorder(mode: Mode, reason: Reason) -> None:
    """DerivativeError where nothing may be recorded."""
    if mode.tier is not None and reason is not TRACED:
        raise _refusal(mode, reason)


def run_of(mode: Mode, run: Callable[..., Any] | None, reason: Reason | None) -> Callable[..., Any] | None:
    """What records where a program does not do: `run`, unless nothing may be recorded. `reason`: why the
    program is an attempt."""
    if mode.tier is None or run is None:
        return run

    def refuse(*args: Any) -> Any:
        raise _refusal(mode, SHARED if reason is None else joined(RAISED, reason))

    return refuse


def _refusal(mode: Mode, reason: Reason) -> DerivativeError:
    return DerivativeError(
        f"this would be recorded, which tier={mode.tier!r} does not allow: {reason.what}; {reason.remedy}",
        reason.position,
    )


# -- why -----------------------------------------------------------------------------------------------------


NO_PROGRAM = (UnsupportedSyntax, MutationError, MissingRuleError)
"""Where one of them is raised, the run may still be recorded."""


def reason_of(error: Exception, asked: Graph | None = None) -> Reason:
    """What one of ours says: where, what, and after a semicolon the remedy. Of what a library does for the
    function `asked`, it says that."""
    if isinstance(error, UnsupportedSyntax):
        place = f"{error.filename}:{error.line}"
        if asked is not None and of_library(place) and not of_library(asked.filename):
            what = f"{error.construct} (in {place}) has no program"
            return Reason(what, error.remedy, f"{asked.filename}:{asked.line} in {asked.name}")
        return Reason(f"{error.construct} has no program", error.remedy, f"{place} in {error.function}")
    assert isinstance(error, Refused)
    if error.reason is not None:
        return error.reason  # type: ignore[no-any-return]
    what, _, remedy = error.message.partition("; ")
    return Reason(what, remedy, error.position)


class RecordedWarning(UserWarning):
    """A derivative is taken by recording the run; given with CTXDISPATCH_WARN=recorded, once per line."""


_WARNED: dict[Any, Any] = {}


def warn(reason: Reason) -> None:
    """At the line of the user's, if the environment asks for it."""
    if os.environ.get("CTXDISPATCH_WARN") != "recorded" or reason.position is None:
        return
    filename, _, rest = reason.position.rpartition(" in ")[0].rpartition(":")
    line = int(rest) if rest.isdigit() else 1
    text = f"recorded: {reason.what}; {reason.remedy}".rstrip("; ")
    warnings.warn_explicit(text, RecordedWarning, filename, line, registry=_WARNED)


class Ran:
    """One call of an entry. `recorded`: that a run was recorded for it."""

    def __init__(self, entry: Entry, made: Specialised | Recorder, depth: int) -> None:
        self.entry, self.made, self.depth = entry, made, depth
        self.seconds, self.recorded = 0.0, False


class Watch:
    """The calls of entries in one context of execution, in the order in which they begin. `inner`: those that
    run; `making`: the seconds that programs took to make."""

    def __init__(self) -> None:
        self.ran: list[Ran] = []
        self.inner: list[Ran] = []
        self.codes: dict[Entry, CodeType] = {}
        self.making, self.is_making = 0.0, False

    def stub(self, entries: Iterable[Entry]) -> None:
        """Have calls of their functions come by `miss`."""
        for entry in entries:
            if entry.function.__code__ is not entry.stub:
                self.codes[entry] = entry.function.__code__
                entry.function.__code__ = entry.stub

    def put_back(self) -> None:
        """The programs where they were; not those that are no longer their entries'."""
        for entry, code in self.codes.items():
            is_own = any(made.installed is code for made in entry.programs())
            if is_own and entry.function.__code__ is entry.stub:
                entry.function.__code__ = code

    @contextmanager
    def call(self, entry: Entry, made: Specialised | Recorder) -> Iterator[None]:
        """Around a call of the entry."""
        ran = Ran(entry, made, len(self.inner))
        self.ran.append(ran)
        self.inner.append(ran)
        start = time.perf_counter()
        try:
            yield
        finally:
            ran.seconds += time.perf_counter() - start
            self.inner.pop()

    @contextmanager
    def makes(self) -> Iterator[None]:
        """A program is made: that is no part of what calls cost."""
        if self.is_making:
            yield
            return
        self.is_making, start = True, time.perf_counter()
        try:
            yield
        finally:
            self.is_making, spent = False, time.perf_counter() - start
            self.making += spent
            for ran in self.inner:
                ran.seconds -= spent


WATCHED: ContextVar[Watch | None] = ContextVar("watched", default=None)


def watched(
    entry: Entry, made: Specialised | Recorder, run: Callable[..., Any], args: tuple[Any, ...]
) -> Any:
    """run(*args), seen by whoever asks."""
    watch = WATCHED.get()
    if watch is None:
        return run(*args)
    with watch.call(entry, made):
        return run(*args)


def making() -> AbstractContextManager[None]:
    """Around the making of a program."""
    watch = WATCHED.get()
    return nullcontext() if watch is None else watch.makes()


def install(entry: Entry, code: CodeType) -> None:
    """Have calls of the entry's function begin with this program."""
    watch = WATCHED.get()
    entry.function.__code__ = code
    if watch is not None:
        watch.stub([entry])


def recorded() -> None:
    """A run is recorded, for the innermost entry."""
    watch = WATCHED.get()
    if watch is not None and watch.inner:
        watch.inner[-1].recorded = True
