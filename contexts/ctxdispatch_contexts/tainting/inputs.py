"""What a program is told from outside, and what a command line says of sinks."""

from __future__ import annotations

import builtins
import io
import os
from typing import Any

from ctxdispatch_contexts.names import named


def _file(name: Any, mode: str = "r", *args: Any, **kwargs: Any) -> str | None:
    return f"file {str(name)!r}" if set("r+") & set(mode) else None


INPUTS: dict[str, dict[Any, Any]] = {
    "argv": {},
    "stdin": {builtins.input: "stdin"},
    "environ": {type(os.environ).__getitem__: lambda environ, key: f"environ[{str(key)!r}]"},
    "files": {io.open: _file},
}
"""What a program is told from outside: the functions by which it reads that, with their labels."""


def sink(text: str) -> tuple[Any, frozenset[str] | None]:
    """MODULE.NAME[=LABEL,..]: the function, and the labels that must not reach it."""
    name, equals, labels = text.partition("=")
    return named(name), frozenset(labels.split(",")) if equals else None
