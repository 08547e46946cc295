"""Frames of programs: which are the user's, what their variables are, evaluating and assigning in them.

Invariant: what the engine keeps in a frame (cells whose names begin with `$` or `.`) is never shown.
"""

from __future__ import annotations

import dis
import inspect
import platform
import sys
from collections.abc import Callable, Iterator, Mapping
from types import CodeType, FrameType
from typing import Any

from ctxdispatch.bytecode.tables import LOCALS
from ctxdispatch.ir.sites import CONTEXT

HIDDEN = ("$", ".")
COMPREHENSIONS = frozenset({"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"})


class CannotAssign(ValueError):
    """A variable of a frame that this interpreter cannot change from outside."""


def is_program(code: CodeType) -> bool:
    """Whether it is code that was rewritten for a context."""
    return any(name.startswith(CONTEXT) for name in code.co_freevars)


def program_frames(frame: FrameType | None) -> Iterator[FrameType]:
    """`frame` and those that called it, outwards, as far as they are under a context."""
    while frame is not None:
        if is_program(frame.f_code):
            yield frame
        frame = frame.f_back


def caller_of(frame: FrameType) -> FrameType | None:
    """The function that called it; a comprehension is part of the function around it."""
    outer = (f for f in program_frames(frame.f_back) if f.f_code.co_name not in COMPREHENSIONS)
    return next(outer, None)


def module_of(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__") or "")


def is_module_level(frame: FrameType) -> bool:
    return not frame.f_code.co_flags & inspect.CO_OPTIMIZED or frame.f_code.co_name == "<module>"


def variables(frame: FrameType) -> dict[str, Any]:
    """The local variables, a copy."""
    found = frame.f_locals
    if LOCALS.mixes_cells and not is_module_level(frame):
        known = (*frame.f_code.co_varnames, *frame.f_code.co_cellvars, *frame.f_code.co_freevars)
        names = [name for name in dict.fromkeys(known) if name not in unreadable(frame.f_code)]
        return {name: found[name] for name in names if not name.startswith(HIDDEN) and name in found}
    return {name: value for name, value in found.items() if not name.startswith(HIDDEN)}


def unreadable(code: CodeType) -> frozenset[str]:
    """The variables that `f_locals` must not be asked for, where the interpreter mixes them up."""
    known = _unreadable.get(id(code))
    if known is None:
        if len(_unreadable) >= MOST:
            _unreadable.clear()
        known = _unreadable[id(code)] = code, _in_cells_and_not(code)
    return known[1]


MOST = 256
_unreadable: dict[int, tuple[CodeType, frozenset[str]]] = {}
"""By id: code that was rewritten may have constants without a hash, and then has none itself."""


def _in_cells_and_not(code: CodeType) -> frozenset[str]:
    stored = (i.argval for i in dis.get_instructions(code) if i.opname.startswith("STORE_FAST"))
    names = {name for each in stored for name in ((each,) if isinstance(each, str) else each)}
    return frozenset(names.intersection(code.co_cellvars))


def argument_names(code: CodeType) -> tuple[str, ...]:
    stars = bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + stars]


def variable_names(code: CodeType) -> frozenset[str]:
    names = (*code.co_varnames, *code.co_cellvars, *code.co_freevars)
    return frozenset(name for name in names if not name.startswith(HIDDEN))


# -- evaluating ------------------------------------------------------------------------------------


def namespace(frame: FrameType, extra: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What names mean there, in one dict: so functions and comprehensions in an expression see them too."""
    return {**frame.f_globals, **(extra or {}), **variables(frame)}


def evaluate(expression: str | CodeType, frame: FrameType, extra: Mapping[str, Any] | None = None) -> Any:
    return eval(expression, namespace(frame, extra))


def execute(source: str, frame: FrameType, extra: dict[str, Any], shown: Callable[[Any], None]) -> None:
    """Run a statement there. Variables of the frame that it assigns are changed (CannotAssign where that
    cannot be), those it declares `global` too; other names are put into `extra`. An expression's value is
    `shown`."""
    space = namespace(frame, extra)
    before = dict(space)
    code = compile(source, "<statement>", "single")
    hook, sys.displayhook = sys.displayhook, shown
    try:
        exec(code, space)
    finally:
        sys.displayhook = hook
    changed = {k: v for k, v in space.items() if k not in before or before[k] is not v}
    for name, value in changed.items():
        if name == "__builtins__":
            continue
        if name in variable_names(frame.f_code) or is_module_level(frame) or _is_global(source, name):
            assign(frame, name, value)
        else:
            extra[name] = value


def _is_global(source: str, name: str) -> bool:
    import ast

    found = (n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Global))
    return any(name in node.names for node in found)


def assign(frame: FrameType, name: str, value: Any) -> None:
    """Give a variable another value: a local one where the interpreter can (3.13 and later), else a global.

    CannotAssign: a local variable in 3.11 and 3.12; NameError: there is no such variable."""
    if is_module_level(frame) or name not in variable_names(frame.f_code):
        if not is_module_level(frame) and name not in frame.f_globals:
            raise NameError(f"{frame.f_code.co_qualname} has no variable {name!r}")
        frame.f_globals[name] = value
    elif LOCALS.mixes_cells and name in unreadable(frame.f_code):
        raise CannotAssign(
            f"CPython {platform.python_version()} cannot look at {name!r} of {frame.f_code.co_qualname} from "
            "outside"
        )
    elif LOCALS.writable:
        frame.f_locals[name] = value
    else:
        raise CannotAssign(
            f"CPython {platform.python_version()} cannot change the local variable {name!r}: 3.13 and later "
            "can"
        )
