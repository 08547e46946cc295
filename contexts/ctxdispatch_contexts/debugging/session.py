"""`Session`: the state of a debugger, and what becomes of the events of programs.

    event -> may it stop here (stepping, breakpoints, watches, exceptions)? -> Stop -> front(stop) -> Resume

Invariant: what `events` tests (`lines`, `calm`, `stepping`, `raising`, `catching`) is replaced whenever
breakpoints or stepping change, so an event which nobody waits for never gets here.
"""

from __future__ import annotations

import functools
import sys
import threading
import weakref
from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from types import FrameType, TracebackType
from typing import Any

from ctxdispatch_contexts.debugging import frames as of_frame
from ctxdispatch_contexts.debugging.breakpoints import Breakpoint, Breakpoints
from ctxdispatch_contexts.debugging.events import Every, Place
from ctxdispatch_contexts.debugging.stepping import CONTROL, Aborted, Resume, Stepping, resume
from ctxdispatch_contexts.debugging.stops import Stop, make_stop
from ctxdispatch_contexts.debugging.watches import Watch

Front = Callable[[Stop], Any]

MODES = (None, "leaves", "raised")


class Session:
    """`front` is asked at each stop how to go on: it returns a `Resume` or its text. The rest is as for
    `DebugContext.of`."""

    def __init__(
        self,
        front: Front,
        *,
        breakpoints: Iterable[Any] = (),
        on_exception: str | None = None,
        exceptions: type[BaseException] | tuple[type[BaseException], ...] = Exception,
        skip: Iterable[str] = (),
        stop_at_entry: bool | None = None,
    ) -> None:
        if on_exception not in MODES:
            raise ValueError(f"on_exception is one of {', '.join(map(repr, MODES))}, not {on_exception!r}")
        self.front, self.exceptions = front, exceptions
        self.skip = (skip,) if isinstance(skip, str) else tuple(skip)
        self.stops: list[Stop] | None = None
        """What a front end that records has stopped at."""
        self.extra: dict[str, Any] = {}
        self.watches: list[Watch] = []
        self.detached = False
        self._on_exception = on_exception
        self._local = threading.local()
        self._threads: weakref.WeakSet[Stepping] = weakref.WeakSet()
        self._prompt, self._registry = threading.RLock(), threading.RLock()
        self._main: Stepping | None = None
        self.breakpoints = Breakpoints(self.refresh)
        for each in breakpoints:
            self.breakpoints.add(each)
        self._begins = not len(self.breakpoints) if stop_at_entry is None else stop_at_entry
        self.refresh()

    # -- what events test --------------------------------------------------------------------------

    def refresh(self) -> None:
        """Say anew what may concern the session."""
        stepping = not self.detached and self._steps()
        caught = not self.detached and self.on_exception == "raised"
        every = stepping or caught or (bool(self.watches) and not self.detached)
        nothing: frozenset[int] = frozenset()
        self.lines: Any = Every() if every else nothing if self.detached else self.breakpoints.lines()
        self.calm: Any = frozenset() if stepping else set()
        self.stepping = every
        self.raising = every or (not self.detached and self.on_exception is not None)
        self.catching = caught

    def _steps(self) -> bool:
        with self._registry:
            return any(state.active for state in self._threads)

    @property
    def on_exception(self) -> str | None:
        """As for `DebugContext.of`; setting it is checked (ValueError), and holds at once."""
        return self._on_exception

    @on_exception.setter
    def on_exception(self, mode: str | None) -> None:
        if mode not in MODES:
            raise ValueError(f"on_exception is one of {', '.join(map(repr, MODES))}, not {mode!r}")
        self._on_exception = mode
        self.refresh()

    def detach(self) -> None:
        """Stop nowhere any more."""
        self.detached = True
        self.watches.clear()
        self.refresh()

    def attach(self) -> None:
        """Stop again, at breakpoints."""
        self.detached = False
        with self._registry:
            for state in self._threads:
                state.reset()
        self.refresh()

    def interrupt(self) -> None:
        """Stop the main thread at its next line."""
        if self._main is not None and not self.detached:
            self._main.interrupt()
            self.refresh()

    @property
    def is_interrupted(self) -> bool:
        """Whether the main thread is about to stop for `interrupt`, or waits at the prompt."""
        return self._main is None or self._main.inside or self._main.reason == "interrupt"

    @property
    def _state(self) -> Stepping:
        state: Stepping | None = getattr(self._local, "state", None)
        if state is None:
            state = self._local.state = Stepping()
            with self._registry:
                self._threads.add(state)
            if threading.current_thread() is threading.main_thread():
                self._main = state
        return state

    def prepare(self) -> None:
        """A run of a program begins in this thread: what the last one was stepping to is not there."""
        self._state.reset()
        self.refresh()

    # -- events ------------------------------------------------------------------------------------

    def on_entry(self, frame: FrameType, place: Place) -> None:
        """A function begins: stop at its breakpoints, to step, or where the program begins."""
        state = self._state
        if state.inside:
            return
        if self.detached:
            self.calm.add(place)
            return
        found = self.breakpoints.at_entry(frame, place)
        if self._begins and not self._skips(frame):
            self._begins = False
            self._stop(state, "entry", "call", frame, place.line)
        elif not self._at_breakpoints(state, found, "call", frame, place.line):
            if state.at_entry() and not self._skips(frame):
                self._stop(state, state.reason, "call", frame, place.line)
            elif not found and not self._begins and isinstance(self.calm, set):
                self.calm.add(place)

    def on_line(self, frame: FrameType, line: int) -> None:
        """A line comes next: stop at its breakpoints, where something watched has changed, or to step."""
        state = self._state
        if state.inside or self.detached:
            return
        if state.known is not None and sys.exc_info()[1] is not state.known:
            state.known = None
        if self._at_breakpoints(state, self.breakpoints.at_line(frame, line), "line", frame, line):
            return
        if self._at_watches(state, "line", frame, line):
            return
        if state.at_line(frame, line) and not self._skips(frame):
            self._stop(state, state.reason, "line", frame, line)

    def on_return(self, frame: FrameType, value: Any) -> None:
        """A function returns `value`: stop where something watched has changed, or to step."""
        state = self._state
        if state.inside or self.detached:
            return
        line = frame.f_lineno or frame.f_code.co_firstlineno
        watched = self._at_watches(state, "return", frame, line, returned=value)
        if not watched and state.at_return(frame) and not self._skips(frame):
            self._stop(state, state.reason, "return", frame, line, returned=value)
        self._left(state, frame)

    def on_raise(self, frame: FrameType, exception: BaseException, leaves: bool) -> None:
        """An exception is raised, or `leaves` the function: stop where the session asks for it, or steps."""
        state = self._state
        if state.inside or self.detached:
            return
        if self._stops_at(state, frame, exception, leaves):
            state.known = exception if self.catching else None
            reason = "exception" if self._asked_for(exception) else state.reason
            line = _raised_at(frame, exception)
            self._stop(state, reason, "exception", frame, line, exception=exception)
        if leaves:
            self._left(state, frame)

    def _stops_at(self, state: Stepping, frame: FrameType, exception: BaseException, leaves: bool) -> bool:
        if isinstance(exception, CONTROL):
            return False
        if exception is state.known:
            return False
        if self._skips(frame):
            return False
        if self._asked_for(exception) and (leaves or self.catching) and not self._came_by(frame, exception):
            return True
        return leaves and state.at_exception(frame)

    def _asked_for(self, exception: BaseException) -> bool:
        return self.on_exception is not None and isinstance(exception, self.exceptions)

    def _came_by(self, frame: FrameType, exception: BaseException) -> bool:
        """Whether it came from a function that was stopped in already."""
        entry = exception.__traceback__
        while entry is not None:
            inner = entry.tb_frame
            if inner is not frame and of_frame.is_program(inner.f_code) and not self._skips(inner):
                return True
            entry = entry.tb_next
        return False

    def _left(self, state: Stepping, frame: FrameType) -> None:
        outermost = next(of_frame.program_frames(frame.f_back), None) is None
        kept = [watch for watch in self.watches if watch.frame is not frame]
        if state.left(frame, outermost) or len(kept) < len(self.watches):
            self.watches = kept
            self.refresh()

    # -- whether to stop ---------------------------------------------------------------------------

    def _skips(self, frame: FrameType) -> bool:
        return bool(self.skip) and any(fnmatchcase(of_frame.module_of(frame), p) for p in self.skip)

    def _at_breakpoints(
        self, state: Stepping, found: list[Breakpoint], event: str, frame: FrameType, line: int
    ) -> bool:
        if not found:
            return False
        state.inside = True  # conditions may call anything
        try:
            hit = [b for b in found if b.holds(frame, self.evaluate) and b.hit()]
        finally:
            state.inside = False
        if not hit:
            return False
        for each in hit:
            if each.temporary:
                self.breakpoints.remove(each.number)
        error = hit[0].error
        message = f"condition of breakpoint {hit[0].number}: {error!r}" if error else ""
        self._stop(state, "breakpoint", event, frame, line, breakpoint=hit[0], message=message)
        return True

    def _at_watches(self, state: Stepping, event: str, frame: FrameType, line: int, **what: Any) -> bool:
        for watch in self.watches:
            if watch.frame is not frame:
                continue
            state.inside = True
            try:
                change = watch.changed()
            finally:
                state.inside = False
            if change is not None:
                message = f"{watch.expression}: {change[0]!r} -> {change[1]!r}"
                self._stop(state, "watch", event, frame, line, message=message, **what)
                return True
        return False

    def watch(self, expression: str, frame: FrameType) -> Watch:
        """Stop when the expression's value changes, before the next line of this call of the function, or
        when it returns. ValueError: it is no expression."""
        try:
            compile(expression, "<watch>", "eval")
        except SyntaxError as error:
            raise ValueError(f"{expression!r} is no expression: {error.msg}") from None
        number = max((w.number for w in self.watches), default=0) + 1
        made = Watch(number, expression, frame, self.evaluate)
        self.watches = [*self.watches, made]
        self.refresh()
        return made

    def evaluate(self, expression: str, frame: FrameType) -> Any:
        """The value of an expression in `frame`. What it calls is not debugged."""
        return of_frame.evaluate(_compiled(expression), frame, self.extra)

    # -- stopping ----------------------------------------------------------------------------------

    def _stop(
        self, state: Stepping, reason: str, event: str, frame: FrameType, line: int, **what: Any
    ) -> None:
        state.inside = True
        try:
            with self._prompt:
                if self.detached:
                    return
                stop = make_stop(reason, event, frame, line, self.extra, **what)
                if self.stops is not None:
                    self.stops.append(stop)
                frames = [*stop.frames]
                try:
                    command = _command(self.front(stop))
                finally:
                    stop.gone_on()
        finally:
            state.inside = False
        if command.how == "abort":
            self.detach()
            raise Aborted(f"aborted at {stop.stack[-1]}")
        state.go(command, frames, event, line)
        self.refresh()


@functools.lru_cache(256)
def _compiled(expression: str) -> Any:
    return compile(expression.strip(), "<expression>", "eval")


def _command(answer: Any) -> Resume:
    """TypeError, ValueError: the front end has answered something else than how to go on."""
    if isinstance(answer, Resume):
        return answer
    if answer is None:
        return Resume("continue")
    if not isinstance(answer, str):
        raise TypeError(f"how to go on is a command such as 'step', not {answer!r}")
    found = resume(answer)
    if found is None:
        raise ValueError(f"{answer!r} is no way to go on: step, next, out, return, until, continue or abort")
    return found


def _raised_at(frame: FrameType, exception: BaseException) -> int:
    """The line of `frame` by which the exception came."""
    entry: TracebackType | None = exception.__traceback__
    line = frame.f_lineno
    while entry is not None:
        if entry.tb_frame is frame:
            return entry.tb_lineno
        entry = entry.tb_next
    return line or frame.f_code.co_firstlineno
