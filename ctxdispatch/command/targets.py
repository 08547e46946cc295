"""`MODULE:FUNCTION` and its arguments, as a command line has them. What is wrong is a UsageError."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import os
import sys
from collections.abc import Sequence
from traceback import extract_tb
from types import ModuleType
from typing import Any

from ctxdispatch.command.parsing import UsageError, closest, importing_from_here


def find_function(target: str) -> tuple[Any, dict[str, Any]]:
    """The callable that `target` names, and the names of its module."""
    where, colon, path = target.rpartition(":")
    if not colon or not where or not path:
        raise UsageError(f"{target!r} is not MODULE:FUNCTION")
    module = _file(where) if where.endswith(".py") else _module(where)
    found: Any = module
    for part in path.split("."):
        if not hasattr(found, part):
            hint = closest(part, (n for n in dir(found) if callable(getattr(found, n, None))))
            raise UsageError(f"{where!r} has no function {path!r}{hint}")
        found = getattr(found, part)
    if not callable(found):
        raise UsageError(f"{target} is no function, it is {type(found).__name__}")
    return found, vars(module)


def _module(name: str) -> ModuleType:
    try:
        with importing_from_here():
            return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise UsageError(f"no module named {error.name!r}") from error
    except Exception as error:
        raise UsageError(f"importing {name!r} failed: {type(error).__name__}: {error}") from error


def _file(path: str) -> ModuleType:
    name = os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not os.path.exists(path):
        raise UsageError(f"can't open file {path!r}: no such file")
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        raise UsageError(f"running {path!r} failed{_line(error, path)}: {what}") from error
    return module


def _line(error: BaseException, path: str) -> str:
    file = os.path.abspath(path)
    entries = extract_tb(error.__traceback__)
    lines = [entry.lineno for entry in entries if os.path.abspath(entry.filename) == file]
    return f" in line {lines[-1]}" if lines else ""


def arguments_of(words: Sequence[str], namespace: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The values of `words`, each as between the parentheses of a call: `3`, `n=4`, `*xs`."""
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    scope = {"np": _numpy(), **namespace, "__arguments": lambda *a, **k: (a, k)}
    for word in words:
        try:
            ast.parse(f"f({word})", mode="eval")
            more, named = eval(f"__arguments({word})", scope)
        except Exception as error:
            raise UsageError(f"argument {word!r}: {type(error).__name__}: {error}") from error
        args += more
        kwargs |= named
    return tuple(args), kwargs


def _numpy() -> Any:
    import numpy as np

    return np
