"""Command lines: argument parsers whose errors are `UsageError`s, of one line."""

from __future__ import annotations

import argparse
import difflib
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn


class UsageError(Exception):
    """What the user asked for cannot be had; the message says why, in one line."""

    def __init__(self, message: object) -> None:
        super().__init__(" ".join(str(message).split()))


class Parser(argparse.ArgumentParser):
    """No abbreviations, help as it is written, errors are raised."""

    def __init__(self, **options: Any) -> None:
        options = {"allow_abbrev": False, "formatter_class": argparse.RawDescriptionHelpFormatter, **options}
        super().__init__(**options)

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; see --help")


def program_name() -> str:
    """How this command line is called."""
    name = os.path.basename(sys.argv[0]) if sys.argv else ""
    return "ctxdispatch" if name.startswith("ctxdispatch") else "python -m ctxdispatch"


def closest(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?`, or nothing."""
    by_lower = {each.lower(): each for each in known}
    found = difflib.get_close_matches(name.lower(), by_lower, n=1)
    return f"; did you mean {by_lower[found[0]]!r}?" if found else ""


@contextmanager
def importing_from_here() -> Iterator[None]:
    """Modules of the current directory can be imported, as by `python -m`, also for the console script."""
    here = os.getcwd()
    if sys.flags.safe_path or here in sys.path or "" in sys.path:
        yield
        return
    sys.path.insert(0, here)
    try:
        yield
    finally:
        if here in sys.path:
            sys.path.remove(here)
