"""`TraceContext`: two hooks that keep a stack of the calls that are open.

`posthook` does not run where a call raises. So each open call holds the frame that made it: when an event
comes from a frame that has an open call, that call, and all that lies above it, was left by an exception.

Invariant: a frame is held only while a call that it made is open; times are of `time.perf_counter_ns`.
"""

from __future__ import annotations

import sys
import threading
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from dataclasses import field
from fnmatch import fnmatchcase
from time import perf_counter_ns
from types import FrameType
from typing import Any, Self

from ctxdispatch.dispatch import Context
from ctxdispatch.dispatch.where import caller
from ctxdispatch_contexts.tracing.tree import Node, Tree, name_of, shown


class Open:
    """A call that has not returned."""

    __slots__ = ("node", "frame", "started")

    def __init__(self, node: Node, frame: FrameType | None) -> None:
        self.node, self.frame = node, frame
        self.started = perf_counter_ns()


class Recording:
    """The tree so far. Each thread has a stack of its own."""

    def __init__(self) -> None:
        self.tree = Tree()
        self._local = threading.local()

    @property
    def stack(self) -> list[Open]:
        found: list[Open] | None = getattr(self._local, "stack", None)
        if found is None:
            self._local.unnamed = True
            found = self._local.stack = [Open(self.tree.thread(UNNAMED), None)]
        if self._local.unnamed:
            found[0].node.name = _thread_name()
            self._local.unnamed = found[0].node.name == UNNAMED
        return found


def _thread_name() -> str:
    """That of the current thread, as soon as it is known: while it is being started, it is not."""
    ident = threading.get_ident()
    return next((thread.name for thread in threading.enumerate() if thread.ident == ident), UNNAMED)


UNNAMED = "a thread"


class TraceContext(Context):
    """Records which calls a program makes, in which order and within which, and how long they take.

        ctx = TraceContext()
        overdub(ctx, f, x)
        print(ctx.tree.text())

    `arguments`: with the arguments and the results, as text of 60 characters at most. `depth`: how deep;
    `include`, `exclude`: patterns (of `fnmatch`) of the names of functions; what is left out is not recorded,
    what it calls is, in its place. `sites`: with the place of each call. The outermost function is no call of
    the program: its calls are the children of the thread's root.
    """

    arguments: bool = False
    depth: int | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    sites: bool = True
    recording: Recording = field(default_factory=Recording)
    intercepts = ("call",)

    @property
    def tree(self) -> Tree:
        """What was recorded so far, calls that are still open included."""
        self._settle()
        return self.recording.tree

    def prehook(self, f: Any, args: Any, kwargs: Any) -> None:
        frame = sys._getframe(1)
        stack = self.recording.stack
        _left_by_exceptions(stack, frame)
        name = name_of(f)
        node = Node(name) if self._is_shown(name, len(stack)) else None
        if node is not None:
            stack[-1].node.children.append(node)
            if self.sites:
                node.site = frame.f_code, frame.f_lasti
            if self.arguments:
                node.arguments = shown(args, kwargs)
        stack.append(Open(node or stack[-1].node, frame))

    def posthook(self, out: Any, f: Any, args: Any, kwargs: Any) -> None:
        now = perf_counter_ns()
        stack = self.recording.stack
        frame = sys._getframe(1)
        while len(stack) > 1:
            top = stack.pop()
            own = top.frame is frame
            _close(top, stack, now, raised=not own)
            if own:
                if self.arguments and top.node is not stack[-1].node:
                    top.node.result = shown((out,), {})[1:-1].removesuffix(",")
                return

    def _is_shown(self, name: str, depth: int) -> bool:
        if self.depth is not None and depth > self.depth:
            return False
        if self.include and not any(fnmatchcase(name, pattern) for pattern in self.include):
            return False
        return not any(fnmatchcase(name, pattern) for pattern in self.exclude)

    def _settle(self) -> None:
        """What is open here though none of its frames is on the stack was left by an exception."""
        stack = self.recording.stack
        frame = caller(self, sys._getframe(2))
        if frame is None:
            while len(stack) > 1:
                _close(stack.pop(), stack, perf_counter_ns(), raised=True)

    # -- from a command line -----------------------------------------------------------------------

    @classmethod
    def add_options(cls, parser: ArgumentParser) -> None:
        add = parser.add_argument
        add("--format", choices=("text", "json", "html"), default="text")
        add("--output", metavar="FILE", help="write the tree there in place of printing it")
        add("--arguments", action="store_true", help="with arguments and results")
        add("--depth", type=int, help="record calls that are so deep at most")
        add("--include", action="append", default=[], metavar="PATTERN", help="names of functions to record")
        add("--exclude", action="append", default=[], metavar="PATTERN", help="names that are left out")
        add("--min-time", type=float, default=0.0, metavar="MS", help="leave out what took less")
        add("--merge", action="store_true", help="add up equal calls side by side")

    @classmethod
    def from_options(cls, options: Namespace) -> Self:
        include, exclude = tuple(options.include), tuple(options.exclude)
        return cls(options.arguments, options.depth, include, exclude)

    def report(self, options: Namespace) -> str:
        from ctxdispatch_contexts.tracing.page import to_html

        tree = self.tree.merged() if options.merge else self.tree
        tree = tree.without_short(round(options.min_time * 1e6))
        write: Callable[[], str] = {
            "text": tree.text, "json": tree.to_json, "html": lambda: to_html(tree),
        }[options.format]  # fmt: skip
        if options.output is None:
            return write()
        with open(options.output, "w", encoding="utf-8") as file:
            file.write(write())
        return f"the call tree is in {options.output}"


def _left_by_exceptions(stack: list[Open], frame: FrameType) -> None:
    """Close what is open above a call that `frame`, which goes on, has made: it did not return."""
    for k in range(len(stack) - 1, 0, -1):
        if stack[k].frame is frame:
            now = perf_counter_ns()
            while len(stack) > k:
                _close(stack.pop(), stack, now, raised=True)
            return


def _close(top: Open, stack: list[Open], now: int, raised: bool) -> None:
    node = top.node
    if node is not stack[-1].node:
        node.total += now - top.started
        node.raised = node.raised or raised
        if type(node.site) is tuple:
            node.site = _site(*node.site)


def _site(code: Any, lasti: int) -> str:
    line = next((line for start, end, line in code.co_lines() if start <= lasti < end), None)
    return f"{code.co_filename}:{line}"


