"""What has no answer on intervals is refused, at the user's line."""

from __future__ import annotations

from types import FrameType
from typing import NoReturn

from ctxdispatch.dispatch.context import Context
from ctxdispatch.dispatch.refusals import tell_run
from ctxdispatch.dispatch.where import position, user_frame

__undispatched__ = True


class IntervalError(ArithmeticError):
    """What has no answer on intervals: an undecided comparison, a value outside of a function's domain, a
    function without an enclosure. The message begins with the user's line."""


class IntervalTypeError(IntervalError, TypeError):
    """Hashing; Python and its users take a TypeError for "not hashable"."""


class RefusesOnIntervals(Context):
    """A context whose runs remember what was refused in them."""


def refuse(text: str, kind: type[IntervalError] = IntervalError) -> NoReturn:
    frame = _caller_of_numpy(user_frame())
    error = kind(text if frame is None else f"{position(frame)}: {text}")
    tell_run(RefusesOnIntervals, error)
    raise error


def _caller_of_numpy(frame: FrameType | None) -> FrameType | None:
    """NumPy's functions run in frames of their own; the user's line is where they were called."""
    while frame is not None and frame.f_globals.get("__name__", "").startswith("numpy."):
        frame = frame.f_back
    return frame
