"""Rows for what orders items: what comes out depends on all of them."""

from __future__ import annotations

import bisect
import builtins
import heapq
from typing import Any

from ctxdispatch.dispatch.moving.plain import HANDLED
from ctxdispatch.dispatch.moving.through import spread
from ctxdispatch.dispatch.strip import Strip, is_iterator
from ctxdispatch.facts import ORDERING
from ctxdispatch.ir.own_builtins import own as __builtins__  # type: ignore[no-redef]  # noqa: F401


@HANDLED.of(builtins.max, builtins.min, builtins.sorted)
def choose(call: Any, args: Any, kwargs: Any) -> Any:
    """max, min, sorted: tags stay, and the choice depends on all items."""
    if len(args) == 1:
        bare = call.bare(args[0])
        args = ([*call.iter(spread(call, args[0]))],) if is_iterator(bare) else args
    given = [spread(call, args[0])] if len(args) == 1 else args
    out, metadata = _chosen(call, given, args, kwargs)
    if call.f is sorted:
        return [call.give(item, metadata) for item in out] if metadata else out
    return out if out is None else call.give(out, metadata)


@HANDLED.of(
    list.sort, heapq.heapify, heapq.heappush, heapq.heappop, heapq.heappushpop, heapq.heapreplace,
    bisect.insort_left, bisect.insort_right,
)  # fmt: skip
def arrange(call: Any, args: Any, kwargs: Any) -> Any:
    """list.sort, heapq, bisect: the same in the receiver, whose items depend on all of them then."""
    receiver = call.bare(args[0]) if args else None
    out, metadata = _chosen(call, (receiver, *args[1:]) if args else (), args, kwargs)
    if metadata and isinstance(receiver, list):
        for k, item in enumerate(receiver):
            list.__setitem__(receiver, k, call.give(item, metadata))
    elif metadata:
        call.mark(receiver, metadata)
    return out if out is None else call.give(out, metadata)


_OF_LARGEST = (
    "_heapify_max", "_heapreplace_max", "_heappop_max",
    "heapify_max", "heappush_max", "heappop_max", "heappushpop_max", "heapreplace_max",
)  # fmt: skip
"""Heaps that have the largest item first, which `heapq.nsmallest` keeps too."""
HANDLED |= {getattr(heapq, name): arrange for name in _OF_LARGEST if hasattr(heapq, name)}


def _chosen(call: Any, given: Any, args: Any, kwargs: Any) -> tuple[Any, list[Any]]:
    """What it returns for the operands that it is `given`, and what the tags of `args` hold."""
    strip = Strip(call)
    strip.value([*args])
    named = {k: v if k == "default" else strip.value(v) for k, v in kwargs.items()}
    metadata = strip.metadata
    if metadata and named.get("key") is None and call.f in ORDERING:
        named["key"] = strip.value  # the items are compared without tags
    return call.checked(call.f, strip, given, named), metadata

