"""Types of arguments with less in them: without the functions and texts that are others the next time."""

from __future__ import annotations

from types import FunctionType
from typing import Any

from ctxdispatch.ir.leaves import is_leaf
from ctxdispatch.passes.held import without_objects
from ctxdispatch_contexts.programs.lifting import made_at_run_time
from ctxdispatch_contexts.programs.sizes import Types


def for_any(types: Types) -> Types:
    """Functions and texts are known by their class alone."""
    return tuple([without_objects(t, lambda value: type(value) is not str and is_leaf(value)) for t in types])


def lasting(types: Types) -> Types:
    """Of functions, those of modules are known."""
    return tuple([without_objects(t, _lasts) for t in types])


def _lasts(value: Any) -> bool:
    """A function of a module."""
    return is_leaf(value) or (type(value) is FunctionType and not made_at_run_time(value))


__all__ = ["for_any", "lasting"]
