"""Derivatives of functions that have no program, by those of their traces.

The second call of such a function is traced, and the derivative of the trace is what runs from then on, where
what the trace takes for granted holds. Where it does not, or the trace is left, the run is recorded, and
traced again, a few times.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from threading import get_ident
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple

from ctxdispatch.dispatch.reach import natively
from ctxdispatch.dispatch.rules import version
from ctxdispatch_contexts.programs.derived import DerivedSource
from ctxdispatch_contexts.programs.errors import DerivativeError
from ctxdispatch_contexts.programs.left_names import anything_left, is_left
from ctxdispatch_contexts.programs.sources import Source
from ctxdispatch_contexts.programs.specialised import Recorder, note_run
from ctxdispatch_contexts.programs.tiers import TRACED, Reason, run_of
from ctxdispatch_contexts.traces.lines import Left

if TYPE_CHECKING:
    from ctxdispatch_contexts.programs.entry import Entry
    from ctxdispatch_contexts.programs.mode import Program
    from ctxdispatch_contexts.programs.observed import Rounds
    from ctxdispatch_contexts.traces.tracer import Trace

MOST = 4
"""So many traces of one function at types."""
LEAVES = 12
"""A call for which there is no trace is worth two for which there is one: with so many to the bad, there are
no more."""
LATER = 12
"""After so many more recorded calls a long run is worth a program that takes seconds to make."""
AT_ONCE = False
"""The first call is traced too, whatever has a program: tests say so."""
NOT_FOUND = object()


class Known(NamedTuple):
    trace: Trace
    derivative: Callable[..., Any]


class Straight:
    """`recording` records a run of the function of `entry`, for arguments of `types`."""

    def __init__(self, entry: Entry, types: Any, recording: Callable[..., Any]) -> None:
        import_module("ctxdispatch_contexts.traces.tracer")  # whose rules are no change of others

        self._entry, self._types, self.recording = entry, types, recording
        self._known: list[Known] = []
        self._asked: set[int] = set()
        """Threads in which no trace was found for the arguments that come by `miss` now."""
        self._made = self._left = 0
        self._version = version()
        self._traced = innermost(entry.source)
        self._count = len(self._traced.signature().names)

    def first(self, *args: Any) -> Any:
        """What calls of the entry's function begin with, whatever their types."""
        found = self._found(args)
        if found is not NOT_FOUND:
            return found
        self._asked.add(get_ident())
        try:
            return self._entry.miss(*args)
        finally:
            self._asked.discard(get_ident())

    def __call__(self, *args: Any) -> Any:
        asked = get_ident() in self._asked
        self._asked.discard(get_ident())
        found = NOT_FOUND if asked else self._found(args)
        if found is not NOT_FOUND:
            return found
        if self._made >= MOST or self._left >= LEAVES:
            self._entry.untraced.add(self._types)
            self._entry.drop(self._types)
        elif self.trace(args):
            return self(*args)
        return self.recording(*args)

    def _found(self, args: tuple[Any, ...]) -> Any:
        given = args[: self._count]
        if self._version != version():  # other rules hold now
            self._known, self._made, self._version = [], 0, version()
        for known in self._known:
            if known.trace.holds(*given) and not reads_left(known.trace, given):
                try:
                    found = known.derivative(*args)
                except Left:
                    continue
                except Exception:  # which the recorded run has, too
                    break
                if known is not self._known[0]:
                    self._known = [known, *(each for each in self._known if each is not known)]
                self._left = max(self._left - 1, 0)
                return found
        self._left += 2
        return NOT_FOUND

    @natively
    def trace(self, args: tuple[Any, ...]) -> bool:
        """Whether there is another trace now."""
        from ctxdispatch_contexts.traces.lines import MAX_LINES, MOST_LINES, TooLong, Unfit
        from ctxdispatch_contexts.traces.tracer import trace

        self._made += 1
        entry, given = self._entry, args[: self._count]
        most = MOST_LINES if entry.waits.get(self._types) == 0 else MAX_LINES
        try:
            wrt = getattr(entry.mode, "wrt", None) if self._traced is entry.source else None
            made = trace(self._traced, given, entry.context, wrt, most)
        except TooLong:
            entry.waits.setdefault(self._types, LATER)
            return False
        except Unfit:
            return False
        found = None if reads_left(made, given) else derivative_of(made, entry, args)
        if found is not None:
            self._known = [Known(made, found), *self._known]
        return found is not None


def innermost(source: Any) -> Any:
    """What derivatives are of."""
    while isinstance(source, DerivedSource):
        source = source.inner.source
    return source


def reads_left(trace: Trace, given: tuple[Any, ...]) -> bool:
    """It reads what an earlier run has left: the recorded run knows whether that may be."""
    return anything_left() and is_left([*trace.besides, *trace.leaves(*given)])


def may_be_traced(entry: Entry, types: Any) -> bool:
    """Nothing says yet that the runs of the function have no trace."""
    of_function = hasattr(innermost(entry.source), "filled") and entry.mode.region is None
    return of_function and types not in entry.untraced


def straightened(
    entry: Entry, types: Any, args: tuple[Any, ...], run: Callable[..., Any] | None, needed: bool = False
) -> Straight | None:
    """What runs in the place of `run`, if this call has a trace. `needed`: nothing else does."""
    if run is None or not (types in entry.ran or needed or AT_ONCE):
        return None
    if may_be_traced(entry, types):
        found = Straight(entry, types, run)
        if found.trace(args):
            return found
    entry.untraced.add(types)
    return None


class Again:
    """What runs where an attempt has failed: the first time `recording`, then what has a trace."""

    def __init__(self, entry: Entry, types: Any, recording: Callable[..., Any]) -> None:
        self._entry, self._types, self.recording = entry, types, recording
        self._straight: Straight | None = None

    def __call__(self, *args: Any) -> Any:
        entry, types = self._entry, self._types
        if self._straight is None:
            self._straight = straightened(entry, types, args, self.recording)
        if self._straight is not None:
            return self._straight(*args)
        found = self.recording(*args)
        note_run(entry, types)
        return found


def again(
    entry: Entry, program: Program, types: Any, run: Callable[..., Any] | None
) -> Callable[..., Any] | None:
    """What records the runs of an entry that has this program, or what is better once it has failed."""
    return Again(entry, types, run) if run is not None and program.attempt else run


def recorder(
    entry: Entry, types: Any, args: tuple[Any, ...], run: Callable[..., Any], reason: Reason,
    rounds: Rounds | None = None,
) -> Recorder:  # fmt: skip
    """Of what has no program. Where nothing may be recorded, its first call is traced."""
    if entry.mode.tier is not None:
        traced = straightened(entry, types, args, run_of(entry.mode, run, reason), needed=True)
        if traced is not None:
            return Recorder(types, traced, TRACED)
    return Recorder(types, run, reason, rounds, entry)


def _over(entry: Entry, function: FunctionType) -> Entry:
    """What `entry` differentiates, of another function."""
    from ctxdispatch_contexts.programs.entry import Entry as Another

    derived = isinstance(entry.source, DerivedSource)
    source = DerivedSource(_over(entry.source.inner, function)) if derived else Source(function)
    return Another(source, entry.mode, entry.context)


def derivative_of(made: Trace, entry: Entry, args: tuple[Any, ...]) -> Callable[..., Any] | None:
    """What differentiates a trace as `entry` differentiates its function; None where that has no program."""
    straight = _over(entry, made.function)
    straight.untraced.add(straight.types_of(args))
    try:
        straight.prepare(*args)
    except DerivativeError:
        return None  # of what the run would be refused for, it says where
    if any(type(each) is Recorder for each in straight.programs()):
        return None
    return straight.function
