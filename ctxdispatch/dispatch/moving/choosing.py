"""Rows for what orders items: what comes out depends on all of them."""

from __future__ import annotations

from typing import Any

from ctxdispatch.dispatch.moving.through import spread
from ctxdispatch.dispatch.strip import Strip, is_iterator
from ctxdispatch.ir.own_builtins import own as __builtins__  # type: ignore[no-redef]  # noqa: F401


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


def _chosen(call: Any, given: Any, args: Any, kwargs: Any) -> tuple[Any, list[Any]]:
    """What it returns for the operands that it is `given`, and what the tags of `args` hold."""
    strip = Strip(call)
    strip.value([*args])
    named = {k: v if k == "default" else strip.value(v) for k, v in kwargs.items()}
    metadata = strip.metadata
    if metadata and named.get("key") is None and call.f in _BY_KEY:
        named["key"] = strip.value  # the items are compared without tags
    return call.checked(call.f, strip, given, named), metadata


_BY_KEY = (sorted, max, min, list.sort)
