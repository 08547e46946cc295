"""What the two hooks record: a stack of open calls for each thread.

`posthook` does not run where a call raises, so an open call holds the frame that made it. Of an event that
comes from the frame F:

    an open call is still open    if and only if its frame is one that F was called from
    F is within                   the innermost of them

Generators and coroutines are not run by the call that makes them. What one does until it yields is a *piece*:
a node as if the frame that resumes it had called its code. It is opened by the first event that comes from
it, and spans its calls.

Invariant: no closed call holds a frame; the frames of open calls lie one within the other, innermost last.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterable
from fnmatch import fnmatchcase
from time import perf_counter_ns
from types import CodeType, FrameType, MethodType
from typing import Any

from ctxdispatch.ir.leaves import is_ours
from ctxdispatch_contexts.tracing.naming import full_name

PAUSES = 0x20 | 0x80 | 0x200
"""CO_GENERATOR, CO_COROUTINE, CO_ASYNC_GENERATOR"""


ROOT = "root"
"""In place of the frame that started a thread."""


class Call:
    """`frame` made it, and is None when it is closed; `code` and `lasti` are where."""

    body: CodeType | None = None
    """Of a piece: what is resumed."""
    hidden = False
    depth = 0
    total = end = raised = 0
    calls = 1
    arguments = result = ""
    children: Any = ()
    """Of most calls there are none: the list is made for the first."""
    known: dict[Any, Call] | None = None
    """Children by name, where equal ones are added up."""

    def __init__(self, frame: Any, module: Any, name: str, code: Any, lasti: int) -> None:
        self.frame: Any = frame
        self.module, self.name = module, name
        self.code, self.lasti = code, lasti
        self.start = perf_counter_ns()


class Recording(threading.local):
    """`stack` is the current thread's: its root, then the calls that are open, the innermost last. `threads`
    are all stacks."""

    def __init__(self, threads: list[list[Call]], keep: Any, hides: Any = None) -> None:
        self.stack = [Call(ROOT, None, thread_name(), None, 0)]
        self.keep, self.hides = keep, hides
        threads.append(self.stack)
        self._end = _End(self)

    def enclosing(self, frame: FrameType) -> Call:
        """What an event from `frame` is within: the innermost open call, after those that it has left are
        closed and pieces that it is within are opened."""
        stack = self.stack
        top = stack[-1]
        frames = _inside(frame, top.frame)
        if frames is None:
            self._leave(frame)
            return self.enclosing(frame)
        if top.body is not None:
            if frames[-1].f_code is not top.body:
                self.leave(perf_counter_ns())
                return self.enclosing(frame)
            frames.pop()
        for each in reversed(frames):
            if each.f_code.co_flags & PAUSES and not _is_engine(each):
                piece = _piece(each)
                if self.hides is not None:
                    self.hides(piece, stack[-1])
                stack.append(piece)
        return stack[-1]

    def _leave(self, frame: FrameType) -> None:
        """Close what `frame` is not within."""
        around = {ROOT, *(_inside(frame, ROOT) or ())} - {frame}
        now = perf_counter_ns()
        while self.stack[-1].frame not in around:
            self.leave(now)

    def leave(self, now: int) -> None:
        """Close the innermost call: a piece is over, others were left by an exception."""
        call = self.stack.pop()
        call.raised = int(call.body is None)
        self.close(call, now if call.body is None else call.end)

    def returns_to(self, frame: FrameType, now: int) -> bool:
        """Close what is open within the call made by `frame`. False if there is none."""
        for k in range(len(self.stack) - 1, 0, -1):
            call = self.stack[k]
            if call.frame is frame and call.body is None:
                self.close_down_to(k + 1, now)
                return True
        return False

    def close(self, call: Call, now: int) -> None:
        parent = self.stack[-1]
        call.frame = None
        call.total = max(0, now - call.start)
        parent.end = now
        self.keep(parent, call)

    def close_down_to(self, depth: int, now: int | None = None) -> None:
        """Close what lies above the first `depth` of the stack."""
        while len(self.stack) > depth:
            self.leave(now or perf_counter_ns())


class _End:
    """Goes when its thread does: what is open then is closed."""

    def __init__(self, recording: Recording) -> None:
        self._stack, self._keep = recording.stack, recording.keep

    def __del__(self) -> None:
        stack = self._stack
        while len(stack) > 1:
            call = stack.pop()
            call.frame, call.raised = None, int(call.body is None)
            call.total = max(0, (call.end or perf_counter_ns()) - call.start)
            self._keep(stack[-1], call)


def thread_name() -> str:
    """That of the current thread, "" where it is not known: while it is being started."""
    ident = threading.get_ident()
    return next((thread.name for thread in threading.enumerate() if thread.ident == ident), "")


def starting(f: Any) -> str:
    """The name of the thread whose first call is `f`."""
    owner = f.__self__ if type(f) is MethodType else None
    return owner.name if isinstance(owner, threading.Thread) else "a thread"


def _inside(frame: FrameType, outer: Any) -> list[FrameType] | None:
    """The frames from `frame` outwards that are within `outer`. None where `frame` is not."""
    found = [frame]
    while (back := found[-1].f_back) is not outer:
        if back is None:
            return found if outer is ROOT else None
        found.append(back)
    return found


def _is_engine(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__")).startswith("ctxdispatch.")


def _piece(frame: FrameType) -> Call:
    code = frame.f_code
    made = Call(frame.f_back, frame.f_globals.get("__name__"), code.co_qualname, None, 0)
    made.body = code
    place(made, frame.f_back)
    return made


def place(call: Call, frame: FrameType | None) -> None:
    """What the engine calls has for its site the user's that it does it for."""
    while frame is not None and is_ours(frame.f_globals.get("__name__")):
        frame = frame.f_back
    call.code, call.lasti = (frame.f_code, frame.f_lasti) if frame is not None else (None, 0)


# -- what is kept ----------------------------------------------------------------------------------


def keep_all(parent: Call, call: Call) -> None:
    if parent.children:
        parent.children.append(call)
    else:
        parent.children = [call]


class Keep:
    """Leaves out those that are hidden (their children take their place) or took less than `least`
    nanoseconds, and adds up equal ones."""

    def __init__(self, least: int, merge: bool) -> None:
        self.least = 0 if merge else least  # merged calls are not complete yet
        self.add = add_up if merge else keep_all

    def __call__(self, parent: Call, call: Call) -> None:
        if call.hidden or (call.body is not None and not call.children):
            for child in call.children:
                self.add(parent, child)
        elif call.total >= self.least:
            self.add(parent, call)


def add_up(parent: Call, call: Call) -> None:
    """Add `call`, and what it has called, to its equal among the children of `parent`."""
    waiting = [(parent, call)]
    while waiting:
        parent, call = waiting.pop()
        if parent.known is None:
            parent.known = {}
        same = parent.known.setdefault((call.module, call.name, call.body is None), call)
        if same is call:
            keep_all(parent, call)
            continue
        _add(same, call)
        waiting += [(same, child) for child in reversed(call.children)]


def _add(same: Call, call: Call) -> None:
    same.total += call.total
    same.calls += call.calls
    same.raised += call.raised
    if (same.code, same.lasti) != (call.code, call.lasti):
        same.code = None
    for text in ("arguments", "result"):
        if getattr(same, text) != getattr(call, text):
            setattr(same, text, "")


class Hides:
    """Marks as hidden what is not asked for: by name (patterns of `fnmatch`), and below a depth. Hidden ones
    do not count for the depth."""

    def __init__(self, depth: int | None, include: tuple[str, ...], exclude: tuple[str, ...]) -> None:
        self.depth = depth
        self.include, self.exclude = include, exclude
        self._by_name = functools.cache(self._is_hidden)

    def __call__(self, call: Call, parent: Call) -> None:
        deeper = parent.depth + 1
        if (self.depth is not None and deeper > self.depth) or self._by_name(call.module, call.name):
            call.hidden, call.depth = True, parent.depth
        else:
            call.depth = deeper

    def _is_hidden(self, module: Any, name: str) -> bool:
        full = full_name(module, name)
        included = not self.include or any(fnmatchcase(full, pattern) for pattern in self.include)
        return not included or any(fnmatchcase(full, pattern) for pattern in self.exclude)


# -- as a tree -------------------------------------------------------------------------------------


def outline(threads: Iterable[list[Call]]) -> list[list[tuple[Call, int, int]]]:
    """Per thread (call, number of its parent, total), parents first; calls that are open as if they ended
    now. The root's parent is -1."""
    now = perf_counter_ns()
    return [_outline([*stack], now) for stack in [*threads]]


def _outline(stack: list[Call], now: int) -> list[tuple[Call, int, int]]:
    still_open = {id(call): child for call, child in zip(stack, stack[1:])}
    rows: list[tuple[Call, int, int]] = []
    waiting = [(stack[0], -1)]
    while waiting:
        call, parent = waiting.pop()
        total = call.total if call.frame is None else max(0, (call.end if call.body else now) - call.start)
        rows.append((call, parent, total))
        at = len(rows) - 1
        if id(call) in still_open:
            waiting.append((still_open[id(call)], at))
        waiting += [(child, at) for child in reversed(call.children)]
    return rows
