"""What a program may know of arrays besides dtype and rank: that they are large, or on a GPU.

A type `Sized(array, large)` is that of an array with, or without, at least LIMIT elements: it is tested at
the entry like any other part of a type. Only programs for which it makes a difference have such a test.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np

from ctxdispatch.passes import types as T
from ctxdispatch.passes.held import MAX_POSITIONS

LIMIT = 1 << 16
"""Elements: below, compiling a kernel and calling it costs more than it saves."""


@cache
def has_compiler() -> bool:
    """That of the extra `jit`."""
    return find_spec("llvmlite") is not None


Types = tuple[T.Type, ...]


@dataclass(frozen=True, slots=True)
class Sized(T.Type):
    """An array that is large, or is not."""

    array: T.ArrayOf
    large: bool


@dataclass(frozen=True, slots=True)
class Counted(T.Type):
    """An array of one dimension that has just so many elements."""

    array: T.ArrayOf
    count: int


def counted_where(types: Types, args: Sequence[Any]) -> Types:
    """The types of arguments, those of short arrays with their lengths."""
    return tuple([
        Counted(t, len(a)) if isinstance(t, T.ArrayOf) and t.ndim == 1 and len(a) <= MAX_POSITIONS else t
        for t, a in zip(types, args)
    ])  # fmt: skip


def is_counted(types: Sequence[T.Type]) -> bool:
    return any(isinstance(t, Counted) for t in types)


@dataclass(frozen=True, slots=True)
class OfDevice(T.Type):
    """An array of a GPU, of this class and dtype."""

    cls: type
    dtype: np.dtype[Any]


def on_device(args: Sequence[Any]) -> bool:
    return any(hasattr(type(a), "__cuda_array_interface__") for a in args)


def is_large(types: Sequence[T.Type]) -> bool:
    return any(isinstance(t, Sized) and t.large for t in types)


def any_large(args: Sequence[Any]) -> bool:
    return any(type(a) is np.ndarray and a.size >= LIMIT for a in args)


def large_where(types: Types, args: Sequence[Any]) -> Types:
    """The types of arguments, those of large arrays marked."""
    return tuple([
        Sized(t, True) if isinstance(t, T.ArrayOf) and a.size >= LIMIT else t for t, a in zip(types, args)
    ])  # fmt: skip


def small(types: Types) -> Types:
    """The same for arrays that are not large."""
    return tuple([Sized(t, False) if isinstance(t, T.ArrayOf) else t for t in types])


def unsized(types: Sequence[T.Type]) -> Types:
    return tuple([t.array if isinstance(t, (Sized, Counted)) else t for t in types])


def resized(now: Types, asked: Types) -> Types:
    """What a program was found to need of its arguments, with the sizes that were asked for."""
    return tuple([
        dataclasses.replace(a, array=t) if isinstance(a, (Sized, Counted)) and isinstance(t, T.ArrayOf) else t
        for t, a in zip(now, asked, strict=True)
    ])  # fmt: skip
