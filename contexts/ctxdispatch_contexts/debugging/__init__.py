"""`DebugContext`: a step debugger for what runs under it. Scripts, callables and a terminal drive it."""

from ctxdispatch_contexts.debugging.breakpoints import Breakpoint, Breakpoints
from ctxdispatch_contexts.debugging.context import DebugContext
from ctxdispatch_contexts.debugging.frames import CannotAssign
from ctxdispatch_contexts.debugging.scripts import Script
from ctxdispatch_contexts.debugging.session import Session
from ctxdispatch_contexts.debugging.stepping import Aborted, Resume
from ctxdispatch_contexts.debugging.stops import FrameInfo, Stop
from ctxdispatch_contexts.debugging.terminal import Terminal

__all__ = [
    "DebugContext", "Session", "Stop", "FrameInfo", "Breakpoint", "Breakpoints",
    "Script", "Terminal", "Resume", "Aborted", "CannotAssign",
]  # fmt: skip
