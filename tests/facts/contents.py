"""What an operand is like, and what can be reached from it, without asking it: nothing here logs."""

from __future__ import annotations

import array
import collections
import contextlib
import functools
import gc
import io
import operator
import random
import re
import struct
import types
from collections.abc import Callable, Container
from typing import Any, NamedTuple

import numpy as np

Maker = Callable[[], Any]

# -- what an operand has in it -------------------------------------------------------------------------------

_CLOSED = (
    type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.CodeType, str, bytes, int,
    float, complex,
    types.FrameType, types.MethodDescriptorType, types.WrapperDescriptorType, types.GetSetDescriptorType,
    memoryview,
)  # fmt: skip
_PLAIN = (int, float, complex, str, bytes, type, types.FunctionType, types.NoneType, np.ufunc)
_ARRAYS, _CLASSES = (np.ndarray,), (type, types.ModuleType)


def is_a(obj: Any, classes: tuple[type, ...]) -> bool:
    """`isinstance` would ask the operand for its `__class__`, which takes as long as all the rest."""
    return _is_of(type(obj), classes)


@functools.cache
def _is_of(cls: type, classes: tuple[type, ...]) -> bool:
    return issubclass(cls, classes)


def children(obj: Any, objects: bool = True) -> list[Any]:
    if is_a(obj, _CLOSED):
        return []
    if is_a(obj, _ARRAYS):
        return list(obj.flat) if obj.dtype == object and objects else []
    if is_a(obj, (np.broadcast,)):
        return [it.base for it in obj.iters]
    return gc.get_referents(obj)


def reached(obj: Any, stop: Container[int] = (), objects: bool = True) -> dict[int, tuple[Any, bool]]:
    """By identity, what can be reached from `obj` and whether through an iterator or view of a dict; not
    past `stop`, and in arrays of objects only if `objects`."""
    found: dict[int, tuple[Any, bool]] = {}
    todo = collections.deque([(obj, False, 0)])
    while todo and len(found) < 400:
        one, lazily, depth = todo.popleft()
        if id(one) in found or is_a(one, _CLASSES):
            continue
        found[id(one)] = (one, lazily)
        if depth < 7 and (depth == 0 or id(one) not in stop):
            lazily = lazily or is_lazy(one)
            todo += [(child, lazily, depth + 1) for child in children(one, objects)]
    return found


_VIEWS = tuple(
    type(getattr(cls(), name)())
    for cls in (dict, collections.OrderedDict)
    for name in ("keys", "values", "items")
)


def is_lazy(obj: Any) -> bool:
    return _is_lazy(type(obj))


@functools.cache
def _is_lazy(cls: type) -> bool:
    return hasattr(cls, "__next__") or cls in _VIEWS


# -- what an operand is like ---------------------------------------------------------------------------------


class Reference(NamedTuple):
    made: Any
    ids: dict[int, Any]
    """All that it has in it, which lives as long: an identity is of one thing."""
    contents: Any
    places: list[Any]


_references: dict[int, tuple[Maker, Reference]] = {}


def reference(make: Maker) -> Reference:
    """An operand that is never passed to anything."""
    if id(make) not in _references:
        made, places = make(), []  # type: ignore[var-annotated]
        contents = contents_of(made, places)
        found = Reference(made, reached(made), contents, places)
        _references[id(make)] = (make, found)
    return _references[id(make)][1]


def contents_of(obj: Any, places: list[Any], depth: int = 0) -> Any:
    """What tells it from one that was stored into. Where iterators are goes into `places`."""
    kind = type(obj)
    if is_a(obj, _PLAIN) or depth > 6:
        return (kind, repr(obj) if kind in (int, float, complex, str, bytes) else id(kind))
    try:
        return kind, _parts(obj, places, depth)
    except (
        ValueError,
        TypeError,
        AttributeError,
        BufferError,
        OSError,
    ) as error:  # closed, detached, released
        return kind, str(error)


def _parts(obj: Any, places: list[Any], depth: int) -> Any:
    def each(items: Any) -> list[Any]:
        return [contents_of(item, places, depth + 1) for item in items]

    match obj:
        case list():
            return each(list.__iter__(obj)), each(_attributes(obj))
        case tuple() | collections.deque():
            return each(obj)
        case set() | frozenset():
            return sorted(map(str, each(obj)))
        case dict():
            keys = collections.OrderedDict.keys if is_a(obj, (collections.OrderedDict,)) else dict.keys
            return each(keys(obj)), each(dict.values(obj)), each(_attributes(obj))
        case np.ndarray():
            head = (obj.shape, obj.strides, str(obj.dtype))
            mask = np.ndarray.tobytes(obj.mask) if isinstance(obj, np.ma.MaskedArray) else b""
            return head, mask, each(obj.flat) if obj.dtype == object else _bytes(obj)
        case bytearray() | array.array():
            return bytes(obj)
        case memoryview():
            return obj.tobytes()
        case io.BytesIO() | io.StringIO():
            places.append(obj.tell())
            return obj.getvalue()
        case io.BufferedReader() | io.BufferedWriter() | io.TextIOWrapper():
            places.append(obj.tell())
            return None
        case struct.Struct():
            return obj.format
        case random.Random():
            return obj.getstate()
        case np.random.Generator():
            return str(obj.bit_generator.state)
        case np.random.RandomState():
            return str(obj.get_state())
    if is_lazy(obj) and not isinstance(obj, io.IOBase):
        places.append(_place(obj))
        return None
    if kind_is_repr(obj):
        return re.sub(" at 0x[0-9a-f]+", "", repr(obj)), each(_attributes(obj))
    return each(_attributes(obj))


def kind_is_repr(obj: Any) -> bool:
    return type(obj).__module__ in ("decimal", "datetime", "functools", "_struct", "re", "builtins")


def _attributes(obj: Any) -> list[Any]:
    return list(vars(obj).values()) if hasattr(obj, "__dict__") else []


def _place(obj: Any, depth: int = 0) -> Any:
    """Where an iterator of C code, or ours, is."""
    if isinstance(obj, types.GeneratorType):
        return obj.gi_frame and obj.gi_frame.f_lasti
    if hasattr(obj, "place"):
        return obj.place
    if type(obj).__module__ == "builtins" and type(obj).__name__ not in ("zip", "map", "filter", "enumerate"):
        return type(obj).__name__, operator.length_hint(obj), _index(obj)
    below = [o for o in gc.get_referents(obj) if depth < 4]
    below += [o for t in below if isinstance(t, (tuple, list)) for o in t]
    return (
        type(obj).__name__,
        repr(obj) if type(obj).__name__ in ("count", "repeat") else None,
        [_place(o, depth + 1) for o in below if is_lazy(o) and not isinstance(o, io.IOBase)],
    )


def _index(obj: Any) -> Any:
    with contextlib.suppress(Exception):
        return obj.__reduce__()[2:]


def _bytes(array):
    """Those that say something: a long double has ten, and others for padding."""
    if array.dtype.char not in "gG":
        return np.ndarray.tobytes(array)
    numbers = np.frombuffer(np.ndarray.tobytes(array), np.uint8).reshape(-1, np.dtype("g").itemsize)
    return numbers[:, :10].tobytes()
