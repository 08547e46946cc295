"""Rules that do not run: an outer context's, for Python functions that a context further in rewrote.

    overdub(outer, overdub, inner, f)       inner's `helper` is another function: outer's rule is not for it

Looked at when code is rewritten, never when it is called.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

from ctxdispatch.dispatch import rules
from ctxdispatch.dispatch.where import user_frame
from ctxdispatch.ir.own_builtins import own as __builtins__  # type: ignore[no-redef]  # noqa: F401
from ctxdispatch.ir.sites import CELL, CONTEXT

INLINED = "$inlined"
"""The attribute of a generated program that has the codes of functions that it is made of."""


class HiddenRuleWarning(RuntimeWarning):
    """A rule will not run, because a context further in rewrote the function that it is for."""


def warn_of_hidden_rules(cls: Any, f: FunctionType) -> None:
    """`cls` rewrites `f`: warn where that is what a context further in made of a function with a rule."""
    made_of = [] if cls.rules_are_shortcuts else [_place(code) for code in _made_of(f)]
    if not made_of:
        return
    for callee in rules.callees(cls):
        code = callee.__code__ if type(callee) is FunctionType else None
        if code is not None and code is not f.__code__ and _place(code) in made_of:
            _warn(cls, callee)


def _made_of(f: FunctionType) -> Iterator[CodeType]:
    if any(name.startswith((CELL, CONTEXT)) for name in f.__code__.co_freevars):
        yield f.__code__
    yield from f.__dict__.get(INLINED, ())


def _place(code: CodeType) -> tuple[str, str, int]:
    return code.co_filename, code.co_qualname, code.co_firstlineno


def _warn(cls: Any, callee: FunctionType) -> None:
    message = (
        f"the rule of {cls.__name__} for {rules.name_of(callee)} does not run: a context further in rewrote "
        "that function; put contexts with rules for Python functions innermost"
    )
    frame = user_frame()
    file, line = (frame.f_code.co_filename, frame.f_lineno) if frame is not None else ("<unknown>", 0)
    warnings.warn_explicit(message, HiddenRuleWarning, file, line)
