"""Source files: lines to show, and the lines that can be stopped at."""

from __future__ import annotations

import dis
import inspect
import linecache
import os
import sys
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any

SILENT = frozenset({"RESUME", "NOP", "CACHE", "COPY_FREE_VARS", "MAKE_CELL", "RETURN_GENERATOR", "POP_TOP"})
"""Instructions that do not make a line one to stop at."""


def source_lines(file: str, module_globals: dict[str, Any] | None = None) -> list[str]:
    return linecache.getlines(file, module_globals)


def source_line(file: str, line: int, module_globals: dict[str, Any] | None = None) -> str:
    return linecache.getline(file, line, module_globals).strip()


def block_lines(frame: FrameType) -> tuple[int, list[str]]:
    """The number of the first line of the function that runs in `frame`, and its lines; of a module all."""
    lines = source_lines(frame.f_code.co_filename, frame.f_globals)
    if frame.f_code.co_name == "<module>":
        return 1, lines
    first = frame.f_code.co_firstlineno
    return first, inspect.getblock(lines[first - 1 :]) if lines else []


def lines_with_code(file: str) -> frozenset[int]:
    """Where the interpreter comes to a line; empty where there is no source to tell by."""
    source = "".join(source_lines(file))
    try:
        code = compile(source, file, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return frozenset()
    return frozenset(line for each in _nested(code) for line in _lines(each))


def _nested(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if type(constant) is CodeType:
            yield from _nested(constant)


def _lines(code: CodeType) -> Iterator[int]:
    line = None
    for instruction in dis.get_instructions(code):
        position = instruction.positions
        line = position.lineno if position is not None else line
        if line and instruction.opname not in SILENT:
            yield line


def check_line(file: str, line: int) -> None:
    """ValueError, which names the next line with code, where there is none on this one."""
    known = lines_with_code(file)
    if known and line not in known:
        after = min((n for n in known if n > line), default=None)
        hint = f"; the next that has is {after}" if after else ""
        raise ValueError(f"line {line} of {os.path.basename(file)} has no code to stop at{hint}")


def same_file(given: str, actual: str) -> bool:
    """Whether `given`, a path or the end of one, means the file `actual`."""
    if given == actual or os.path.abspath(given) == os.path.abspath(actual):
        return True
    return actual.replace(os.sep, "/").endswith("/" + given.replace(os.sep, "/").lstrip("./"))


def is_of_no_file(given: str) -> bool:
    """It may mean code that was compiled from a string, of which only the lines are known."""
    return any(same_file(given, file) for file in list(linecache.cache))


def find_source(given: str) -> str | None:
    """The file that `given` means, as far as that can be known before anything of it has run."""
    if os.path.exists(given) or linecache.getlines(given):
        return given
    known = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    loaded = next((file for file in known if file and same_file(given, file)), None)
    not_yet = (os.path.join(folder, given) for folder in sys.path)
    return loaded or next(filter(os.path.isfile, not_yet), None)
