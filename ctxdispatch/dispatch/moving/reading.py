"""Rows for what takes items and attributes out: an item has its own tags, those of the container and of the
key."""

from __future__ import annotations

import builtins
import collections
import operator
import types
from typing import Any

from ctxdispatch.dispatch.moving.plain import HANDLED, opaque
from ctxdispatch.dispatch.reach import CMETHOD
from ctxdispatch.dispatch.shadows import is_array, is_flat
from ctxdispatch.dispatch.strip import Strip
from ctxdispatch.dispatch.tags import Tagged
from ctxdispatch.ir import matching, primitives
from ctxdispatch.ir.own_builtins import own as __builtins__  # type: ignore[no-redef]  # noqa: F401


def key(call: Any, value: Any, metadata: list[Any]) -> Any:
    """An index or key without tags; what they held goes to `metadata`."""
    strip = Strip(call)
    bare = strip.value(value)
    metadata += strip.metadata
    return bare


@HANDLED.of(operator.getitem, collections.defaultdict.__missing__)
def read(call: Any, args: Any, kwargs: Any) -> Any:
    """container, key and default: the default is moved."""
    if not args:
        return call.native(*args, **kwargs)
    container = call.bare(args[0])
    if is_array(container):
        return _read_array(call, container, args, kwargs)
    if is_flat(container) or issubclass(type(container), memoryview):
        return opaque(call, args, kwargs)
    metadata = call.held(args[0])
    keys = [key(call, k, metadata) for k in args[1:2]]
    return call.give(call.native(container, *keys, *args[2:], **kwargs), metadata)


def _read_array(call: Any, array: Any, args: Any, kwargs: Any) -> Any:
    if call.f is not operator.getitem or len(args) != 2:
        return opaque(call, args, kwargs)
    from ctxdispatch.dispatch import arrays

    return arrays.read(call, array, args[0], args[1])


@HANDLED.of(builtins.next)
def following(call: Any, args: Any, kwargs: Any) -> Any:
    """next(iterator, default)"""
    return call.give(call.native(call.bare(args[0]), *args[1:], **kwargs), call.held(args[0]))


@HANDLED.of(matching.match_keys, matching.match_class)
def matched(call: Any, args: Any, kwargs: Any) -> Any:
    """What a pattern takes out of its subject: a tuple, or None where it does not match."""
    subject, *pattern = args
    out = call.native(call.bare(subject), *pattern)
    return out if out is None else tuple([call.give(item, call.held(subject)) for item in out])


@HANDLED.of(builtins.getattr, object.__getattribute__, type.__getattribute__)
def attribute(call: Any, args: Any, kwargs: Any) -> Any:
    if not 2 <= len(args) <= 3:
        return call.native(*args, **kwargs)
    value, metadata = call.bare(args[0]), call.held(*args[:2])
    if type(value) is super:
        value = _beyond(call, value)
    out = call.native(value, call.bare(args[1]), *args[2:], **kwargs)
    if issubclass(type(value), BaseException):
        for told, given in call.ctx._told.of(value):
            if out is told or out is given:
                return given
    if not metadata:
        return out
    if type(out) is types.MethodType and out.__self__ is value:
        return types.MethodType(out.__func__, args[0])  # its `self` has the tag
    if type(out) in _BOUND and out.__self__ is value:
        return _receiving(call, out, args[0])
    return out if issubclass(type(out), _OF_CLASSES) else call.give(out, metadata)


def _receiving(call: Any, method: Any, receiver: Any) -> Any:
    """A C method: the tag on it is the receiver's."""
    absent = object()
    metadata = call.ctx.metadata(receiver, absent)
    return method if metadata is absent else call.ctx.tag(method, metadata)


def _beyond(call: Any, proxy: Any) -> Any:
    """super() of a tagged instance: C code binds its methods to nothing but the instance itself."""
    instance = proxy.__self__
    return super(proxy.__thisclass__, call.bare(instance)) if type(instance) is Tagged else proxy


_BOUND = (types.BuiltinMethodType, types.MethodWrapperType, CMETHOD)

_OF_CLASSES = (
    type, types.ModuleType, types.FunctionType, types.MethodType, types.BuiltinFunctionType,
    types.TracebackType, types.FrameType,
)  # fmt: skip


@HANDLED.of(operator.contains, primitives.not_contains, dict.__contains__)
def contains(call: Any, args: Any, kwargs: Any) -> Any:
    """`in`: of a dict or set by its keys, else by all items."""
    if len(args) != 2:
        return call.native(*args, **kwargs)
    container = call.bare(args[0])
    if not issubclass(type(container), dict) or type(container).__contains__ is not dict.__contains__:
        return opaque(call, args, kwargs)
    metadata = call.held(args[0])
    item = key(call, args[1], metadata)
    return call.give(call.native(container, item), metadata)


def items(call: Any, args: Any, kwargs: Any) -> Any:
    """operator.itemgetter(..)(x)"""
    out = [call.resolved(operator.getitem)(args[0], k) for k in call.f.__reduce__()[1]]
    return out[0] if len(out) == 1 else tuple(out)
