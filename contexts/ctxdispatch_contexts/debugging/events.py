"""What programs call for a debugger: where they are entered, come to a line, return, raise.

Invariant: the first test of each says whether the session can have anything to do there. It is one look-up,
and false for nearly all that runs.
"""

from __future__ import annotations

import sys
from types import CodeType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ctxdispatch_contexts.debugging.context import DebugContext


class Place:
    """A function that was rewritten: `code` is what it was before."""

    __slots__ = ("code", "line")

    def __init__(self, code: CodeType | None, line: int) -> None:
        self.code, self.line = code, line


class Every:
    """The set of all lines."""

    def __contains__(self, line: object) -> bool:
        return True


def at_entry(ctx: DebugContext, place: Place) -> None:
    if place not in ctx.session.calm:
        ctx.session.on_entry(sys._getframe(1), place)


def at_line(ctx: DebugContext, line: int) -> None:
    if line in ctx.session.lines:
        ctx.session.on_line(sys._getframe(1), line)


def at_return(ctx: DebugContext, value: Any) -> None:
    if ctx.session.stepping:
        ctx.session.on_return(sys._getframe(1), value)


def at_exception(ctx: DebugContext, exception: BaseException) -> None:
    """It leaves the function."""
    if ctx.session.raising:
        ctx.session.on_raise(sys._getframe(1), exception, True)


def at_caught(ctx: DebugContext, exception: BaseException) -> None:
    """It comes to an `except`, a `finally` or the end of a `with`."""
    if ctx.session.catching:
        ctx.session.on_raise(sys._getframe(1), exception, False)
