"""`DebugContext`: a pass that has programs call the debugger.

    at the entry             at_entry(ctx, place)
    at each line             at_line(ctx, 12)
    before `return %v`       at_return(ctx, %v)
    where an exception leaves, or is caught      at_exception(ctx, %e), at_caught(ctx, %e)

Nobody dispatches these calls; nothing traces. So only code under the context is debugged, and all of that,
libraries too.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from argparse import Action, ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Iterator
from dataclasses import field
from typing import Any, Self

from ctxdispatch.dispatch import Context, Editor
from ctxdispatch.ir.graph import Graph
from ctxdispatch_contexts.debugging.events import Place, at_caught, at_entry, at_exception, at_line, at_return
from ctxdispatch_contexts.debugging.scripts import Script, front_of
from ctxdispatch_contexts.debugging.session import Session
from ctxdispatch_contexts.debugging.stops import Stop
from ctxdispatch_contexts.debugging.terminal import Terminal


def _default_session() -> Session:
    return make_session(None)


def make_session(front: Any, **options: Any) -> Session:
    called = front_of(front)
    session = Session(called, **options)
    if isinstance(called, Script | Terminal):
        called.session = session
    if not isinstance(called, Terminal):
        session.stops = []
    return session


class DebugContext(Context):
    """A step debugger. `DebugContext()` asks at the terminal; `DebugContext.of` takes scripts and options.

        ctx = DebugContext.of(["next", "p x", "continue"])
        overdub(ctx, f, 1.0)
        ctx.stops                      # what a script has stopped at

    Class bodies, and what else docs/reach.md says is not followed, are run without stopping.
    """

    session: Session = field(default_factory=_default_session)
    intercepts = (
        "call", "operator", "compare", "item", "attribute", "iterate", "with", "truth", "format", "unpack",
        "display",
    )  # fmt: skip

    def __post_init__(self) -> None:
        if not isinstance(self.session, Session):
            raise TypeError(f"write DebugContext.of({self.session!r}) for commands or a callable")

    @classmethod
    def of(
        cls,
        front: Any = None,
        *,
        breakpoints: Iterable[Any] = (),
        on_exception: str | None = None,
        exceptions: type[BaseException] | tuple[type[BaseException], ...] = Exception,
        skip: Iterable[str] = (),
        stop_at_entry: bool | None = None,
    ) -> Self:
        """`front`: a callable that is given each `Stop` and returns how to go on ("step", "next", "out",
        "return", "until 12", "continue", "abort"; None: continue), or commands (see `Script`), or None, the
        terminal.

        `breakpoints`: functions or strings, as for `Breakpoints.add`. `on_exception`: "leaves", stop where
        one of `exceptions` leaves the innermost function under the context; "raised": also where that catches
        it itself. `skip`: patterns of modules that stepping does not stop in; breakpoints do.
        `stop_at_entry`: stop where the program begins; None: if there are no breakpoints.
        """
        return cls(make_session(
            front, breakpoints=breakpoints, on_exception=on_exception, exceptions=exceptions, skip=skip,
            stop_at_entry=stop_at_entry,
        ))  # fmt: skip

    @property
    def stops(self) -> list[Stop]:
        """Where a script or callable was asked, in order; of the terminal there is no record."""
        return self.session.stops or []

    @property
    def breakpoints(self) -> Any:
        """The `Breakpoints` of the session."""
        return self.session.breakpoints

    def transform(self, graph: Graph) -> Graph:
        edit = Editor(graph)
        edit.at_entry(at_entry, edit.context, Place(graph.code, graph.line))
        edit.at_lines(at_line, edit.context)
        edit.at_return(at_return, edit.context)
        edit.at_caught(at_caught, edit.context)
        edit.at_exception(at_exception, edit.context)
        return super().transform(edit.finish())

    def enter(self, f: Any, args: Any, kwargs: Any) -> Any:
        self.session.prepare()
        with interrupting(self.session):
            return super().enter(f, args, kwargs)

    # -- from a command line -----------------------------------------------------------------------

    @classmethod
    def add_options(cls, parser: ArgumentParser) -> None:
        add = parser.add_argument
        add("--break", dest="breaks", action=_Break, default=[], metavar="WHERE",
            help="FILE:LINE, or a function's name, with `from CALLER` or `, CONDITION` after it")  # fmt: skip
        add("--condition", dest="breaks", action=_Condition, metavar="EXPRESSION",
            help="for the --break before it: stop only if it is true there")  # fmt: skip
        add("--script", metavar="FILE", help="commands from a file; when they end, the program goes on")
        add("--on-exception", choices=("leaves", "raised"), help="stop at exceptions")
        add("--skip", action="append", default=[], metavar="MODULE",
            help="a pattern of modules that stepping does not stop in")  # fmt: skip
        add("--stop-at-entry", action="store_true", help="stop at the first line too if there is a --break")

    @classmethod
    def from_options(cls, options: Namespace) -> Self:
        import sys

        if options.script is None:
            front: Any = Terminal(stdout=sys.stderr)
        else:
            with open(options.script, encoding="utf-8") as file:
                front = Script(file.read(), sys.stderr)
        made = cls.of(
            front, on_exception=options.on_exception, skip=options.skip,
            stop_at_entry=options.stop_at_entry or not options.breaks,
        )  # fmt: skip
        for where, condition in options.breaks:
            made.session.breakpoints.add(where, condition=condition)
        return made

    def report(self, options: Namespace) -> str:
        points = self.session.breakpoints
        return "\n".join(f"breakpoint {each}{'' if each.hits else ', never hit'}" for each in points)


class _Break(Action):
    def __call__(self, parser: Any, namespace: Any, values: Any, option: Any = None) -> None:
        setattr(namespace, self.dest, [*getattr(namespace, self.dest), (values, None)])


class _Condition(Action):
    def __call__(self, parser: Any, namespace: Any, values: Any, option: Any = None) -> None:
        breaks = [*(getattr(namespace, self.dest) or ())]
        if not breaks:
            parser.error("--condition is for the --break before it")
        setattr(namespace, self.dest, [*breaks[:-1], (breaks[-1][0], values)])


# -- Ctrl-C ----------------------------------------------------------------------------------------


@contextlib.contextmanager
def interrupting(session: Session) -> Iterator[None]:
    """While a terminal debugs the main thread, Ctrl-C stops at the next line. At the prompt, and when it
    comes again before that line, it is a KeyboardInterrupt as ever."""
    usable = isinstance(session.front, Terminal) and session.front.catches_interrupts
    if not usable or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, _handler(session))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _handler(session: Session) -> Callable[[int, Any], None]:
    def stop(number: int, frame: Any) -> None:
        if session.is_interrupted or session.detached:
            signal.default_int_handler(number, frame)
        session.interrupt()

    return stop
