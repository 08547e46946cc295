"""Rows for what puts items and attributes in, or takes them away: a tag on the key is one on the whole."""

from __future__ import annotations

import builtins
import collections
import operator
import types
from collections.abc import Iterable
from typing import Any

from ctxdispatch.dispatch.moving.plain import HANDLED, Row, opaque
from ctxdispatch.dispatch.moving.reading import key, read
from ctxdispatch.dispatch.moving.through import spread
from ctxdispatch.dispatch.reach import HEAPTYPE
from ctxdispatch.dispatch.shadows import behind, is_array, is_flat
from ctxdispatch.dispatch.strip import Strip
from ctxdispatch.facts import Fact, Shares
from ctxdispatch.ir import primitives
from ctxdispatch.ir.own_builtins import own as __builtins__  # type: ignore[no-redef]  # noqa: F401


def _by_key(call: Any, container: Any, keys: Iterable[Any]) -> None:
    """A tagged key says where `container` changed: everything in it depends on it."""
    metadata: list[Any] = []
    for k in keys:
        key(call, k, metadata)
    if metadata:
        call.mark(container, metadata)


@HANDLED.of(operator.setitem)
def set_item(call: Any, args: Any, kwargs: Any) -> Any:
    if len(args) != 3 or kwargs:
        return call.native(*args, **kwargs)
    container, index, value = call.bare(args[0]), args[1], args[2]
    if is_array(container):
        from ctxdispatch.dispatch import arrays

        return arrays.write(call, container, index, value)
    if not issubclass(type(container), _HOLDS) and not type(container).__flags__ & HEAPTYPE:
        out = opaque(call, args, kwargs)
        _written(call, container, args[1:])
        return out
    if not issubclass(type(container), dict):
        value = spread(call, value) if issubclass(type(call.bare(index)), slice) else value
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
    for each in behind(container) if issubclass(type(container), memoryview) else held:
        if is_array(each):
            made = call.combined([*strip.metadata, *call.ctx._shadows.metadata(each)])
            if made is not None:
                call.ctx._shadows.fill(each, made)
        else:
            call.mark(each, strip.metadata)


@HANDLED.of(builtins.setattr, object.__setattr__, type.__setattr__)
def write(call: Any, args: Any, kwargs: Any) -> Any:
    """list.append, setattr, dict.setdefault: what is moved is the last, the others but the first are keys."""
    container, *rest = args
    container = call.bare(container)
    if call.f.__name__ != "setdefault" and len(rest) > 1:
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


@HANDLED.of(operator.delitem, builtins.delattr, object.__delattr__)
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


@HANDLED.of(primitives.set_add, primitives.map_add)
def add_member(call: Any, args: Any, kwargs: Any) -> Any:
    """set.add, {.. for ..}: the members that a set has depend on each that is put there."""
    container = call.bare(args[0])
    out = call.native(container, *args[1:], **kwargs)
    _by_key(call, container, args[1:2])
    return out


# -- of methods of builtin containers ----------------------------------------------------------------------


def of_method(f: Any, row: Fact) -> Row | None:
    """That of a method that neither goes through an operand nor calls or compares what is in its container,
    and is no operator."""
    cls = getattr(f, "__objclass__", None)
    if cls in _CLASSES and f.__name__ == "__setitem__":
        return set_item
    if cls not in _CLASSES or row.iterates or row.calls or (row.inside.has(0) and cls is not set):
        return None
    taken = row.may_share(Shares.ITEM, 0) or (bool(row.stores) and row.may_share(Shares.COPIES, 0))
    if row.stores.has(0):
        return None if row.may_share(Shares.ITSELF, 0) else _storing(row, cls, taken)
    return read if taken else None


def _storing(row: Fact, cls: Any, taken: bool) -> Row:
    if cls is set and row.looks:
        return add_member
    return write if row.keeps else take if taken else delete


_CLASSES = (list, tuple, dict, set, collections.deque, collections.OrderedDict)
