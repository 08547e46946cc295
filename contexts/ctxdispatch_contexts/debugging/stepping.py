"""Stepping: what each thread is about to stop at.

    step                  the next event, in whatever function
    next, until, out      a line of one of the `targets`: the frame and those outside of it, or only those
    return                where the frame itself returns

Invariant: frames are compared by identity, and the targets were on the stack when the command was given: so
neither recursion nor a callee on the same line is taken for them. A frame that is left is no target any more.
"""

from __future__ import annotations

from types import FrameType
from typing import Any, NamedTuple


class Aborted(BaseException):
    """The user has ended the program from the debugger. No `Exception`: programs that catch those let it
    pass; `finally` and `with` run."""


class Resume(NamedTuple):
    """How to go on. `line` is for "until" only; None: any line further down."""

    how: str
    line: int | None = None


WORDS = {
    "step": "step", "s": "step", "in": "step",
    "next": "next", "n": "next", "over": "next",
    "out": "out", "o": "out", "up_and_out": "out",
    "return": "return", "r": "return",
    "until": "until", "unt": "until",
    "continue": "continue", "cont": "continue", "c": "continue",
    "abort": "abort", "quit": "abort", "q": "abort", "exit": "abort",
}  # fmt: skip
"""The commands that go on, and their short forms."""


def resume(text: str) -> Resume | None:
    """The command in `text`; None where it is another. ValueError: `until` is given no number."""
    name, _, argument = text.strip().partition(" ")
    how, argument = WORDS.get(name), argument.strip()
    if how is None or (argument and how != "until"):
        return None
    if argument and not argument.isdigit():
        raise ValueError(f"until takes the number of a line, not {argument!r}")
    return Resume(how, int(argument) if argument else None)


class Stepping:
    """The state of one thread."""

    def __init__(self) -> None:
        self.how: str | None = None
        self.targets: list[FrameType] = []
        self.line: int | None = None
        self.frame: FrameType | None = None
        self.reason = "step"
        self.inside = False
        """Its user is asked: what runs meanwhile is no event."""
        self.known: BaseException | None = None
        """What it has stopped at and is being handled."""

    @property
    def active(self) -> bool:
        return self.how is not None

    def go(self, command: Resume, frames: list[FrameType], event: str, line: int) -> None:
        """`frames`: where it is, and outwards. Those that are just being left are no targets."""
        self.reset()
        leaving = event in ("return", "exception")
        outer = frames[1:]
        match command.how:
            case "step":
                self.how = "step"
            case "return" if not leaving:
                self.how, self.frame = "return", frames[0]
            case "until" if not leaving:
                self.how, self.targets = "until", frames
                self.frame, self.line = frames[0], line if command.line is None else command.line - 1
            case "next" | "until" | "out" | "return":
                inner = command.how == "next" and not leaving
                self.targets = frames if inner else outer
                self.how = "targets" if self.targets else None

    def interrupt(self) -> None:
        self.reset()
        self.how, self.reason = "step", "interrupt"

    def reset(self) -> None:
        self.how, self.targets, self.line, self.frame, self.reason = None, [], None, None, "step"

    # -- whether to stop ---------------------------------------------------------------------------

    def at_line(self, frame: FrameType, line: int) -> bool:
        if self.how == "until" and frame is self.frame:
            return line > (self.line or 0)
        return self.how == "step" or self._is_target(frame)

    def at_entry(self) -> bool:
        return self.how == "step"

    def at_return(self, frame: FrameType) -> bool:
        return self.how == "step" or (self.how == "return" and frame is self.frame)

    def at_exception(self, frame: FrameType) -> bool:
        return self.at_return(frame) or self._is_target(frame)

    def _is_target(self, frame: FrameType) -> bool:
        return any(frame is target for target in self.targets)

    def left(self, frame: FrameType, outermost: bool) -> bool:
        """The frame is gone; whether there is nothing left to step to."""
        was = self.how
        self.targets = [target for target in self.targets if target is not frame]
        if outermost or (not self.targets and was in ("targets", "until")) or frame is self.frame is not None:
            targets = self.targets
            self.reset()
            if targets and not outermost:
                self.how, self.targets = "targets", targets
        return was is not None and self.how is None


CONTROL: tuple[Any, ...] = (StopIteration, StopAsyncIteration, GeneratorExit, Aborted)
"""Exceptions that say no more than that something has ended."""
