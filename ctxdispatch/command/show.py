"""`python -m ctxdispatch ir MODULE:FUNCTION [ARGUMENTS]`: what the engine, and a context, make of a function.

    source       the function's lines
    ir           the IR; with arguments, typed
    transformed  the IR that contexts make of it          (--context)
    bytecode     the function's, and the rewritten        (--context)
    adjoint      the derivative program                   (with arguments)

As text, or with every pass's before and after as one HTML page.
"""

from __future__ import annotations

import os
import shutil
from argparse import Namespace
from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Any

from ctxdispatch.command.examined import Examined, examine
from ctxdispatch.command.parsing import Parser, UsageError, closest, program_name
from ctxdispatch.command.stages import Part
from ctxdispatch.command.targets import arguments_of, find_function

SECTIONS = ("source", "ir", "typed", "transformed", "bytecode", "adjoint")

EPILOG = """\
examples:
  %(prog)s statistics:fmean
  %(prog)s my_module:loss "np.ones(3)" 2.0 n=5 --show typed,adjoint
  %(prog)s path/to/script.py:Model.predict "Model()" 1.0 --context nan --side-by-side
  %(prog)s my_module:loss 1.0 --context trace --html loss.html

FUNCTION may be dotted. ARGUMENTS are Python expressions (`3.0`, `"np.ones(3)"`, `n=4`) which see the names of
the module, and np; after `--` where they begin with a minus sign."""


def main(argv: Sequence[str]) -> int:
    """Print what is asked for. Status 1 where a section that was asked for by name cannot be had."""
    options = _parser().parse_intermixed_args(argv)
    asked = _sections(options)
    function, namespace = find_function(options.function)
    args, kwargs = arguments_of(options.arguments, namespace)
    found = examine(function, args, kwargs, options.context, options.argnums)
    if options.html:
        _write(options.html, found)
        return 0
    shown = [section for name in asked for section in _RENDER[name](found)]
    print(_side_by_side(shown) if options.side_by_side else _one_below_the_other(shown))
    return int(any(name in found.errors for name in options.show or ()))


def _parser() -> Parser:
    parser = Parser(
        prog=f"{program_name()} ir", description=(__doc__ or "").partition("\n\n")[2], epilog=EPILOG
    )
    add = parser.add_argument
    add("function", metavar="MODULE:FUNCTION", help="a module to import, or a file, and a function in it")
    add("arguments", metavar="ARGUMENTS", nargs="*", help="what it would be called with")
    add("--show", type=lambda text: text.split(","), metavar="LIST",
        help=f"sections, of {','.join(SECTIONS)} (default: those that can be had)")  # fmt: skip
    add("--context", action="append", default=[], metavar="NAME",
        help="rewrite for this context; several are stacked, the first is the innermost")  # fmt: skip
    add("--argnums", type=_numbers, default=(0,), metavar="N,..",
        help="differentiate with respect to these arguments (default: 0)")  # fmt: skip
    add("-y", "--side-by-side", action="store_true", help="sections beside each other")
    add("--html", metavar="FILE", help="write a page, complete in itself, with every pass's before and after")
    return parser


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(",")))


def _sections(options: Namespace) -> Sequence[str]:
    for name in options.show or ():
        if name not in SECTIONS:
            there_are = closest(name, SECTIONS) or f"; there are {', '.join(SECTIONS)}"
            raise UsageError(f"no such section: {name}{there_are}")
    if options.show:
        return list(options.show)
    without = () if options.context else ("transformed",)
    middle = ("typed",) if options.arguments else ("ir",)
    adjoint = ("adjoint",) if options.arguments else ()
    return [n for n in ("source", *middle, "transformed", "bytecode", *adjoint) if n not in without]


def _write(path: str, found: Examined) -> None:
    from ctxdispatch.command.page import page

    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(page(found))
    except OSError as error:
        raise UsageError(f"argument --html: can't write {path!r}: {error.strerror}") from error
    print(f"wrote {os.path.abspath(path)}")


# -- sections as text ------------------------------------------------------------------------------


Section = tuple[str, str]


def _source(found: Examined) -> list[Section]:
    lines = [f"{found.first_line + i:>5}  {line}" for i, line in enumerate(found.source)]
    return [("source", "\n".join(lines) or "not available")]


def _text_of(key: str) -> Callable[[Examined], list[Section]]:
    return lambda found: [(key, found.texts.get(key) or f"not available: {found.errors[key]}")]


def _bytecode(found: Examined) -> list[Section]:
    return [(f"bytecode, {name}", _listing(parts)) for name, parts in found.bytecodes.items()]


def _listing(parts: Sequence[Part]) -> str:
    return "\n".join(text for part in parts for text in (part.head, *(line.text for line in part.lines)))


_RENDER: dict[str, Callable[[Examined], list[Section]]] = {
    **{key: _text_of(key) for key in SECTIONS}, "source": _source, "bytecode": _bytecode,
}  # fmt: skip


def _one_below_the_other(shown: Sequence[Section]) -> str:
    if len(shown) == 1:
        return shown[0][1]
    return "\n\n".join(f"== {name} {'=' * (70 - len(name))}\n{text.rstrip()}" for name, text in shown)


def _side_by_side(shown: Sequence[Section]) -> str:
    """Columns as wide as their text, but together no wider than the terminal."""
    columns = [[f"== {name} ==", *text.expandtabs().splitlines()] for name, text in shown]
    room = shutil.get_terminal_size((160, 24)).columns // max(len(columns), 1) - 3
    widths = [min(max(room, 30), max(map(len, column))) for column in columns]
    rows: Any = zip_longest(*columns, fillvalue="")
    return "\n".join(
        " | ".join(_cell(text, width) for text, width in zip(row, widths)).rstrip() for row in rows
    )


def _cell(text: str, width: int) -> str:
    return text.ljust(width) if len(text) <= width else f"{text[: width - 1]}…"
