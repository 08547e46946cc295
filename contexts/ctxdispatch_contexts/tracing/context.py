"""`TraceContext`: two hooks that keep a stack of the calls that are open (`recording`)."""

from __future__ import annotations

import functools
import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from dataclasses import field
from time import perf_counter_ns
from types import CodeType, FunctionType
from typing import Any, Self

from ctxdispatch.dispatch import Context
from ctxdispatch.dispatch.overdub import dispatch, overdub
from ctxdispatch.dispatch.plan import KINDS
from ctxdispatch_contexts.tracing.naming import parts, short, shown
from ctxdispatch_contexts.tracing.recording import (
    PAUSES,
    Call,
    Hides,
    Keep,
    Recording,
    keep_all,
    place,
    starting,
)
from ctxdispatch_contexts.tracing.tree import Tree, tree_of

DISPATCH: CodeType = dispatch.__code__
"""It is between C code and what that calls back."""

MILLISECOND = 1_000_000


class TraceContext(Context):
    """Records which calls a program makes, in which order and within which, and how long they take.

        ctx = TraceContext()
        overdub(ctx, f, x)
        print(ctx.tree.text())

    `arguments`: with the arguments and results, as short text. `depth`: so many levels. `include`, `exclude`:
    patterns (of `fnmatch`) of the names of functions; of what is left out the calls are in its place.
    `min_ms`: leave out what took fewer milliseconds. `merge`: add up equal calls side by side, while they are
    recorded: for programs that make millions. What is left out counts as its caller's own time.

    The record of an instance goes on over several runs; each thread has a root of its own. Calls alone are
    recorded: `TraceContext.of_kinds("call", "operator")` is a class that records operators too. ValueError
    for a depth below 1 and times below 0.
    """

    arguments: bool = False
    depth: int | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    min_ms: float = 0.0
    merge: bool = False
    threads: list[list[Call]] = field(default_factory=list, repr=False)
    recording: Recording = field(init=False, repr=False, compare=False)
    intercepts = ("call",)

    def __post_init__(self) -> None:
        if self.depth is not None and self.depth < 1:
            raise ValueError(f"depth is 1 or more, not {self.depth}")
        if self.min_ms < 0:
            raise ValueError(f"min_ms is 0 or more, not {self.min_ms}")
        selects = self.depth is not None or self.include or self.exclude
        hides = Hides(self.depth, tuple(self.include), tuple(self.exclude)) if selects else None
        drops = hides is not None or self.merge or self.min_ms > 0
        keep = Keep(round(self.min_ms * MILLISECOND), self.merge) if drops else None
        self.__dict__["recording"] = Recording(self.threads, keep or keep_all, hides)
        self.__dict__.update(_hides=hides, _keep=keep)  # thread-local attributes are slow

    @classmethod
    def of_kinds(cls, *kinds: str) -> type[Self]:
        """The class that records operations of these kinds (`ctxdispatch.dispatch.plan.KINDS`): "call",
        "operator", "compare", "item", "attribute", ... ValueError for others."""
        unknown = [kind for kind in kinds if kind not in KINDS]
        if unknown or not kinds:
            raise ValueError(f"the kinds are {', '.join(KINDS)}; not {', '.join(unknown) or 'none'}")
        return _of_kinds(cls, kinds)

    @property
    def tree(self) -> Tree:
        """What was recorded so far; calls that are open end now."""
        tree = tree_of(self.threads)
        return tree.merged().without_short(self.min_ms) if self.merge else tree

    def prehook(self, f: Any, args: Any, kwargs: Any) -> None:
        frame = sys._getframe(1)
        stack = self.recording.stack
        top = stack[-1]
        code = frame.f_code
        # Straight from what was called last, or from the piece that is open: else it is looked up.
        if frame.f_back is not top.frame or (top.body is not code and (top.body or code.co_flags & PAUSES)):
            top = self.recording.enclosing(frame)
            top.name = top.name or starting(f)
        if type(f) is FunctionType:
            call = Call(frame, f.__module__, f.__qualname__, code, frame.f_lasti)
        else:
            call = Call(frame, *parts(f), code, frame.f_lasti)
        if code is DISPATCH:
            place(call, frame)
        if self.arguments:
            call.arguments = shown(args, kwargs)
            call.start = perf_counter_ns()
        if self._hides is not None:
            self._hides(call, stack[-1])
        stack.append(call)

    def posthook(self, out: Any, f: Any, args: Any, kwargs: Any) -> None:
        now = perf_counter_ns()
        stack = self.recording.stack
        frame = sys._getframe(1)
        call = stack[-1]
        if call.frame is not frame or call.body is not None:
            if not self.recording.returns_to(frame, now):
                return
            call = stack[-1]
        if self.arguments:
            call.result = short(out)
        del stack[-1]
        # `Recording.close`, as calls of our own would cost as much as all of this.
        parent = stack[-1]
        call.frame = None
        call.total = now - call.start
        parent.end = now
        if self._keep is not None:
            self._keep(parent, call)
        elif parent.children:
            parent.children.append(call)
        else:
            parent.children = [call]

    def enter(self, f: Any, args: Any, kwargs: Any) -> Any:
        """The outermost call is recorded too; that of `overdub` is that of its program."""
        program = self.program(f, args, kwargs)
        called, given = (f, args) if f is not overdub or len(args) < 2 else (args[1], args[2:])
        self.prehook(called, given, kwargs)
        stack = self.recording.stack
        depth = len(stack) - 1
        place(stack[-1], sys._getframe())
        try:
            out = program(*args, **kwargs)
            self.posthook(out, called, given, kwargs)
            return out
        finally:
            self.recording.close_down_to(depth)

    # -- from a command line -----------------------------------------------------------------------

    @classmethod
    def add_options(cls, parser: ArgumentParser) -> None:
        add = parser.add_argument
        add("--format", choices=FORMATS, default="text", help="text, json, or html: a flame graph")
        add("--output", metavar="FILE", help="write the tree there in place of printing it")
        add("--arguments", action="store_true", help="with arguments and results")
        add("--sites", action="store_true", help="text: with the file and line of each call")
        add("--depth", type=int, metavar="N", help="leave out what is deeper")
        add("--min-ms", type=float, default=0.0, metavar="MS", help="leave out what took less")
        add("--include", action="append", default=[], metavar="PATTERN", help="names of functions to record")
        add("--exclude", action="append", default=[], metavar="PATTERN", help="names to leave out")
        add("--merge", action="store_true", help="add up equal calls side by side")
        add("--kinds", default="call", metavar="KIND,..", help=f"what is recorded: {', '.join(KINDS)}")

    @classmethod
    def from_options(cls, options: Namespace) -> Self:
        folder = os.path.dirname(options.output or "")
        if folder and not os.path.isdir(folder):
            raise ValueError(f"--output: there is no directory {folder!r}")
        traced = cls.of_kinds(*options.kinds.split(",")) if options.kinds != "call" else cls
        include, exclude = tuple(options.include), tuple(options.exclude)
        return traced(options.arguments, options.depth, include, exclude, options.min_ms, options.merge)

    def report(self, options: Namespace) -> str:
        text = FORMATS[options.format](self.tree, options)
        if options.output is None:
            return text
        with open(options.output, "w", encoding="utf-8") as file:
            file.write(text + "\n")
        return f"the call tree is in {options.output}"


@functools.cache
def _of_kinds(cls: type[Any], kinds: tuple[str, ...]) -> type[Any]:
    namespace = {"intercepts": kinds, "__module__": cls.__module__, "__doc__": cls.__doc__}
    return type(cls)(cls.__name__, (cls,), namespace)


FORMATS: dict[str, Callable[[Tree, Namespace], str]] = {
    "text": lambda tree, options: tree.text(sites=options.sites),
    "json": lambda tree, options: tree.to_json(),
    "html": lambda tree, options: tree.to_html(),
}
