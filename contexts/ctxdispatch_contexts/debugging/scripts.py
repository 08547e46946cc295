"""Scripts: a debugger's commands written down, so that a session is the same each time.

    ["break helper", "continue", "next", "p x", "out"]      at each stop, up to a command that goes on
    def script(): stop = yield; ...; stop = yield "next"    a generator, which sees the stops
    def on_stop(stop): return "step"                        any callable
"""

from __future__ import annotations

import io
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ctxdispatch_contexts.debugging.stepping import Resume, resume
from ctxdispatch_contexts.debugging.stops import Stop

if TYPE_CHECKING:
    from ctxdispatch_contexts.debugging.session import Session

ENDED = Resume("continue")


class Script:
    """`commands`: strings, `Resume`s, callables given the stop (which may return a command), in a list or any
    iterable; or a generator that is sent the stops. Commands that do not go on (`p x`, `break f`) write to
    `output`, by default `self.output`, a StringIO.

    When there are no more commands the program goes on without stopping.
    """

    def __init__(self, commands: Iterable[Any] | Generator[Any, Stop, Any], output: Any = None) -> None:
        if isinstance(commands, str):
            commands = commands.splitlines()
        self.output = io.StringIO() if output is None else output
        self._commands = iter(commands)
        self._started = False
        self._terminal: Any = None
        self.session: Session | None = None

    def __call__(self, stop: Stop) -> Resume:
        while True:
            try:
                command = self._next(stop)
            except StopIteration:
                assert self.session is not None
                self.session.detach()
                return ENDED
            found = self._perform(command, stop)
            if found is not None:
                return found

    def _next(self, stop: Stop) -> Any:
        commands: Iterator[Any] = self._commands
        if not isinstance(commands, Generator):
            return next(commands)
        answer = commands.send(stop if self._started else None)
        self._started = True
        return answer

    def _perform(self, command: Any, stop: Stop) -> Resume | None:
        if isinstance(command, Resume) or command is None:
            return command
        if callable(command):
            return self._perform(command(stop), stop)
        if not isinstance(command, str):
            raise TypeError(f"a command is a string, a Resume or a callable, not {command!r}")
        text = command.partition("#")[0].strip() if command.lstrip().startswith("#") else command.strip()
        return resume(text) or (self._shown(text, stop) if text else None)

    def _shown(self, text: str, stop: Stop) -> Resume | None:
        """A command that the terminal has, without its prompt."""
        from ctxdispatch_contexts.debugging.terminal import Terminal

        if self._terminal is None:
            self._terminal = Terminal(stdin=io.StringIO(), stdout=self.output)
            self._terminal.session = self.session
        found: Resume | None = self._terminal.perform(text, stop)
        return found


def front_of(front: Any) -> Callable[[Stop], Any]:
    """A callable for what `DebugContext.of` takes: None is the terminal."""
    from ctxdispatch_contexts.debugging.terminal import Terminal

    if front is None:
        return Terminal()
    if callable(front):
        return front  # type: ignore[no-any-return]
    if isinstance(front, Iterable):
        return Script(front)
    raise TypeError(f"a front end is a callable or commands, not {front!r}")
