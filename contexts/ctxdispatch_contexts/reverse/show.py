"""`code_adjoint`: the derivative program as readable Python."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ctxdispatch.ir.source import to_python
from ctxdispatch.passes.held import guardable, held_type
from ctxdispatch_contexts.programs.entry import Entry
from ctxdispatch_contexts.programs.entry_keys import holes
from ctxdispatch_contexts.programs.entry_table import direct_source, is_direct
from ctxdispatch_contexts.programs.errors import DerivativeError, described
from ctxdispatch_contexts.programs.mode import Program
from ctxdispatch_contexts.programs.sources import CallSource
from ctxdispatch_contexts.reverse.api import Argnums
from ctxdispatch_contexts.reverse.context import ADContext, checked_indices
from ctxdispatch_contexts.reverse.program import ReverseMode


class AdjointCode(str):
    """Source text; shows itself unquoted."""

    def __repr__(self) -> str:
        return str(self)


def code_adjoint(f: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., AdjointCode]:
    """`code_adjoint(f)(*args)` is the program that `grad(f, argnums)(*args)` runs, as Python text.

    The user's lines stand as comments over what they became. Guards are left out. Of a function with `try`,
    it is what runs where nothing is raised. Raises what `grad` raises, and DerivativeError for what `grad`
    records as it runs, at the line that has no program (`explain` has it, too).
    """

    def show(*args: Any) -> AdjointCode:
        single = isinstance(argnums, int)
        given = (argnums,) if isinstance(argnums, int) else argnums
        wrt = checked_indices(given, len(args), described(f))
        mode = ReverseMode(wrt=wrt, split=False, single=single)
        source = direct_source(f) if is_direct(f, ADContext) else CallSource(f, holes(len(args)))  # type: ignore[arg-type]
        entry = Entry(source, mode, ADContext)
        bound = inspect.signature(entry.function, follow_wrapped=False).bind(*args)
        bound.apply_defaults()
        return AdjointCode(to_python(_program(entry, bound.args).graph))

    return show


def _program(entry: Entry, args: tuple[Any, ...]) -> Program:
    types = tuple(guardable(held_type(a)) for a in args)
    program, reason = entry.program_or_reason(types, must_be=False)
    if program is None:  # `grad` refuses it, too, or records the run in its stead
        assert reason is not None
        raise DerivativeError(f"{reason.what}; {reason.remedy}", reason.position)
    return program
