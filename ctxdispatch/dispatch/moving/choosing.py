"""Rows for what orders items: what comes out depends on all of them."""

from __future__ import annotations

import builtins
import heapq
from typing import Any

from ctxdispatch.dispatch.moving.through import spread
from ctxdispatch.dispatch.strip import Strip, is_iterator
from ctxdispatch.ir.own_builtins import own as __builtins__  # type: ignore[no-redef]  # noqa: F401


def choose(call: Any, args: Any, kwargs: Any) -> Any:
    """max, min, sorted, heapq: tags stay, and the choice depends on all items."""
    first = args[0] if args else ()
    if len(args) == 1 and is_iterator(call.bare(first)):
        first = [*call.iter(spread(call, first))]
        args = (first,)
    strip = Strip(call)
    strip.value([*args])
    named = {k: v if k == "default" else strip.value(v) for k, v in kwargs.items()}
    metadata = strip.metadata
    receivers = isinstance(call.bare(first), list) and call.f not in (sorted, max, min)
    given = [spread(call, first)] if len(args) == 1 and not receivers else [call.bare(first), *args[1:]]
    given = args if len(args) > 1 and not receivers else given
    if metadata and named.get("key") is None and call.f in _BY_KEY:
        named["key"] = strip.value  # the items are compared without tags
    out = call.checked(call.f, strip, given, named)
    if not metadata:
        return out
    if receivers:
        _smear(call, call.bare(first), metadata)
    if type(out) is list and call.f in _MAKES_LISTS:
        return [call.give(item, metadata) for item in out]
    return out if out is None else call.give(out, metadata)


def _smear(call: Any, items: list[Any], metadata: list[Any]) -> None:
    for k, item in enumerate(items):
        list.__setitem__(items, k, call.give(item, metadata))


_BY_KEY = (sorted, max, min, list.sort)
_MAKES_LISTS = (builtins.sorted, heapq.nlargest, heapq.nsmallest)
