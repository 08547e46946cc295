"""Where in the user's program a hook, a rule or a fallback was called from."""

from __future__ import annotations

import sys
from itertools import islice
from types import CodeType, FrameType
from typing import Any

from ctxdispatch.ir.leaves import is_ours
from ctxdispatch.ir.own_builtins import own as __builtins__  # type: ignore[no-redef]  # noqa: F401
from ctxdispatch.ir.sites import CONTEXT
from ctxdispatch.ir.values import Position


def caller(ctx: Any, frame: FrameType | None = None) -> FrameType | None:
    """The innermost frame, from `frame` outwards, of code that runs under a context and is no method of `ctx`
    and not the engine's. None where there is none: in another thread, or where nothing was rewritten."""
    frame = frame or sys._getframe(1)
    while frame is not None:
        if is_program(frame.f_code) and not _is_own(ctx, frame):
            return frame
        frame = frame.f_back
    return None


def user_frame() -> FrameType | None:
    """The innermost frame that is not ours, whether or not it runs under a context."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_ours(frame.f_globals.get("__name__")):
        frame = frame.f_back
    return frame


def position(frame: FrameType) -> Position:
    """Of the instruction that `frame` is at."""
    return position_in(frame.f_code, frame.f_lasti)


def position_in(code: CodeType, offset: int) -> Position:
    """Of the instruction at `offset`."""
    line, end_line, column, end_column = next(islice(code.co_positions(), offset // 2, None))
    return Position(code.co_filename, code.co_qualname, line, end_line, column, end_column)


def is_program(code: CodeType) -> bool:
    return any(name.startswith(CONTEXT) for name in code.co_freevars)


def _is_own(ctx: Any, frame: FrameType) -> bool:
    module = frame.f_globals.get("__name__") or ""
    if is_ours(module):
        return True
    name = frame.f_code.co_qualname
    classes = (cls for cls in type(ctx).__mro__ if cls.__module__ == module)
    return any(name.startswith(cls.__qualname__ + ".") for cls in classes)
