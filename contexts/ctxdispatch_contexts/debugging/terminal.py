"""`Terminal`: the prompt, with the commands of the standard library's debugger under their names.

    > shop.py(12)total()
    -> return price * (1 + rate)
    (ctx) p price
"""

from __future__ import annotations

import rlcompleter
from typing import Any

from ctxdispatch_contexts.debugging import frames as of_frame
from ctxdispatch_contexts.debugging.commands import BreakpointCommands, ShowingCommands
from ctxdispatch_contexts.debugging.stepping import Aborted, Resume
from ctxdispatch_contexts.debugging.stops import Stop


class Terminal(BreakpointCommands, ShowingCommands):
    """A front end that asks at a prompt. `stdin`, `stdout`: other streams than the program's; with a `stdin`
    there is no line editing. `catches_interrupts`: Ctrl-C stops the program at its next line.

    Where the input ends, the program is aborted.
    """

    prompt = "(ctx) "

    def __init__(self, stdin: Any = None, stdout: Any = None, catches_interrupts: bool = True) -> None:
        super().__init__("tab", stdin, stdout)
        self.use_rawinput = stdin is None and (stdout is None or self.stdin.isatty())
        self.catches_interrupts = catches_interrupts
        self.session: Any = None
        self.level = 0
        self.listed = None
        self.displayed = {}
        self._answer: Resume | None = None

    def __call__(self, stop: Stop) -> Resume:
        self._look_at(stop)
        self._announce(stop)
        self._answer = None
        while self._answer is None:
            try:
                self.cmdloop()
            except KeyboardInterrupt:
                self.message("--KeyboardInterrupt--")
        return self._answer

    def perform(self, text: str, stop: Stop) -> Resume | None:
        """One command, without a prompt; how to go on, if it says so."""
        if stop is not getattr(self, "stop", None):
            self._look_at(stop)
        self._answer = None
        self.onecmd(text)
        return self._answer

    def _look_at(self, stop: Stop) -> None:
        self.stop, self.level, self.listed = stop, 0, None

    def _announce(self, stop: Stop) -> None:
        if stop.thread != "MainThread":
            self.message(f"--Thread {stop.thread}--")
        announced = _EVENTS.get(stop.event)
        if announced:
            self.message(announced(stop))
        if stop.breakpoint is not None:
            self.message(f"Breakpoint {stop.breakpoint}")
        if stop.reason == "interrupt":
            self.message("--Interrupted--")
        if stop.message:
            self.message(stop.message)
        self.show_place()
        self.show_displayed()

    # -- cmd.Cmd -----------------------------------------------------------------------------------

    def onecmd(self, line: str) -> bool:
        try:
            return bool(super().onecmd(line))
        except (KeyboardInterrupt, Aborted):
            raise
        except ValueError as error:
            self.message(f"*** {error}")
        except BaseException as error:
            self.message(f"*** {type(error).__name__}: {error}")
        return False

    def emptyline(self) -> bool:
        return self.onecmd(self.lastcmd) if self.lastcmd else False

    def parseline(self, line: str) -> tuple[str | None, str | None, str]:
        """`x = 1`, `f(x)` and names that have no command are statements."""
        if line.strip().startswith("!"):
            return None, None, line
        return super().parseline(line)

    def default(self, line: str) -> None:
        statement = line.strip().removeprefix("!").strip()
        if statement:
            of_frame.execute(statement, self.frame, self.session.extra, self._show_value)

    def _show_value(self, value: Any) -> None:
        if value is not None:
            self.message(repr(value))

    def do_help(self, arg: str) -> None:
        """h(elp) [COMMAND]
        What a command does; without one, the list of them."""
        name = arg.strip()
        found = getattr(self, f"do_{name}", None) if name else None
        if not name:
            super().do_help("")
        elif name == "!":
            self.message("! STATEMENT\nRun a statement there. Variables that it assigns are changed.")
        elif found is None or not found.__doc__:
            raise ValueError(f"no help on {name}")
        else:
            self.message("\n".join(line.strip() for line in found.__doc__.splitlines()))

    do_h = do_help

    # -- completion --------------------------------------------------------------------------------

    def completedefault(self, text: str, line: str, begidx: int, endidx: int) -> list[str]:
        """Names and attributes that an expression can have there."""
        completer = rlcompleter.Completer(of_frame.namespace(self.frame, self.session.extra))
        found: list[str] = []
        while (word := completer.complete(text, len(found))) is not None:
            found.append(word)
        return [word for word in found if not word.startswith(of_frame.HIDDEN)]

    def completenames(self, text: str, *ignored: Any) -> list[str]:
        """Commands, and the variables that may be written instead of one."""
        names = self.completedefault(text, text, 0, len(text))
        return sorted({*super().completenames(text, *ignored), *names})

    # -- going on ----------------------------------------------------------------------------------

    def _go(self, how: str, line: int | None = None) -> bool:
        self._answer = Resume(how, line)
        return True

    def do_step(self, text: str) -> bool:
        """s(tep)
        Go on to the next line, into functions that are called: it stops where they are entered and where they
        return, too."""
        return self._go("step")

    do_s = do_step

    def do_next(self, text: str) -> bool:
        """n(ext)
        Go on to the next line of this function, or of one that called it if it returns."""
        return self._go("next")

    do_n = do_next

    def do_out(self, text: str) -> bool:
        """o(ut)
        Go on until this function has returned, to the next line of one that called it."""
        return self._go("out")

    do_o = do_out

    def do_return(self, text: str) -> bool:
        """r(eturn)
        Go on until this function is about to return."""
        return self._go("return")

    do_r = do_return

    def do_until(self, text: str) -> bool:
        """unt(il) [LINE]
        Go on to a line further down than this, or to LINE or one after it; or until the function has
        returned."""
        word = text.strip()
        if word and not word.isdigit():
            raise ValueError(f"{word!r} is no number")
        return self._go("until", int(word) if word else None)

    do_unt = do_until

    def do_continue(self, text: str) -> bool:
        """c(ont(inue))
        Go on to the next breakpoint."""
        return self._go("continue")

    do_c = do_cont = do_continue

    def do_quit(self, text: str) -> bool:
        """q(uit) | abort | exit
        End the program: Aborted is raised in it."""
        return self._go("abort")

    do_q = do_exit = do_abort = do_quit

    def do_jump(self, text: str) -> None:
        """j(ump)
        Not possible: rewritten code runs as it is."""
        raise ValueError("a program under a context cannot jump")

    do_j = do_jump

    def do_EOF(self, text: str) -> bool:
        """Where the input ends, the program is aborted."""
        self.message("")
        return self._go("abort")


def _called(stop: Stop) -> str:
    return "--Call--"


def _returned(stop: Stop) -> str:
    return f"--Return-- {stop.returned!r}"


def _raised(stop: Stop) -> str:
    return f"--Exception-- {type(stop.exception).__name__}: {stop.exception}"


_EVENTS = {"call": _called, "return": _returned, "exception": _raised}
