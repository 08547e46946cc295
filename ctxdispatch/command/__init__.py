"""The command line: `python -m ctxdispatch run | contexts | ir`.

Each command is a module with `main(argv) -> int`, imported when it is asked for. Invariant: what the user did
wrong is one line on stderr and exit status 2; what the user's program does is its own.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module

from ctxdispatch.command.parsing import Parser, UsageError, closest, program_name

COMMANDS = {
    "run": ("ctxdispatch.command.run", "run a script or a module under contexts"),
    "contexts": ("ctxdispatch.command.listing", "list the contexts that are installed"),
    "ir": ("ctxdispatch.command.show", "show what the engine makes of a function"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv` (`sys.argv[1:]`); the exit status. What the program raises passes."""
    argv = sys.argv[1:] if argv is None else list(argv)
    try:
        if argv and argv[0] in COMMANDS:
            status: int = import_module(COMMANDS[argv[0]][0]).main(argv[1:])
            if argv[0] != "run":
                sys.stdout.flush()
            return status
        return _without_command(argv)
    except BrokenPipeError:  # `| head`
        if argv[0] == "run":
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except UsageError as error:
        at = f"{program_name()} {argv[0]}" if argv and argv[0] in COMMANDS else program_name()
        print(f"{at}: error: {error}", file=sys.stderr)
        return 2


def _without_command(argv: Sequence[str]) -> int:
    parser = _parser()
    known, rest = parser.parse_known_args(argv[:1])
    if rest:
        raise UsageError(f"no such option: {rest[0]}; see --help")
    if known.command is None:
        parser.print_help(sys.stderr)
        return 2
    raise UsageError(f"no such command: {known.command}{closest(known.command, COMMANDS)}; see --help")


def _parser() -> Parser:
    from ctxdispatch import __version__

    listing = "\n".join(f"  {name:<10} {text}" for name, (_, text) in COMMANDS.items())
    parser = Parser(
        prog=program_name(),
        usage="%(prog)s COMMAND ...",
        description="Contextual dispatch for Python, from the command line.",
        epilog=f"commands:\n{listing}\n\n`%(prog)s COMMAND --help` says more of each.",
    )
    parser.add_argument("command", nargs="?", metavar="COMMAND", help="one of those below")
    parser.add_argument("--version", action="version", version=f"ctxdispatch {__version__}")
    return parser
