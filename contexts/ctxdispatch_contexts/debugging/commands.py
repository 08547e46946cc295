"""The terminal's commands that do not go on: breakpoints, and what there is to see at a stop.

Each `do_NAME` is a command; its docstring is its help. ValueErrors that they raise are messages to the user.
"""

from __future__ import annotations

import inspect
import pprint
import traceback
from cmd import Cmd
from collections.abc import Iterator
from types import FrameType
from typing import Any

from ctxdispatch_contexts.debugging import frames as of_frame
from ctxdispatch_contexts.debugging.breakpoints import Breakpoint, code_of
from ctxdispatch_contexts.debugging.sources import block_lines, same_file, source_lines
from ctxdispatch_contexts.debugging.stops import Stop


class Asked(Cmd):
    """What all commands have: the stop, the frame that is looked at, where to write."""

    session: Any
    stop: Stop
    level: int

    @property
    def frame(self) -> FrameType:
        return self.stop.frame(self.level)

    @property
    def line(self) -> int:
        """Of the frame that is looked at."""
        return self.stop.stack[len(self.stop.stack) - 1 - self.level].line

    def message(self, text: str) -> None:
        print(text, file=self.stdout)

    def value(self, expression: str) -> Any:
        return of_frame.evaluate(expression.strip(), self.frame, self.session.extra)


class BreakpointCommands(Asked):
    def do_break(self, text: str) -> None:
        """b(reak) [WHERE [from CALLER] [, CONDITION]]
        Stop at a line (`12`, `file.py:12`) or where a function is entered (`name`, `Class.method`, a
        pattern); with `from`, only when CALLER calls it; only if the CONDITION is true there. Without
        arguments: list all breakpoints."""
        self._break(text, False)

    do_b = do_break

    def do_tbreak(self, text: str) -> None:
        """tbreak WHERE [from CALLER] [, CONDITION]
        As break, but only once."""
        self._break(text, True)

    def _break(self, text: str, temporary: bool) -> None:
        if not text.strip():
            for each in self.session.breakpoints:
                self.message(str(each))
            return
        made: Breakpoint = self.session.breakpoints.add(
            text, temporary=temporary, file=self.frame.f_code.co_filename
        )
        if isinstance(made.function, str) and made.function.isidentifier():
            self._look_up(made, made.function)
        self.message(f"Breakpoint {made}")

    def _look_up(self, made: Breakpoint, name: str) -> None:
        """A name means the function that it has here, where it has one."""
        try:
            made.function = code_of(self.value(name))
        except (NameError, TypeError):
            made.function = name

    def do_clear(self, text: str) -> None:
        """cl(ear) [NUMBER ...]
        Remove these breakpoints, or all."""
        if not text.strip():
            self.session.breakpoints.clear()
            self.message("Removed all breakpoints")
        for number in _numbers(text):
            self.message(f"Removed breakpoint {self.session.breakpoints.remove(number)}")

    do_cl = do_clear

    def do_condition(self, text: str) -> None:
        """condition NUMBER [EXPRESSION]
        Stop there only if the expression is true; without one, always."""
        number, _, expression = text.strip().partition(" ")
        made = self.session.breakpoints.change(_number(number), condition=expression.strip() or None)
        self.message(f"Breakpoint {made}")

    def do_ignore(self, text: str) -> None:
        """ignore NUMBER [COUNT]
        Do not stop there the next COUNT times (0 without)."""
        number, _, count = text.strip().partition(" ")
        made = self.session.breakpoints.change(_number(number), ignore=_number(count or "0"))
        self.message(f"Breakpoint {made}")

    def do_enable(self, text: str) -> None:
        """enable NUMBER ...
        These breakpoints stop again."""
        self._able(text, True)

    def do_disable(self, text: str) -> None:
        """disable NUMBER ...
        These breakpoints are kept, but do not stop."""
        self._able(text, False)

    def _able(self, text: str, enabled: bool) -> None:
        for number in _numbers(text):
            self.message(f"Breakpoint {self.session.breakpoints.change(number, enabled=enabled)}")

    def do_catch(self, text: str) -> None:
        """catch [leaves | raised | off]
        Stop where an exception leaves the innermost function, or also where that catches it itself."""
        mode = text.strip()
        if mode:
            self.session.on_exception = None if mode == "off" else mode
        self.message(f"Exceptions: {self.session.on_exception or 'off'}")

    def do_watch(self, text: str) -> None:
        """watch [EXPRESSION]
        Stop when the value changes in this call of the function. Without an expression: list them."""
        if text.strip():
            self.session.watch(text.strip(), self.frame)
        for each in self.session.watches:
            self.message(f"Watch {each.number}: {each.expression} = {each.value!r}")

    def do_unwatch(self, text: str) -> None:
        """unwatch [NUMBER ...]
        Watch these no more, or none."""
        gone = {*_numbers(text)} if text.strip() else {w.number for w in self.session.watches}
        self.session.watches = [w for w in self.session.watches if w.number not in gone]
        self.session.refresh()


class ShowingCommands(Asked):
    listed: int | None
    displayed: dict[tuple[Any, str], Any]

    # -- the stack ---------------------------------------------------------------------------------

    def do_where(self, text: str) -> None:
        """w(here)
        The functions under the context that are running, the innermost last; `>` is the one looked at."""
        last = len(self.stop.stack) - 1
        for k, each in enumerate(self.stop.stack):
            self.message(f"{'>' if last - k == self.level else ' '} {each}\n-> {each.source}")

    do_w = do_bt = do_where

    def do_up(self, text: str) -> None:
        """u(p) [COUNT]
        Look at the function that called this one."""
        self._look(self.level + _number(text or "1"), "Oldest frame")

    do_u = do_up

    def do_down(self, text: str) -> None:
        """d(own) [COUNT]
        Look at the function that this one has called."""
        self._look(self.level - _number(text or "1"), "Newest frame")

    do_d = do_down

    def _look(self, level: int, end: str) -> None:
        inside = min(max(level, 0), self.stop.depth - 1)
        if inside == self.level:
            raise ValueError(end)
        self.level, self.listed = inside, None
        self.show_place()

    def show_place(self) -> None:
        here = self.stop.stack[self.stop.depth - 1 - self.level]
        self.message(f"> {here}\n-> {here.source}")

    # -- the source --------------------------------------------------------------------------------

    def do_list(self, text: str) -> None:
        """l(ist) [FIRST [, LAST] | .]
        Eleven lines around this one, or further on; `.`: around this one again; `->` is where it is, `B`
        where a breakpoint is."""
        file = self.frame.f_code.co_filename
        lines = source_lines(file, self.frame.f_globals)
        first, last = self._range(text.strip())
        if not lines or first > len(lines):
            raise ValueError("[EOF]" if lines else f"there is no source of {file}")
        self._print_lines(lines[first - 1 : last], first)
        self.listed = min(last, len(lines)) + 1

    do_l = do_list

    def _range(self, text: str) -> tuple[int, int]:
        if not text or text == ".":
            first = self.listed if self.listed and not text else max(1, self.line - 5)
            return first, first + 10
        start, comma, end = text.partition(",")
        first = _number(start)
        if not comma:
            return max(1, first - 5), max(1, first - 5) + 10
        last = _number(end)
        return first, last if last >= first else first + last

    def do_longlist(self, text: str) -> None:
        """ll | longlist
        The whole function."""
        first, lines = block_lines(self.frame)
        if not lines:
            raise ValueError(f"there is no source of {self.frame.f_code.co_filename}")
        self._print_lines(lines, first)

    do_ll = do_longlist

    def _print_lines(self, lines: list[str], first: int) -> None:
        file = self.frame.f_code.co_filename
        marked = {b.line for b in self.session.breakpoints if b.file and same_file(b.file, file)}
        for number, text in enumerate(lines, first):
            mark = "->" if number == self.line else "B" if number in marked else ""
            self.message(f"{number:4} {mark:2} {text.rstrip()}".rstrip())

    def do_source(self, text: str) -> None:
        """source EXPRESSION
        The source of a function or class."""
        try:
            lines, first = inspect.getsourcelines(self.value(text))
        except (OSError, TypeError) as error:
            raise ValueError(str(error)) from None
        self._print_lines(lines, first)

    # -- values ------------------------------------------------------------------------------------

    def do_p(self, text: str) -> None:
        """p EXPRESSION
        Print its value."""
        self.message(repr(self.value(text)))

    def do_pp(self, text: str) -> None:
        """pp EXPRESSION
        Print its value, over several lines."""
        self.message(pprint.pformat(self.value(text)))

    def do_whatis(self, text: str) -> None:
        """whatis EXPRESSION
        What its value is: a function, a class, or of which type."""
        value = self.value(text)
        if inspect.isclass(value):
            self.message(f"Class {value.__module__}.{value.__qualname__}")
        elif inspect.isroutine(value):
            self.message(f"{'Method' if inspect.ismethod(value) else 'Function'} {value.__name__}")
        else:
            self.message(str(type(value)))

    def do_args(self, text: str) -> None:
        """a(rgs)
        The function's arguments, as they are now."""
        values = of_frame.variables(self.frame)
        self._print_values({n: values[n] for n in of_frame.argument_names(self.frame.f_code) if n in values})

    do_a = do_args

    def do_locals(self, text: str) -> None:
        """locals
        All local variables."""
        self._print_values(of_frame.variables(self.frame))

    def _print_values(self, values: dict[str, Any]) -> None:
        for name, value in values.items():
            self.message(f"{name} = {value!r}")

    def do_retval(self, text: str) -> None:
        """rv | retval
        What the function is about to return."""
        if self.stop.event != "return":
            raise ValueError("Not yet returned!")
        self.message(repr(self.stop.returned))

    do_rv = do_retval

    def do_exception(self, text: str) -> None:
        """exception
        The exception that is raised here, with its traceback."""
        if self.stop.exception is None:
            raise ValueError("No exception")
        self.message("".join(traceback.format_exception(self.stop.exception)).rstrip())

    def do_display(self, text: str) -> None:
        """display [EXPRESSION]
        Show the value whenever it has changed when the program stops in this function. Without one: list."""
        expression = text.strip()
        if expression:
            self.displayed[self.frame.f_code, expression] = shown = self._shown(expression, self.frame)
            self.message(f"display {expression}: {shown}")
        else:
            for _, each in self._displayed_here():
                self.message(f"display {each}: {self._shown(each, self.frame)}")

    def do_undisplay(self, text: str) -> None:
        """undisplay [EXPRESSION]
        Do not show it any more; without one, none of this function."""
        gone = [key for key in self._displayed_here() if text.strip() in ("", key[1])]
        if not gone:
            raise ValueError("not displaying " + (text.strip() or "anything"))
        for key in gone:
            del self.displayed[key]

    def _displayed_here(self) -> Iterator[tuple[Any, str]]:
        return iter([key for key in self.displayed if key[0] is self.frame.f_code])

    def show_displayed(self) -> None:
        for key in self._displayed_here():
            now, before = self._shown(key[1], self.frame), self.displayed[key]
            if now != before:
                self.displayed[key] = now
                self.message(f"display {key[1]}: {now}  [old: {before}]")

    def _shown(self, expression: str, frame: FrameType) -> str:
        try:
            return repr(of_frame.evaluate(expression, frame, self.session.extra))
        except Exception as error:
            return f"** raised {type(error).__name__}: {error} **"


def _number(text: str) -> int:
    if not text.strip().isdigit():
        raise ValueError(f"{text.strip()!r} is no number")
    return int(text)


def _numbers(text: str) -> list[int]:
    return [_number(word) for word in text.replace(",", " ").split()]
