"""The part of a command line that chooses contexts: `--context NAME [its options] ... PROGRAM ...`.

Invariant: an option belongs to the nearest context before it that knows it; so two contexts may have options
of one name, and one context may be given twice. Where the program begins, options end.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ctxdispatch.command.parsing import Parser, UsageError, closest, importing_from_here
from ctxdispatch.dispatch.context import Context


@dataclass
class Choice:
    """A context of the command line, and what was given for it."""

    name: str
    cls: type[Context]
    parser: Parser
    given: list[str] = field(default_factory=list)
    options: argparse.Namespace = field(default_factory=argparse.Namespace)

    def make(self) -> Context:
        """The instance. UsageError where its options do not go together."""
        self.options = self.parser.parse_args(self.given)
        if message := lacks(self.cls):
            raise UsageError(f"context {self.name}: {message}")
        try:
            made = self.cls.from_options(self.options)
        except (ValueError, OSError, argparse.ArgumentTypeError, argparse.ArgumentError) as error:
            raise UsageError(f"context {self.name}: {error}") from error
        if not isinstance(made, Context):
            what = f"{self.cls.__name__}.from_options returned {made!r}"
            raise UsageError(f"context {self.name}: {what}, no context")
        return made


@dataclass
class Selection:
    """`own`: the command's own options; `program`: what comes after all options."""

    own: list[str]
    choices: list[Choice]
    program: list[str]


def find_context(name: str) -> type[Context]:
    """The class called `name` on a command line. UsageError where there is none, or it cannot be loaded."""
    from ctxdispatch import contexts

    try:
        with importing_from_here():
            found: Any = contexts.find(name)
    except (ImportError, AttributeError, ValueError) as error:
        raise UsageError(error) from error
    if not (issubclass(type(found), type) and issubclass(found, Context)):
        raise UsageError(f"{name} is no context class, it is {found!r}")
    return found  # type: ignore[no-any-return]


OWN = frozenset({"-h", "--help", "--context", "--report", "--full-traceback", "-m", "-c"})
"""What no context can have for an option."""


def choose(name: str) -> Choice:
    cls = find_context(name)
    parser = Parser(prog=f"--context {name}", usage=argparse.SUPPRESS, add_help=False)
    parser._optionals.title = f"options of {cls.__name__}"
    cls.add_options(parser)
    taken = next((option for option in parser._option_string_actions if option in OWN), None)
    if taken is not None:
        raise UsageError(f"{cls.__name__}.add_options declares {taken}, which is an option of the command")
    return Choice(name, cls, parser)


def required(cls: type) -> list[str]:
    """The fields that an instance of `cls` cannot be made without."""
    missing = dataclasses.MISSING
    wanted = (f for f in dataclasses.fields(cls) if f.init) if dataclasses.is_dataclass(cls) else ()
    return [f.name for f in wanted if f.default is missing and f.default_factory is missing]


def lacks(cls: type[Context]) -> str:
    """Why `cls` cannot be made of options; nothing where it can."""
    fields = required(cls)
    if not fields or cls.from_options.__func__ is not Context.from_options.__func__:  # type: ignore[attr-defined]
        return ""
    named = ", ".join(map(repr, fields))
    return f"{cls.__name__} needs {named}: give it a from_options that makes an instance"


# -- where each word belongs -----------------------------------------------------------------------

STARTS = ("-m", "-c")
"""Options after which everything is the program's, as for the interpreter itself."""


def select(argv: Sequence[str], own: Parser) -> Selection:
    """Tell the options of the command (`own`) from those of contexts and of the program."""
    found = Selection([], [], [])
    words = iter(enumerate(argv))
    for i, word in words:
        if word == "--":
            found.program = list(argv[i + 1 :])
            break
        if word == "-" or not word.startswith("-") or word[:2] in STARTS:
            found.program = list(argv[i:])
            break
        name, equals, value = word.partition("=")
        if name == "--context":
            found.choices.append(choose(value if equals else _next(words, name)))
        else:
            _give(found, own, word, words)
    return found


def _next(words: Iterator[tuple[int, str]], option: str) -> str:
    following = next(words, None)
    if following is None:
        raise UsageError(f"argument {option}: expected one argument; see --help")
    return following[1]


def _give(found: Selection, own: Parser, word: str, words: Iterator[tuple[int, str]]) -> None:
    """Hand `word` and its values to the parser that knows it."""
    name = word.partition("=")[0]
    for parser, given in [(c.parser, c.given) for c in reversed(found.choices)] + [(own, found.own)]:
        action = _action(parser, name)
        if action is not None:
            count = 0 if "=" in word else _values(action)
            given += [word, *(_next(words, name) for _ in range(count))]
            return
    known = [o for p in (own, *(c.parser for c in found.choices)) for o in p._option_string_actions]
    hint = closest(name, known) or "; options of a context come after its --context; see --help"
    raise UsageError(f"no such option: {name}{hint}")


def _action(parser: Parser, option: str) -> argparse.Action | None:
    actions: dict[str, argparse.Action] = parser._option_string_actions
    return actions.get(option)


def _values(action: argparse.Action) -> int:
    """How many words after the option are its values; where that varies, none: write `--option=value`."""
    if action.nargs is None:
        return 1
    return action.nargs if isinstance(action.nargs, int) else 0


# -- help ------------------------------------------------------------------------------------------


def help_of(own: Parser, choices: Iterable[Choice]) -> str:
    """The command's help, then that of the options of each context."""
    parts: dict[Any, str] = {None: own.format_help()}
    for choice in choices:
        text = choice.parser.format_help().strip("\n")
        parts[choice.cls] = f"{text or f'{choice.cls.__name__} has no options of its own.'}\n"
    return "\n".join(parts.values())
