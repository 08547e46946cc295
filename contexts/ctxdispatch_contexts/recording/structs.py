"""Floats that `struct` reads out of memory and packs into it, in recorded runs (`buffers.py`).

What is packed into bytes of its own is not followed.
"""

from __future__ import annotations

import functools
import re
import struct
from typing import Any

import numpy as np

from ctxdispatch.dispatch.reach import natively
from ctxdispatch.ir.registry import Registry
from ctxdispatch_contexts.programs.c_objects import shows
from ctxdispatch_contexts.recording import windows
from ctxdispatch_contexts.recording.addresses import address
from ctxdispatch_contexts.recording.record import Record
from ctxdispatch_contexts.recording.windows import AS_IT_IS, number, other_numbers, read, store

Args = tuple[Any, ...]
HANDLERS: Registry[Any] = Registry()
_ITEM = re.compile(r"(\d*)([a-zA-Z?])")


@functools.lru_cache(1024)
def _places(text: str) -> tuple[tuple[int, Any], ...]:
    """Of each item of a format, where it begins, and the dtype; None where it is no float."""
    order = text[0] if text[:1] in ("@", "=", "<", ">", "!") else "@"
    swapped = {"@": "=", "!": ">"}.get(order, order)
    found: list[tuple[int, Any]] = []
    before = order
    for count, code in _ITEM.findall(text.replace(" ", "")):
        for _ in range(1 if code in "sp" else int(count or 1)):
            one = (count if code in "sp" else "") + code
            begin = struct.calcsize(before + "0" + code) if code not in "spx" else struct.calcsize(before)
            if code != "x":
                found.append((begin, np.dtype(swapped + code) if code in "fd" else None))
            before += one
    return tuple(found)


def _shown(record: Record, text: Any, buffer: Any, offset: int) -> list[Any]:
    """Of each item an array where it is; None for what is no float."""
    memory = buffer if isinstance(buffer, np.ndarray) else windows.opened(record, buffer)
    if memory is None:
        return []
    start = address(memory) + (offset if offset >= 0 else memory.nbytes + offset)
    text = text.decode() if isinstance(text, bytes) else text
    return [None if d is None else windows.at(record, buffer, start + at, d) for at, d in _places(text)]


def _is_followed(buffer: Any) -> bool:
    return isinstance(buffer, np.ndarray) or shows(type(buffer))


@HANDLERS.of(struct.unpack_from, struct.Struct.unpack_from)
def _unpacked(ctx: Any, callee: Any, args: Args) -> Any:
    """unpack_from(format, buffer, offset=0)"""
    out = callee(*args)
    text, buffer, *rest = args
    if not _is_followed(buffer):
        return AS_IT_IS
    shown = _shown(ctx.record, _format(text), buffer, *(rest or (0,)))
    return tuple([read(ctx.record, buffer, place, (), v) for place, v in zip(shown, out)]) if shown else out


def _format(text: Any) -> Any:
    return text.format if isinstance(text, struct.Struct) else text


@HANDLERS.of(struct.pack_into, struct.Struct.pack_into)
def _packed(ctx: Any, callee: Any, args: Args) -> Any:
    """pack_into(format, buffer, offset, *values)"""
    text, buffer, offset, *values = args
    if not _is_followed(buffer):
        return AS_IT_IS
    record: Record = ctx.record
    values = [number(ctx, v) for v in values]
    places = _shown(record, _format(text), buffer, offset)
    if not places or not _is_writeable(buffer):
        return callee(text, buffer, offset, *values)
    _check(callee, text, buffer, offset, values)
    if None in places:
        if record.any_active((buffer, values)):
            raise other_numbers(buffer)
        return callee(text, buffer, offset, *values)
    for place, value in zip(places, values):
        store(ctx, buffer, place, (), value, functools.partial(place.__setitem__, ()))
    return None


@natively
def _check(callee: Any, text: Any, buffer: Any, offset: Any, values: list[Any]) -> None:
    """Where it raises, nothing is stored."""
    callee(text, bytearray(memoryview(buffer).nbytes), offset, *values)


@natively
def _is_writeable(buffer: Any) -> bool:
    view = memoryview(buffer)
    return view.c_contiguous and not view.readonly
