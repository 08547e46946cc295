"""Rows for what puts items and attributes in, or takes them away: a tag on the key is one on the whole."""

from __future__ import annotations

import collections
import types
from collections.abc import Iterable
from typing import Any

from ctxdispatch.dispatch.moving.plain import opaque
from ctxdispatch.dispatch.moving.reading import key, read
from ctxdispatch.dispatch.moving.through import spread
from ctxdispatch.dispatch.reach import HEAPTYPE
from ctxdispatch.dispatch.shadows import behind, is_array, is_flat
from ctxdispatch.dispatch.strip import Strip
from ctxdispatch.ir.own_builtins import own as __builtins__  # type: ignore[no-redef]  # noqa: F401


def _by_key(call: Any, container: Any, keys: Iterable[Any]) -> None:
    """A tagged key says where `container` changed: everything in it depends on it."""
    metadata: list[Any] = []
    for k in keys:
        key(call, k, metadata)
    if metadata:
        call.mark(container, metadata)


def set_item(call: Any, args: Any, kwargs: Any) -> Any:
    if len(args) != 3 or kwargs:
        return call.native(*args, **kwargs)
    container, index, value = call.bare(args[0]), args[1], args[2]
    if is_array(container):
        from ctxdispatch.dispatch import arrays

        return arrays.write(call, container, index, value)
    if not isinstance(container, _HOLDS) and not type(container).__flags__ & HEAPTYPE:
        out = opaque(call, args, kwargs)
        _written(call, container, args[1:])
        return out
    if not isinstance(container, dict):
        value = spread(call, value) if isinstance(call.bare(index), slice) else value
        index, tagged = key(call, index, []), index
        out = call.native(container, index, value)
        _by_key(call, container, [tagged])
        return out
    out = call.native(container, index, value)
    _by_key(call, container, [index])
    return out


_HOLDS = (list, dict, collections.deque, types.MappingProxyType)


def _written(call: Any, container: Any, values: Any) -> None:
    """Bytes, an `array`: no place for a tag but on the whole."""
    strip = Strip(call)
    strip.value([*values])
    if not strip.metadata:
        return
    held = [container.base] if is_flat(container) else [container]
    for each in behind(container) if isinstance(container, memoryview) else held:
        if is_array(each):
            made = call.combined([*strip.metadata, *call.ctx._shadows.metadata(each)])
            if made is not None:
                call.ctx._shadows.fill(each, made)
        else:
            call.mark(each, strip.metadata)


def write(call: Any, args: Any, kwargs: Any) -> Any:
    """list.append, setattr, dict.setdefault: what is moved is the last, the others but the first are keys."""
    container, *rest = args
    container = call.bare(container)
    if call.f is not dict.setdefault and len(rest) > 1:
        rest, keys = [key(call, k, []) for k in rest[:-1]] + rest[-1:], rest[:-1]
    else:
        keys = rest[:-1] if len(rest) > 1 else []
    if is_array(container):  # its attributes are its memory
        out = opaque(call, args, kwargs)
        _written(call, container, rest)
        return out
    out = call.native(container, *rest, **kwargs)
    _by_key(call, container, keys)
    return out if out is None else call.give(out, call.held(args[0]))


def delete(call: Any, args: Any, kwargs: Any) -> Any:
    container = call.bare(args[0])
    metadata: list[Any] = []
    rest = [key(call, k, metadata) for k in args[1:]]
    out = call.native(container, *rest, **kwargs)
    if is_array(container):
        return out
    if metadata:
        call.mark(container, metadata)
    return out


def take(call: Any, args: Any, kwargs: Any) -> Any:
    """`read` that removes: what is left depends on a tagged key."""
    out = read(call, args, kwargs)
    _by_key(call, call.bare(args[0]), args[1:2])
    return out


def add_member(call: Any, args: Any, kwargs: Any) -> Any:
    """set.add, {.. for ..}: the members that a set has depend on each that is put there."""
    container = call.bare(args[0])
    out = call.native(container, *args[1:], **kwargs)
    _by_key(call, container, args[1:2])
    return out
