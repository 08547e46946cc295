"""Floats that `struct` reads out of memory and packs into it, in recorded runs (`buffers.py`).

What is packed into bytes of its own is not followed.
"""

from __future__ import annotations

import ctypes
import functools
import re
import struct
from typing import Any

import numpy as np

from ctxdispatch.dispatch.reach import natively
from ctxdispatch.ir.registry import Registry
from ctxdispatch_contexts.programs.c_objects import OF_CTYPES, shows
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


@functools.lru_cache(1024)
def _has_gaps(text: str) -> bool:
    """There are bytes between the items, which are packed as zeros."""
    order = text[0] if text[:1] in ("@", "=", "<", ">", "!") else "@"
    codes = "".join(code * int(count or 1) for count, code in _ITEM.findall(text.replace(" ", "")))
    return "x" in codes or struct.calcsize(text) != sum(struct.calcsize(order + code) for code in codes)


def _shown(record: Record, text: str, buffer: Any, offset: int) -> list[Any] | None:
    """Of each item an array where it is; None for what is no float. None where it is not known."""
    if issubclass(type(buffer), OF_CTYPES):
        start, size = ctypes.addressof(buffer), ctypes.sizeof(buffer)
    else:
        memory = buffer if issubclass(type(buffer), np.ndarray) else windows.opened(record, buffer)
        if memory is None:
            return None
        start, size = address(memory), memory.nbytes
    start += offset if offset >= 0 else size + offset
    return [None if d is None else windows.at(record, buffer, start + at, d) for at, d in _places(text)]


def _is_followed(buffer: Any) -> bool:
    return issubclass(type(buffer), np.ndarray) or shows(type(buffer))


@HANDLERS.of(struct.unpack_from, struct.Struct.unpack_from)
def _unpacked(ctx: Any, callee: Any, args: Args) -> Any:
    """unpack_from(format, buffer, offset=0)"""
    out = callee(*args)
    text, buffer, *rest = args
    if not _is_followed(buffer):
        return AS_IT_IS
    shown = _shown(ctx.record, _format(text), buffer, *(rest or (0,)))
    places = [None] * len(out) if shown is None else shown
    return tuple([read(ctx.record, buffer, place, (), v) for place, v in zip(places, out, strict=True)])


def _format(text: Any) -> str:
    text = text.format if issubclass(type(text), struct.Struct) else text
    return text.decode() if issubclass(type(text), bytes) else text


@HANDLERS.of(struct.pack_into, struct.Struct.pack_into)
def _packed(ctx: Any, callee: Any, args: Args) -> Any:
    """pack_into(format, buffer, offset, *values)"""
    given, buffer, offset, *values = args
    record: Record = ctx.record
    if not _is_followed(buffer) or not record.any_active((buffer, values)):
        return AS_IT_IS
    text, values = _format(given), [number(ctx, v) for v in values]
    if not _is_whole(buffer):
        return callee(given, buffer, offset, *values)  # it raises
    if not _fits(callee, given, buffer, offset, values):
        raise other_numbers(buffer)
    places = _shown(record, text, buffer, offset)
    if places is None or None in places or _has_gaps(text):
        raise other_numbers(buffer)
    for place, value in zip(places, values, strict=True):
        store(ctx, buffer, place, (), value, functools.partial(place.__setitem__, ()))
    return None


@natively
def _fits(callee: Any, text: Any, buffer: Any, offset: Any, values: list[Any]) -> bool:
    """Where it would raise, it does; False where some of it would be written by then."""
    before = memoryview(buffer).tobytes()
    scratch = bytearray(before)
    try:
        callee(text, scratch, offset, *values)
    except Exception:
        if scratch == before:
            raise
        return False
    return True


@natively
def _is_whole(buffer: Any) -> bool:
    view = memoryview(buffer)
    return view.c_contiguous and not view.readonly
