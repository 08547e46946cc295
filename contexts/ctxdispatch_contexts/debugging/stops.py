"""`Stop`: a place where the program waits, and what can be asked there.

What it holds (line, variables, stack) is a copy, good for ever; `evaluate`, `assign` and `globals` need the
frame, and so the program to be waiting.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, NamedTuple

from ctxdispatch_contexts.debugging import frames as of_frame
from ctxdispatch_contexts.debugging.breakpoints import Breakpoint
from ctxdispatch_contexts.debugging.sources import source_line


class FrameInfo(NamedTuple):
    """One call on the stack: where it is, and the text of that line."""

    file: str
    line: int
    function: str
    source: str

    def __str__(self) -> str:
        return f"{self.file}({self.line}){self.function}()"


@dataclass(eq=False)
class Stop:
    """A stop.

    `reason`: "entry" (the program begins), "step", "breakpoint", "watch", "interrupt" or "exception".
    `event`: "call" (a function is entered; its line is that of `def`), "line" (before it), "return" (with the
    value `returned`), "exception" (`exception` is raised, or leaves the function).
    `locals` is a copy of the dict, without what the engine keeps there. `stack` has the frames under the
    context, the outermost first; `depth` is its length.
    """

    reason: str
    event: str
    file: str
    line: int
    function: str
    locals: dict[str, Any]
    source: str
    stack: tuple[FrameInfo, ...]
    returned: Any = None
    exception: BaseException | None = None
    breakpoint: Breakpoint | None = None
    message: str = ""
    thread: str = ""
    frames: list[FrameType] = field(default_factory=list, repr=False)
    """The live frames, the innermost first; empty when the program has gone on."""
    extra: dict[str, Any] = field(default_factory=dict, repr=False)
    """Variables that statements at the prompt have made, for the session."""

    @property
    def depth(self) -> int:
        """How many calls the stack has."""
        return len(self.stack)

    @property
    def arguments(self) -> dict[str, Any]:
        """Of the variables, those that are arguments."""
        return {n: self.locals[n] for n in of_frame.argument_names(self.frame().f_code) if n in self.locals}

    @property
    def globals(self) -> dict[str, Any]:
        """The global variables themselves."""
        return self.frame().f_globals

    def frame(self, level: int = 0) -> FrameType:
        """The frame so many calls further out. RuntimeError: the program has gone on; IndexError: no such."""
        if not self.frames:
            raise RuntimeError("the program has gone on: its frames are not there any more")
        if not 0 <= level < len(self.frames):
            raise IndexError(f"there are {len(self.frames)} frames, none {level} further out")
        return self.frames[level]

    def evaluate(self, expression: str, level: int = 0) -> Any:
        """The value of an expression there, `level` calls further out. What it calls is not debugged."""
        return of_frame.evaluate(expression, self.frame(level), self.extra)

    def assign(self, name: str, value: Any, level: int = 0) -> None:
        """Give a variable another value. CannotAssign: a local one, before CPython 3.13."""
        of_frame.assign(self.frame(level), name, value)
        if level == 0 and name in of_frame.variable_names(self.frame().f_code):
            self.locals[name] = value

    def gone_on(self) -> None:
        """The program runs again: there are no frames to look at any more."""
        self.frames = []


def make_stop(
    reason: str, event: str, frame: FrameType, line: int, extra: dict[str, Any], **what: Any
) -> Stop:
    live = [*of_frame.program_frames(frame)] or [frame]
    lines = [line, *(f.f_lineno or f.f_code.co_firstlineno for f in live[1:])]
    return Stop(
        reason, event, frame.f_code.co_filename, line, frame.f_code.co_qualname, of_frame.variables(frame),
        source_line(frame.f_code.co_filename, line, frame.f_globals), _stack(live, lines),
        thread=threading.current_thread().name, frames=live, extra=extra, **what,
    )  # fmt: skip


def _stack(live: Sequence[FrameType], lines: Sequence[int]) -> tuple[FrameInfo, ...]:
    return tuple(
        FrameInfo(f.f_code.co_filename, n, f.f_code.co_qualname,
                  source_line(f.f_code.co_filename, n, f.f_globals))
        for f, n in reversed([*zip(live, lines)])
    )  # fmt: skip
