"""Functions that have no program: the next one of their kind is recorded at once.

To find that a function must be recorded takes as long as to make its program. A function made anew for each
call (a closure, a lambda) would be asked each time: so what was found is kept for its kind, which is its code
and what kinds of things it captured. A recorded run is right whatever they are; only a function whose
namesake had no program, and that would have one by what *its* variables hold, is slower for it.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from types import CellType, FunctionType
from typing import Any

from ctxdispatch.dispatch import rules
from ctxdispatch.ir.values import hashable
from ctxdispatch.passes import types as T
from ctxdispatch.passes.held import held_type, without_objects
from ctxdispatch.passes.resolve import not_imported
from ctxdispatch_contexts.programs.mode import Mode
from ctxdispatch_contexts.programs.owned import Bounded
from ctxdispatch_contexts.programs.sources import Source

LEVELS = 4
"""So deep captured functions are told apart by what they captured in turn."""


WITHOUT_PROGRAM = Bounded(1024)
"""The kinds: names, and nothing that a function captured."""

PUT_OFF = Bounded(1024)
"""Those of which making a program was given up for a trace: the next time it may take its time."""


def kind_of(source: Any, mode: Mode, types: Sequence[T.Type]) -> Hashable:
    """What the derivative `mode` of `source` at these types has in common with others; None where `source` is
    no function of the user's, nor a derivative of one. A rule that is registered later makes it another, and
    so does a module that is imported later."""
    modes = [mode]
    while hasattr(source, "inner"):
        modes.append(source.inner.mode)
        source = source.inner.source
    if type(source) is not Source:
        return None
    given = [str(without_objects(t)) for t in types]
    kind = tuple(modes), _of_function(source.function, LEVELS), tuple(given), rules.version(), not_imported()
    return kind if hashable(kind) else None  # generated code may have constants without hash


def _of_function(f: FunctionType, levels: int) -> Hashable:
    return f.__code__, id(f.__globals__), tuple([_captured(cell, levels - 1) for cell in f.__closure__ or ()])


def _captured(cell: CellType, levels: int) -> Hashable:
    try:
        value = cell.cell_contents
    except ValueError:
        return None
    if type(value) is FunctionType:
        return _of_function(value, levels) if levels else value.__code__
    return f"{type(value).__module__}.{type(value).__qualname__} {without_objects(held_type(value))}"
