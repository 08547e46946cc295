"""Programs for arrays of just the lengths that the arguments have, where there is none for any length: `for w
in p` makes objects, or keyword arguments, of the parameters in `p`, and each is another one (`counts.py`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ctxdispatch_contexts.programs.mode import Program
from ctxdispatch_contexts.programs.sizes import Types, counted_where, is_counted, unsized
from ctxdispatch_contexts.programs.tiers import Reason
from ctxdispatch_contexts.programs.without_program import WITHOUT_PROGRAM, kind_of

if TYPE_CHECKING:
    from ctxdispatch_contexts.programs.entry import Entry

WORTH_COUNTING = 2.0
"""Seconds of the processor's time: what took longer to make, in vain, is not made once more."""

MAX_LENGTHS = 4
"""So many programs for the same types are kept; calls with other lengths are recorded."""


def for_lengths(
    entry: Entry, types: Types, args: tuple[Any, ...], reason: Reason | None, *, others: bool = False
) -> tuple[Program | None, Reason | None, Types]:
    """As `Entry.program_or_reason` gives it, and the types that it is for. `reason`: why there is none for
    any length; `others`: of another function of this code."""
    counted = with_lengths(entry, types, args)
    lasts = reason is None or reason.lasts
    if lasts or counted == types or is_counted(types) or entry.mode.region is not None:
        return None, reason, types
    kind = kind_of(entry.source, entry.mode, counted)
    if others and kind is not None and WITHOUT_PROGRAM.get(kind) is not None:
        return None, reason, types
    program, why = entry.program_or_reason(counted, False)
    if program is None:
        if kind is not None:
            WITHOUT_PROGRAM.get_or_make(kind, lambda: reason)
        return None, reason, types
    entry.counted.add(types)
    return program, why, counted


def with_lengths(entry: Entry, types: Types, args: tuple[Any, ...]) -> Types:
    """The types of arguments with their lengths, where there is a program for these, or may be one more."""
    own = len(entry.own_types(types))
    counted = (*counted_where(types[:own], args), *types[own:])
    kept = [each for each in entry.specialised if is_counted(each) and unsized(each) == unsized(types)]
    return counted if counted in kept or len(kept) < MAX_LENGTHS else types


__all__ = ["WORTH_COUNTING", "for_lengths", "with_lengths"]
