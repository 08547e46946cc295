"""What a run refuses stays refused, whoever catches it.

    an operation refuses          the run remembers it, and it is raised
    somebody catches it           `except` and `finally: return`, C code that drops errors, an event loop, ..
    the next operation            raises it again; at the latest `leave` does, when the run returns

Meanwhile the program runs as it does plainly, and nothing is raised

    while it is being handled, and in `__exit__` and `__del__`: locks are released there, and loops closed
    in threads that the run has started: who waits for what they bring would wait for ever
    after `AGAIN` times: a program that tries until nothing is raised would never end

What a derivative refuses that the program takes itself is the program's to catch: the refusal went through
code of the program's on its way to the run's operation (`came_through_program`).
"""

from __future__ import annotations

import sys
from threading import get_ident
from types import FrameType, TracebackType
from typing import Any

from ctxdispatch.ir.leaves import is_ours
from ctxdispatch.ir.own_builtins import own as __builtins__  # type: ignore[no-redef]  # noqa: F401
from ctxdispatch.ir.sites import CONTEXT

AGAIN = 10

_LEAVING = frozenset({"__exit__", "__aexit__", "__del__"})

_FATAL = (KeyboardInterrupt, SystemExit, GeneratorExit)


class Refusals:
    """Those of one run, which is of the thread that makes this."""

    __slots__ = ("first", "carrier", "thread", "times")

    def __init__(self) -> None:
        self.first: BaseException | None = None
        self.carrier: BaseException | None = None
        """What was raised in the place of `first`."""
        self.thread: int | None = get_ident()
        self.times = 0

    def remember(self, error: BaseException, carrier: BaseException | None = None) -> None:
        if self.first is None:
            self.first, self.carrier = error, carrier

    def is_own_thread(self) -> bool:
        return get_ident() == self.thread

    def again(self, f: Any) -> None:
        """`f` is about to be called."""
        if self.first is not None and self._is_due(f, sys._getframe(1)):
            self.times += 1
            raise self.first

    def _is_due(self, f: Any, frame: FrameType) -> bool:
        if not self.is_own_thread() or self.times >= AGAIN or self._is_in(sys.exc_info()[1]):
            return False
        return getattr(f, "__name__", "") not in _LEAVING and not _is_leaving(frame)

    def _is_in(self, handled: BaseException | None) -> bool:
        """The refusal is what is handled, or that came of it."""
        seen: list[BaseException] = []
        waiting = [handled]
        while waiting:
            error = waiting.pop()
            if error is None or any(error is each for each in seen):
                continue
            if error is self.first or error is self.carrier:
                return True
            seen.append(error)
            waiting += [error.__cause__, error.__context__]
            waiting += error.exceptions if isinstance(error, BaseExceptionGroup) else ()
        return False

    def leave(self, error: BaseException | None = None) -> None:
        """The run has returned, or raises `error`."""
        first, carrier = self.first, self.carrier
        self.first = self.carrier = None
        if first is None or (error is not None and (error is first or error is carrier)):
            return
        if not isinstance(error, _FATAL):
            raise first from error


def _is_leaving(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_name in _LEAVING:
            return True
        frame = frame.f_back
    return False


# -- runs that code which raises knows nothing of ------------------------------------------------------------


def tell_run(cls: type, error: BaseException) -> None:
    """`error` is about to be raised: the run of a context of `cls` that is going on here remembers it."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        entered = [ctx for ctx in _entered(frame) if issubclass(type(ctx), cls)]
        for ctx in (*[ctx for ctx in _under(frame) if issubclass(type(ctx), cls)], *entered):
            run = ctx._run
            run.refusals = run.refusals or Refusals()
            run.refusals.remember(error)
            run.refusals.thread = get_ident() if entered else None  # in a thread of the run's: any
        frame = None if entered else frame.f_back


def _under(frame: FrameType) -> list[Any]:
    """The contexts that the code of the frame runs under, as far as it asks for them."""
    names = [name for name in frame.f_code.co_freevars if name.startswith(CONTEXT)]
    return [frame.f_locals[name] for name in names if name in frame.f_locals]


def _entered(frame: FrameType) -> list[Any]:
    """The context, where the frame is that of `overdub`."""
    own = (frame.f_globals.get("__name__"), frame.f_code.co_name) in _OVERDUB
    return [frame.f_locals["ctx"]] if own else []


_OVERDUB = (
    ("ctxdispatch.dispatch.overdub", "overdub"),
    ("ctxdispatch.dispatch.nested", "_overdub_under"),
)


def left(ctx: Any, error: BaseException | None = None) -> None:
    """`overdub` returns, or raises `error`."""
    run = ctx.__dict__.get("_run_id")
    if run is None or run.refusals is None or run.refusals.thread not in (None, get_ident()):
        return
    refusals, run.refusals = run.refusals, None
    refusals.leave(error)


# -- whose refusal it is -------------------------------------------------------------------------------------


def came_through_program(ctx: Any, error: BaseException) -> bool:
    """Between here and where `error` was raised there is code of the user's that runs under `ctx`."""
    at: TracebackType | None = error.__traceback__
    while at is not None:
        if runs_program(ctx, at.tb_frame):
            return True
        at = at.tb_next
    return False


def runs_program(ctx: Any, frame: FrameType) -> bool:
    """`frame` is one of the user's code, under `ctx`."""
    if is_ours(frame.f_globals.get("__name__")):
        return False
    return any(each is ctx for each in _under(frame))
