"""The part of a function's cotangent that belongs to its defaults: they are evaluated where the function is
made, and may depend on what is differentiated."""

from __future__ import annotations

from typing import Any

from ctxdispatch.facts import says
from ctxdispatch_contexts.programs.errors import DerivativeError, user_position
from ctxdispatch_contexts.reverse.cotangents import entry_of

DEFAULTS, KWDEFAULTS = "__defaults__", "__kwdefaults__"


class _Unknown:
    """The cotangent of defaults that a call with star parameters was left to."""


UNKNOWN = _Unknown()


@says(known=False)
def defaults_of(bar: Any, part: str) -> Any:
    """The cotangents of the defaults, a tuple, or those by keyword, a dict; None where there are none."""
    found = entry_of(bar, part)
    if found is UNKNOWN:
        raise DerivativeError(
            "a function with star parameters, and defaults that depend on what is differentiated, is made "
            "here and called; pass what varies as arguments",
            user_position(),
        )
    return found


