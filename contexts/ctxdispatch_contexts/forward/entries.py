"""Which entry serves a function in forward mode."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

from ctxdispatch_contexts.forward.program import ForwardMode
from ctxdispatch_contexts.programs.entry_keys import holes
from ctxdispatch_contexts.programs.entry_table import call_entry, entry_function, is_direct
from ctxdispatch_contexts.programs.owned import for_code


def forward_function(
    context: Any, f: Any, n: int, kwnames: tuple[str, ...], wrt: tuple[int, ...], block: bool, *,
    inner: bool = False, alone: bool = False, frozen: bool = False, asking: bool = False,
    tier: str | None = None,
) -> Callable[..., Any]:  # fmt: skip
    """(*args, *tangents) -> (f(*args), its tangent), or the tangent `alone`: n positional arguments, then
    those by keyword, then the tangents of those in `wrt`. `inner`: for who changes nothing. `frozen`,
    `asking`, `tier`: see `ForwardMode`."""
    what = (n, kwnames, wrt, block, inner, alone, frozen, asking, tier)
    if type(f) is not FunctionType:
        return _forward_function(context, f, *what)
    key = (forward_function, context, context.ad_version(), what)
    return for_code(f, key, lambda: _forward_function(context, f, *what))


def _forward_function(
    context: Any, f: Any, n: int, kwnames: tuple[str, ...], wrt: tuple[int, ...], block: bool, inner: bool,
    alone: bool, frozen: bool, asking: bool, tier: str | None,
) -> Callable[..., Any]:  # fmt: skip
    mode = ForwardMode(wrt, block, inner=inner, alone=alone, frozen=frozen, asking=asking, tier=tier)
    if is_direct(f, context) and not kwnames and n == f.__code__.co_argcount:
        return entry_function(f, mode, context, n, ())
    return call_entry(context, f, holes(n + len(kwnames)), kwnames, mode).function
