"""`python -m ctxdispatch run`: a script or a module under contexts, top-level code included.

    overdub(outer, overdub, inner, code of the module)

The top-level code is a function whose globals are the fresh `__main__`. Invariant: what the program prints,
returns to the shell and raises is that of the plain run; reports go to stderr or a file, after everything of
the program has ended (its threads, its `atexit` functions).
"""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from types import CodeType, FunctionType
from typing import Any, TextIO

from ctxdispatch.command.parsing import Parser, UsageError, program_name
from ctxdispatch.command.programs import find_program
from ctxdispatch.command.selection import Choice, help_of, select
from ctxdispatch.command.tracebacks import hide_engine
from ctxdispatch.dispatch.context import Context
from ctxdispatch.dispatch.tracebacks import show_all

DESCRIPTION = """\
Run a Python program under contexts, as `python` runs it: `__main__`, sys.argv, sys.path, stdin, exit status
and tracebacks are those of the plain run. What the contexts have to say comes on stderr when it has ended."""

EPILOG = """\
examples:
  %(prog)s --context trace script.py --an-option-of-the-script
  %(prog)s --context count --context nan -m json.tool data.json
  %(prog)s --context my_package.contexts:Mine -c "print(1 + 1)"
  %(prog)s --context trace --help           the options of a context

An option belongs to the nearest context before it that has it. Of several contexts the first is the
innermost: the others see the program that it makes. Contexts that replace Python functions come first: what
they are given is not what the program of another context calls."""


def main(argv: Sequence[str]) -> int:
    """Run the program that `argv` says. Its exceptions pass, SystemExit too."""
    own = _parser()
    chosen = select(argv, own)
    options = own.parse_args(chosen.own)
    if options.help:
        print(help_of(own, chosen.choices), end="")
        return 0
    if not chosen.choices:
        raise UsageError("no context given: --context NAME; `contexts` lists those that are installed")
    program = find_program(chosen.program)
    with program.importing():
        contexts = [choice.make() for choice in chosen.choices]
    file = _opened(options.report)
    if options.full_traceback:
        show_all()
    function = _installed(program.install, options.full_traceback)
    _report_at_exit([*zip(contexts, chosen.choices)], file)
    _run(contexts, function, options.full_traceback)
    return 0


def _parser() -> Parser:
    parser = Parser(
        prog=f"{program_name()} run",
        usage="%(prog)s --context NAME [options] (SCRIPT | -m MODULE | -c CODE | -) [arguments]",
        description=DESCRIPTION,
        epilog=EPILOG,
        add_help=False,
    )
    add = parser.add_argument
    add("-h", "--help", action="store_true", help="this text, with the options of the contexts given")
    add("--context", metavar="NAME",
        help="a context that is installed (in any case, with or without the suffix Context), or "
        "MODULE:CLASS; several are stacked, the first is the innermost")  # fmt: skip
    add("--report", metavar="FILE", help="write what contexts report there, not to stderr")
    add("--full-traceback", action="store_true", help="show the frames of the engine too")
    return parser


# -- the program -----------------------------------------------------------------------------------


def under(contexts: Sequence[Context], f: Callable[..., Any]) -> Any:
    """Run f() under `contexts`, the first the innermost."""
    from ctxdispatch.dispatch.overdub import overdub

    inner, *others = contexts
    words: list[Any] = [inner, f]
    for ctx in others:
        words = [ctx, overdub, *words]
    return overdub(*words)


def _installed(install: Callable[[], FunctionType], full: bool) -> FunctionType:
    """The program; a SyntaxError in it is shown as the interpreter shows it."""
    try:
        return install()
    except SyntaxError:
        if not full:
            hide_engine(_installed.__code__)
        raise


def _run(contexts: Sequence[Context], function: FunctionType, full: bool) -> None:
    try:
        under(contexts, function)
    except BaseException:
        if not full:
            hide_engine(_run.__code__, _fallbacks(contexts))
        raise


def _fallbacks(contexts: Sequence[Context]) -> Iterator[CodeType]:
    """What stands between the program and each C function that it calls."""
    for cls in {cls for ctx in contexts for cls in type(ctx).__mro__}:
        found = vars(cls).get("fallback")
        if type(found) is FunctionType:
            yield found.__code__


# -- reports ---------------------------------------------------------------------------------------


def _report_at_exit(made: list[tuple[Context, Choice]], file: TextIO) -> None:
    """Of all functions registered with `atexit` this is the last to run. A forked child reports nothing."""
    process = os.getpid()

    def report() -> None:
        if os.getpid() == process:
            with contextlib.suppress(Exception):  # a broken pipe: the interpreter will say so
                sys.stdout.flush()
            _write(made, file)

    atexit.register(report)


def _opened(path: str | None) -> TextIO:
    if path is None:
        return sys.stderr
    try:
        return open(path, "w", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"argument --report: can't write {path!r}: {error.strerror}") from error


def _write(made: list[tuple[Context, Choice]], file: TextIO) -> None:
    for ctx, choice in made:
        try:
            text = ctx.report(choice.options)
            if not isinstance(text, str | None):
                raise TypeError(f"{type(ctx).__name__}.report returned {text!r}, not a string")
        except Exception:
            text = f"{choice.name}: the report failed:\n{traceback.format_exc()}"
        if text:
            file.write(text if text.endswith("\n") else f"{text}\n")
    file.flush()
